"""Numbers of a publication, in its own tables: rows of `--reference` whose `group` is a table of it."""

from command_line.measurements import read_rows
from eval.labels import MEASURES, Measure
from eval.reporting.exhibits import Section, Table, slug, table_of_means
from eval.result_set import ResultSet
from eval.systems import MeanStd

TITLE = "Published numbers"
NOTES = [
    "Of the paper, with its corpora, models and measures: read them beside ours, not against them. Mean ±"
    " deviation over seeds where the paper has several."
]
PLACE = ("dataset", "kind", "direction", "part", "measure")
AS_IT_IS = ("length_error", "seconds_per_1000_updates", "adequacy", "fluency")  # others are fractions


def section(results: ResultSet) -> Section:
    tables: dict[str, list[dict]] = {}
    for row in read_rows(results.reference) if results.reference else ():
        if row["group"]:
            tables.setdefault(row["group"], []).append(row)
    return Section(TITLE, [_table(name, rows) for name, rows in tables.items()], NOTES)


def _table(name: str, rows: list[dict]) -> Table:
    """What the columns of all rows have in common stands in the caption."""
    shared = [column for column in PLACE if len({row[column] for row in rows}) == 1]
    numbers: dict[tuple[str, str], list[float]] = {}  # place, system -> of every seed
    for row in rows:
        place = _text(row, [column for column in PLACE if column not in shared])
        value = row["value"] * _measure(row["measure"]).scale
        numbers.setdefault((place, row["system"]), []).append(value)
    places, systems = (list(dict.fromkeys(key[side] for key in numbers)) for side in (0, 1))
    means = {key: MeanStd.of(values) for key, values in numbers.items()}
    caption = f"{name} of the paper{': ' if shared else ''}{_text(rows[0], shared)}."
    if len(places) > len(systems):
        titles = systems
        lines = [([place], [means.get((place, system)) for system in systems]) for place in places]
    else:
        titles = places
        lines = [([system], [means.get((place, system)) for place in places]) for system in systems]
    return table_of_means(slug("published", name), caption, ["", *titles], lines)


def _text(row: dict, columns: list[str]) -> str:
    texts = (_measure(row[column]).title if column == "measure" else row[column] for column in columns)
    return ", ".join(text for text in texts if text)


def _measure(name: str) -> Measure:
    """How a number is shown."""
    other = Measure(name, name.replace("_", " "), 1, scale=1.0 if name in AS_IT_IS else 100.0)
    return MEASURES.get(name, other)
