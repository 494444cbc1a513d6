"""F1 and exact match of answers, as MLQA (Lewis et al. 2020) measures them.

Texts are compared in lower case, without punctuation and the articles of their language, as bags of tokens.
Tokens of Chinese are its characters, and words of anything else in it; those of the other six languages are
separated by spaces. MLQA's own programme knows no other language. They have no articles here; where words
are not separated by spaces, in Japanese or Thai, every character beyond ASCII is a token.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

from data_prep.languages import closest, is_unspaced

_WORDS = {
    "de": "ein eine einen einem eines einer der die das den dem des",
    "en": "a an the",
    "es": "un una unos unas el la los las",
    "vi": "của là cái chiếc những",
}
# Arabic writes its article at the beginning of the word; MLQA drops it from within words, too.
ARTICLES = {
    "ar": re.compile("ال"),
    **{name: re.compile(rf"\b(?:{'|'.join(words.split())})\b") for name, words in _WORDS.items()},
}
CHARACTERS = {"zh": re.compile("[\u4e00-\u9fa5]")}  # that are tokens
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def normalized(text: str, language: str) -> list[str]:
    """The tokens of a text that count.

    Args:
        language: a code of any registry; an unknown one is of a language with spaces between its words.
    """
    text = "".join(character for character in text.lower() if not _is_punctuation(character))
    if articles := ARTICLES.get(closest(language, ARTICLES)):
        text = articles.sub(" ", text)
    if is_unspaced(language):
        characters = CHARACTERS.get(closest(language, CHARACTERS), BEYOND_ASCII)
        text = characters.sub(r" \g<0> ", text)
    return text.split()


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character)[0] == "P"


def scores_of(said: str, answers: Sequence[str], language: str) -> tuple[float, float]:
    """F1 and exact match, 0 to 1, each with the answer that is best for it.

    Args:
        said: what is measured.
        answers: texts, each of which is right; one at least.
        language: of all of them, which is the context's.
    """
    tokens = normalized(said, language)
    right = [normalized(answer, language) for answer in answers]
    return max(f1(tokens, each) for each in right), float(tokens in right)


def f1(tokens: Sequence[str], right: Sequence[str]) -> float:
    """The harmonic mean of the share of tokens that are right and of the share of the right ones."""
    common = (Counter(tokens) & Counter(right)).total()
    return 2 * common / (len(tokens) + len(right)) if common else 0.0
