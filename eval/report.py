"""Tables, plots and one HTML file from result files alone.

Give any mixture of result files (scores.json, sentence-retrieval.json, comparisons, …) and of folders, which
stand for all result files in them. Systems of one name with several seeds become one system with mean and
standard deviation. The command writes report.html (self-contained), report.md, tables/*.csv and plots/* (PNG,
SVG and PDF). It removes tables and plots of an earlier report that are in no new one (files.txt lists them).
Tables follow Table 8.2 and Tables E.3 to E.8 of the thesis. The same files give the same bytes.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.lines import read_lines
from command_line.option_classes import option, output_folder, positional, switch
from command_line.outputs import remove_leftovers, write_text
from embeddings.averages import FROM, TO
from embeddings.search.sentence_scores import MEASURES
from eval.reporting.exhibits import exhibit_files, write_exhibits
from eval.reporting.pages import html, markdown
from eval.reporting.shown import UNLIKE, kinds, sections_of
from eval.result_set import ResultSet

FILES = "files.txt"  # the tables and plots of a report: those that the next one does not write are removed
_EXHIBIT = re.compile(r"(tables/[\w-]+\.csv|plots/[\w-]+\.(png|svg|pdf))")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What of the results is shown."""

    similarity: str | None = option(
        "if retrieval was measured by several: the one of plots and of tables by pair (default: cosine)",
        type=types.one_of(MEASURES),
    )
    direction: str | None = option(
        "if all pairs have one language in common (Tatoeba: English): plots and tables by pair show retrieval"
        " from it, or to it (default: the mean of both)",
        choices=(FROM, TO),
    )
    reference: Path | None = option(
        "numbers of a paper to show beside: rows as those of recipes/zero_shot/reference.csv",
        metavar="FILE",
    )
    allow_unlike: bool = switch(UNLIKE)


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """What is reported, and where."""

    results: list[Path] = positional(
        "result file, or a folder of them: a scored folder, the output of a probe or of embeddings",
        metavar="RESULT",
    )
    output: Path = output_folder("the report")
    title: str = option("heading of the report", "Multilingual translation")
    shown: Shown


def main(options: ReportOptions) -> None:
    write_report(options.results, options.title, options.output, **vars(options.shown))
    print(options.output / "report.html")


def write_report(files, title: str, output: Path, **shown) -> None:
    """Write the report of result files, or of folders with them, into a folder.

    Args:
        shown: what of the results; fields of `ResultSet`.

    Raises:
        InputError: a file is of no known kind, or files do not belong together.
    """
    results = ResultSet.load(files, kinds(), **shown)
    results.check_checkpoints()
    for scores, checkpoint in results.overwritten():
        print(
            f"warning: {scores}: is of an earlier {checkpoint}, which was trained anew or further since;"
            " translate and score again to report on that one",
            file=sys.stderr,
        )
    for result, file in results.outdated():
        print(
            f"warning: {result}: was made from an earlier {file}; make it again to report on that one",
            file=sys.stderr,
        )
    sections = sections_of(results)
    for folder in (output, output / "tables", output / "plots"):
        remove_leftovers(folder)
    files = exhibit_files(sections, output / "tables", output / "plots")
    names = {str(file.relative_to(output)) for file in files}
    before = _listed(output)
    _write_list(output, before | names)  # first, so that a killed report leaves nothing that is not listed
    write_exhibits(files)
    write_text(output / "report.md", markdown(title, sections))
    write_text(output / "report.html", html(title, sections))
    for name in before - names:
        (output / name).unlink(missing_ok=True)
    _write_list(output, names)


def _listed(output: Path) -> set[str]:
    """Tables and plots that reports have written into this folder, by their list in it."""
    path = output / FILES
    lines = read_lines(path) if path.exists() else ()
    return {line for line in lines if _EXHIBIT.fullmatch(line)}


def _write_list(output: Path, names: set[str]) -> None:
    write_text(output / FILES, "".join(f"{name}\n" for name in sorted(names)))
