"""Validation loss during training, as Figure 7.3 of the thesis (`eval probe validation-curves`)."""

from eval.reporting.parts import Figure, Section, Table, cell, cells, slug, tidy
from eval.reporting.plots import lines
from eval.results.labels import UNKNOWN
from eval.results.result_set import ResultSet
from eval.results.runs import datasets_of, on, runs_of, seed_of
from eval.results.systems import MeanStd

MOST_TICKS = 20
NOTES = [
    "Loss of translation on the validation set, in bits per token. Interlinguas of variable length have the"
    " right length here, not a predicted one (7.4.2): a low loss promises less than it does elsewhere."
]


def section(results: ResultSet) -> Section:
    groups = runs_of(results, "validation-curves")
    return Section(
        "Validation loss", [curves(on(groups, dataset), dataset) for dataset in datasets_of(groups)], NOTES
    )


def curves(systems: dict[str, list[dict]], dataset: str) -> Figure:
    """One curve per system over the updates, at no more than `MOST_TICKS` of them; all in the CSV file."""
    updates = sorted({update for runs in systems.values() for run in runs for update in run["updates"]})
    every = -(-len(updates) // MOST_TICKS)
    ticks = updates[::-1][::every][::-1]  # the last one in any case
    series = {system: [at(runs, update) for update in ticks] for system, runs in systems.items()}
    rows = []
    for system, values in series.items():
        shown = [cell(UNKNOWN) if v is None else cell(f"{v.mean:.3f}", value=v.mean) for v in values]
        rows.append([*cells(system, len(systems[system])), *shown])
    data = [
        [dataset, system, seed_of(run, i), run["metric"], update, loss]
        for system, runs in systems.items()
        for i, run in enumerate(runs, 1)
        for update, loss in zip(run["updates"], run["loss"], strict=True)
    ]
    name = slug("validation_loss", dataset)
    caption = f"Validation loss of translation on {dataset}; bands: standard deviation over seeds."
    png = lines([str(update) for update in ticks], {"": series}, "loss (bits per token)")
    header = [cells("System", "Seeds", *ticks)]
    titles = ["dataset", "system", "seed", "metric", "updates", "loss"]
    return Figure(
        name, caption, png, Table(name, caption, header, rows, data=tidy(titles, data), folded=True)
    )


def at(runs: list[dict], update: int) -> MeanStd | None:
    """Mean over the runs; None where one was not validated."""
    losses = [dict(zip(run["updates"], run["loss"], strict=True)).get(update) for run in runs]
    return MeanStd.of(losses)
