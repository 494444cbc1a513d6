"""What is done besides `fairseq-train`."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "describe": (
        "fairseq_ext.commands.describe",
        "what a checkpoint is: axes, languages, data, training, parameters, options",
    ),
    "trim-mbart": (
        "fairseq_ext.commands.trim_mbart",
        "start from mBART: a checkpoint with the corpus's vocabulary",
    ),
    "trim-vocabulary": (
        "fairseq_ext.commands.trim_vocabulary",
        "shrink the vocabulary of a trained model to what a corpus uses",
    ),
    "average": ("fairseq_ext.commands.average", "the mean of the last or the best checkpoints of a training"),
    "package": (
        "fairseq_ext.commands.package",
        "a trained system as one folder: weights, options, dictionary, subword model",
    ),
    "export": (
        "fairseq_ext.commands.export",
        "a trained sentence encoder or translation model in the format of another library",
    ),
    # of the recipes
    "dry-run": (
        "fairseq_ext.commands.dry_run",
        "print the commands of a recipe, with trainings as they are started",
    ),
    "plan": (
        "fairseq_ext.commands.plan",
        "updates, words, operations and hours of the trainings of a recipe",
    ),
    "on-device": (
        "fairseq_ext.commands.on_device",
        "run a training with options that only its machine knows: precision, rank",
    ),
    "run-training": (
        "fairseq_ext.commands.run_training",
        "run a training of fairseq, unless it has finished",
    ),
    "checkpoints": ("fairseq_ext.commands.checkpoints", "the checkpoints of the course of a training"),
    "search-table": ("fairseq_ext.commands.search_table", "the best trainings of a search over options"),
    "finished-trainings": (
        "fairseq_ext.commands.finished_trainings",
        "the trainings in a folder that have finished",
    ),
}

if __name__ == "__main__":
    sys.exit(run("fairseq_ext", "What is done before and after a training.", COMMANDS))
