"""Which kind of result is shown how: `eval/report.toml`."""

import functools
import importlib
import tomllib
from pathlib import Path

from eval.reporting.exhibits import Section
from eval.results.result_set import ResultSet

DECLARED = Path(__file__).parents[1] / "report.toml"


@functools.cache
def declared_sections() -> list[dict]:
    """The entries of the file, in the order of the report."""
    return tomllib.loads(DECLARED.read_text(encoding="utf-8"))["section"]


def kinds() -> list[str]:
    """The kinds of result files that the report shows."""
    return list(dict.fromkeys(entry["kind"] for entry in declared_sections()))


def sections_of(results: ResultSet) -> list[Section]:
    """The sections of results, without those that have nothing to show.

    Raises:
        InputError: results do not belong together.
    """
    sections = [_section(entry, results) for entry in declared_sections() if results.of_kind(entry["kind"])]
    return [section for section in sections if section.exhibits]


def _section(entry: dict, results: ResultSet) -> Section:
    if "function" in entry:
        module, _, function = entry["function"].partition(":")
        return getattr(importlib.import_module(module), function)(results)
    from eval.measurements import Measurements  # pandas: not before there are rows to read
    from eval.reporting.views import VIEWS

    exhibits = []
    measurements = Measurements.of(results.probed(entry["kind"]), results.allow_unlike)
    for dataset, measured in measurements.by_dataset().items():
        for shown in entry["shows"]:
            settings = {name: value for name, value in shown.items() if name not in ("view", "where")}
            chosen = measured.where(**shown.get("where", {}))
            if chosen.systems:
                exhibits += VIEWS[shown["view"]](chosen, dataset, **settings)
    return Section(entry["title"], exhibits, [" ".join(note.split()) for note in entry.get("notes", [])])


def add_unlike_argument(parser) -> None:
    parser.add_argument(
        "--allow-unlike",
        action="store_true",
        help="show systems on one dataset together that have other sentences or were measured in other ways",
    )
