"""Cosine of the embeddings of sources and translations, as in Table 4.7 (`eval adequacy`)."""

from eval.reporting.parts import Section, Table, cell, cells, slug, tidy
from eval.results.labels import UNKNOWN
from eval.results.result_set import ResultSet
from eval.results.runs import datasets_of, on, runs_of, seed_of
from eval.results.systems import MeanStd

COUNTED = ("lines", "cosine", "reference_cosine")


def section(results: ResultSet) -> Section:
    groups = runs_of(results, "adequacy")
    encoders = {f"{r['encoder']['name']} ({r['encoder']['model']})" for _, r in results.of_kind("adequacy")}
    notes = [
        "Cosine of the sentence embeddings of source and translation, mean over lines, x 100 (thesis 4.5.2),"
        f" by {', '.join(sorted(encoders))}."
    ]
    tables = [table(on(groups, dataset), dataset) for dataset in datasets_of(groups)]
    return Section("Adequacy", tables, notes)


def table(systems: dict[str, list[dict]], dataset: str) -> Table:
    """Systems by directions, the references first."""
    every = [run for runs in systems.values() for run in runs]
    directions = sorted({direction for run in every for direction in run["directions"]})
    rows = [[*cells("Reference", ""), *(number(every, one, "reference_cosine") for one in directions)]]
    data = []
    for system, runs in systems.items():
        rows.append([*cells(system, len(runs)), *(number(runs, one, "cosine") for one in directions)])
        data += [
            [dataset, system, seed_of(run, i), direction, *map(entry.get, COUNTED)]
            for i, run in enumerate(runs, 1)
            for direction, entry in run["directions"].items()
        ]
    caption = f"Adequacy on {dataset}, as in Table 4.7; mean ± deviation over seeds."
    titles = ["dataset", "system", "seed", "direction", *COUNTED]
    header = [cells("System", "Seeds", *directions)]
    return Table(slug("adequacy", dataset), caption, header, rows, frozenset({1}), data=tidy(titles, data))


def number(runs: list[dict], direction: str, name: str):
    """One cell; the references are the same for all runs that have the direction."""
    entries = [run["directions"].get(direction) for run in runs]
    if name == "reference_cosine":
        entries = [entry for entry in entries if entry][:1]
    found = MeanStd.of(100 * entry[name] if entry else None for entry in entries)
    if found is None:
        return cell(UNKNOWN)
    text = f"{found.mean:.2f}" + (f" ± {found.std:.2f}" if found.std else "")
    return cell(text, value=found.mean)
