"""Finds duplicates among many 128-bit keys with little memory: keys are spread over files by value.

Equal keys meet in the same file, and one file at a time is sorted in memory: 64 MB for up to 500 million
keys, and in proportion beyond. With 128 bits, two different lines share a key with a probability below 1e-18
for a billion lines.
"""

import contextlib
from hashlib import blake2b
from pathlib import Path

import numpy

from command_line.outputs import reserve

KEY_BYTES = 16
KEYS_PER_SORT = 2_000_000  # 32 bytes each while sorting, 64 MB
_MOST_PARTITIONS = 256  # files that are written at a time


def key(text: str) -> bytes:
    """The key of a name, of a line, or of the two lines of a pair joined by a line feed."""
    return blake2b(text.encode(), digest_size=KEY_BYTES).digest()


def duplicate_flags(keys_path: Path, count: int, folder: Path):
    """Which keys occurred before.

    Args:
        keys_path: a file of `count` keys.
        folder: for temporary files; they are removed again.

    Returns:
        `count` booleans, a numpy memory map on disk: True for every occurrence of a key but its first.
    """
    reserve(folder / "flags", count)
    flags = numpy.memmap(folder / "flags", dtype=bool, mode="r+", shape=(count,))
    keys = numpy.memmap(keys_path, dtype="<u8", mode="r", shape=(count, 2))
    partitions = min(_MOST_PARTITIONS, -(-count // KEYS_PER_SORT))
    for path in _partition(keys, partitions, folder):
        rows = (
            numpy.fromfile(path, dtype="<u8").reshape(-1, 3)
            if partitions > 1
            else _with_places(keys, 0, count)
        )
        if len(rows):
            order = numpy.lexsort(
                (rows[:, 1], rows[:, 0])
            )  # stable: equal keys stay in the order of the lines
            same = (rows[order[1:], :2] == rows[order[:-1], :2]).all(axis=1)
            flags[rows[order[1:], 2][same].astype(numpy.int64)] = True
        if partitions > 1:
            path.unlink()
        del rows
    return flags


def _with_places(keys, start: int, end: int):
    return numpy.column_stack([keys[start:end], numpy.arange(start, end, dtype="<u8")])


def _partition(keys, partitions: int, folder: Path) -> list[Path]:
    """Spread keys, each with its place, over files by the key's value."""
    paths = [folder / f"keys.{number:03d}" for number in range(partitions)]
    if partitions == 1:
        return paths
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(open(path, "wb")) for path in paths]
        for start in range(0, len(keys), KEYS_PER_SORT):
            rows = _with_places(keys, start, min(start + KEYS_PER_SORT, len(keys)))
            targets = rows[:, 0] % partitions
            order = numpy.argsort(targets, kind="stable")
            ends = numpy.searchsorted(targets[order], numpy.arange(1, partitions, dtype="<u8"))
            for stream, share in zip(streams, numpy.split(rows[order], ends), strict=True):
                stream.write(share.tobytes())
    return paths
