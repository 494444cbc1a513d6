"""The default tokenizer: words and punctuation by the properties of Unicode's characters, in any language.

A word is a run of letters, digits, combining marks and joiners. Some marks inside a word do not end it:

* apostrophes, hyphens, full stops and colons between two of them (`don't`, `well-known`, `12:30`);
* commas between digits (`5,300`);
* the quotation mark between Hebrew letters, which writes abbreviations.

Everything else is a token of its own: a punctuation mark or symbol, as many of the same in a row, an emoji
with all that belongs to it. Spaces come back (`data_prep.spacing`), so that the line does, but for spaces at
its ends. No rule depends on the language, and a word does not depend on the words around it.
"""

import functools

import regex

from data_prep.spacing import SPACES, restored, with_spaces

CACHED_WORDS = 500_000  # of a process; about 250 bytes each
# Also marks of punctuation that are written inside words only: of Armenian (՛ ՜ ՞) and of Hebrew (׳ ״).
_WORD_CHARACTER = r"[\p{L}\p{M}\p{N}\p{Cf}_\u055b\u055c\u055e\u05f3\u05f4]"
_INSIDE = (
    r"(?:['’‘`´.:·‧\-‐‑\u058a\u05be]"
    r"|(?<=\p{Nd})[,\u066b\u066c](?=\p{Nd})"
    r'|(?<=\p{Hebrew})"(?=\p{Hebrew}))'
)
_WORD = rf"{_WORD_CHARACTER}+(?:{_INSIDE}{_WORD_CHARACTER}+)*"
_EXTENSION = r"[\p{M}\p{Cf}\p{Emoji_Modifier}]"  # belongs to the character in front
_TOKENS = regex.compile(
    rf"(?P<spaces>[{SPACES}]+)|{_WORD}|(?P<mark>\X{_EXTENSION}*)(?:(?P=mark)(?!{_EXTENSION}))*"
)
_PLAIN_SPACE = regex.compile(f"(?<![{SPACES}]) (?![{SPACES}])")


class UnicodeWords:
    """`detokenize(tokenize(line)) == line.strip()` for every line."""

    def __init__(self, language: str = ""):
        pass

    def tokenize(self, line: str) -> str:
        line = line.strip()
        plain = line.isprintable() and "  " not in line
        return " ".join(map(_tokens, line.split(" ") if plain else _PLAIN_SPACE.split(line)))

    def detokenize(self, line: str) -> str:
        return restored(" ".join(line.split()))


@functools.lru_cache(maxsize=CACHED_WORDS)
def _tokens(text: str) -> str:
    """The tokens of what stands between two single spaces."""
    if text.isalpha():
        return text
    tokens, gaps, gap = [], [], ""
    for match in _TOKENS.finditer(text):
        if match["spaces"]:
            gap = match[0]
            continue
        if tokens:
            gaps.append(gap)
        tokens.append(match[0])
        gap = ""
    return with_spaces(tokens, gaps, [" "] * len(gaps))
