"""Accuracy and perplexity of every pre-training task (thesis 4.5.5, Tables 4.12 and 4.13).

Each LOG is NAME=FILE: what fairseq-train printed with `--task linguistic_pretraining` and `--log-format
simple` or `json`, for instance `pretrained/jass-seed1/train.log` of the recipe; the same NAME with several
files: its seeds. The numbers are those of the validation with the lowest perplexity, whose checkpoint is
fine-tuned.
"""

from pathlib import Path

from command_line.errors import InputError
from eval.probes.training_logs import add_log_arguments, publish_runs, validations

KIND = "pretraining-accuracy"
MEASURES = ("accuracy", "ppl")


def add_arguments(parser) -> None:
    add_log_arguments(parser, KIND)


def main(args) -> None:
    from eval.reporting.sections import pretraining_accuracy

    publish_runs(args, KIND, pretraining_accuracy.section, run)


def run(name: str, path: Path, dataset: str) -> dict:
    """One pre-training: language -> task -> measures; the task "" is all of the language.

    Raises:
        InputError: no validation of pre-training in the log.
    """
    found = validations(path)
    update = min(found, key=lambda update: (found[update].get("ppl", float("inf")), update))
    languages: dict[str, dict[str, dict]] = {}
    for measured, value in found[update].items():
        measure, _, component = measured.partition("_")
        if measure in MEASURES and component:
            language, _, task = component.partition("-")
            languages.setdefault(language, {}).setdefault(task, {})[measure] = value
    if not languages:
        raise InputError(f"{path}: no accuracies of tasks in it; expected a log of linguistic_pretraining")
    return {
        "system": {"name": name},
        "dataset": dataset,
        "log": str(path),
        "update": update,
        "languages": languages,
    }
