"""A teacher's vectors of binarized sentences: `DATA/SPLIT.A-B.LANG.NAME.vectors`, beside the sentences.

One file per side of a bitext and teacher, whose NAME the user chooses. Little-endian:

    bytes             content
    8                 "SENTVECS"
    4 x 2             version, bytes of the description d
    d                 JSON, and spaces up to a multiple of 64 bytes from the beginning of the file
    2 or 4 x n x C    float16 or float32: the vector of every sentence, in their order

The description says which encoder made the vectors of which sentences. A file appears under its name when
it is complete.
"""

import hashlib
import json
import struct
from collections.abc import Container
from pathlib import Path
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from command_line.completion import file_identity
from command_line.errors import InputError
from command_line.outputs import reserve
from command_line.records import check, parse_json
from data_prep.formats.binary_header import read_header
from data_prep.formats.sentences import data_path
from data_prep.formats.vector_numbers import FLOATS
from data_prep.formats.vectors import RecordOfEncoder

SUFFIX, LAYERS_SUFFIX = ".vectors", ".layers"  # the second: `data_prep.formats.layer_sums`
MAGIC = b"SENTVECS"
VERSION = 1
STEP = "python -m embeddings encode --data"
# Of an encoder's record what its vectors do not depend on, but for rounding: where it lies, and libraries.
CIRCUMSTANCES = ("model", "stored", "versions")
_HEADER = struct.Struct("<8sII")
_BLOCK = 64  # bytes, by which the vectors are aligned
_LONGEST = 1 << 20  # bytes of a description


class Sentences(TypedDict):
    """The binarized sentences."""

    file: str
    bytes: int


class Given(TypedDict):
    """What the encoder was given."""

    kind: Literal["tokens", "text"]


class Description(TypedDict):
    """What a file says of its vectors."""

    encoder: RecordOfEncoder
    text: Sentences
    read: Given
    lines: int
    width: int
    dtype: Literal[*FLOATS]
    normalized: bool


def vectors_path(prefix: Path, name: str) -> Path:
    """The file of a teacher's vectors of the binarized sentences `prefix` (`DATA/SPLIT.A-B.LANG`)."""
    return prefix.with_name(f"{prefix.name}.{name}{SUFFIX}")


def is_stored_file(path: Path) -> bool:
    """Whether a file is named as vectors of teachers are, or sums of layers."""
    return path.suffix in (SUFFIX, LAYERS_SUFFIX)


def is_stored_of(path: Path, vectors: Container, layers: Container) -> bool:
    """Whether its name is one of these: of vectors, or of sums of layers."""
    return is_stored_file(path) and _name_in(path) in {SUFFIX: vectors, LAYERS_SUFFIX: layers}[path.suffix]


def _name_in(path: Path) -> str | None:
    """NAME of SPLIT.A-B.LANG.NAME, and of SPLIT.LANG.NAME, which is of monolingual text."""
    parts = path.name.removesuffix(path.suffix).split(".")
    return parts[-1] if len(parts) in (3, 4) else None


def teachers(data) -> list[str]:
    """Whose vectors a binarized folder holds, sorted."""
    return sorted({name for path in Path(data).glob(f"[!.]*{SUFFIX}") if (name := _name_in(path))})


def sentences_identity(prefix: Path) -> dict:
    """What tells the binarized sentences from others of the same name."""
    path = data_path(prefix)
    return {"file": path.name, **file_identity(path)}


def encoder_identity(encoder: dict) -> dict:
    """What an encoder's vectors depend on, of its record: not where it lies, nor names of its files."""
    identity = {field: value for field, value in encoder.items() if field not in CIRCUMSTANCES}
    return identity | {"weights": checksums(identity["weights"])} if identity.get("weights") else identity


def checksums(weights: dict[str, str] | list[str]) -> list[str]:
    """Those of the files of an encoder, sorted."""
    return sorted(weights.values() if isinstance(weights, dict) else weights)


def encoder_title(encoder: dict) -> str:
    """The encoder in error messages: two of one name differ in the digits behind it."""
    content = json.dumps(encoder_identity(encoder), sort_keys=True)
    return f"{encoder['name']} ({hashlib.sha256(content.encode()).hexdigest()[:8]})"


class TeacherVectors:
    """The vectors of all sentences of a file, memory-mapped.

    `len()` is the number of sentences; `[i]` is the vector of sentence `i`, C numbers, float32.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.description, begin = _read_description(self.path)
        self.width = self.description["width"]
        shape = self.description["lines"], self.width
        self._rows = np.memmap(self.path, self.description["dtype"], "r", begin, shape)

    def __reduce__(self):  # a worker process maps the file anew instead of receiving its content
        return type(self), (self.path,)

    def __len__(self) -> int:
        return self.description["lines"]

    def __getitem__(self, line: int) -> np.ndarray:
        return self._rows[line].astype(np.float32)

    def check(self, prefix: Path) -> None:
        """Compare with the sentences.

        Raises:
            InputError: the vectors are of other sentences than `prefix`; names both.
        """
        made_of, there = self.description["text"], sentences_identity(prefix)
        if made_of != there:
            what = ", ".join(f"{name} {made_of.get(name)}, here {there[name]}" for name in there
                             if made_of.get(name) != there[name])  # fmt: skip
            raise InputError(
                f"{self.path}: vectors of another text than {data_path(prefix)}: {what}; run `{STEP}` again"
            )


def create_teacher_vectors(path: Path, description: dict) -> np.ndarray:
    """A file of vectors to be written through its memory map, n x C; one of the same vectors is continued.

    Raises:
        OSError: the disk has no room for all of them.
    """
    if not is_of(path, description):
        content = json.dumps(description, sort_keys=True).encode()
        length = -(-(_HEADER.size + len(content)) // _BLOCK) * _BLOCK - _HEADER.size
        header = _HEADER.pack(MAGIC, VERSION, length) + content.ljust(length)
        numbers = description["lines"] * description["width"]
        path.write_bytes(header)
        reserve(path, len(header) + numbers * np.dtype(description["dtype"]).itemsize)
    description, begin = _read_description(path)
    return np.memmap(path, description["dtype"], "r+", begin, (description["lines"], description["width"]))


def identity_of(description: dict) -> dict:
    """What tells vectors from others: two files that have it in common have the same vectors."""
    return description | {"encoder": encoder_identity(description["encoder"])}


def encoder_of(path: Path) -> dict | None:
    """The record of the encoder whose vectors are in a file; None if it is no whole file of vectors."""
    try:
        return _read_description(path)[0]["encoder"]
    except InputError:
        return None


def is_of(path: Path, description: dict) -> bool:
    """Whether a file of these vectors has its whole length."""
    try:
        return identity_of(_read_description(path)[0]) == identity_of(description)
    except InputError:
        return False


def _read_description(path: Path) -> tuple[dict, int]:
    """The description, and the byte at which the vectors begin."""
    (version, length), size = read_header(path, _HEADER, MAGIC, STEP)
    if version != VERSION or length > _LONGEST:
        raise InputError(f"{path}: version {version}, expected {VERSION}; run `{STEP}` again")
    with open(path, "rb") as stream:
        stream.seek(_HEADER.size)
        content = stream.read(length)
    description = parse_json(content, path)
    check(description, Description, path)
    begin, number = _HEADER.size + length, np.dtype(description["dtype"]).itemsize
    expected = begin + description["lines"] * description["width"] * number
    if min(description["lines"], description["width"]) < 1 or size != expected:
        raise InputError(f"{path}: {size} bytes, expected {expected}: not whole; run `{STEP}` again")
    return description, begin


def check_teacher(data, name: str, option: str) -> None:
    """Refuse a teacher of which a binarized folder has no vectors."""
    names = teachers(data)
    if name not in names:
        has = f"vectors of {', '.join(names)}" if names else "no vectors of a teacher"
        raise InputError(f"{option} {name}: {data} has {has}; `{STEP} {data} --name {name}` writes them")
