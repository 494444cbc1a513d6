"""Tiny models in fastText's file format, which no installed package writes."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

VERSION, SOFTMAX, SUPERVISED = 12, 3, 3
SURE = 20.0  # logarithm of how much more probable the language of a word is than others


def write_identifier(path: Path, words: Mapping[str, Sequence[str]]) -> Path:
    """An identifier that answers the language whose words a line has, whatever else is in it.

    Args:
        words: label -> words.
    """
    labels = list(words)
    places = {word: labels.index(label) for label, of_label in words.items() for word in of_label}
    numbers = (len(labels), 5, 1, 1, 1, 1, SOFTMAX, SUPERVISED, 0, 0, 0, 100)  # no n-grams, no buckets
    content = struct.pack("<14id", 793712314, VERSION, *numbers, 1e-4)
    content += struct.pack("<3i2q", len(places) + len(labels), len(places), len(labels), 1, -1)
    entries = [*((word, 0) for word in places), *((f"__label__{label}", 1) for label in labels)]
    content += b"".join(text.encode() + struct.pack("<xqb", 1, kind) for text, kind in entries)
    columns = range(len(labels))
    of_words = [[SURE if place == column else 0.0 for column in columns] for place in places.values()]
    unit = [[float(row == column) for column in columns] for row in columns]
    for rows in (of_words, unit):
        content += struct.pack("<?2q", False, len(rows), len(labels))
        content += b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    path.write_bytes(content)
    return path
