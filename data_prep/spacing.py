"""How tokens record the spaces of their line, so that it comes back as it was.

Two tokens stand for two words with one space between them. Anything else is written beside a token:
`⁀` (`JOINT`) is where two tokens touch, or where the spaces are others than one plain space. Those follow as
character references: "là&#160;!" is a no-break space, and `Hello⁀` and `,` are "Hello,".

| text | tokens |
|---|---|
| "Yes, sir." | `Yes` `⁀,` `sir` `⁀.` |
| "(a/b)" | `(⁀` `a` `⁀/⁀` `b` `⁀)` |
| "là !" with a no-break space | `là` `⁀&#160;!` |
| "a⁀" | `a` `⁀&#8256;` |

A `⁀` of the text itself is a reference, too, and so is the `&` of a reference that the text spells.
"""

import html
import re
from collections.abc import Iterable, Sequence

JOINT = "\u2040"  # CHARACTER TIE: rare in text, and NFKC leaves it alone
# What str.split() splits at; a line feed ends a line, and so is never inside one.
SPACES = "\t\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_RESERVED = re.compile(f"[{JOINT}{SPACES}]|&(?=#)")
_SPACE_REFERENCES = "|".join(str(ord(c)) for c in map(chr, range(0x3001)) if c.isspace() and c != "\n")
_MARKS = re.compile(f" ?{JOINT} ?|&#({ord('&')}|{ord(JOINT)}|{_SPACE_REFERENCES});")


def written(text: str) -> str:
    """Text with references for what is reserved."""
    return _RESERVED.sub(lambda match: f"&#{ord(match[0])};", text)


def with_spaces(tokens: Sequence[str], gaps: Sequence[str], expected: Iterable[str]) -> str:
    """Tokens separated by single spaces, with marks where the text has other spaces than expected.

    A mark is written beside punctuation where it can be, so that words stay as they are.

    Args:
        tokens: the text without its spaces.
        gaps: the spaces behind every token but the last.
        expected: what `detokenize` puts there without a mark.
    """
    if not tokens:
        return ""
    parts = [written(token) for token in tokens]
    for place, (gap, usual) in enumerate(zip(gaps, expected, strict=True)):
        if gap == usual:
            continue
        if _is_word(tokens[place + 1]) and not _is_word(tokens[place]):
            parts[place] += written(gap) + JOINT
        else:
            parts[place + 1] = JOINT + written(gap) + parts[place + 1]
    return " ".join(parts)


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def restored(tokens: str) -> str:
    """Tokens that are separated by single spaces -> their line."""
    if JOINT not in tokens and "&#" not in tokens:
        return tokens
    return _MARKS.sub(lambda match: chr(int(match[1])) if match[1] else "", tokens).strip()


def spelled(token: str) -> str:
    """The characters of a token without those of spaces, whichever tokenizer has written it: Moses' escapes
    ("&apos;s" is "'s") are undone as well.
    """
    if JOINT not in token and "&" not in token:
        return token
    return "".join(html.unescape(restored(token)).split())
