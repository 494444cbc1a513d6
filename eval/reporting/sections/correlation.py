"""Changes in BLEU against changes in retrieval P@1 (thesis 5.3.3, `eval probe correlate`)."""

from eval.reporting.parts import Figure, Section, Table, cell, cells, slug, tidy
from eval.reporting.plots import scatter
from eval.results.files import field
from eval.results.result_set import ResultSet

NOTES = [
    "One point per pair of languages: the change in BLEU (mean of both directions) and in P@1 on top of the"
    " encoder between two systems. r: Pearson's correlation, p: two-sided, n: number of pairs."
]
TITLES = {
    "sentence": "sentence retrieval P@1",
    "sentence_in_batch": "sentence retrieval P@1 within batches",
    "word": "word retrieval P@1",
}


def section(results: ResultSet) -> Section:
    groups: dict[tuple, list[dict]] = {}
    for path, record in results.of_kind("correlation"):
        for one in field(record, "correlations", list, path):
            groups.setdefault((one["dataset"], one["measure"], one["baseline"]), []).append(one)
    return Section("Retrieval and translation quality", [part(*key, g) for key, g in groups.items()], NOTES)


def part(dataset: str, measure: str, baseline: str, correlations: list[dict]) -> Figure:
    """Scatter plot of all systems that were compared with one baseline."""
    series = {
        f"{one['system']}: {shown(one['pearson']['all'])}": [
            (point["precision_change"], point["bleu_change"], pair) for pair, point in one["pairs"].items()
        ]
        for one in correlations
    }
    caption = f"Changes from {baseline} on {dataset}: BLEU against {TITLES[measure]}, in points."
    name = slug("correlation", measure, dataset, baseline)
    png = scatter(series, f"change in {TITLES[measure]}", "change in BLEU")
    rows, data = [], []
    for one in correlations:
        for group, found in one["pearson"].items():
            numbers = [
                cell(f"{found['r']:.2f}", value=found["r"]),
                cell(f"{found['p_value']:.3f}", value=found["p_value"]),
            ]
            rows.append([*cells(one["system"], f"r, p of {group} pairs ({found['n']})"), *numbers])
        for pair, point in one["pairs"].items():
            values = [point["precision_change"], point["bleu_change"]]
            rows.append([*cells(one["system"], pair), *(cell(f"{v:+.2f}", value=v) for v in values)])
            data.append([dataset, baseline, one["system"], point["kind"], pair, *values])
    titles = ["dataset", "baseline", "system", "kind", "pair", "precision_change", "bleu_change"]
    header = [cells("System", "Pair", "P@1 change (or r)", "BLEU change (or p)")]
    return Figure(name, caption, png, Table(name, caption, header, rows, data=tidy(titles, data)))


def shown(found: dict) -> str:
    return f"r = {found['r']:.2f}, p = {found['p_value']:.3f}, n = {found['n']}"
