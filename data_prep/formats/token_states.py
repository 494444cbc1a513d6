"""States of the tokens of a text on disk, beside the vectors of its lines (`data_prep.formats.vectors`).

    NAME.states.npy     tokens x C, float16 or float32: all tokens of all lines, in their order
    NAME.tokens.npy     tokens x 2, int32: the line that a token is of, from 0; 1 where it is no word (`</s>`)
    NAME.states.json    the record: which encoder made them of which text

A line may have no token. The record is written last.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.outputs import atomic_path, write_json
from command_line.records import read_record
from data_prep.formats.vector_numbers import FLOATS
from data_prep.formats.vectors import ENDING, RecordOfEncoder, RecordOfText, first_not_finite, load_array

FORMAT = 2
KIND = "token-states"
HINT = "expected states of `python -m embeddings encode --token-states`"


class StatesRecord(TypedDict):
    """What is said of states beside them."""

    format: Literal[FORMAT]
    kind: Literal[KIND]
    encoder: RecordOfEncoder
    text: RecordOfText
    tokens: int
    width: int
    dtype: Literal[*FLOATS]


def paths_of(vectors: Path) -> tuple[Path, Path, Path]:
    """States, tokens and record beside the vectors `NAME.npy`."""
    name = vectors.name.removesuffix(ENDING)
    return tuple(vectors.with_name(f"{name}.{what}") for what in ("states.npy", "tokens.npy", "states.json"))


def step_name(vectors: Path) -> str:
    """The step whose mark says that the states beside these vectors are being written."""
    return f"encode {paths_of(vectors)[0].name}"


@dataclass(frozen=True)
class TokenStatesFile:
    """The states of a text's tokens.

    Attributes:
        states: tokens x C, memory-mapped.
        special: tokens, true where it is no word.
        begins: of line i the tokens `begins[i]` to `begins[i + 1]`.
    """

    path: Path
    states: np.ndarray
    special: np.ndarray
    begins: np.ndarray
    record: dict

    @classmethod
    def open(cls, vectors: Path) -> "TokenStatesFile":
        """The states beside the vectors `NAME.npy`."""
        path, tokens_path, record_path = paths_of(Path(vectors))
        check_finished(path.parent, step_name(Path(vectors)))
        if not record_path.is_file():
            raise InputError(f"{record_path}: no such file; {HINT}")
        record = read_record(record_path, StatesRecord)
        states, tokens = load_array(path, HINT), load_array(tokens_path, HINT)
        count, width, lines = record["tokens"], record["width"], record["text"]["lines"]
        if (states.shape, str(states.dtype)) != ((count, width), record["dtype"]):
            raise InputError(
                f"{path}: an array of shape {states.shape} of {states.dtype}, its record says"
                f" {(count, width)} of {record['dtype']}; {HINT}"
            )
        of = np.asarray(tokens[:, 0]) if tokens.shape == (count, 2) and tokens.dtype.kind == "i" else None
        if of is None or (count and not (of[0] >= 0 and of[-1] < lines and (np.diff(of) >= 0).all())):
            raise InputError(
                f"{tokens_path}: does not say of which of {lines} lines {count} tokens are; {HINT}"
            )
        begins = np.searchsorted(of, np.arange(lines + 1))
        return cls(path, states, np.asarray(tokens[:, 1]) != 0, begins, record)

    def __len__(self) -> int:
        """Lines."""
        return len(self.begins) - 1

    def line(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """States of a line, T x C, float32, and which tokens are no words, T."""
        tokens = slice(self.begins[row], self.begins[row + 1])
        states = np.array(self.states[tokens], dtype=np.float32)
        if first_not_finite(states) is not None:
            raise InputError(f"{self.path}: line {row + 1} has states that are NaN or infinite")
        return states, self.special[tokens]


def write_token_states(
    vectors: Path, windows: Iterable[tuple[int, list[np.ndarray], list[np.ndarray]]], dtype: str, record: dict
) -> list[Path]:
    """Write the states beside the vectors `NAME.npy`, window by window; returns the files.

    Args:
        windows: at least one: number of the first line; states (T x C) and special tokens (T) of every line.
        record: what the record says besides the sizes.

    Raises:
        InputError: a state is beyond float16; names the line.
    """
    path, tokens_path, record_path = paths_of(vectors)
    record_path.unlink(missing_ok=True)
    windows = iter(windows)
    first = next(windows)
    width = next((len(states[0]) for states in first[1] if len(states)), first[1][0].shape[1])
    tokens = []
    with atomic_path(path) as unfinished, open(unfinished, "wb") as stream:
        _write_header(stream, (0, width), dtype)
        begin = stream.tell()
        for start, states, special in chain([first], windows):
            for row, (of_line, no_word) in enumerate(zip(states, special, strict=True), start=start):
                with np.errstate(over="ignore"):  # looked at below
                    stored = np.ascontiguousarray(of_line.astype(dtype))
                if first_not_finite(stored) is not None:
                    raise InputError(f"line {row + 1}: a state is beyond {dtype}; give --dtype float32")
                stream.write(stored)
                tokens.append(np.stack([np.full(len(stored), row), no_word], axis=1).astype(np.int32))
        count = sum(map(len, tokens))
        stream.seek(0)
        _write_header(stream, (count, width), dtype)
        if stream.tell() != begin:
            raise RuntimeError("the header of an array of numpy has grown")  # it leaves room for that
    with atomic_path(tokens_path) as unfinished, open(unfinished, "wb") as stream:
        np.save(stream, np.concatenate(tokens))
    sizes = {"tokens": count, "width": width, "dtype": dtype}
    write_json(record_path, {"format": FORMAT, "kind": KIND, **record, **sizes})
    return [path, tokens_path, record_path]


def _write_header(stream, shape: tuple[int, int], dtype: str) -> None:
    description = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": shape,
    }
    np.lib.format.write_array_header_1_0(stream, description)
