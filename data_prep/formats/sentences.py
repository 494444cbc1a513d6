"""Binarized sentences in fairseq's mmap format: token ids in `NAME.bin`, where each begins in `NAME.idx`.

`NAME` is the file of text, `SPLIT.A-B.LANG`; a prefix is its path without `.bin` and `.idx`. The index,
little-endian:

    bytes             content
    9                 "MMIDIDX", two zeros
    8                 version (1)
    1                 type of the token ids (`TOKEN_TYPES`)
    8                 number of sentences n
    4 x n             tokens of every sentence, `</s>` included
    8 x n             byte of `NAME.bin` at which every sentence begins
"""

import contextlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.lines import count_lines
from command_line.outputs import atomic_path
from data_prep.formats.dictionary import dictionary_path
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.subword_models import SPECIAL_SYMBOLS

DATA, INDEX = ".bin", ".idx"
MAGIC = b"MMIDIDX\0\0"
VERSION = 1
TOKEN_TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2", 9: "<u4", 10: "<u8"}  # fairseq's
END = SPECIAL_SYMBOLS.index("</s>")  # its token id
TOKENS_AT_ONCE = 1 << 22
_CODE_16_BITS, _CODE_32_BITS = 8, 9
_SYMBOLS_OF_16_BITS = 65_500  # fairseq's limit
_LENGTHS_AT_A_TIME = 1 << 20
_HEADER = struct.Struct("<9sQBQ")


def index_path(prefix: Path) -> Path:
    return prefix.with_name(prefix.name + INDEX)


def data_path(prefix: Path) -> Path:
    return prefix.with_name(prefix.name + DATA)


def is_sentence_file(path: Path) -> bool:
    return path.suffix in (DATA, INDEX)


def prefixes(folder, split: str, language: str) -> list[Path]:
    """The binarized files of a language, `SPLIT.….LANG`, of whatever pairs, in the order of their names."""
    candidates = [path.with_suffix("") for path in Path(folder).glob(f"{split}.*{INDEX}")]
    return sorted(prefix for prefix in candidates if prefix.suffix == f".{language}")


def bitext_prefixes(folder, split: str) -> list[Path]:
    """Both sides of every pair of a set, in the order of their names."""
    return _all_prefixes(folder, f"{split}.*-*.*", f"{split}.A-B.LANG")


def text_prefixes(folder, split: str) -> list[Path]:
    """All texts of a set, sides of pairs and monolingual ones, in the order of their names."""
    return _all_prefixes(folder, f"{split}.*", f"{split}.*.LANG")


def _all_prefixes(folder, pattern: str, expected: str) -> list[Path]:
    prefixes = sorted(path.with_suffix("") for path in Path(folder).glob(f"{pattern}{INDEX}"))
    if not prefixes:
        raise InputError(
            f"{folder}: no {expected}{INDEX}; expected the output of `python -m data_prep binarize`"
        )
    return prefixes


def binarized_pairs(folder) -> set[str]:
    """The pairs of a folder as its files name them, `SPLIT.A-B.LANG`."""
    return {path.name.split(".")[1] for path in Path(folder).glob(f"[!.]*.*-*.*{INDEX}")}


def file_prefix(folder, split: str, direction: Direction, language: str) -> Path:
    """Path without `.bin`/`.idx` of one side of a direction, whichever order the pair's name has."""
    candidates = _prefixes(folder, split, direction, language)
    for prefix in candidates:
        if index_path(prefix).exists():
            return prefix
    first, second = map(index_path, candidates)
    raise InputError(f"{first}: no such file, nor {second.name}; was this pair binarized?")


def _prefixes(folder, split: str, direction: Direction, language: str) -> list[Path]:
    return [Path(folder) / f"{split}.{a}-{b}.{language}" for a, b in (direction, direction[::-1])]


def with_data(folder, split: str, directions: Iterable[Direction]) -> list[Direction]:
    """Those directions that the folder has both sides of.

    Raises:
        InputError: one that `preparation.json` lists for this set is not there; names the missing file.
    """
    folder, listed = Path(folder), ()
    if (folder / FILE_NAME).exists():  # else it is one of `fairseq-preprocess`
        listed = Preparation.load(folder).pairs.get(split, ())
    directions_with_data = []
    for direction in directions:
        pair = tuple(sorted(direction))
        missing = [
            language
            for language in pair
            if not any(index_path(prefix).exists() for prefix in _prefixes(folder, split, pair, language))
        ]
        if not missing:
            directions_with_data.append(direction)
        elif format_direction(pair) in listed:
            file = index_path(_prefixes(folder, split, pair, missing[0])[0])
            raise InputError(f"{file}: no such file, but {FILE_NAME} lists this pair; binarize again")
    return directions_with_data


def sentence_lengths(prefix: Path) -> np.ndarray:
    """Subwords of every sentence, without `</s>`, from the index alone."""
    lengths, _ = _read_index(index_path(prefix))
    return lengths - 1


def _read_index(path: Path) -> tuple[np.ndarray, np.dtype]:
    """Tokens of every sentence, and the type of the token ids.

    fairseq's reader trusts the file: a damaged one ends in any kind of exception, or in wrong sentences.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `python -m data_prep binarize` writes it") from None
    magic, version, code, count = (
        _HEADER.unpack_from(content) if len(content) >= _HEADER.size else (b"", 0, 0, 0)
    )
    whole = len(content) == _HEADER.size + 12 * count  # a 32-bit length and a 64-bit offset per sentence
    if (magic, version) == (MAGIC, VERSION) and code in TOKEN_TYPES and whole:
        lengths = np.frombuffer(content, np.int32, count, _HEADER.size).astype(np.int64)
        offsets = np.frombuffer(content, np.int64, count, _HEADER.size + 4 * count)
        kind = np.dtype(TOKEN_TYPES[code])
        sizes = lengths * kind.itemsize
        if np.array_equal(offsets, sizes.cumsum() - sizes) and not (lengths < 0).any():
            return lengths, kind
    raise InputError(f"{path}: not a fairseq mmap index, or damaged; binarize again")


def load_sentences(prefix: Path):
    """fairseq's memory-mapped dataset of token ids, one item per sentence (each ends with `</s>`).

    Raises:
        InputError: a file is missing or empty, is not in fairseq's mmap format, or is not as long as its
            index says; a sentence does not end with `</s>`, or has a token that is not in the dictionary
            beside it; or a step that writes into the folder did not finish.
    """
    from fairseq.data.indexed_dataset import MMapIndexedDataset

    check_finished(prefix.parent)
    index, data = index_path(prefix), data_path(prefix)
    lengths, kind = _read_index(index)
    expected = int(lengths.sum()) * kind.itemsize
    if not data.exists():
        raise InputError(f"{data}: no such file")
    if (size := data.stat().st_size) != expected:
        raise InputError(f"{data}: {size} bytes, but its index describes {expected}; binarize again")
    if not expected:
        raise InputError(f"{index}: no sentences; expected at least one")
    _check_tokens(prefix, lengths, np.memmap(data, kind, "r"))
    return MMapIndexedDataset(str(prefix))


def _check_tokens(prefix: Path, lengths: np.ndarray, tokens: np.ndarray) -> None:
    """Compare token ids with the dictionary: of others a model would take the rows of its tags, or none."""
    ends = lengths.cumsum()
    if (endless := np.flatnonzero((lengths == 0) | (tokens[ends - 1] != END))).size:
        raise InputError(
            f"{data_path(prefix)}: sentence {endless[0] + 1} does not end with </s>; binarize again"
        )
    dictionary = dictionary_path(prefix.parent, prefix.suffix[1:])
    symbols = count_lines(dictionary) + len(SPECIAL_SYMBOLS)
    for start in range(0, len(tokens), TOKENS_AT_ONCE):
        block = tokens[start : start + TOKENS_AT_ONCE]
        if block.max() < symbols and block.min() >= 0:
            continue
        place = np.flatnonzero((block >= symbols) | (block < 0))[0]
        sentence = np.searchsorted(ends, start + place, side="right") + 1
        raise InputError(
            f"{data_path(prefix)}: sentence {sentence} has the token {block[place]}, expected numbers below"
            f" {symbols}, the symbols of {dictionary.name}; binarize again with that dictionary"
        )


def load_pair(
    folder, split: str, direction: Direction, opened: Callable[[Path], Sequence] | None = None
) -> tuple:
    """Both sides of a direction, (source sentences, target sentences).

    Args:
        opened: the sentences of a prefix (default: `load_sentences`).

    Raises:
        InputError: also when the sides have different numbers of sentences.
    """
    sides = [file_prefix(folder, split, direction, language) for language in direction]
    source, target = map(opened or load_sentences, sides)
    if len(source) != len(target):
        first, second = map(index_path, sides)
        raise InputError(f"{first}: {len(source)} sentences, but {second} has {len(target)}")
    return source, target


class SentenceWriter:
    """Writes binarized sentences block by block; memory does not depend on their number.

    Args:
        data: stream of `NAME.bin`.
        index: stream of `NAME.idx`, which is read, too.
        symbols: entries of the dictionary.

    Attributes:
        count: sentences that have been written.
    """

    def __init__(self, data, index, symbols: int):
        self._data, self._index = data, index
        self._code = _CODE_16_BITS if symbols < _SYMBOLS_OF_16_BITS else _CODE_32_BITS  # as fairseq takes it
        self.count = 0
        self._write_header()

    def write(self, tokens: np.ndarray, lengths: np.ndarray) -> None:
        """Append sentences.

        Args:
            tokens: ids of all sentences, one after the other.
            lengths: tokens of every sentence.
        """
        self._data.write(tokens.astype(TOKEN_TYPES[self._code]).tobytes())
        self._index.write(lengths.astype("<i4").tobytes())
        self.count += len(lengths)

    def finish(self) -> None:
        """Complete the index: the number of sentences, and where each begins."""
        width = np.dtype(TOKEN_TYPES[self._code]).itemsize
        start = 0
        for first in range(0, self.count, _LENGTHS_AT_A_TIME):
            self._index.seek(_HEADER.size + 4 * first)
            some = min(_LENGTHS_AT_A_TIME, self.count - first)
            lengths = np.frombuffer(self._index.read(4 * some), dtype="<i4")
            self._index.seek(_HEADER.size + 4 * self.count + 8 * first)
            self._index.write(addresses(lengths, width, start).tobytes())
            start += int(lengths.sum(dtype="<i8")) * width
        self._index.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        self._index.write(_HEADER.pack(MAGIC, VERSION, self._code, self.count))


@contextlib.contextmanager
def written_sentences(prefix: Path, symbols: int) -> Iterator[SentenceWriter]:
    """A writer whose two files appear under their names when the `with` block has ended well."""
    with (
        atomic_path(data_path(prefix)) as data,
        atomic_path(index_path(prefix)) as index,
        open(data, "wb") as data_stream,
        open(index, "w+b") as index_stream,
    ):
        writer = SentenceWriter(data_stream, index_stream, symbols)
        yield writer
        writer.finish()


def addresses(lengths: np.ndarray, width: int, start: int = 0) -> np.ndarray:
    """The byte at which every sentence begins, 64 bits.

    Args:
        lengths: tokens of the sentences.
        width: bytes of a token.
        start: where the first one begins.
    """
    ends = np.cumsum(lengths, dtype="<i8")
    return start + (ends - lengths) * width
