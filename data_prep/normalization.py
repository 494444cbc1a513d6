"""What `clean` does to every line: NFC, no control characters, single spaces."""

import re
import unicodedata

from data_prep.languages import is_unspaced

# C0 and C1 controls, direction marks, zero-width space, word joiner, byte order mark, noncharacters.
# Zero-width joiner and non-joiner stay: Persian and Indic spelling needs them.
CONTROLS = (
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff]"
)
_CONTROLS = re.compile(CONTROLS)
CHARACTERS_PER_WORD = 1.6  # of a language without spaces, against the words of one with spaces


def normalize(line: str) -> str:
    """NFC, no control characters, every run of whitespace (also no-break and line separators) one space."""
    if line.isprintable():  # no control character, and no whitespace but the space
        line = line if line.isascii() else unicodedata.normalize("NFC", line)
        return " ".join(line.split()) if "  " in line else line.strip()
    return " ".join(unicodedata.normalize("NFC", _CONTROLS.sub("", line)).split())


def words(line: str) -> int:
    """Words of a normalized line."""
    return line.count(" ") + 1 if line else 0


def words_of_unspaced(line: str) -> float:
    """Words that a line would have in a language that separates them."""
    return (len(line) - line.count(" ")) / CHARACTERS_PER_WORD


def measure_length(language: str):
    """The function from a normalized line of a language to its length in words."""
    return words_of_unspaced if is_unspaced(language) else words
