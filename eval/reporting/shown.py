"""Which kind of result is shown how: `eval/report.toml`."""

import functools
import importlib
import tomllib
from collections.abc import Callable
from itertools import product
from pathlib import Path

from command_line.measurements import Measured
from eval.reporting.exhibits import Section, with_names_of_their_own
from eval.reporting.sections import published
from eval.results.result_set import ResultSet

NO_SETTINGS = ("view", "where", "of")  # of a view: the others in its entry are
UNLIKE = "show systems on one dataset together that have other sentences or were measured in other ways"
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
    sections.append(published.section(results))
    return with_names_of_their_own(section for section in sections if section.exhibits)


def section_of(kind: str, measured: Measured) -> Section:
    """What the report shows of what a probe has measured.

    Args:
        kind: of the probe, the name of its result file.
    """
    from eval.measurements import Measurements

    (entry,) = [entry for entry in declared_sections() if entry["kind"] == kind]
    return _shown(entry, Measurements.derived(measured))


def _section(entry: dict, results: ResultSet) -> Section:
    if "function" in entry:
        return _named(entry["function"])(results)
    from eval.measurements import measured_by  # pandas: not before there are rows to read

    return _shown(entry, measured_by(results, entry["kind"], entry.get("unlike", False)))


def _shown(entry: dict, measurements) -> Section:
    """A section of rows (`Measurements`)."""
    from eval.measurements import Measurements
    from eval.reporting.views import VIEWS

    by_dataset = {"": measurements.by_dataset()}
    for function in {shown["of"] for shown in entry["shows"] if "of" in shown}:
        derived = _named(function)(measurements)
        if not isinstance(derived, Measurements):
            derived = Measurements.derived(derived)
        by_dataset[function] = derived.by_dataset()
    exhibits = []
    for dataset, shown in product(by_dataset[""], entry["shows"]):
        measured = by_dataset[shown.get("of", "")].get(dataset)
        chosen = measured and measured.where(**shown.get("where", {}))
        if chosen and chosen.systems:
            settings = {name: value for name, value in shown.items() if name not in NO_SETTINGS}
            exhibits += VIEWS[shown["view"]](chosen, dataset, **settings)
    notes = [" ".join(note.split()) for note in entry.get("notes", [])]
    of_runs = {note for system in measurements.systems for run in system.runs for note in run.notes}
    return Section(entry["title"], exhibits, [*notes, *sorted(of_runs)])


def _named(function: str) -> Callable:
    """A function by its module and name, with a colon in between."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)
