"""What `python -m eval compare` found: p-values of BLEU differences (Koehn, 2004)."""

from eval.report_parts import Cell, Section, Table, cell, cells
from eval.result_set import ResultSet


def section(results: ResultSet) -> Section:
    parts = [table(results, part) for part in ("overall", "directions")]
    notes = [
        f"{record['test']}: {record['samples']} resamples, seed {record['seed']}, level {record['level']}."
        " BLEU is that of all lines of all seeds concatenated; the outputs of all seeds (and, over several"
        " directions, the lines of the same number) are drawn together."
        for _, record in results.of_kind("comparison")
    ]
    return Section("Significance", parts, list(dict.fromkeys(notes)))


def table(results: ResultSet, part: str) -> Table:
    """Rows: comparisons by directions (or groups of them). The better system's BLEU is bold where
    significant.
    """
    rows, rules = [], set()
    for comparison in results.comparisons:
        rules.add(len(rows))
        for group, result in comparison[part].items():
            names = (comparison["dataset"], comparison["baseline"], comparison["system"], group)
            p_value = cell(f"{result['p_value']:.3f}", value=result["p_value"])
            rows.append([*cells(*names), *score_cells(result), p_value])
    header = [
        cells(
            "Dataset", "Baseline", "System", "Directions", "BLEU of baseline", "of system", "Difference", "p"
        )
    ]
    what = "over all directions of a kind" if part == "overall" else "per direction"
    caption = f"Paired bootstrap test {what}; bold: the significantly higher score."
    return Table(
        f"significance_{part}", caption, header, rows, frozenset(rules - {0}), folded=part == "directions"
    )


def score_cells(result: dict) -> list[Cell]:
    better = result["difference"] > 0
    return [
        cell(f"{result['baseline']:.1f}", result["significant"] and not better, result["baseline"]),
        cell(f"{result['system']:.1f}", result["significant"] and better, result["system"]),
        cell(f"{result['difference']:+.1f}", value=result["difference"]),
    ]
