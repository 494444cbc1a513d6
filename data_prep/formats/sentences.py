"""Binarized parallel text in fairseq's format: `SPLIT.SRC-TGT.LANG.bin/.idx` and `dict.LANG.txt` in one
folder.
"""

import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from fairseq.data.indexed_dataset import MMapIndexedDataset, _code_to_dtype

from command_line.completion import check_finished
from command_line.errors import InputError
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.preparation import FILE_NAME, Preparation

INDEX_MAGIC = b"MMIDIDX\x00\x00"
INDEX_HEADER = struct.Struct("<9sQBQ")  # magic, version, type of the token ids, number of sentences


def file_prefix(folder, split: str, direction: Direction, language: str) -> Path:
    """Path without `.bin`/`.idx` of one side of a direction, whichever order the pair's name has.

    Raises:
        InputError: the folder holds this pair in neither order.
    """
    candidates = _prefixes(folder, split, direction, language)
    for prefix in candidates:
        if _index(prefix).exists():
            return prefix
    first, second = map(_index, candidates)
    raise InputError(f"{first}: no such file, nor {second.name}; was this pair binarized?")


def _prefixes(folder, split: str, direction: Direction, language: str) -> list[Path]:
    return [Path(folder) / f"{split}.{a}-{b}.{language}" for a, b in (direction, direction[::-1])]


def _index(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.idx")


def with_data(folder, split: str, directions: Iterable[Direction]) -> list[Direction]:
    """Those directions that the folder has both sides of.

    Raises:
        InputError: one that `preparation.json` lists for this set is not there; names the missing file.
    """
    listed = _listed_pairs(Path(folder), split)
    found = []
    for direction in directions:
        pair = tuple(sorted(direction))
        missing = [
            language
            for language in pair
            if not any(_index(prefix).exists() for prefix in _prefixes(folder, split, pair, language))
        ]
        if not missing:
            found.append(direction)
        elif format_direction(pair) in listed:
            file = _index(_prefixes(folder, split, pair, missing[0])[0])
            raise InputError(f"{file}: no such file, but {FILE_NAME} lists this pair; binarize again")
    return found


def _listed_pairs(folder: Path, split: str) -> Iterable[str]:
    """The pairs that `binarize` recorded; none in a folder of `fairseq-preprocess`."""
    return Preparation.load(folder).pairs.get(split, ()) if (folder / FILE_NAME).exists() else ()


def _read_index(path: Path) -> tuple[int, int]:
    """Number of sentences of an index, and the bytes of token ids that it describes.

    fairseq's reader trusts the file: a damaged one ends in any kind of exception, or in wrong sentences.

    Raises:
        InputError: not an index of fairseq's mmap format, or not whole.
    """
    content = path.read_bytes()
    magic, version, code, count = (
        INDEX_HEADER.unpack_from(content) if len(content) >= INDEX_HEADER.size else (b"", 0, 0, 0)
    )
    whole = len(content) == INDEX_HEADER.size + 12 * count  # a 32-bit length and a 64-bit offset per sentence
    if (magic, version) == (INDEX_MAGIC, 1) and code in _code_to_dtype and whole:
        lengths = np.frombuffer(content, np.int32, count, INDEX_HEADER.size).astype(np.int64)
        offsets = np.frombuffer(content, np.int64, count, INDEX_HEADER.size + 4 * count)
        sizes = lengths * np.dtype(_code_to_dtype[code]).itemsize
        if np.array_equal(offsets, sizes.cumsum() - sizes) and not (lengths < 0).any():
            return count, int(sizes.sum())
    raise InputError(f"{path}: not a fairseq mmap index, or damaged; binarize again")


def load_sentences(prefix: Path) -> MMapIndexedDataset:
    """Memory-mapped token ids, one item per sentence (each ends with `</s>`).

    Raises:
        InputError: a file is missing or empty, is not in fairseq's mmap format, or is not as long as its
            index says; or a step that writes into the folder did not finish.
    """
    check_finished(prefix.parent)
    index_file, data_file = (Path(f"{prefix}{suffix}") for suffix in (".idx", ".bin"))
    for path in (index_file, data_file):
        if not path.exists():
            raise InputError(f"{path}: no such file")
    count, expected = _read_index(index_file)
    found = data_file.stat().st_size
    if found != expected:
        raise InputError(f"{data_file}: {found} bytes, but its index describes {expected}; binarize again")
    if not count or not expected:
        raise InputError(f"{index_file}: no sentences; expected at least one")
    return MMapIndexedDataset(str(prefix))


def load_pair(folder, split: str, direction: Direction) -> tuple[MMapIndexedDataset, MMapIndexedDataset]:
    """Both sides of a direction, (source sentences, target sentences).

    Raises:
        InputError: also when the sides have different numbers of sentences.
    """
    prefixes = [file_prefix(folder, split, direction, language) for language in direction]
    source, target = map(load_sentences, prefixes)
    if len(source) != len(target):
        raise InputError(
            f"{prefixes[0]}.idx: {len(source)} sentences, but {prefixes[1]}.idx has {len(target)}"
        )
    return source, target
