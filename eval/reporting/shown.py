"""Which kind of result is shown how: `eval/report.toml`."""

import functools
import importlib
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from eval.reporting.exhibits import Section, with_names_of_their_own
from eval.reporting.sections import published
from eval.result_set import ResultSet

NO_SETTINGS = ("view", "where", "of", "from", "each")  # of a view: the others in its entry are
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
    return with_names_of_their_own(section for section in sections if section.tables)


def _section(entry: dict, results: ResultSet) -> Section:
    if "function" in entry:
        return _named(entry["function"])(results)
    from eval.measurements import measured_by  # pandas: not before there are rows to read

    return _shown(entry, measured_by(results, entry["kind"], entry.get("unlike", False)), results)


def _shown(entry: dict, measured, results: ResultSet) -> Section:
    """A section of rows (`Measurements`)."""
    from eval.measurements import Measurements
    from eval.reporting.views import VIEWS

    sources = {"": measured}
    for shown in entry["shows"]:
        for function, given in ((shown.get("of"), measured), (shown.get("from"), results)):
            if function and function not in sources:
                rows = _named(function)(given)
                sources[function] = rows if isinstance(rows, Measurements) else Measurements.derived(rows)
    by_dataset = {name: rows.by_dataset() for name, rows in sources.items()}
    tables = []
    for dataset in dict.fromkeys(name for datasets in by_dataset.values() for name in datasets):
        for shown in entry["shows"]:
            source = by_dataset[shown.get("of") or shown.get("from", "")]
            chosen = dataset in source and source[dataset].where(**shown.get("where", {}))
            if chosen:
                settings = {name: value for name, value in shown.items() if name not in NO_SETTINGS}
                for part, label in _parts(chosen, dataset, shown.get("each")):
                    tables += VIEWS[shown["view"]](part, label, **settings)
    notes = [" ".join(note.split()) for note in entry.get("notes", [])]
    of_runs = {note for system in measured.systems for run in system.runs for note in run.notes}
    return Section(entry["title"], tables, [*notes, *sorted(of_runs)])


def _parts(measured, dataset: str, each: str | None) -> Iterator[tuple]:
    """What was measured, for each value of a column of the rows, or all of it; and what it is of."""
    if each is None:
        parts = [(measured, dataset)]
    else:
        values = measured.values(each)
        parts = [(measured.where(**{each: value}), f"{dataset}, {value}") for value in values]
    return ((part, label) for part, label in parts if part.systems)


def _named(function: str) -> Callable:
    """A function by its module and name, with a colon in between."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)
