"""Tables, plots and one HTML file from result files alone.

Takes any mixture of result files (scores.json, sentence-retrieval.json, comparisons, …) and of folders, which
stand for all result files in them; those with the same system name and other seeds become one system with
mean and standard deviation. Writes report.html (self-contained), report.md, tables/*.csv and plots/*.png, and
removes tables and plots that an earlier report wrote there and this one does not (files.txt lists them).
Tables follow Table 8.2 and Tables E.3-E.8 of the thesis. The same files give the same bytes.
"""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

from command_line import options
from command_line.lines import read_lines
from command_line.outputs import remove_leftovers, write_text
from embeddings.averages import FROM, TO
from embeddings.search.sentence_scores import MEASURES
from eval.probes import PROBES
from eval.reporting.exhibits import exhibit_files, write_exhibits
from eval.reporting.pages import html, markdown
from eval.results.result_set import ResultSet

# Kind of result file, and where the function `section(results) -> Section` is that shows it: MODULE, or
# MODULE:FUNCTION for one of another name.
TRANSLATIONS = (
    ("scores", "eval.reporting.sections.summary"),
    ("scores", "eval.reporting.sections.off_target"),
    ("off-target", PROBES["off-target"].module),
    ("comparison", "eval.reporting.sections.significance"),
    ("scores", "eval.reporting.sections.directions"),
    ("scores", "eval.reporting.sections.indicators"),
    ("scores", "eval.reporting.sections.on_target"),
    ("adequacy", "eval.probes.adequacy"),
)
_TASKS = "eval.reporting.sections.sentence_tasks"
SENTENCE_ENCODERS = (  # what `python -m embeddings` has measured
    ("sentence-retrieval", "eval.reporting.sections.sentence_retrieval"),
    ("sentence-retrieval", "eval.reporting.sections.dual_pivot"),
    ("sentence-retrieval", "eval.reporting.sections.encoder_sizes"),
    ("sentence-retrieval", "eval.reporting.sections.distillation"),
    ("data-size", PROBES["data-size"].module),
    ("encoding-speed", "eval.reporting.sections.encoder_sizes:speed"),
    ("neighbours", f"{_TASKS}:neighbours"),
    ("mining", f"{_TASKS}:mining"),
    ("classification", f"{_TASKS}:classification"),
    ("sts", f"{_TASKS}:sts"),
    ("finetuning", f"{_TASKS}:finetuning"),
    ("transfer", PROBES["transfer"].module),
)
SOURCES = (("scores", "eval.reporting.sections.provenance"),)

FILES = "files.txt"  # the tables and plots of a report: those that the next one does not write are removed
_EXHIBIT = re.compile(r"(tables/[\w-]+\.csv|plots/[\w-]+\.png)")


def sections() -> list[tuple[str, str]]:
    """Kind of result file and place of every section, in the order of the report: how systems translate, what
    probes found, what sentence encoders are good for, where the numbers come from.
    """
    probes = [(probe.kind, probe.module) for probe in PROBES.values() if probe.kind]
    placed = [*TRANSLATIONS, *SENTENCE_ENCODERS]
    return [*TRANSLATIONS, *(one for one in probes if one not in placed), *SENTENCE_ENCODERS, *SOURCES]


def section_of(place: str) -> Callable:
    """The function that makes a section."""
    module, _, function = place.partition(":")
    return getattr(importlib.import_module(module), function or "section")


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


def main(args) -> None:
    write_report(args.results, args.title, Path(args.output), args.similarity, args.direction)
    print(Path(args.output) / "report.html")


def write_report(
    files, title: str, output: Path, similarity: str | None = None, direction: str | None = None
) -> None:
    """Write the report of result files, or of folders with them, into a folder.

    Args:
        similarity, direction: of retrieval; see `ResultSet`.

    Raises:
        InputError: a file is of no known kind, or files do not belong together.
    """
    known = sections()
    results = ResultSet.load(files, dict.fromkeys(kind for kind, _ in known), similarity, direction)
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
    shown = [section_of(place)(results) for kind, place in known if results.of_kind(kind)]
    shown = [section for section in shown if section.exhibits]
    for folder in (output, output / "tables", output / "plots"):
        remove_leftovers(folder)
    files = exhibit_files(shown, output / "tables", output / "plots")
    names = {str(file.relative_to(output)) for file in files}
    before = _listed(output)
    _write_list(output, before | names)  # first, so that a killed report leaves nothing that is not listed
    write_exhibits(files)
    write_text(output / "report.md", markdown(title, shown))
    write_text(output / "report.html", html(title, shown))
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
