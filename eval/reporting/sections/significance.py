"""What `python -m eval compare` found: differences, their intervals and p-values."""

from eval.reporting.exhibits import Cell, Section, Table, cell, cells, slug
from eval.results.measures import Measure, common_measure, compared_measure, side_label
from eval.results.result_set import ResultSet
from eval.scoring.compare import NEITHER, NOTES, p_text
from eval.scoring.paired_test import TESTS

PARTS = {"overall": "over groups of directions", "directions": "per direction"}


def section(results: ResultSet) -> Section:
    families: dict[tuple, list[dict]] = {}
    for comparison in results.comparisons:
        family = comparison["dataset"], common_measure(comparison), comparison["axis"]
        families.setdefault(family, []).append(comparison)
    parts = [
        (family, part) for family in families.values() for part in PARTS if any(one[part] for one in family)
    ]
    tables = [table(family, part) for family, part in parts]
    return Section("Significance", tables, [*dict.fromkeys(notes(results)), *NOTES])


def notes(results: ResultSet) -> list[str]:
    """How each comparison file was made."""
    found = []
    for _, record in results.of_kind("comparison"):
        corrected = (
            "after Holm's correction over all tests of a table"
            if record["correction"] == "holm"
            else "without correction for the number of tests"
        )
        found.append(
            f"Test: {TESTS[record['test']]}, {record['samples']} samples, seed {record['seed']}. Bold: p <="
            f" {record['level']} {corrected}. From and to: the {1 - record['level']:.0%} interval. Scores are"
            " means over directions and seeds; the outputs of all seeds for a line, and the lines of the same"
            " number of all directions with equally many lines, are exchanged and drawn together."
        )
    return found


def table(comparisons: list[dict], part: str) -> Table:
    """One family of tests. Rows: pairs of systems by directions (or groups of them)."""
    dataset, axis = comparisons[0]["dataset"], comparisons[0]["axis"]
    measure, common = compared_measure(comparisons[0]), common_measure(comparisons[0])
    rows, rules = [], set()
    for comparison in comparisons:
        rules.add(len(rows))
        names = [side_label(comparison, side) for side in ("baseline", "system")]
        for group, result in comparison[part].items():
            note = f" ({NEITHER})" if result["neither_translates"] else ""
            rows.append([*cells(*names, f"{group}{note}"), *result_cells(result, measure)])
    header = [
        cells(
            *("Baseline", "System", "Directions", f"{measure.title} of baseline", "of system", "Difference"),
            *("From", "To", "p", "p corrected", "p seeds", "People"),
        )
    ]
    differ = f"systems that differ in the {axis}" if axis else "the systems compared"
    differ += "" if common else ", each by the measure that stands with it"
    caption = (
        f"{measure.title} on {dataset} {PARTS[part]}, {differ}: a family of"
        f" {comparisons[0]['family'][part]} tests; bold: the significantly higher score."
    )
    by = common or "two-measures"
    name = slug("significance", part, dataset, by, *([axis.replace(" ", "-")] if axis else []))
    return Table(name, caption, header, rows, frozenset(rules - {0}), folded=part == "directions")


def result_cells(result: dict, measure: Measure) -> list[Cell]:
    better = result["difference"] > 0

    def number(key: str, sign: str = "", bold: bool = False) -> Cell:
        value = result[key] * measure.scale
        return cell(f"{value:{sign}.{measure.digits}f}", bold, value)

    p_values = [
        cell(p_text(result[key]), value=result[key])
        for key in ("p_value", "adjusted_p_value", "adjusted_p_value_with_seeds")
    ]
    people = result["agreement"]
    return [
        number("baseline", bold=result["significant"] and not better),
        number("system", bold=result["significant"] and better),
        *(number(key, "+") for key in ("difference", "low", "high")),
        *p_values,
        cell("–" if people is None else f"{people:.0%}", value=people),
    ]
