"""Verdicts on the claims of a paper, from the trainings that were made for them.

CLAIMS.toml says, before any training, what every claim means in numbers: which number of each training, which
systems, how many seeds, what is expected. Each row gets its effect with an interval over seeds, a p-value
after Holm's procedure within its family, and a verdict: agrees, contradicts, cannot tell; or "waiting", and
no number, until all its trainings are finished. Prints tables in Markdown, or writes them into a page.
docs/claims.md is made with it.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError, check_file
from command_line.option_classes import from_arguments
from command_line.outputs import write_text


@dataclass(frozen=True)
class Options:
    """Options of the command.

    Attributes:
        claims: the file that declares them.
        results: experiment -> its folder, the --output of a recipe.
        numbers: file that keeps the number of every training; None for none.
        page: whose tables are made anew; None for the terminal.
        paired: print what rows that are not paired would find if they were, and no verdicts.
    """

    claims: Path
    results: list[tuple[str, Path]]
    numbers: Path | None
    page: Path | None
    paired: bool = False


def add_arguments(parser) -> None:
    parser.add_argument(
        "claims", type=types.path, metavar="CLAIMS.toml", help="what is claimed, and how it is tested"
    )
    parser.add_argument(
        "results",
        nargs="*",
        type=types.assignment("lab=outputs/zero_shot/phrasebook", types.path),
        metavar="EXPERIMENT=DIR",
        help="folder of an experiment of the file, the --output of a recipe; others wait",
    )
    parser.add_argument(
        "--numbers",
        type=types.output_file,
        metavar="FILE.json",
        help="keep the number of every training in this file, and take those that are there from it: folders"
        " may come one after the other, and go",
    )
    parser.add_argument(
        "--page",
        type=types.output_file,
        metavar="FILE.md",
        help="put the tables between the marks of this page",
    )
    parser.add_argument(
        "--paired",
        action="store_true",
        help="print another table: of rows that treat trainings of one seed as independent, p-values before"
        " Holm's correction, and what they would be by the differences of every seed",
    )


def main(args) -> None:
    from eval.claims.decisions import decide, decide_paired
    from eval.claims.declared import read_claims
    from eval.claims.tables import filled, paired_table, tables
    from eval.claims.trainings import Trainings

    options = from_arguments(Options, args)
    if options.paired and options.page:
        raise InputError(f"--page {options.page}: not with --paired, whose table has no place on it")
    claims = read_claims(options.claims)
    trainings = Trainings(folders_of(options, claims.experiments), options.numbers)
    if options.paired:
        print(paired_table(claims, decide_paired(claims, trainings)))
        trainings.keep()
        return
    found = tables(claims, decide(claims, trainings))
    trainings.keep()
    if options.page is None:
        print("\n\n".join(f"## {claims.chapters[one]}\n\n{table}" for one, table in found.items()))
        return
    check_file(options.page, "a page with marks for tables")
    text = options.page.read_text(encoding="utf-8")
    write_text(options.page, filled(text, found, options.page))
    print(
        f"claims: {options.page}: {sum(len(table.splitlines()) - 2 for table in found.values())} rows",
        file=sys.stderr,
    )


def folders_of(options: Options, experiments: dict[str, str]) -> dict[str, Path]:
    """Experiment -> its folder.

    Raises:
        InputError: the file has no such experiment, or there is no such folder, or it is given twice.
    """
    for name, folder in options.results:
        if name not in experiments:
            known = ", ".join(experiments)
            raise InputError(
                f"{name}={folder}: {options.claims} has no such experiment; expected one of: {known}"
            )
        if not folder.is_dir() or not any(folder.iterdir()):
            raise InputError(
                f"{name}={folder}: no folder with files in it; expected the --output of a recipe"
            )
    if len(dict(options.results)) < len(options.results):
        raise InputError("an experiment is given twice, expected one folder each")
    return dict(options.results)
