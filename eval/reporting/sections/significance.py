"""What `python -m eval compare` found: differences, their intervals and p-values."""

from eval.derived.comparisons import KIND, Comparisons
from eval.labels import Measure, compared_measure, side_label
from eval.reporting.exhibits import Cell, Section, Table, cell, cells, number_cell, slug
from eval.result_set import ResultSet
from eval.scoring.compare import NEITHER, NOTES, p_text
from eval.scoring.paired_test import TESTS
from eval.systems import Run

PARTS = {"overall": "over groups of directions", "directions": "per direction"}
P_VALUES = ("p_value", "adjusted_p_value", "adjusted_p_value_with_seeds")


def section(results: ResultSet) -> Section:
    comparisons = Comparisons.of(results)
    families: dict[tuple, list[Run]] = {}
    for run in comparisons.runs:
        families.setdefault((run.dataset, run.record["measure"], run.record["axis"]), []).append(run)
    tables = [
        table(comparisons, runs, part)
        for runs in families.values()
        for part in PARTS
        if any(len(comparisons.of_run(run, part)) for run in runs)
    ]
    return Section("Significance", tables, [*dict.fromkeys(notes(results)), *NOTES])


def notes(results: ResultSet) -> list[str]:
    """How each comparison file was made."""
    sentences = []
    for _, record in results.of_kind(KIND):
        corrected = (
            "after Holm's correction over all tests of a table"
            if record["correction"] == "holm"
            else "without correction for the number of tests"
        )
        sentences.append(
            f"Test: {TESTS[record['test']]}, {record['samples']} samples, seed {record['seed']}. Bold: p <="
            f" {record['level']} {corrected}. From and to: the {1 - record['level']:.0%} interval. Scores are"
            " means over directions and seeds; the outputs of all seeds for a line, and the lines of the same"
            " number of all directions with equally many lines, are exchanged and drawn together."
        )
    return sentences


def table(comparisons: Comparisons, runs: list[Run], part: str) -> Table:
    """One family of tests. Rows: pairs of systems by directions (or groups of them)."""
    dataset, name, axis = runs[0].dataset, runs[0].record["measure"], runs[0].record["axis"]
    measure = compared_measure(name)
    rows, rules = [], set()
    for run in runs:
        rules.add(len(rows))
        names = [side_label(run.record, side) for side in ("baseline", "compared")]
        for group, result in comparisons.of_run(run, part).iterrows():
            note = f" ({NEITHER})" if result["neither_translates"] else ""
            rows.append([*cells(*names, f"{group}{note}"), *result_cells(result.to_dict(), measure)])
    header = [
        cells(
            *("Baseline", "System", "Directions", f"{measure.title} of baseline", "of system", "Difference"),
            *("From", "To", "p", "p corrected", "p seeds", "People"),
        )
    ]
    differ = f"systems that differ in the {axis}" if axis else "the systems compared"
    differ += "" if name else ", each by the measure that stands with it"
    caption = (
        f"{measure.title} on {dataset} {PARTS[part]}, {differ}: a family of"
        f" {runs[0].record['family'][part]} tests. Bold: significantly higher. From, to: interval. Corrected:"
        " for the number of tests. p seeds: of other trainings. People: share that agrees."
    )
    by = name or "two-measures"
    file = slug("significance", part, dataset, by, *([axis.replace(" ", "-")] if axis else []))
    return Table(file, caption, header, rows, frozenset(rules - {0}), folded=part == "directions")


def result_cells(result: dict[str, float], measure: Measure) -> list[Cell]:
    """The cells of one test; NaN is no number."""
    numbers = {name: value for name, value in result.items() if value == value}
    is_better = numbers["difference"] > 0

    def number(key: str, sign: str = "", bold: bool = False) -> Cell:
        value = numbers[key] * measure.scale
        return cell(f"{value:{sign}.{measure.digits}f}", bold, value)

    return [
        number("baseline", bold=numbers["significant"] == 1 and not is_better),
        number("system", bold=numbers["significant"] == 1 and is_better),
        *(number(key, "+") for key in ("difference", "difference_low", "difference_high")),
        *(cell(p_text(numbers.get(key)), value=numbers.get(key)) for key in P_VALUES),
        number_cell(numbers.get("agreement"), ".0%"),
    ]
