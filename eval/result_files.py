"""The result files that commands hand to each other, read with one-line errors.

`translate` writes `OUT/translate.json`, `score` adds `OUT/scores.json`, `compare` writes a comparison. Every
file says `"format": 1` and, from `score` on, its `"kind"`, so that the report can be given any mixture of
files.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from command_line.errors import InputError
from command_line.names_in_records import plain_name
from command_line.outputs import checksum
from command_line.records import check, field, read_json
from command_line.result_file import FORMAT
from eval.record_schemas import SCHEMAS, Input, Rows

WEIGHTS = "*.safetensors"


def read_result(path) -> dict:
    """Read one result file.

    Raises:
        InputError: the file is missing, not UTF-8 JSON, of another format version, or not as its
            kind demands.
    """
    record = read_json(path)
    check(record, dict, path)
    check(record.get("format"), Literal[FORMAT], path, "format")
    if "kind" in record and (field(record, "kind", str, path) in SCHEMAS or "runs" in record):
        check(record, SCHEMAS.get(record["kind"], Rows), path)
        check(record.get("inputs", []), list[Input], path, "inputs")
    return record


def split_direction(direction: str, path="direction") -> tuple[str, str]:
    """`"de-fr"` -> `("de", "fr")`: from de to fr."""
    source, dash, target = direction.partition("-")
    if not (source and dash and target) or "-" in target or source == target:
        raise InputError(f"{path}: {direction!r} is not a direction such as 'de-fr' or 'eng_Latn-zh_Hans'")
    plain_name(direction, f"{path}: direction")
    return source, target


def checkpoint_now(record) -> Path | None:
    """What the field "checkpoint" of a result, or of one of its runs, names, if it is there now: a file, or
    the folder of a language model or adapter.
    """
    checkpoint = record.get("checkpoint") if isinstance(record, dict) else None
    path = checkpoint.get("path") if isinstance(checkpoint, dict) else None
    return Path(path) if path and isinstance(path, str) and weight_files(Path(path)) else None


def weight_files(checkpoint: Path) -> list[Path]:
    """The files of a checkpoint: itself; or, of a folder, the shards of the weights. Empty without any."""
    return [checkpoint] if checkpoint.is_file() else sorted(checkpoint.glob(WEIGHTS))


def checkpoint_checksum(checkpoint: Path) -> str:
    """SHA-256 of its file; of the shards of a large model, that of all their checksums, one per line."""
    sums = [checksum(path) for path in weight_files(checkpoint)]
    if len(sums) == 1:
        return sums[0]
    return hashlib.sha256("".join(f"{sha256}\n" for sha256 in sums).encode()).hexdigest()


def is_overwritten(checkpoint: Path, result: Path, sha256: str | None) -> bool:
    """Whether a checkpoint, or another file, is another one now than that of this checksum, which a result is
    of. The checksum is computed only of one that is newer than the result; copies may have other times.
    """
    changed = max(path.stat().st_mtime_ns for path in weight_files(checkpoint))
    return changed > result.stat().st_mtime_ns and checkpoint_checksum(checkpoint) != sha256


def result_files(path, kinds: Iterable[str]) -> list[Path]:
    """A result file, given itself, or those of a folder: `KIND.json`, as commands write them.

    Raises:
        InputError: the folder has none.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    names = [f"{kind}.json" for kind in kinds]
    files = [path / name for name in names if (path / name).is_file()]
    if not files:
        raise InputError(f"{path}: no result file in it, expected one of: {', '.join(names)}")
    return files


def result_file(path, name: str) -> Path:
    """A result file, given itself (`.json`) or the folder that holds it under `name`."""
    path = Path(path)
    return path if path.suffix == ".json" and not path.is_dir() else path / name
