"""What a report section is made of: tables and figures, and how they become Markdown and CSV."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from command_line.measurements import WHOLE
from command_line.outputs import atomic_path
from command_line.spreadsheets import csv_text
from eval.labels import UNKNOWN
from eval.systems import MeanStd


@dataclass(frozen=True)
class Cell:
    """One table cell.

    Attributes:
        after: text behind the cell's own, never bold.
        value: the unrounded number behind the text, for CSV.
        width: columns that it spans.
    """

    text: str
    bold: bool = False
    value: float | None = None
    width: int = 1
    after: str = ""


def cell(text, *others, **named) -> Cell:
    """A cell of the text of a value."""
    return Cell(str(text), *others, **named)


def cells(*texts) -> list[Cell]:
    return [cell(text) for text in texts]


def number_cell(
    value: float | None, form: str, scale: float = 1.0, unit: str = "", bold: bool = False
) -> Cell:
    """One number; a dash where there is none.

    Args:
        form: Python's format of `scale` times the number, for instance `.2f`.
    """
    text = UNKNOWN if value is None else f"{value * scale:{form}}{unit}"
    return cell(text, bold, value)


def mean_cell(value: MeanStd | None, digits: int, mark: str = "") -> Cell:
    """Mean and deviation over runs; a dash where there is no number."""
    if value is None:
        return cell(UNKNOWN)
    return cell(value.text(digits) + mark, value=value.mean)


def mean_and_std_cells(value: MeanStd | None) -> list[Cell]:
    """Mean and deviation over runs in columns of their own, for the numbers behind a figure."""
    return [number_cell(number, ".2f") for number in ((value.mean, value.std) if value else (None, None))]


@dataclass(frozen=True)
class Table:
    """A table as it is laid out on the page, or a figure, with the numbers behind it.

    Attributes:
        name: file name without ending.
        header: header rows; a cell may span columns.
        rows: all of the same width.
        rules: indices of rows with a line above them.
        data: rows for the CSV file where it should not follow the layout; the first row is its header.
        folded: shown only after a click.
        images: of a figure: format ("png", "svg", "pdf") -> file, as `plots.image_files` draws them.
    """

    name: str
    caption: str
    header: list[list[Cell]]
    rows: list[list[Cell]]
    rules: frozenset[int] = frozenset()
    data: list[list] | None = None
    folded: bool = False
    images: Mapping[str, bytes] | None = None

    def columns(self) -> list[str]:
        """One title per column: the header rows joined from top to bottom."""
        spread = [[field.text for field in row for _ in range(field.width)] for row in self.header]
        return [" ".join(text for text in column if text) for column in zip(*spread, strict=True)]

    @cached_property
    def number_columns(self) -> set[int]:
        """Indices of the columns that hold numbers."""
        return {i for row in self.rows for i, field in enumerate(row) if field.value is not None}

    def markdown(self) -> str:
        """The table in Markdown, without the caption."""
        lines = ["| " + " | ".join(map(escape_markdown, self.columns())) + " |"]
        lines.append("|" + "---|" * len(self.columns()))
        lines += ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in self.rows]
        return "\n".join(lines)

    @cached_property
    def csv(self) -> str:
        """Numbers with four digits, whole ones as they are; an empty field where there is none. The rows of
        results have all digits.
        """
        rows = self.data or [self.columns(), *([_csv_value(field) for field in row] for row in self.rows)]
        return csv_text([list(map(_four_digits, row)) for row in rows])


def table_of_means(
    name: str,
    caption: str,
    titles: Sequence[str],
    rows: Iterable[tuple[Sequence, Sequence[MeanStd | None]]],
    digits: int = 1,
    **others,
) -> Table:
    """A table whose rows begin with texts, and go on with means.

    Args:
        others: further attributes.
    """
    shown = [[*cells(*texts), *(mean_cell(mean, digits) for mean in means)] for texts, means in rows]
    return Table(name, caption, [cells(*titles)], shown, **others)


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes:
        notes: how its numbers are to be read; folded below them.
        lead: what they show, in sentences above them.
    """

    title: str
    tables: list[Table]
    notes: list[str] = field(default_factory=list)
    lead: list[str] = field(default_factory=list)


def exhibit_files(sections: Iterable[Section], tables: Path, plots: Path) -> dict[Path, bytes]:
    """Contents of files: every table and the numbers of every figure as `tables/NAME.csv`, every figure in
    all formats as `plots/NAME.png`, ….
    """
    files = {}
    for section in sections:
        for table in section.tables:
            files[tables / f"{table.name}.csv"] = table.csv.encode()
            images = table.images or {}
            files |= {plots / f"{table.name}.{ending}": image for ending, image in images.items()}
    return files


def write_exhibits(files: Mapping[Path, bytes]) -> list[Path]:
    """Write what `exhibit_files` returns; returns the files."""
    for file, contents in files.items():
        with atomic_path(file) as path:
            path.write_bytes(contents)
    return list(files)


def _csv_value(field: Cell):
    if field.value is not None:
        return field.value
    return "" if field.text == UNKNOWN else field.text


def _four_digits(value):
    if not isinstance(value, float) or not math.isfinite(value) or value.is_integer():
        return value
    return float(f"{value:.4g}") if abs(value) < 1000 else round(value)


def escape_markdown(text: str) -> str:
    """Text that Markdown and the HTML inside it leave alone."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_|[]":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _markdown_cell(field: Cell) -> str:
    text = escape_markdown(field.text)
    after = f" {escape_markdown(field.after)}" if field.after else ""
    return (f"**{text}**" if field.bold else text) + after


def rows_behind(measured, measures: Sequence[str]) -> list[list]:
    """The rows of measures (of `Measurements`), for the CSV file of a table or figure. Repetitions are one
    row, with their mean, "deviation" and number; the file of the measurement has each.
    """
    rows = measured.rows
    rows = rows[rows.measure.isin(measures)]
    if rows["repeat"].notna().any():
        names = [name for name in rows if name not in ("repeat", "value")]
        repeated = rows.groupby(names, dropna=False, sort=False)
        rows = repeated.value.agg(value="mean", deviation="std").reset_index()
        rows["repetitions"] = repeated["repeat"].count().where(lambda count: count > 0).to_numpy()
    rows = rows.drop(columns=["run", "split"])
    rows = rows.loc[:, (rows.notna() & (rows != "")).any()]
    rows = rows.astype({name: "Int64" for name in (*WHOLE, "repetitions") if name in rows})
    return [list(rows.columns), *rows.astype(object).where(rows.notna(), None).values.tolist()]


LONGEST = 100  # characters of a file name that is made from names of any kind


def slug(kind: str, *names: str) -> str:
    """A file name: letters, digits, `-` and `_`; `with_names_of_their_own` tells equal ones apart.

    Args:
        kind: of the table or figure, a word of this project.
        names: of data sets, systems, …
    """
    text = "_".join([kind, *names]).replace(", ", "_")
    plain = "".join(character if character.isalnum() or character in "-_" else "-" for character in text)
    return plain[:LONGEST]


def with_names_of_their_own(sections: Iterable[Section]) -> list[Section]:
    """Sections whose tables all have another file name, also where case does not count: one like an earlier
    one has a number behind it.
    """
    taken: set[str] = set()

    def named(table: Table) -> Table:
        names = itertools.chain([table.name], (f"{table.name}-{number}" for number in itertools.count(2)))
        name = next(name for name in names if name.lower() not in taken)
        taken.add(name.lower())
        return table if name == table.name else replace(table, name=name)

    return [replace(section, tables=list(map(named, section.tables))) for section in sections]
