"""Vectors that another program has made of a text: copies them, with the record that all commands look for.

TEXT=FILE.npy has a vector per line of TEXT, lines x C of float32 or float16. TEXT=FILE.emb has them as
LASER writes them: float32 alone. DIR is then as one of `embeddings encode`, and can be --model of every
command, also for millions of sentences, by memory map.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError, check_file
from command_line.lines import count_lines
from command_line.option_classes import by_name, force_switch, option, output_folder, positional
from command_line.outputs import checksum, write_json
from command_line.progress import progress
from command_line.provenance import command_typed, text_in_record, versions
from command_line.step import Step
from data_prep.formats.texts import LANGUAGE, language_in_name
from data_prep.formats.vectors import (
    FORMAT,
    KIND,
    VectorsFile,
    create_vectors,
    identity_of_vectors,
    record_path,
    step_name,
)
from embeddings.encode import outputs_of

ROWS = 10_000  # at a time
ANOTHER_PROGRAM = "another program"  # kind of encoder


@dataclass(frozen=True, kw_only=True)
class Import:
    """What is imported."""

    vectors: list[tuple[str, Path]] = positional(
        "a text, a sentence per line, and its vectors",
        nargs="+",
        type=types.assignment("test.de=german.npy", types.path),
        metavar="TEXT=FILE.npy",
    )
    encoder_name: str = option("of the encoder that made them, in tables", required=True)
    language: str | None = option(
        "of the texts (default: what their names end with)", type=LANGUAGE, metavar="LANG"
    )
    output: Path = output_folder("TEXT.npy")
    force: bool = force_switch()


def main(job: Import) -> None:
    texts = [Path(text) for text, _ in job.vectors]
    for text, output, (_, source) in zip(texts, outputs_of(texts, job.output), job.vectors, strict=True):
        check_file(text, "text, one sentence per line")
        check_file(source, "an array of numpy, lines x C")
        if source.resolve() == output.resolve():
            raise InputError(f"{source}: --output {job.output} would replace it; choose another folder")
        settings = {name: value for name, value in by_name(job).items() if name != "vectors"}
        stamp = Stamp(output.with_name(f".{output.name}.done"), step_name(output), settings, [text, source])
        Step(stamp, job.force).do(partial(prepared, job, text, source, output))
        print(output)


def prepared(job: Import, text: Path, source: Path, output: Path) -> Callable[[], list[Path]]:
    """The copying of the vectors of one text, which have been opened.

    Raises:
        InputError: they are not one per line, no table of float16 or float32, or have a record already; the
            work's, they are NaN or infinite (names the vector).
    """
    lines = count_lines(text)
    if not lines:
        raise InputError(f"{text}: is empty, expected lines of text")
    if record_path(source).is_file():
        raise InputError(f"{source}: has a record already; give its folder, {source.parent}, as --model")
    is_raw = source.suffix == ".emb"
    vectors = VectorsFile.raw(source, lines) if is_raw else VectorsFile.open(source, lines=lines)
    return lambda: import_file(vectors, output, _describe(job, text, output, vectors))


def import_file(vectors: VectorsFile, output: Path, record: dict) -> list[Path]:
    """Copy vectors, and write their record; returns the files."""
    unfinished = output.with_name(f".{output.name}.unfinished.npy")
    copy = create_vectors(unfinished, len(vectors), vectors.numbers)
    title = f"import {vectors.path.name}, {vectors.width} numbers"
    blocks = progress(vectors.blocks(ROWS), len(vectors), title, "line", size=lambda block: len(block[1]))
    try:
        for start, block in blocks:
            copy[start : start + len(block)] = block
    except InputError:
        unfinished.unlink()
        raise
    copy.flush()
    record |= identity_of_vectors(unfinished)
    os.replace(unfinished, output)
    write_json(record_path(output), record)
    return [output, record_path(output)]


def _describe(job: Import, text: Path, output: Path, vectors: VectorsFile) -> dict:
    """The record beside the vectors, but for their checksum."""
    name, width = job.encoder_name, vectors.width
    return {
        "format": FORMAT,
        "kind": KIND,
        "encoder": {"name": name, "kind": ANOTHER_PROGRAM, "model": name, "made_by": name, "width": width},
        "language": job.language or language_in_name(text),
        "text": text_in_record(text, output.parent, len(vectors)),
        "width": width,
        "dtype": vectors.numbers.dtype,
        "normalized": False,
        "cut": None,
        "imported": {"path": str(vectors.path), "sha256": checksum(vectors.path)},
        "command": command_typed("embeddings"),
        "versions": versions("numpy"),
    }
