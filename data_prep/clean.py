"""Normalize a corpus and remove what should not be trained on. Pairs stay aligned.

All splits get Unicode NFC and single spaces, without control characters. Valid and test sets keep all lines,
so that scores compare. A training pair is removed for the first of these reasons that applies, and clean.md
counts them:

- `empty`: a side is empty;
- `too-long`: a side has more than --max-length words (thesis 8.2.1: 256) or --max-characters. In languages
  without spaces, 1.6 characters count as a word;
- `ratio`: the lengths differ too much (9 in the Moses script);
- `in-evaluation`: a side is in a valid or test set of its language, or in --also-exclude or --exclude-text.
  With --ignore-case, case does not matter;
- `language`: a side is in its language with less than --min-language probability;
- `similarity`: the cosine of the pair's vectors in --vectors (`embeddings encode`) is below --min-similarity;
- `duplicate`: the same pair came before.

Monolingual text, SPLIT.LANG, has neither `ratio` nor `similarity`. scores.train.PAIR.tsv has the scores of
every line that stays. Memory holds the valid and test lines only.
"""

import contextlib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.lines import count_lines, uncompressed_name
from command_line.option_classes import force_switch, option, output_folder, switch
from command_line.outputs import checksum, scratch_folder, write_json, write_text
from command_line.progress import progress
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.blocks import encode, read_blocks
from data_prep.duplicates import KEY_BYTES, duplicate_flags
from data_prep.formats.texts import (
    LANGUAGE_CODE,
    TRAIN,
    Text,
    find_texts,
    is_corpus_file,
    languages_of,
    open_outputs,
    paths_of,
)
from data_prep.formats.vectors import VectorsFile, normalized
from data_prep.language_identification import identifier_label
from data_prep.line_filters import (
    ANY,
    REASONS,
    Limits,
    PairFilter,
    evaluation_sentences,
    normalize_block,
    reasons_of,
    score_columns,
)
from data_prep.step_folder import StepFolder

REPORTS = ("clean.md", "clean-report.json")
LEAST_SIMILARITY = -1.0  # any pair has it


def _excluded(text: str) -> tuple[str, Path]:
    """Language (ANY: all of them) and file; a path may have a "=", too, as in lang=de/text."""
    language, sign, path = text.partition("=")
    if not (sign and LANGUAGE_CODE.fullmatch(language)):
        language, path = ANY, text
    return language, options.path(path)


EXCLUDED = options.OptionType("[LANG=]FILE, for example de=tatoeba.deu-eng.deu", _excluded)


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What is cleaned, and how; the options of the command have the same names."""

    input: Path = option("folder of SPLIT.SRC-TGT.LANG and SPLIT.LANG files", required=True)
    output: Path = output_folder("the cleaned files and the report")
    max_length: int = option("words of a training line (thesis 8.2.1: 256)", 256)
    max_characters: int = option("characters of a training line", 5_000)
    max_ratio: float = option("longer side in words over shorter side", 9.0, type=options.number(1, 1e6))
    min_language: float | None = option(
        "least probability that a training line is in its language, by fastText's lid.176 (default: not"
        " looked at; 0 only scores)",
        type=options.number(0, 1),
    )
    vectors: Path | None = option(
        "vectors of the training lines of --input, by `python -m embeddings encode`; scores pairs",
        metavar="DIR",
    )
    min_similarity: float | None = option(
        "least cosine of the vectors of a training pair (default: any)", type=options.number(-1, 1)
    )
    keep_duplicates: bool = switch("do not remove repeated training pairs")
    also_exclude: list[Path] = option(
        "remove training lines that occur in the valid and test sets of these folders, too", [], metavar="DIR"
    )
    exclude_text: list[tuple[str, Path]] = option(
        "remove training lines in LANG that are lines of FILE, too, or fields between its tabs: "
        "evaluation sets of any name (thesis 2.3.2); without LANG=, training lines in any language",
        [],
        nargs="+",
        type=EXCLUDED,
        metavar="[LANG=]FILE",
    )
    ignore_case: bool = switch(
        "also remove training lines that differ from those of evaluation sets in case alone: for text "
        "that is lower-cased later"
    )
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()

    @property
    def limits(self) -> Limits:
        similarity = self.min_similarity
        if self.vectors is not None and similarity is None:
            similarity = LEAST_SIMILARITY
        return Limits(self.max_length, self.max_characters, self.max_ratio, self.min_language, similarity)

    def settings(self) -> dict:
        """What decides the output, besides the texts."""
        settings = self.limits._asdict() | {
            "keep_duplicates": self.keep_duplicates,
            "ignore_case": self.ignore_case,
        }
        if self.vectors is not None:
            settings["vectors"] = str(self.vectors)
        if self.exclude_text:
            settings["exclude_text"] = [
                f"{language}={path}" if language else str(path) for language, path in self.exclude_text
            ]
        return settings

    def evaluation_texts(self, texts: list[Text]) -> list[Text]:
        """The valid and test sets of the other folders."""
        cleaned = languages_of(texts)
        evaluation: list[Text] = []
        for folder in self.also_exclude:
            sets = [text for text in find_texts(folder) if text.split != TRAIN]
            if not sets:
                raise InputError(
                    f"--also-exclude {folder}: has no valid or test set; --exclude-text takes files of any"
                    " name"
                )
            languages = languages_of(sets)
            if not set(languages) & set(cleaned):
                raise InputError(
                    f"--also-exclude {folder}: its valid and test sets are in {', '.join(languages)};"
                    f" expected one of the languages of {self.input}: {', '.join(cleaned)}"
                )
            evaluation += sets
        return evaluation

    def check(self, texts: list[Text]) -> None:
        """Refuse an evaluation text in a language that the corpus does not have."""
        languages = languages_of(texts)
        for language, path in self.exclude_text:
            if language != ANY and language not in languages:
                raise InputError(
                    f"--exclude-text {language}={path}: {self.input} has no text in {language!r};"
                    f" expected one of {', '.join(languages)}"
                )

    def vector_files(self, text: Text) -> list[Path]:
        """The vectors of the sides of a training text; none if nothing is compared."""
        if self.vectors is None and self.min_similarity is not None:
            raise InputError("--min-similarity: needs --vectors, the output of `python -m embeddings encode`")
        if self.vectors is None or not text.is_bitext or text.split != TRAIN:
            return []
        return [self.vectors / f"{uncompressed_name(path)}.npy" for path in text.paths]


def clean_evaluation(text: Text, output: Path | None, workers: Workers, evaluation: dict) -> dict:
    """Normalize a valid or test set (into `output`, if any) and remember its lines. Returns its counts."""
    counts = {"read": 0, "written": 0, "empty": 0}
    with contextlib.ExitStack() as stack:
        streams = stack.enter_context(open_outputs(text.outputs(output))) if output else ()
        for sides, empty in workers.map(normalize_block, read_blocks(*text.paths)):
            for stream, lines in zip(streams, sides, strict=False):
                stream.write(encode(lines))
            for language, lines in zip(text.languages, sides, strict=True):
                evaluation.setdefault(language, set()).update(lines)
            counts["empty"] += empty
            counts["read"] += len(sides[0])
    counts["written"] = counts["read"]
    return counts


def remember_evaluation(language: str, path: Path, workers: Workers, evaluation: dict) -> None:
    """Keep the sentences of a file out of the training text of a language (ANY: of all)."""
    for sentences in workers.map(evaluation_sentences, read_blocks(path)):
        evaluation.setdefault(language, set()).update(sentences)


def with_similarities(text: Text, vectors: list[Path]) -> Iterator[tuple]:
    """The blocks of a text, with the cosines of the vectors of their sides.

    Args:
        vectors: files of both sides; empty: there are no cosines.
    """
    blocks = read_blocks(*text.paths)
    if not vectors:
        yield from ((block, None) for block in blocks)
        return

    lines = count_lines(text.paths[0])
    first = VectorsFile.open(vectors[0], lines=lines)
    second = VectorsFile.open(vectors[1], width=first.width, lines=lines)
    for path, file in zip(text.paths, (first, second), strict=True):
        if file.record and file.record["text"]["sha256"] != checksum(path):
            raise InputError(f"{file.path}: vectors of another text than {path}; encode that one")
    for block in blocks:
        start, stop = block.first_line - 1, block.first_line - 1 + block.lines
        sides = (normalized(side.read(start, stop)) for side in (first, second))
        yield block, math.prod(sides).sum(axis=1)


def clean_training(text: Text, job: Cleaning, evaluation: dict, workers: Workers) -> dict:
    """Filter a training set. Returns its counts: read, written, changed, and removed by reason."""
    removed, changed, read, kept = Counter(), 0, 0, 0
    columns = score_columns(text.languages, job.limits)
    with scratch_folder(job.output) as folder:
        paths = [folder / name for name in text.names()]
        scores = folder / "scores"
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(open(path, "wb")) for path in (*paths, scores, folder / "keys")]
            wanted = {code: evaluation[code] for code in (*text.languages, ANY) if code in evaluation}
            filters = PairFilter(text.languages, job.limits, wanted, job.ignore_case)
            vectors = job.vector_files(text)
            blocks = workers.map(filters, with_similarities(text, vectors))
            task = f"clean {text.split}.{text.pair}"
            for block in progress(blocks, None, task, "line", size=lambda item: item.lines):
                for stream, content in zip(streams, (*block.texts, block.scores, block.keys), strict=True):
                    stream.write(content)
                removed.update(block.removed)
                changed, read = changed + block.changed, read + block.lines
                kept += len(block.keys) // KEY_BYTES
        if kept:
            flags = None
            if not job.keep_duplicates:
                flags = duplicate_flags(folder / "keys", kept, folder)
                removed["duplicate"] = int(flags.sum())
            write_unflagged(paths, flags, text.outputs(job.output))
            if columns:
                write_scores(scores, columns, flags, job.output / f"scores.{text.split}.{text.pair}.tsv")
    written = read - removed.total()
    if not written:
        kind = "pair" if text.is_bitext else "line"
        reasons = ", ".join(f"{removed[reason]} {reason}" for reason in REASONS if removed[reason])
        raise InputError(f"{text.paths[0]}: no {kind} is left of {read}: {reasons}")
    counts = {reason: removed[reason] for reason in reasons_of(job.limits)}
    return {"read": read, "written": written, "changed": changed, "removed": counts}


def write_scores(scores: Path, columns: list[str], flags, output: Path) -> None:
    """Write the scores of the lines whose flag is not set, below the names of the columns."""
    with open_outputs([output]) as (stream,):
        stream.write(encode(["\t".join(columns)]))
        for (text,) in unflagged_blocks([scores], flags):
            stream.write(text)


def write_unflagged(paths: list[Path], flags, outputs: Iterable[Path]) -> None:
    """Copy the lines whose flag is not set."""
    if flags is None:
        for path, output in zip(paths, outputs, strict=True):
            path.replace(output)
        return
    with open_outputs(outputs) as streams:
        for texts in unflagged_blocks(paths, flags):
            for stream, text in zip(streams, texts, strict=True):
                stream.write(text)


def unflagged_blocks(paths: list[Path], flags) -> Iterator[Sequence[bytes]]:
    """The lines of parallel files whose flag is not set, some at a time; all if there are no flags."""
    for block in read_blocks(*paths):
        start = block.first_line - 1
        bad = flags[start : start + block.lines] if flags is not None else None
        if bad is None or not bad.any():
            yield block.texts
            continue
        keep = (~bad).tolist()
        yield [
            b"".join(line + b"\n" for line, good in zip(text.split(b"\n"), keep, strict=False) if good)
            for text in block.texts
        ]


def report(counts: dict[str, dict]) -> str:
    """The counts as a Markdown table."""
    reasons = list(dict.fromkeys(reason for row in counts.values() for reason in row.get("removed", ())))
    columns = ["corpus", "read", "written", *reasons]
    lines = [
        "# What `clean` removed",
        "",
        " | ".join(columns),
        " | ".join(["---"] + ["---:"] * (len(columns) - 1)),
    ]
    for name, row in counts.items():
        removed = row.get("removed", {})
        cells = [name, row["read"], row["written"], *(removed.get(reason, 0) for reason in reasons)]
        lines.append(" | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells))
    empty = [f"{name}: {row['empty']}" for name, row in counts.items() if row.get("empty")]
    if empty:
        lines += ["", "Valid and test lines with an empty side (kept): " + "; ".join(empty) + "."]
    return "\n".join(lines) + "\n"


def main(job: Cleaning) -> None:
    texts = find_texts(job.input)
    job.check(texts)
    others = job.evaluation_texts(texts)
    excluded = [path for _, path in job.exclude_text]
    vectors = [path for text in texts for path in job.vector_files(text)]
    _say_what_is_not_identified(job, texts)
    step = StepFolder(
        job.output,
        "clean",
        job.settings(),
        reads=[*paths_of([*texts, *others]), *excluded, *vectors],
        inputs=(job.input, *job.also_exclude, *excluded),
    )
    if step.is_complete(job.force):
        return
    with (
        make_workers(job.workers, job.dask) as workers,
        step.writing(
            lambda path: is_corpus_file(path) or path.name in REPORTS or path.name.startswith("scores.")
        ),
    ):
        counts = clean(job, texts, others, workers)
        write_text(job.output / REPORTS[0], report(counts))
        write_json(job.output / REPORTS[1], {"corpora": counts})
        print(report(counts), end="")


def clean(job: Cleaning, texts: list[Text], others: list[Text], workers: Workers) -> dict:
    """Write all texts: evaluation texts first, whose lines the training texts must not have.

    Args:
        others: evaluation texts of other folders, which are only read.

    Returns:
        SPLIT.PAIR -> the counts of the report.
    """
    evaluation: dict[str, set[str]] = {}  # language, or ANY -> valid and test lines
    counts = {}
    for text in others:
        clean_evaluation(text, None, workers, evaluation)
    for language, path in job.exclude_text:
        remember_evaluation(language, path, workers, evaluation)
    for text in texts:
        if text.split != TRAIN:
            name = f"{text.split}.{text.pair}"
            counts[name] = clean_evaluation(text, job.output, workers, evaluation)
    if job.ignore_case:
        evaluation = {language: set(map(str.casefold, lines)) for language, lines in evaluation.items()}
    for text in texts:
        if text.split == TRAIN:
            counts[f"{TRAIN}.{text.pair}"] = clean_training(text, job, evaluation, workers)
    return counts


def _say_what_is_not_identified(job: Cleaning, texts: list[Text]) -> None:
    if job.min_language is None:
        return
    unknown = [code for code in languages_of(texts) if identifier_label(code) is None]
    if unknown:
        print(
            f"--min-language: the identifier does not know {', '.join(unknown)}; their lines stay",
            file=sys.stderr,
        )
