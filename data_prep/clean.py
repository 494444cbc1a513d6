"""Normalize a corpus and remove what should not be trained on; pairs stay aligned.

All splits: Unicode NFC, control characters deleted, whitespace to single spaces. Nothing is ever removed from
valid and test sets, so that everybody scores the same lines. From training, a pair is removed, with the
reason counted in this order, if a side is `empty`; `too-long` (more than --max-length words; 8.2.1: 256) or
longer than --max-characters; of unequal length (`ratio`; the Moses script's 9); if either side occurs in any
valid or test set in its language, on whichever side of whichever pair (`in-evaluation`), also in those of
--also-exclude and --exclude-text, with --ignore-case in whatever case; or if the same pair came before
(`duplicate`). Monolingual text, SPLIT.LANG, has no `ratio`.

In languages without spaces (zh, ja, th, …) 1.6 characters count as a word. Memory does not grow with the
corpus: keys for the search of duplicates are sorted in pieces from disk (16 bytes per line in a temporary
folder beside the output); only the valid and test lines are held. clean.md and clean-report.json say what was
removed and why.
"""

import contextlib
import functools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import scratch_folder, write_text
from command_line.progress import progress
from command_line.workers import Workers, add_workers_argument
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
from data_prep.line_filters import (
    ANY,
    REASONS,
    Limits,
    evaluation_lines,
    evaluation_sentences,
    filter_block,
    ignore_case_of_evaluation,
    normalize_block,
)
from data_prep.step_folder import StepFolder

REPORTS = ("clean.md", "clean-report.json")


def _excluded(text: str) -> tuple[str, Path]:
    """Language (ANY: all of them) and file; a path may have a "=", too, as in lang=de/text."""
    language, sign, path = text.partition("=")
    if not (sign and LANGUAGE_CODE.fullmatch(language)):
        language, path = ANY, text
    return language, options.path(path)


EXCLUDED = options.OptionType("[LANG=]FILE, for example de=tatoeba.deu-eng.deu", _excluded)


@dataclass(frozen=True)
class Cleaning:
    """What is cleaned, and how; the options of the command have the same names."""

    input: Path
    output: Path
    also_exclude: list[Path]
    exclude_text: list[tuple[str, Path]]
    max_length: int
    max_characters: int
    max_ratio: float
    keep_duplicates: bool
    ignore_case: bool
    workers: int

    @property
    def limits(self) -> Limits:
        return Limits(self.max_length, self.max_characters, self.max_ratio)

    def settings(self) -> dict:
        """What decides the output, besides the texts."""
        settings = self.limits._asdict() | {
            "keep_duplicates": self.keep_duplicates,
            "ignore_case": self.ignore_case,
        }
        if self.exclude_text:
            settings["exclude_text"] = [
                f"{language}={path}" if language else str(path) for language, path in self.exclude_text
            ]
        return settings

    def evaluation_texts(self, texts: list[Text]) -> list[Text]:
        """The valid and test sets of the other folders.

        Args:
            texts: of the corpus.

        Raises:
            InputError: a folder has none, or none in a language of the corpus, so that it excludes nothing.
        """
        known, found = languages_of(texts), []
        for folder in self.also_exclude:
            sets = [text for text in find_texts(folder) if text.split != TRAIN]
            if not sets:
                raise InputError(
                    f"--also-exclude {folder}: has no valid or test set; --exclude-text takes files of any"
                    " name"
                )
            languages = languages_of(sets)
            if not set(languages) & set(known):
                raise InputError(
                    f"--also-exclude {folder}: its valid and test sets are in {', '.join(languages)};"
                    f" expected one of the languages of {self.input}: {', '.join(known)}"
                )
            found += sets
        return found

    def check(self, texts: list[Text]) -> None:
        """Refuse an evaluation text in a language that the corpus does not have.

        Raises:
            InputError: there is one.
        """
        known = languages_of(texts)
        for language, path in self.exclude_text:
            if language != ANY and language not in known:
                raise InputError(
                    f"--exclude-text {language}={path}: {self.input} has no text in {language!r};"
                    f" expected one of {', '.join(known)}"
                )


def add_arguments(parser) -> None:
    parser.add_argument(
        "--input", required=True, type=options.path, help="folder of SPLIT.SRC-TGT.LANG and SPLIT.LANG files"
    )
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        help="folder for the cleaned files and the report",
    )
    parser.add_argument(
        "--max-length", type=options.positive, default=256, help="words of a training line (8.2.1: 256)"
    )
    parser.add_argument(
        "--max-characters", type=options.positive, default=5_000, help="characters of a training line"
    )
    parser.add_argument(
        "--max-ratio", type=options.number(1, 1e6), default=9.0, help="longer side in words over shorter side"
    )
    parser.add_argument(
        "--keep-duplicates", action="store_true", help="do not remove repeated training pairs"
    )
    parser.add_argument(
        "--also-exclude",
        nargs="+",
        type=options.path,
        default=[],
        metavar="DIR",
        help="remove training lines that occur in the valid and test sets of these folders, too",
    )
    parser.add_argument(
        "--exclude-text",
        nargs="+",
        type=EXCLUDED,
        default=[],
        metavar="[LANG=]FILE",
        help="remove training lines in LANG that are lines of FILE, too, or fields between its tabs: "
        "evaluation sets of any name (2.3.2); without LANG=, training lines in any language",
    )
    parser.add_argument(
        "--ignore-case",
        action="store_true",
        help="also remove training lines that differ from those of evaluation sets in case alone: for text "
        "that is lower-cased later",
    )
    add_workers_argument(parser)
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def clean_evaluation(text: Text, output: Path | None, workers: Workers) -> dict:
    """Normalize a valid or test set (into `output`, if any) and remember its lines. Returns its counts."""
    counts = {"read": 0, "written": 0, "empty": 0}
    with contextlib.ExitStack() as stack:
        streams = stack.enter_context(open_outputs(text.outputs(output))) if output else ()
        for sides, empty in workers.map(normalize_block, read_blocks(*text.paths)):
            for stream, lines in zip(streams, sides, strict=False):
                stream.write(encode(lines))
            for language, lines in zip(text.languages, sides, strict=True):
                evaluation_lines.setdefault(language, set()).update(lines)
            counts["empty"] += empty
            counts["read"] += len(sides[0])
    counts["written"] = counts["read"]
    return counts


def remember_evaluation(language: str, path: Path, workers: Workers) -> None:
    """Keep the sentences of a file out of the training text of a language (ANY: of all)."""
    for sentences in workers.map(evaluation_sentences, read_blocks(path)):
        evaluation_lines.setdefault(language, set()).update(sentences)


def clean_training(
    text: Text, output: Path, limits: Limits, workers: Workers, keep_duplicates: bool, ignore_case: bool
) -> dict:
    """Filter a training set. Returns its counts: read, written, changed, and removed by reason.

    Raises:
        InputError: nothing is left.
    """
    removed, changed, read, kept = Counter(), 0, 0, 0
    with scratch_folder(output) as folder:
        paths = [folder / name for name in text.names()]
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(open(path, "wb")) for path in (*paths, folder / "keys")]
            filters = functools.partial(filter_block, text.languages, limits, ignore_case)
            blocks = workers.map(filters, read_blocks(*text.paths))
            task = f"clean {text.split}.{text.pair}"
            for block in progress(blocks, None, task, "line", size=lambda item: item.lines):
                for stream, content in zip(streams, (*block.texts, block.keys), strict=True):
                    stream.write(content)
                removed.update(block.removed)
                changed, read = changed + block.changed, read + block.lines
                kept += len(block.keys) // KEY_BYTES
        if kept and not keep_duplicates:
            flags = duplicate_flags(folder / "keys", kept, folder)
            removed["duplicate"] = int(flags.sum())
            write_unflagged(paths, flags, text.outputs(output))
        elif kept:
            for path, target in zip(paths, text.outputs(output), strict=True):
                path.replace(target)
    written = read - removed.total()
    if not written:
        kind = "pair" if text.is_bitext else "line"
        raise InputError(f"{text.paths[0]}: no {kind} is left of {read}: {_in_words(removed)}")
    counts = {reason: removed[reason] for reason in REASONS}
    return {"read": read, "written": written, "changed": changed, "removed": counts}


def write_unflagged(paths: list[Path], flags, outputs) -> None:
    """Copy the lines whose flag is not set."""
    with open_outputs(outputs) as streams:
        for block in read_blocks(*paths):
            start = block.first_line - 1
            bad = flags[start : start + block.lines]
            texts = block.texts
            if bad.any():
                keep = (~bad).tolist()
                texts = [
                    b"".join(
                        line + b"\n" for line, good in zip(text.split(b"\n"), keep, strict=False) if good
                    )
                    for text in texts
                ]
            for stream, text in zip(streams, texts, strict=True):
                stream.write(text)


def _in_words(removed: Counter) -> str:
    return ", ".join(f"{removed[reason]} {reason}" for reason in REASONS if removed[reason])


def report(counts: dict[str, dict]) -> str:
    """The counts as a Markdown table."""
    columns = ["corpus", "read", "written", *REASONS]
    lines = [
        "# What `clean` removed",
        "",
        " | ".join(columns),
        " | ".join(["---"] + ["---:"] * (len(columns) - 1)),
    ]
    for name, row in counts.items():
        removed = row.get("removed", {})
        cells = [name, row["read"], row["written"], *(removed.get(reason, 0) for reason in REASONS)]
        lines.append(" | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells))
    empty = [f"{name}: {row['empty']}" for name, row in counts.items() if row.get("empty")]
    if empty:
        lines += ["", "Valid and test lines with an empty side (kept): " + "; ".join(empty) + "."]
    return "\n".join(lines) + "\n"


def main(args) -> None:
    from command_line.outputs import write_json

    job = from_arguments(Cleaning, args)
    texts = find_texts(job.input)
    job.check(texts)
    others = job.evaluation_texts(texts)
    excluded = [path for _, path in job.exclude_text]
    step = StepFolder(
        job.output,
        "clean",
        job.settings(),
        reads=[*paths_of([*texts, *others]), *excluded],
        inputs=(job.input, *job.also_exclude, *excluded),
    )
    if step.is_complete(args.force):
        return
    step.begin(lambda path: is_corpus_file(path) or path.name in REPORTS)
    counts = clean(job, texts, others)
    write_text(job.output / REPORTS[0], report(counts))
    write_json(job.output / REPORTS[1], {"corpora": counts})
    print(report(counts), end="")
    step.finish()


def clean(job: Cleaning, texts: list[Text], others: list[Text]) -> dict:
    """Write all texts: evaluation texts first, whose lines the training texts must not have.

    Args:
        others: evaluation texts of other folders, which are only read.

    Returns:
        SPLIT.PAIR -> the counts of the report.
    """
    evaluation_lines.clear()
    counts = {}
    with Workers(job.workers) as workers:
        for text in others:
            clean_evaluation(text, None, workers)
        for language, path in job.exclude_text:
            remember_evaluation(language, path, workers)
        for text in texts:
            if text.split != TRAIN:
                counts[f"{text.split}.{text.pair}"] = clean_evaluation(text, job.output, workers)
    if job.ignore_case:
        ignore_case_of_evaluation()
    with Workers(job.workers) as workers:  # new processes, which know the evaluation lines
        for text in texts:
            if text.split == TRAIN:
                counts[f"{TRAIN}.{text.pair}"] = clean_training(
                    text, job.output, job.limits, workers, job.keep_duplicates, job.ignore_case
                )
    return counts
