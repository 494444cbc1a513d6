"""Accuracy and perplexity of every pre-training task (thesis 4.5.5, Tables 4.12 and 4.13).

Each LOG is NAME=FILE: what fairseq-train printed with `--task linguistic_pretraining` and `--log-format
simple` or `json`, for instance `pretrained/jass-seed1/train.log` of the recipe; the same NAME with several
files: its seeds. The numbers are those of the validation with the lowest perplexity, whose checkpoint is
fine-tuned.
"""

import math
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.probes.training_logs import LogOptions, add_log_arguments, probe_logs, validations
from eval.reporting.exhibits import Section, Table, cells, mean_cell, slug, tidy
from eval.results.result_set import ResultSet
from eval.results.systems import System, by_dataset

KIND = "pretraining-accuracy"
MEASURES = ("accuracy", "ppl")
TITLES = {"accuracy": "Accuracy (%)", "ppl": "Perplexity"}
NOTES = [
    "Predicted tokens of the validation set, by pre-training task; sentences without the structure that a"
    " task needs are left out. A reordering task predicts whole sentences and a masking task the masked"
    " tokens only, so their numbers are not to be compared with each other."
]


def add_arguments(parser) -> None:
    add_log_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(LogOptions, args)
    probe_logs(KIND, options, measure, args)


def measure(log: Path) -> dict:
    """One pre-training: language -> task -> measures; the task "" is all of the language.

    Raises:
        InputError: no validation of pre-training in the log.
    """
    found = validations(log)
    update = min(found, key=lambda update: (perplexity(found[update]), update))
    languages: dict[str, dict[str, dict]] = {}
    for measured, value in found[update].items():
        name, _, component = measured.partition("_")
        if name in MEASURES and component:
            language, _, task = component.partition("-")
            languages.setdefault(language, {}).setdefault(task, {})[name] = value
    if not languages:
        raise InputError(f"{log}: no accuracies of tasks in it; expected a log of linguistic_pretraining")
    return {"update": update, "languages": languages}


def perplexity(values: dict[str, float]) -> float:
    """Of a validation; infinite where it was not measured, or diverged: NaN compares with nothing."""
    value = values.get("ppl", math.inf)
    return math.inf if math.isnan(value) else value


# --- the section of the report


def section(results: ResultSet) -> Section:
    exhibits = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        languages = {language for one in systems for run in one.records for language in run["languages"]}
        exhibits += [
            table(systems, dataset, language, measure) for language in sorted(languages) for measure in TITLES
        ]
    return Section("Pre-training", exhibits, NOTES)


def table(systems: list[System], dataset: str, language: str, measure: str) -> Table:
    """Systems by tasks of one language; the task "" is all of them."""
    found = [tasks for one in systems for tasks in one.values("languages", language) if tasks]
    tasks = sorted(set().union(*found))
    rows = [
        [
            *cells(system.name, len(system.runs)),
            *(mean_cell(system.mean("languages", language, task, measure), digits=2) for task in tasks),
        ]
        for system in systems
    ]
    data = [
        [dataset, system.name, seed, run["update"], language, task or "all", values.get(measure)]
        for system in systems
        for seed, run in system.labelled()
        for task, values in run["languages"].get(language, {}).items()
    ]
    caption = f"{TITLES[measure]} of pre-training on {dataset}, {language}, as in Tables 4.12 and 4.13."
    header = [cells("System", "Seeds", *(task.upper() or "Overall" for task in tasks))]
    titles = ["dataset", "system", "seed", "updates", "language", "task", measure]
    return Table(
        slug(f"pretraining_{measure}", dataset, language), caption, header, rows, data=tidy(titles, data)
    )
