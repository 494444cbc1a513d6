"""The view of languages that were identified in the output and in the references: a heat map per system."""

import pandas as pd

from data_prep.language_identification import EMPTY, NO_LETTERS
from eval.labels import direction_order
from eval.measurements import Measurements
from eval.reporting.exhibits import Table, cells, number_cell, rows_behind, slug
from eval.reporting.plots import heatmap
from eval.result_files import split_direction
from eval.scoring.off_target import names_of_labels

OTHER = "other"


def confusion(
    measured: Measurements, dataset: str, name: str, measure: str, reference: str, caption: str
) -> list[Table]:
    """Identified languages by directions, zero-shot ones first, and by the languages of the references.

    Args:
        measure: how many lines of a direction were identified as the language that is `part`; all seeds are
            added up.
        reference: the same of the references.
    """
    tables = []
    for system in measured.systems:
        of_system = measured.where(system=system.name)
        zero_shot, supervised = (
            direction_order(kind, of_system.where(kind=kind).values("direction"))
            for kind in ("zero-shot", "supervised")
        )
        directions = zero_shot + supervised
        names = names_of_labels(
            {code: label for run in system.runs for code, label in run.record["identifier_labels"].items()}
        )
        labels = {label: names[label] for label in sorted(names, key=names.get)}
        counts, of_references = (_counts(of_system, counted) for counted in (measure, reference))
        targets = of_references.index.map(lambda direction: split_direction(direction)[1])
        columns = {direction: counts.loc[direction] for direction in directions}
        columns |= {f"[{target}]": row for target, row in of_references.groupby(targets).sum().iterrows()}
        shares = {title: _shares(row, list(labels)) for title, row in columns.items()}
        titles = [*labels.values(), OTHER, NO_LETTERS, EMPTY]
        text = f"{caption} of {system.name} on {dataset} in percent of the lines"
        text += ", all seeds together." if len(system.runs) > 1 else "."
        if zero_shot and supervised:
            text += " Zero-shot directions left of the line, supervised ones right of it, then references."
        rules = [rule for rule in (len(zero_shot), len(directions)) if 0 < rule < len(columns)]
        rows = [
            [*cells(title, int(columns[title].sum())), *(number_cell(share, ".1f") for share in of_column)]
            for title, of_column in shares.items()
        ]
        grid = list(zip(*shares.values(), strict=True))
        images = heatmap(titles, list(columns), grid, "% of lines", rules, "direction", "identified language")
        header, data = [cells("Direction", "Lines", *titles)], rows_behind(of_system, [measure, reference])
        file = slug(name, dataset, system.name)
        tables.append(Table(file, text, header, rows, frozenset(rules), data, images=images))
    return tables


def _counts(measured: Measurements, measure: str) -> pd.DataFrame:
    """Directions by identified languages: lines of all runs."""
    rows = measured.where(measure=measure).rows
    return rows.pivot_table(index="direction", columns="part", values="value", aggfunc="sum", fill_value=0)


def _shares(counts: pd.Series, labels: list[str]) -> list[float]:
    """Shares in percent: every language of the system, others, lines without letters, and empty ones."""
    percent = 100 * counts / counts.sum()
    own, without = ([percent.get(label, 0.0) for label in named] for named in (labels, (NO_LETTERS, EMPTY)))
    return [*own, max(0.0, 100 - sum(own) - sum(without)), *without]
