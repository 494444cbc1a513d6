"""XNLI Manual, whose training text is no machine's ("Is Cross-lingual Evaluation Only About Cross-lingual?",
4.1).

XNLI's human translations, the development and the test set of every language one after the other, are cut
into three parts of 8:1:1. A part has the same lines of all languages, drawn once; each language's lines are
counted in its own order. OUTPUT has train.tsv, valid.tsv and test.tsv, with the columns of the files.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options
from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.option_classes import by_name, force_switch, option, output_folder
from command_line.outputs import write_text
from data_prep.step_folder import StepFolder

COLUMNS = ("language", "gold_label")  # the first ones
PARTS = ("train", "valid", "test")
HELD_OUT = 10  # a tenth of the lines each


@dataclass(frozen=True, kw_only=True)
class XnliManual:
    """What is drawn of which files."""

    dev: Path = option("xnli.dev.tsv", required=True, metavar="FILE", compare=False)
    test: Path = option("xnli.test.tsv", required=True, metavar="FILE", compare=False)
    seed: int = option("of the draw", 1, type=options.seed)
    output: Path = output_folder("the three parts")
    force: bool = force_switch()


def main(job: XnliManual) -> None:
    for file in (job.dev, job.test):
        if not file.is_file():
            raise InputError(f"{file}: no such file; expected one of XNLI-1.0")
    folder = StepFolder(job.output, "xnli-manual", by_name(job), (job.dev, job.test))
    if folder.is_complete(job.force):
        return
    header, rows_of_languages = read_rows(job.dev, job.test)
    parts = draw(len(next(iter(rows_of_languages.values()))), job.seed)
    with folder.writing(lambda path: path.suffix == ".tsv"):
        for name, numbers in parts.items():
            rows = [rows[number] for rows in rows_of_languages.values() for number in numbers]
            write_text(job.output / f"{name}.tsv", "".join(f"{row}\n" for row in (header, *rows)))


def read_rows(*files: Path) -> tuple[str, dict[str, list[str]]]:
    """The line of the columns, and language -> its lines, whose labels are the same in all languages."""
    header, labels = "", []
    rows_of_languages: dict[str, list[str]] = {}
    for file in files:
        for number, line in enumerate(read_lines(file), 1):
            language, label = (*line.split("\t"), "")[:2]
            if number == 1:
                header = header or line
                if (language, label) != COLUMNS or line != header:
                    raise InputError(
                        f"{at(file, 1)}: other columns than language, gold_label, ..., the same in both files"
                    )
                continue
            rows = rows_of_languages.setdefault(language, [])
            first = next(iter(rows_of_languages))
            if language == first:
                labels.append(label)
            elif len(rows) >= len(labels) or label != labels[len(rows)]:
                expected = labels[len(rows)] if len(rows) < len(labels) else "missing"
                raise InputError(
                    f"{at(file, number)}: label {label}, but of line {len(rows) + 1} of {first} {expected};"
                    " expected the same lines in all languages"
                )
            rows.append(line)
    if len(labels) < HELD_OUT:
        raise InputError(f"{files[0]}: found {len(labels)} lines of a language, expected {HELD_OUT} or more")
    for language, rows in rows_of_languages.items():
        if len(rows) != len(labels):
            raise InputError(
                f"{files[-1]}: found {len(rows)} lines of {language}, but {len(labels)} of {first}"
            )
    return header, rows_of_languages


def draw(lines: int, seed: int) -> dict[str, list[int]]:
    """Part -> the numbers of its lines, ascending."""
    order = np.random.default_rng(seed).permutation(lines).tolist()
    test, valid = lines // HELD_OUT, 2 * (lines // HELD_OUT)
    return dict(zip(PARTS, map(sorted, (order[valid:], order[test:valid], order[:test])), strict=True))
