"""Validation loss of translation during training, of several systems (thesis 7.4.2, Figure 7.3).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`, for instance
`train.log` of a recipe's model; the same NAME with several files: its seeds. The loss is `nmt_loss` where
other losses are added, else `loss`; it is that of teacher forcing, also of the interlingua's length, in
bits per token, label smoothing included.
"""

from pathlib import Path

from command_line.option_classes import from_arguments
from eval.probes.training_logs import LogOptions, add_log_arguments, finite, probe_logs, validations
from eval.reporting.exhibits import Figure, Section, Table, cells, number_cell, slug, tidy
from eval.reporting.plots import lines
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset

KIND = "validation-curves"
METRICS = ("nmt_loss", "loss")
MOST_TICKS = 20
NOTES = [
    "Loss of translation on the validation set, in bits per token. Interlinguas of variable length have the"
    " right length here, not a predicted one (7.4.2): a low loss promises less than it does elsewhere."
]


def add_arguments(parser) -> None:
    add_log_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(LogOptions, args)
    probe_logs(KIND, options, measure, args)


def measure(log: Path) -> dict:
    """The losses of one training; None where one was not a number, or infinite.

    Raises:
        InputError: no validation in the log.
    """
    found = dict(sorted(validations(log).items()))
    metrics = [next(name for name in METRICS if name in values) for values in found.values()]
    return {
        "metric": metrics[-1],
        "updates": list(found),
        "loss": [finite(values[metric]) for values, metric in zip(found.values(), metrics, strict=True)],
    }


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = by_dataset(results.probed(KIND))
    return Section("Validation loss", [curves(found, dataset) for dataset, found in systems.items()], NOTES)


def curves(systems: list[System], dataset: str) -> Figure:
    """One curve per system over the updates, at no more than `MOST_TICKS` of them; all in the CSV file."""
    updates = sorted({update for system in systems for run in system.records for update in run["updates"]})
    every = -(-len(updates) // MOST_TICKS)
    ticks = updates[::-1][::every][::-1]  # the last one in any case
    series = {system.name: [at(system, update) for update in ticks] for system in systems}
    rows = []
    for system in systems:
        shown = [number_cell(value and value.mean, ".3f") for value in series[system.name]]
        rows.append([*cells(system.name, len(system.runs)), *shown])
    data = [
        [dataset, system.name, seed, run["metric"], update, loss]
        for system in systems
        for seed, run in system.labelled()
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


def at(system: System, update: int) -> MeanStd | None:
    """Mean over the runs; None where one was not validated."""
    losses = [dict(zip(run["updates"], run["loss"], strict=True)).get(update) for run in system.records]
    return MeanStd.of(losses)
