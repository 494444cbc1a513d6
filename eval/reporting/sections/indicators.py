"""Signs of degenerate output: length ratio, empty lines, copied sources; the averages from and to English."""

from eval.reporting.exhibits import Section, Table, cells, measure_cell
from eval.results.measures import MEASURES
from eval.results.result_set import ResultSet

SHOWN = ("bleu", "chrf", "comet", "off_target", "length_ratio", "empty", "copied")
GROUPS = ("zero-shot", "supervised", "from-en", "to-en")


def section(results: ResultSet) -> Section:
    measures = [m for m in SHOWN if any(system.mean("averages", "all", m) for system in results.systems)]
    rows, rules = [], set()
    for system in results.systems:
        rules.add(len(rows))
        for group in GROUPS:
            values = [system.mean("averages", group, measure) for measure in measures]
            if not any(values):
                continue
            shown = [measure_cell(MEASURES[name], mean) for name, mean in zip(measures, values, strict=True)]
            rows.append([*cells(system.dataset, system.name, group), *shown])
    header = [cells("Dataset", "System", "Directions", *(MEASURES[measure].title for measure in measures))]
    caption = (
        "Means over directions and seeds, ± standard deviation over seeds. Length ratio: tokens of the output"
        " over tokens of the reference; copied source: lines equal to their source up to spaces."
    )
    return Section("All averages", [Table("averages", caption, header, rows, frozenset(rules - {0}))])
