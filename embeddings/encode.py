"""Text to vectors: `DIR/FILE.npy` has one vector per line of FILE, `DIR/FILE.npy.json` is its record. With
--token-states, `DIR/FILE.states.npy` has the states of its tokens.

Or, with --data, a teacher's vectors of binarized sentences, for training (thesis 3.3):
`DATA/SPLIT.A-B.LANG.NAME.vectors`. With --layer-sums, the sums over tokens of every layer of an encoder that
stays frozen: `DATA/SPLIT.A-B.LANG.NAME.layers`.

Empty lines have vectors too: what the encoder makes of nothing, or zeros where it has no token to read. Text
is read in windows of lines, so that files may be larger than the memory; within a window, equal lines are
encoded once, and lines of one length together. A command that was killed continues at the window where it
was, and ends with the same bytes.
"""

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError, at, check_file
from command_line.journal import Journal
from command_line.lines import count_lines, uncompressed_name
from command_line.option_classes import by_name, from_arguments
from command_line.outputs import write_json
from command_line.provenance import command_typed, text_in_record, versions
from command_line.workers import add_dask_argument, make_workers
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
from embeddings import encode_data
from embeddings.encode_layers import LONGEST, store_layer_sums
from embeddings.encode_tokens import encode_states
from embeddings.encoders.described import warn_of_cut
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.encoders.sentence_encoder import SentenceEncoder, of_text
from embeddings.windows import Encoded, Store, encode_windows, encoded, windows


@dataclass(frozen=True)
class Encoding:
    """What to encode, and how.

    Attributes:
        texts: files with a sentence per line.
        language: of all of them; None for what their names end with.
        normalize: vectors of length 1; those of zeros stay as they are.
        dtype: of the numbers on disk; those of fewer bits are of vectors of length 1.
    """

    texts: list[Path]
    encoder: EncoderOptions
    language: str | None
    normalize: bool
    dtype: str
    dask: str | None = field(compare=False)

    @property
    def normalizes(self) -> bool:
        return self.normalize or self.dtype not in FLOATS


def add_arguments(parser) -> None:
    parser.add_argument(
        "texts",
        nargs="*",
        type=types.path,
        metavar="FILE",
        help="text, a sentence per line; may be .gz or .xz",
    )
    parser.add_argument("--output", type=types.output_folder, metavar="DIR", help="folder for FILE.npy")
    encode_data.add_arguments(parser)
    add_encoder_arguments(parser)
    parser.add_argument(
        "--language",
        type=LANGUAGE,
        metavar="LANG",
        help="of the text (default: what the name of FILE ends with)",
    )
    parser.add_argument(
        "--token-states",
        action="store_true",
        help="also the states of all tokens, for `retrieve --similarity bert-score`: FILE.states.npy",
    )
    parser.add_argument("--normalize", action="store_true", help="vectors of length 1")
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        default="float32",
        help="of the numbers on disk; float16 ends at 65504; int8 and binary (a bit) are of length 1",
    )
    add_dask_argument(parser)
    parser.add_argument("--force", action="store_true", help="encode again what is done")


def main(args) -> None:
    if args.data is not None:
        encode_data.check_options(vars(args))
        args.split, args.name = args.split or [encode_data.SPLIT], args.name or encode_data.NAME
        job = from_arguments(encode_data.DataEncoding, args)
        if args.layer_sums:
            store_layer_sums(job, args.max_tokens or LONGEST, args.force)
        else:
            encode_data.store_vectors(job, args.force)
        return
    if not args.texts or args.output is None:
        raise InputError("expected FILE... and --output, or --data")
    encode_data.refuse_options(vars(args))
    job = from_arguments(Encoding, args)
    if args.token_states and job.dtype not in FLOATS:
        raise InputError(f"--token-states: --dtype {job.dtype} is of vectors; expected {' or '.join(FLOATS)}")
    outputs = outputs_of(job.texts, args.output)
    load = functools.cache(job.encoder.load)  # not before there is something to encode
    for path, output in zip(job.texts, outputs, strict=True):
        check_file(path, "text, one sentence per line")
        settings = {name: value for name, value in by_name(job).items() if name != "texts"}
        stamp = Stamp(
            output.with_name(f".{output.name}.done"),
            step_name(output),
            settings,
            [path, *job.encoder.files(args.output)],
        )
        if not stamp.is_current(args.force):
            encode_file(job, load(), path, output, stamp, continued=not args.force)
        if args.token_states:
            encode_states(job, load, path, output, args.force)
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


def encode_file(
    job: Encoding, encoder: SentenceEncoder, path: Path, output: Path, stamp: Stamp, continued: bool = True
) -> None:
    """Encode one text.

    Args:
        stamp: describes the work, for which a journal is kept.
        continued: take what is in the journal of a run that was killed.

    Raises:
        InputError: the text is empty, not UTF-8 or damaged, or a line has a vector that is NaN, infinite, or
            beyond float16; names the line.
    """
    lines, language = count_lines(path), job.language or language_in_name(path)
    if not lines:
        raise InputError(f"{path}: is empty, expected lines of text")
    with of_text(path, "--language"):  # whether the encoder knows it, before anything is written
        encoder.encode([], language)
    stamp.begin()
    unfinished = output.with_name(f".{output.name}.unfinished.npy")
    numbers = Numbers(job.dtype, encoder.width)
    with Journal(output.with_name(f".{output.name}.journal.jsonl"), stamp.work, keep=continued) as journal:
        if not continued:
            unfinished.unlink(missing_ok=True)
        vectors = create_vectors(unfinished, lines, numbers)
        store = Store(vectors, numbers, job.normalizes, lambda row: at(path, row + 1))
        done = encode_windows(
            windows(path), _encoding(job, encoder, language), store, journal, f"encode {path.name}"
        )
        vectors.flush()
        record = _describe(job, encoder, path, output, language, vectors, done)
        record |= identity_of_vectors(unfinished)
        os.replace(unfinished, output)
        write_json(record_path(output), record)
        journal.remove()
        stamp.finish([output, record_path(output)])
    warn_of_cut(record["cut"], encoder.name, f"{path}: ")


def _encoding(job: Encoding, encoder: SentenceEncoder, language: str | None) -> Callable:
    """The function that encodes windows: by an encoder of this process, or by a dask cluster."""
    if job.dask is None:
        encode = functools.partial(encoded, encoder, lambda _, window: encoder.encode(window, language))
        return functools.partial(map, encode)
    return functools.partial(_on_cluster, job.dask, RemoteEncoder(job.encoder.absolute(), language))


def _on_cluster(dask: str, encode: Callable, todo: Iterable) -> Iterator:
    with make_workers(1, dask) as workers:
        yield from workers.map(encode, todo)


class RemoteEncoder:
    """Encodes windows in a worker of a cluster, which loads the encoder once.

    Args:
        options: of the encoder, whose paths the worker sees, too.
        language: of the text.
    """

    def __init__(self, options: EncoderOptions, language: str | None):
        self._options, self._language = options, language

    def __call__(self, window: tuple[int, list[str]]) -> Encoded:
        encoder = _loaded(self._options)
        return encoded(encoder, lambda _, lines: encoder.encode(lines, self._language), window)


@functools.lru_cache(maxsize=1)
def _loaded(options: EncoderOptions) -> SentenceEncoder:
    return options.load()


def _describe(
    job: Encoding, encoder: SentenceEncoder, path: Path, output: Path, language, vectors, done: list[dict]
) -> dict:
    """The record beside the vectors, but for their checksum."""
    seconds = sum(entry["seconds"] for entry in done)
    return {
        "format": FORMAT,
        "kind": KIND,
        "encoder": encoder.record(),
        "size": asdict(encoder.size),
        "language": language,
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
