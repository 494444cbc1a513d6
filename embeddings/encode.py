"""Turn text into vectors: `DIR/FILE.npy` has one vector per line of FILE, `DIR/FILE.npy.json` is its record.
With --token-states, `DIR/FILE.states.npy` has the states of the tokens.

With --data, the command stores a teacher's vectors of binarized sentences for training (thesis 3.3):
`DATA/SPLIT.A-B.LANG.NAME.vectors`. With --layer-sums, it stores the sums over tokens of every layer of a
frozen encoder: `DATA/SPLIT.A-B.LANG.NAME.layers`.

An empty line has the vector that the encoder gives to no text, or zeros. Files may be larger than the memory,
because text is read in windows of lines. A killed command continues and ends with the same bytes.
"""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError, at, check_file
from command_line.journal import Journal, JournaledStep
from command_line.lines import count_lines, uncompressed_name
from command_line.option_classes import by_name, force_switch, option, positional, switch
from command_line.outputs import write_json
from command_line.provenance import command_typed, text_in_record, versions
from command_line.workers import dask_option
from data_prep.formats.texts import LANGUAGE, language_in_name
from data_prep.formats.vector_numbers import DTYPES, FLOATS, Numbers
from data_prep.formats.vectors import (
    FORMAT,
    KIND,
    create_vectors,
    identity_of_vectors,
    record_path,
    step_name,
)
from embeddings.cluster import Reading
from embeddings.encode_data import DataEncoding, DataOptions, store_vectors
from embeddings.encode_layers import LONGEST, store_layer_sums
from embeddings.encode_tokens import encode_states
from embeddings.encoders.described import warn_of_cut
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder, of_text
from embeddings.windows import Store, encode_windows, windows


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """What to encode, and how."""

    texts: list[Path] = positional(
        "text, a sentence per line; may be .gz or .xz",
        compare=False,
        nargs="*",
        type=types.path,
        metavar="FILE",
    )
    output: Path | None = option(
        "folder for FILE.npy", compare=False, type=types.output_folder, metavar="DIR"
    )
    of_data: DataOptions = field(compare=False)
    encoder: EncoderOptions
    language: str | None = option(
        "language of the text (default: the end of FILE's name)", type=LANGUAGE, metavar="LANG"
    )
    token_states: bool = switch(
        "also store the states of all tokens, for `retrieve --similarity bert-score`: FILE.states.npy",
        compare=False,
    )
    normalize: bool = switch("store vectors of length 1")
    dtype: str = option(
        "numbers on disk; float16 ends at 65504; int8 and binary (one bit) give vectors of length 1",
        "float32",
        choices=DTYPES,
    )
    dask: str | None = dask_option()
    force: bool = force_switch()

    @property
    def normalizes(self) -> bool:
        return self.normalize or self.dtype not in FLOATS

    def language_of(self, path: Path) -> str | None:
        return self.language or language_in_name(path)


def main(job: Encoding) -> None:
    if job.of_data.data is None:
        encode_texts(job)
        return
    check_data_options(job)
    encoding = DataEncoding(
        **vars(job.of_data), encoder=job.encoder, normalize=job.normalize, dtype=job.dtype, dask=job.dask
    )
    if encoding.layer_sums:
        store_layer_sums(encoding, encoding.max_tokens or LONGEST, job.force)
    else:
        store_vectors(encoding, job.force)


def check_data_options(job: Encoding) -> None:
    """Refuse what does not go with --data."""
    for name in ("texts", "output", "language", "token_states"):
        if getattr(job, name):
            typed = "FILE" if name == "texts" else f"--{name.replace('_', '-')}"
            raise InputError(f"{typed}: --data {job.of_data.data} is encoded in its place; give one of them")
    if job.dtype not in FLOATS:
        raise InputError(
            f"--dtype {job.dtype}: losses compare a teacher's vectors number by number; expected"
            f" {' or '.join(FLOATS)} with --data"
        )
    if job.of_data.max_tokens and not job.of_data.layer_sums:
        raise InputError("--max-tokens: belongs to --layer-sums, which is not given")


def check_text_options(job: Encoding) -> None:
    """Refuse what does not go with texts."""
    if not job.texts or job.output is None:
        raise InputError("expected FILE... and --output, or --data")
    for name, value in vars(job.of_data).items():
        if value:
            raise InputError(f"--{name.replace('_', '-')}: belongs to --data, which is not given")
    if job.token_states and job.dtype not in FLOATS:
        raise InputError(
            f"--token-states: --dtype {job.dtype} is for vectors; expected {' or '.join(FLOATS)}"
        )


def encode_texts(job: Encoding) -> None:
    """The vectors of every text, and the states of its tokens, unless they are there."""
    check_text_options(job)
    load = cache(job.encoder.load)  # not before there is something to encode
    for path, output in zip(job.texts, outputs_of(job.texts, job.output), strict=True):
        check_file(path, "text, one sentence per line")
        inputs = [path, *job.encoder.files(job.output)]
        stamp = Stamp(output.with_name(f".{output.name}.done"), step_name(output), by_name(job), inputs)
        step = JournaledStep(stamp, job.force, output.with_name(f".{output.name}.journal.jsonl"))
        step.do(lambda path=path, output=output: prepared(job, load(), path, output))
        if job.token_states:
            encode_states(job, load, path, output)
        print(output)


def outputs_of(texts: list[Path], folder: Path) -> list[Path]:
    """The files of vectors, one per text.

    Raises:
        InputError: two texts of one name.
    """
    names = [f"{uncompressed_name(path)}.npy" for path in texts]
    for name in names:
        if names.count(name) > 1:
            first, second, *_ = (path for path in texts if f"{uncompressed_name(path)}.npy" == name)
            raise InputError(
                f"{second}: its vectors would be named as those of {first}; choose another --output"
            )
    return [folder / name for name in names]


def prepared(
    job: Encoding, encoder: SentenceEncoder, path: Path, output: Path
) -> Callable[[Journal], list[Path]]:
    """The encoding of one text, whose language the encoder knows.

    Raises:
        InputError: the text is empty, or not of a language of the encoder; the work's, the text is not UTF-8
            or damaged, or a line has a vector that is NaN, infinite, or beyond float16 (names the line).
    """
    lines = count_lines(path)
    if not lines:
        raise InputError(f"{path}: is empty, expected lines of text")
    with of_text(path, "--language"):
        encoder.encode([], job.language_of(path))
    return partial(encode_file, job, encoder, path, output, lines)


def encode_file(
    job: Encoding, encoder: SentenceEncoder, path: Path, output: Path, lines: int, journal: Journal
) -> list[Path]:
    """Encode one text, or the rest of it, of which the journal of a run that was killed has the beginning."""
    unfinished = output.with_name(f".{output.name}.unfinished.npy")
    if job.force:
        unfinished.unlink(missing_ok=True)
    numbers, language = Numbers(job.dtype, encoder.width), job.language_of(path)
    reading = Reading(EncoderOptions.load, (job.encoder.absolute(),), "encode", (language,))
    vectors = create_vectors(unfinished, lines, numbers)
    store = Store(vectors, numbers, job.normalizes, lambda row: at(path, row + 1))
    encode_all = reading.all_by(encoder, job.dask)
    done = encode_windows(windows(path), encode_all, store, journal, f"encode {path.name}")
    vectors.flush()
    record = _describe(job, encoder, path, output, vectors, done)
    record |= identity_of_vectors(unfinished)
    os.replace(unfinished, output)
    write_json(record_path(output), record)
    warn_of_cut(record["cut"], encoder.name, f"{path}: ")
    return [output, record_path(output)]


def _describe(
    job: Encoding, encoder: SentenceEncoder, path: Path, output: Path, vectors, done: list[dict]
) -> dict:
    """The record beside the vectors, but for their checksum."""
    seconds = sum(entry["seconds"] for entry in done)
    return {
        "format": FORMAT,
        "kind": KIND,
        "encoder": encoder.record(),
        "size": asdict(encoder.size),
        "language": job.language_of(path),
        "text": text_in_record(path, output.parent, len(vectors)),
        "width": encoder.width,
        "dtype": job.dtype,
        "normalized": job.normalizes,
        "cut": sum(entry["cut"] for entry in done),
        "seconds": round(seconds, 2),
        "lines_per_second": round(len(vectors) / max(seconds, 1e-9), 1),
        "command": command_typed("embeddings"),
        "versions": versions("torch", "numpy"),
    }
