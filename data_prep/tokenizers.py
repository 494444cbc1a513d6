"""Tokenizers: raw text <-> words separated by single spaces, chosen per language.

| name    | library                        | for                                     | the line comes back |
|---------|--------------------------------|-----------------------------------------|---------------------|
| unicode | regex                          | any language; the default               | yes                 |
| moses   | sacremoses                     | languages that separate words by spaces | not always          |
| jieba   | jieba                          | Chinese                                 | yes                 |
| mecab   | mecab-python3 and unidic-lite  | Japanese                                | yes                 |
| jumanpp | rhoknp, `jumanpp` on the PATH  | Japanese                                | yes                 |
| none    | -                              | tokenized text, or for sentencepiece    | single spaces       |
| raw     | -                              | the same for tokenizers of transformers | yes                 |

The papers tokenize Chinese with jieba, Japanese with Juman++ (the thesis' chapters 3 and 4) and everything
else with Moses (thesis 7.3.1, 8.2.1), which cuts words of many languages at joiners, combining marks and
apostrophes. A name with "+lowercase" behind it is the same tokenizer in lower case (thesis 2.3.2).
"""

import functools
import importlib
import logging
import re
import shutil
import sys
import warnings
from collections.abc import Collection
from itertools import pairwise

from command_line.errors import InputError
from data_prep.languages import closest, find_language, subtag, writing_system
from data_prep.moses import FastMosesTokenizer
from data_prep.spacing import restored, with_spaces
from data_prep.unicode_words import UnicodeWords

DEFAULTS = {"han": "jieba", "japanese": "mecab"}  # by writing system
DEFAULT = "unicode"
_UNSPACED = (
    "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\u2e80-\u2fdf\U00020000-\U0003134f"
)
_SUPERFLUOUS_SPACE = re.compile(
    f"(?<=[{_UNSPACED}([{{‘“]) | (?=[{_UNSPACED},.!?;:%)\\]}}’”…])|(?<=[.,:/]) (?=[0-9])"
)


class NoTokenizer:
    """Words are what the text separates by spaces."""

    def __init__(self, language: str = ""):
        self.language = language

    def tokenize(self, line: str) -> str:
        return " ".join(line.split())

    def detokenize(self, line: str) -> str:
        return " ".join(line.split())


class RawLines:
    """Lines as they are: whatever splits them knows what spaces mean."""

    def __init__(self, language: str = ""):
        self.language = language

    def tokenize(self, line: str) -> str:
        return line

    def detokenize(self, line: str) -> str:
        return line


class Moses:
    """The Moses tokenizer and detokenizer, XML-escaped as the Moses script does it by default.

    Args:
        language: a code; Moses has rules for some languages, whatever their codes are, and general ones.
    """

    def __init__(self, language: str):
        from sacremoses.corpus import NonbreakingPrefixes

        with_rules = NonbreakingPrefixes().available_langs.values()
        self._language = closest(language, with_rules) or subtag(language)
        self.tokenize = FastMosesTokenizer(self._language).tokenize

    @functools.cached_property
    def _detokenizer(self):
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(self._language)

    def detokenize(self, line: str) -> str:
        tokens, end = line.split(), ""
        if self._language == "cs" and len(tokens) > 1 and tokens[-1] in (".", ",") and tokens[-2].isdecimal():
            # sacremoses 0.2.0 looks for "digits ." at the end of the line where Moses looks before the token,
            # and then glues every number of the line to the word before it; without the last token it does
            # not.
            end = tokens.pop()
        return self._detokenizer.detokenize(tokens) + end


class UnspacedText:
    """Detokenization of Chinese and Japanese: no space beside their characters, but between Latin words.

    Spaces that are elsewhere in a line are recorded beside its words (`data_prep.spacing`).
    """

    def tokenize(self, line: str) -> str:
        return _with_recorded_spaces(line, self.words(line))

    def words(self, line: str) -> list[str]:
        """The words of a line, without spaces."""
        raise NotImplementedError

    def detokenize(self, line: str) -> str:
        return restored(_SUPERFLUOUS_SPACE.sub("", " ".join(line.split())))


def _with_recorded_spaces(line: str, words: list[str]) -> str:
    gaps, end = [], 0
    for word in words:
        begin = line.find(word, end)
        if begin < 0:  # a program that changes characters
            return " ".join(words)
        gaps.append(line[end:begin])
        end = begin + len(word)
    expected = (_SUPERFLUOUS_SPACE.sub("", f"{left[-1]} {right[0]}")[1:-1] for left, right in pairwise(words))
    return with_spaces(words, gaps[1:], expected)


class Jieba(UnspacedText):
    def __init__(self, language: str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba's own way of importing is deprecated
            jieba = _import("jieba", "zh")
        jieba.setLogLevel(logging.WARNING)
        self._jieba = jieba.Tokenizer()
        # by itself it would read what anyone has left in /tmp under the name of its cache
        self._jieba.FREQ, self._jieba.total = self._jieba.gen_pfdict(self._jieba.get_dict_file())
        self._jieba.initialized = True

    def words(self, line: str) -> list[str]:
        return [word for word in self._jieba.cut(line) if not word.isspace()]


class Mecab(UnspacedText):
    def __init__(self, language: str):
        mecab, dictionary = _import("MeCab", "ja"), _import("unidic_lite", "ja")
        self._tagger = mecab.Tagger(f'-O wakati -r /dev/null -d "{dictionary.DICDIR}"')

    def words(self, line: str) -> list[str]:
        words = self._tagger.parse(line)
        if words is None:  # of 100,000s of characters that are one word to it
            raise InputError(
                f"tokenizer mecab: failed ({self._tagger.what()}) on {line[:80]!r} and what follows,"
                f" {len(line)} characters; cut the line, or let `clean` remove it"
            )
        return words.split()


class Jumanpp(UnspacedText):
    def __init__(self, language: str):
        if shutil.which("jumanpp") is None:
            raise InputError("tokenizer jumanpp: no program `jumanpp` on the PATH; `mecab` needs none")
        self._library = _import("rhoknp", "ja")

    @functools.cached_property
    def _jumanpp(self):
        """Started by the process that uses it: forked workers cannot share one."""
        return self._library.Jumanpp()

    def words(self, line: str) -> list[str]:
        if not line.strip():
            return []
        try:
            morphemes = self._jumanpp.apply_to_sentence(line).morphemes
        except (RuntimeError, OSError) as error:  # TimeoutError is an OSError
            raise InputError(f"tokenizer jumanpp: the program failed ({error}) on {line[:80]!r}") from None
        return [word for morpheme in morphemes for word in morpheme.text.split()]


class Lowercase:
    """Another tokenizer's words in lower case; what was upper case does not come back."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self.detokenize = tokenizer.detokenize

    def tokenize(self, line: str) -> str:
        return self._tokenizer.tokenize(line).lower()


UNSPLIT = {"none": NoTokenizer, "raw": RawLines}
TOKENIZERS = {
    "unicode": UnicodeWords,
    "moses": Moses,
    "jieba": Jieba,
    "mecab": Mecab,
    "jumanpp": Jumanpp,
    **UNSPLIT,
}
LOWERCASE = "+lowercase"


def _import(module: str, extra: str):
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"the tokenizer for {extra} needs {module}: pip install '.[{extra}]'") from None


@functools.lru_cache(maxsize=128)
def make_tokenizer(name: str, language: str):
    """An object with `tokenize(line)` and `detokenize(line)`; the same object for the same arguments."""
    if name.endswith(LOWERCASE):
        return Lowercase(make_tokenizer(name.removesuffix(LOWERCASE), language))
    if name not in TOKENIZERS:
        raise InputError(
            f"unknown tokenizer {name!r} for {language}; expected one of: {', '.join(TOKENIZERS)}"
        )
    return TOKENIZERS[name](language)


def has_rules_of_languages(name: str) -> bool:
    """Whether the tokenizer of this name splits a line by the rules of its language."""
    return name.removesuffix(LOWERCASE) == "moses"


def default_tokenizer(language: str) -> str:
    """The tokenizer for how a language is written."""
    return DEFAULTS.get(writing_system(language), DEFAULT)


def tokenizer_like(names: Collection[str], language: str) -> str:
    """The tokenizer of a language beside others whose tokenizers have these names."""
    case = LOWERCASE if names and all(name.endswith(LOWERCASE) for name in names) else ""
    plain = {name.removesuffix(LOWERCASE) for name in names}
    if len(plain) == 1 and plain <= set(UNSPLIT):
        return plain.pop() + case
    usual = default_tokenizer(language)
    if usual == DEFAULT and "moses" in plain and DEFAULT not in plain:
        usual = "moses"
    return usual + case


def choose_tokenizers(languages, choices: list[str], lowercase: bool = False) -> dict[str, str]:
    """Tokenizer of every language: the defaults, overridden by choices such as "ja=none" or "none" (all)."""
    names = {language: default_tokenizer(language) for language in sorted(languages)}
    chosen: dict[str, str] = {}
    for choice in sorted(choices, key=lambda text: "=" in text):  # what holds for all first
        language, equals, name = choice.rpartition("=")
        if name not in TOKENIZERS:
            raise InputError(
                f"--tokenizer {choice}: unknown tokenizer {name!r}; expected one of: {', '.join(TOKENIZERS)}"
            )
        if equals and language not in names:
            raise InputError(
                f"--tokenizer {choice}: the corpus has no language {language!r}; it has {', '.join(names)}"
            )
        if chosen.setdefault(language, choice) != choice:
            raise InputError(f"--tokenizer {choice}: another choice is {chosen[language]}; leave one out")
        names.update({language: name} if equals else dict.fromkeys(names, name))
    for language, name in names.items():
        if name == "moses" and find_language(language) is None:
            print(
                f"warning: {language!r} is not a known language code: Moses tokenizes it by general rules;"
                f" --tokenizer {language}=NAME chooses another tokenizer",
                file=sys.stderr,
            )
    return {language: name + LOWERCASE for language, name in names.items()} if lowercase else names
