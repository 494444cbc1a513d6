"""A teacher's vectors of binarized sentences, for training with losses of distillation (thesis 3.3); or, with
--layer-sums, what is trained above a frozen encoder reads of it (`embeddings.encode_layers`).

An encoder of ours whose dictionary is that of the data reads the binarized sentences. Any other one reads raw
text, of which a sample is compared with the binarized sentences line by line.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.completion import file_identity
from command_line.errors import InputError, at
from command_line.journal import Journal
from command_line.lines import count_lines
from command_line.option_classes import option, switch
from data_prep.formats.dictionary import (
    dictionary_fingerprint,
    languages_with_dictionary,
    load_shared_dictionary,
)
from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.formats.sentences import bitext_prefixes, data_path, load_sentences
from data_prep.formats.teacher_vectors import (
    create_teacher_vectors,
    encoder_identity,
    encoder_of,
    encoder_title,
    identity_of,
    is_of,
    sentences_identity,
    vectors_path,
)
from data_prep.formats.texts import find_texts
from data_prep.formats.vector_numbers import Numbers
from embeddings import windows
from embeddings.cluster import Reading
from embeddings.encoders.described import warn_of_cut
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder

NAME = "teacher"
SPLIT = "train"
COMPARED = 16  # lines of a window of raw text


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Which sentences of binarized data are encoded."""

    data: Path | None = option(
        "in place of FILE: binarized folder; vectors of its sentences are stored there for training"
    )
    split: list[str] | None = option(f"sets of --data (default: {SPLIT})", type=types.items(types.split))
    pairs: list[str] | None = option(
        "pairs of languages of --data, de-en,en-fr (default: all)",
        type=types.items(types.split),
        metavar="PAIR,…",
    )
    name: str | None = option(f"name of the teacher in files of --data (default: {NAME})", type=types.split)
    text: Path | None = option(
        "folder of the raw text of --data, the --text of `data_prep binarize`; not needed for encoders of the"
        " data's own dictionary, and for evaluation sets, which are in DATA/text"
    )
    layer_sums: bool = switch(
        "with --data: store the sums over tokens of every layer, to train above a frozen encoder"
        " (fairseq-train --layer-sums NAME)"
    )
    max_tokens: int | None = option(
        "with --layer-sums: cut sentences at this number of tokens, </s> included; give the"
        " --max-source-positions of the training (default: 120)"
    )

    @property
    def sets(self) -> list[str]:
        return self.split or [SPLIT]

    @property
    def teacher(self) -> str:
        """Its name, in the names of the files."""
        return self.name or NAME


@dataclass(frozen=True, kw_only=True)
class DataEncoding(DataOptions):
    """What to encode, and how."""

    encoder: EncoderOptions
    normalize: bool
    dtype: str
    dask: str | None


def store_vectors(job: DataEncoding, force: bool) -> None:
    """Store the vectors of all sentences of a job's sets."""
    todo = [prefix for split in job.sets for prefix in of_pairs(bitext_prefixes(job.data, split), job)]
    reader = Reader.of(job, job.encoder.load())
    for prefix in todo:
        output = vectors_path(prefix, job.teacher)
        encode_sentences(job, reader, prefix, output, force)
        print(output)


def of_pairs(prefixes: Sequence[Path], job: DataEncoding) -> list[Path]:
    """Those of the job's pairs of languages, of the binarized texts of a set.

    Raises:
        InputError: the set has no such pair.
    """
    if job.pairs is None:
        return list(prefixes)
    by_pair: dict[frozenset, list[Path]] = {}
    for prefix in prefixes:
        by_pair.setdefault(frozenset(prefix.name.split(".")[1].split("-")), []).append(prefix)
    chosen: list[Path] = []
    for pair in job.pairs:
        prefixes_of_pair = by_pair.get(frozenset(pair.split("-")))
        if not prefixes_of_pair:
            raise InputError(
                f"--pairs {pair}: {job.data} has no such pair in {prefixes[0].name.split('.')[0]}"
            )
        chosen += prefixes_of_pair
    return chosen


@dataclass(frozen=True)
class Reader:
    """How the sentences of a folder reach an encoder."""

    encoder: SentenceEncoder
    data: Path
    dictionary: object
    text: Path | None
    preparation: Preparation | None

    @classmethod
    def of(cls, job: DataEncoding, encoder: SentenceEncoder) -> "Reader":
        """How the folder of a job reaches the encoder.

        Raises:
            InputError: the folder has no dictionary.
        """
        recorded = (job.data / FILE_NAME).exists()
        return cls(
            encoder,
            job.data,
            load_shared_dictionary(job.data, languages_with_dictionary(job.data)),
            job.text,
            Preparation.load(job.data) if recorded else None,
        )

    @property
    def reads_tokens(self) -> bool:
        """Whether the encoder is given binarized sentences."""
        return self.text is None and self.encoder.dictionary_fingerprint == dictionary_fingerprint(
            self.dictionary
        )

    def raw_text(self, prefix: Path) -> Path:
        """The file of raw text behind binarized sentences.

        Raises:
            InputError: there is none.
        """
        split, pair, language = prefix.name.split(".")
        folder = self.text or self.data / "text"
        texts = find_texts(folder) if folder.is_dir() else []
        for text in texts:
            if (text.split, text.pair) == (split, "-".join(sorted(pair.split("-")))):
                return text.paths[text.languages.index(language)]
        raise InputError(
            f"{folder}: no text {prefix.name} in it; {self.encoder.name} has another dictionary than"
            f" {self.data} and reads raw text: give --text, the folder that `data_prep binarize --text` was"
            " given"
        )


def encode_sentences(job: DataEncoding, reader: Reader, prefix: Path, output: Path, force: bool) -> None:
    """Store the vectors of the binarized sentences `prefix`, unless they are there."""
    encoder, sentences = reader.encoder, load_sentences(prefix)
    language = prefix.suffix.removeprefix(".")
    encoder.encode([], language)  # whether the encoder knows the language, before anything is written
    raw = None if reader.reads_tokens else reader.raw_text(prefix)
    description = {
        "encoder": encoder.record(),
        "text": sentences_identity(prefix),
        "read": {"kind": "tokens"} if raw is None else {"kind": "text", **file_identity(raw)},
        "lines": len(sentences),
        "width": encoder.width,
        "dtype": job.dtype,
        "normalized": job.normalize,
    }
    if raw is None:
        parts, named, method = sentence_windows(sentences), data_path(prefix), "encode_binarized"
    else:
        if (lines := count_lines(raw)) != len(sentences):
            raise InputError(f"{raw}: {lines} lines, but {data_path(prefix)} has {len(sentences)} sentences")
        parts, named, method = _compared(reader, raw, sentences, language), raw, "encode"
    reading = Reading(EncoderOptions.load, (job.encoder.absolute(),), method, (language,))
    store(description, output, parts, named, reading.all_by(encoder, job.dask), force)


def store(
    description: dict,
    output: Path,
    parts: Iterable[tuple[int, Sequence]],
    named: Path,
    encode_all: Callable[[Iterable[tuple[int, Sequence]]], Iterable[windows.Encoded]],
    force: bool,
) -> None:
    """Write a file of vectors, unless it is there; goes on where a run was killed.

    Args:
        description: of the file; "normalized" vectors are made so here.
        parts: number of the first sentence, and the sentences of each window.
        named: whose lines error messages name.

    Raises:
        InputError: a vector is NaN, infinite or beyond float16; names the line. Or another encoder's vectors
            have the name, and it is not forced.
    """
    description = json.loads(json.dumps(description))  # what comes back from the file
    unfinished = output.with_name(f".{output.name}.part")  # `.unfinished` would stop readers of the data
    journal_path = output.with_name(f".{output.name}.journal.jsonl")
    if not force and is_of(output, description):
        journal_path.unlink(missing_ok=True)  # of a run that was killed as it ended
        print(f"{output}: complete, skipped (--force redoes it)", file=sys.stderr)
        return
    if not force:
        _refuse_another_encoder(output, description)
    numbers = Numbers(description["dtype"], description["width"])
    with Journal(journal_path, identity_of(description), keep=not force) as journal:
        if force:
            unfinished.unlink(missing_ok=True)
        vectors = create_teacher_vectors(unfinished, description)
        rows = windows.Store(vectors, numbers, description["normalized"], lambda row: at(named, row + 1))
        done = windows.encode_windows(parts, encode_all, rows, journal, f"encode {output.name}")
        vectors.flush()
        os.replace(unfinished, output)
        journal.remove()
    warn_of_cut(sum(entry["cut"] for entry in done), description["encoder"]["name"], f"{named}: ")


def _refuse_another_encoder(output: Path, description: dict) -> None:
    """Students that learn from its vectors are still to be continued, perhaps."""
    there = encoder_of(output)
    if there and encoder_identity(there) != encoder_identity(description["encoder"]):
        raise InputError(
            f"{output}: has vectors of the encoder {encoder_title(there)}, not"
            f" {encoder_title(description['encoder'])}; choose another --name, or replace them by --force"
        )


def sentence_windows(sentences, size: int | None = None) -> Iterator[tuple[int, list[list[int]]]]:
    """Number of the first sentence, and the token ids of each window of binarized sentences."""
    size = size or windows.WINDOW
    for start in range(0, len(sentences), size):
        stop = min(start + size, len(sentences))
        yield start, [sentences[row].tolist() for row in range(start, stop)]


def _compared(reader: Reader, raw: Path, sentences, language: str) -> Iterator[tuple[int, list[str]]]:
    """The windows of raw text, whose first lines become the binarized sentences."""
    for start, window in windows.windows(raw):
        # fairseq-preprocess does not say how text was segmented
        for row, line in enumerate(window[:COMPARED] if reader.preparation else (), start=start):
            subwords = reader.preparation.segment(language, line)
            ids = reader.dictionary.encode_line(subwords, add_if_not_exist=False).tolist()
            if ids != sentences[row].tolist():
                raise InputError(
                    f"{at(raw, row + 1)}: is not the text of sentence {row + 1} of {raw.name} in"
                    f" {reader.data}; give the --text that `data_prep binarize` was given"
                )
        yield start, window
