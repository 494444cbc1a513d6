"""Tables, plots and one HTML file from result files alone.

Takes any mixture of result files (scores.json, sentence-retrieval.json, comparisons, …) and of folders, which
stand for all result files in them; those with the same system name and other seeds become one system with
mean and standard deviation. Writes report.html (self-contained), report.md, tables/*.csv and plots/* (PNG,
SVG and PDF), and removes tables and plots that an earlier report wrote there and this one does not (files.txt
lists them).
Tables follow Table 8.2 and Tables E.3-E.8 of the thesis. The same files give the same bytes.
"""

import re
import sys
from pathlib import Path

from command_line import options
from command_line.lines import read_lines
from command_line.outputs import remove_leftovers, write_text
from embeddings.averages import FROM, TO
from embeddings.search.sentence_scores import MEASURES
from eval.reporting.exhibits import exhibit_files, write_exhibits
from eval.reporting.pages import html, markdown
from eval.reporting.shown import UNLIKE, kinds, sections_of
from eval.results.result_set import ResultSet

FILES = "files.txt"  # the tables and plots of a report: those that the next one does not write are removed
_EXHIBIT = re.compile(r"(tables/[\w-]+\.csv|plots/[\w-]+\.(png|svg|pdf))")


def add_arguments(parser) -> None:
    parser.add_argument(
        "results",
        nargs="+",
        type=options.path,
        metavar="RESULT",
        help="result file, or a folder of them: a scored folder, the output of a probe or of embeddings",
    )
    parser.add_argument(
        "--output", required=True, type=options.output_folder, metavar="DIR", help="folder for the report"
    )
    parser.add_argument(
        "--title", type=options.text, default="Multilingual translation", help="heading of the report"
    )
    parser.add_argument(
        "--similarity",
        type=options.one_of(MEASURES),
        help="by which retrieval is shown pair by pair and in plots, where it was measured by several"
        " (default: cosine)",
    )
    parser.add_argument(
        "--direction",
        choices=(FROM, TO),
        help="in which retrieval is shown in plots and by pair, of sets whose pairs have a language in common"
        " (Tatoeba: English): from it, or to it (default: the mean of both)",
    )
    parser.add_argument(
        "--reference",
        type=options.path,
        metavar="FILE",
        help="numbers of a paper to show beside: rows as those of recipes/zero_shot/reference.csv",
    )
    parser.add_argument("--allow-unlike", action="store_true", help=UNLIKE)


def main(args) -> None:
    shown = {name: getattr(args, name) for name in ("similarity", "direction", "reference", "allow_unlike")}
    write_report(args.results, args.title, Path(args.output), **shown)
    print(Path(args.output) / "report.html")


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
