"""Lines that are longer than a model reads: cut, or split into sentences that are translated one by one.

A model was trained on sentences: a line that it can read is translated as it is, however many sentences it
has. Ends of sentences are found by marks alone (UAX 29 calls them STerm), without lists of abbreviations:
only lines that would lose their end otherwise are split. What has no mark is split between words, and what
has no words between tokens.
"""

import re
from collections.abc import Callable, Iterator

CUT, SPLIT = "cut", "split"
CHOICES = (CUT, SPLIT)
_CLOSING = "\"'”’»)\\]}」』）】"
_END = re.compile(rf"(?:(?<=[.!?…।॥؟۔።])[{_CLOSING}]*\s+|(?<=[。！？])[{_CLOSING}]*\s*)")


def sentences(line: str) -> list[str]:
    """The sentences of a line; together, with single spaces or none between them, they are the line."""
    parts, start = [], 0
    for end in _END.finditer(line):
        parts.append(line[start : end.end()].strip())
        start = end.end()
    return [sentence for sentence in (*parts, line[start:].strip()) if sentence]


def split_to_fit(line: str, tokens: Callable[[str], list[int]], room: int) -> Iterator[list[int]]:
    """Yield token ids of parts of a line, each with at most `room` tokens.

    Args:
        tokens: of a text.
        room: at least 1.
    """
    for sentence in sentences(line):
        ids = tokens(sentence)
        if len(ids) <= room:
            yield from filter(None, [ids])
            continue
        for words in _pieces(sentence.split(), tokens, room):
            ids = tokens(words)
            yield from (ids[start : start + room] for start in range(0, len(ids), room))


def _pieces(words: list[str], tokens: Callable[[str], list[int]], room: int) -> Iterator[str]:
    """Halves of words, of halves, … until they fit; a word alone may not."""
    text = " ".join(words)
    if len(words) < 2 or len(tokens(text)) <= room:
        yield text
        return
    middle = len(words) // 2
    yield from _pieces(words[:middle], tokens, room)
    yield from _pieces(words[middle:], tokens, room)
