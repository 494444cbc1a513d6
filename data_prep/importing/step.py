"""Lay out text in other formats and under other names as SPLIT.SRC-TGT.LANG files.

Formats are TSV, CSV, JSONL, Parquet, TMX, XLIFF, SGM and XML of WMT, and plain files, one per language; also
.gz, .xz and .zst. Names of OPUS, NTREX, Flores, WMT and this project say split and languages. The step prints
what it reads from them; --split, --langs and --columns override it. Text without a split in its name is
training text.

--valid and --test cut so many lines out of training text. Hashes of documents, where these are known, or of
sentences choose them, so every machine chooses the same. Training text loses every line with a side in one of
these sets. --zero-shot makes evaluation sets of pairs that have none (test.de-fr), from the English lines
(--centric) that two sets share (test.de-en, test.en-fr). The cut then prefers lines that most bitexts have.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder, positional, switch
from command_line.outputs import write_json
from command_line.progress import progress
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.formats.texts import (
    LANGUAGE,
    LANGUAGE_CODE,
    SPLITS,
    TEST,
    TRAIN,
    VALID,
    is_corpus_file,
    open_outputs,
)
from data_prep.importing.bitexts import Bitext, bitexts_of, shared_language, zero_shot_sets
from data_prep.importing.cutting import (
    CANDIDATES_PER_LINE,
    BitextRow,
    Candidates,
    Part,
    Sentences,
    choose,
    first_units,
    part_of,
    training_part,
    with_digests,
)
from data_prep.importing.formats import FORMATS, SIDE_FORMATS, find_sources
from data_prep.importing.tables import DOCUMENT, columns_of
from data_prep.step_folder import StepFolder

REPORT = "import-report.json"


def _column(text: str) -> tuple[str, str]:
    name, sign, column = text.partition("=")
    options.require(bool(sign and column) and (name == DOCUMENT or bool(LANGUAGE_CODE.fullmatch(name))))
    return name, options.text(column)


COLUMN = options.OptionType(
    f"LANG=COLUMN or {DOCUMENT}=COLUMN, for example de=1 or en=translation.en", _column
)


def _cut(split: str) -> Any:
    """The option that cuts out a set."""
    return option(
        f"cut N lines out of every training bitext as its {split} set, unless it has one",
        0,
        type=options.natural,
        metavar="N",
    )


@dataclass(frozen=True, kw_only=True)
class ImportJob:
    """What is read, as what, and which sets are cut out; the options of the command have the same names."""

    input: list[Path] = positional("files, and folders of files")
    output: Path = output_folder("SPLIT.SRC-TGT.LANG files")
    format: str | None = option("of all files (default: by their endings)", choices=(*FORMATS, *SIDE_FORMATS))
    langs: list[str] = option(
        "the languages, in the order of files or columns whose names do not say them",
        [],
        type=options.items(LANGUAGE),
        metavar="LANG,…",
    )
    columns: list[tuple[str, str]] = option(
        "which column (number from 1, or name) is which language, and which is the document",
        [],
        nargs="+",
        type=COLUMN,
        metavar="LANG=COLUMN",
    )
    split: str | None = option("of all files (default: by their names)", choices=SPLITS)
    valid: int = _cut(VALID)
    test: int = _cut(TEST)
    centric: str | None = option("the language that pairs have in common (default: English)", type=LANGUAGE)
    zero_shot: bool = switch(
        "evaluation sets of pairs without one, of lines that two sets share in --centric"
    )
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()

    def settings(self) -> dict:
        """What decides the output, besides the files."""
        names = ("format", "langs", "split", "valid", "test", "centric", "zero_shot")
        return {name: getattr(self, name) for name in names} | {"columns": dict(self.columns)}

    def lines(self, split: str) -> int:
        """That are to be cut out for a set."""
        return {VALID: self.valid, TEST: self.test}.get(split, 0)


class Writer:
    """Writes bitexts and counts their lines.

    Attributes:
        lines: SPLIT.PAIR -> lines.
        left_out: SPLIT.PAIR -> rows with a sentence of an evaluation set.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self.lines: Counter = Counter()
        self.left_out: Counter = Counter()

    def write(self, split: str, pair: str, parts: Iterable[Part]) -> None:
        languages = pair.split("-")
        single = len(languages) == 1
        names = [f"{split}.{pair}"] if single else [f"{split}.{pair}.{language}" for language in languages]
        with open_outputs(self._folder / name for name in names) as streams:
            for part in progress(parts, None, f"import {split}.{pair}", "line", size=lambda one: one.lines):
                for stream, side in zip(streams, part.sides, strict=True):
                    stream.write(side)
                self.lines[f"{split}.{pair}"] += part.lines
                self.left_out[f"{split}.{pair}"] += part.left_out
            if not self.lines[f"{split}.{pair}"]:
                lost = self.left_out[f"{split}.{pair}"]
                reason = (
                    f"all {lost} are, or have a sentence, in valid or test" if lost else "no row has both"
                )
                raise InputError(f"{split}.{pair}: no line is left: {reason}")


def write_all(job: ImportJob, bitexts: list[Bitext], writer: Writer, workers: Workers) -> None:
    """Evaluation sets first, whose sentences the training text must not have if some are cut out."""
    training = [bitext for bitext in bitexts if bitext.split == TRAIN]
    given = [bitext for bitext in bitexts if bitext.split != TRAIN]
    have = {(bitext.split, bitext.pair) for bitext in given}
    wanted = {
        (split, bitext.pair): job.lines(split)
        for split in (VALID, TEST)
        for bitext in training
        if job.lines(split) and (split, bitext.pair) not in have
    }
    sentences = Sentences()
    sets: dict[str, dict[str, list[BitextRow]]] = {VALID: {}, TEST: {}}
    for bitext in given:
        rows = [row for columns in bitext.map(workers, tuple) for row in zip(*columns, strict=True)]
        sets[bitext.split][bitext.pair] = rows
        if wanted:
            sentences.add(bitext.languages, rows)
    candidates = {
        bitext.pair: _candidates(job, bitext, wanted, workers)
        for bitext in training
        if any(pair == bitext.pair for _, pair in wanted)
    }
    for split, pair, rows in choose(candidates, wanted, sentences, job.zero_shot):
        sets[split][pair] = rows
    for split, rows_of_pairs in sets.items():
        if job.zero_shot:
            _add_zero_shot(split, rows_of_pairs, job.centric)
        for pair, rows in sorted(rows_of_pairs.items()):
            writer.write(split, pair, [part_of(columns_of(rows))] if rows else [])
    documents = _documents(sets) if wanted else set()
    for bitext in training:
        part = partial(training_part, sentences.of(bitext.languages), documents)
        writer.write(TRAIN, bitext.pair, bitext.map(workers, part))


def _add_zero_shot(split: str, sets: dict[str, list[BitextRow]], centric: str | None) -> None:
    """Add the sets of pairs that have none; says of which there is no line."""
    for pair, rows in list(zero_shot_sets(sets, centric)):
        if rows:
            sets[pair] = rows
        else:
            print(f"{split}.{pair}: no set, as no line is in both sets of the two languages", file=sys.stderr)


def _candidates(job: ImportJob, bitext: Bitext, wanted: dict, workers: Workers) -> Candidates:
    lines = sum(number for (_, pair), number in wanted.items() if pair == bitext.pair)
    shared = shared_language(bitext.languages, job.centric) or bitext.languages[0]
    blocks = bitext.map(workers, partial(with_digests, bitext.languages.index(shared)))
    shown = progress(
        blocks, None, f"choose from train.{bitext.pair}", "line", size=lambda block: len(block[0])
    )
    return first_units(shown, CANDIDATES_PER_LINE * lines)


def _documents(sets: dict) -> set[str]:
    rows = (row for pairs in sets.values() for rows in pairs.values() for row in rows)
    return {row[-1] for row in rows} - {""}


def main(job: ImportJob) -> None:
    langs = tuple(job.langs)
    sources = find_sources(job.input, job.format, langs, dict(job.columns))
    reads = [path for source in sources for path in source.paths]
    folders = [path for path in job.input if path.is_dir()]
    step = StepFolder(job.output, "import", job.settings(), reads=reads, inputs=folders)
    if step.is_complete(job.force):
        return
    bitexts = bitexts_of(sources, job.split, langs, job.centric, job.zero_shot)
    writer = Writer(job.output)
    with (
        make_workers(job.workers, job.dask) as workers,
        step.writing(lambda path: is_corpus_file(path) or path.name == REPORT),
    ):
        write_all(job, bitexts, writer, workers)
        write_json(job.output / REPORT, {"lines": writer.lines, "left_out": +writer.left_out})
    for name, lines in writer.lines.items():
        lost = writer.left_out[name]
        print(f"{name}: {lines:,} lines{f' ({lost:,} left out: in valid or test)' if lost else ''}")
