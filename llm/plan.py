"""What tunings of a language model will take: updates, subwords, operations and hours; nothing is run.

Reads the commands of a recipe, as `fairseq_ext plan` does. How many instructions of an objective there are
and how many parameters a model has, a recipe says by --sizes: it is known before they are there. An
instruction is two sentences of `--words-per-sentence`, and 20 subwords around them. Every learning rate is a
training. Adapters need 4 operations per parameter of the model: it has no gradients of its own.
"""

import math
import sys
from functools import partial

from command_line.estimates import OPERATIONS, AssumedOfFiles, Estimate, Estimates
from command_line.recipe_commands import jobs
from llm import tune
from llm.tuning.options import Tuning

PROMPT = 20  # subwords of an instruction besides its sentences
FROZEN = 4  # operations per parameter and word: two forward, two backward to what is below


def main(plan: AssumedOfFiles) -> None:
    estimates = Estimates()
    for launch, job in jobs(sys.stdin, "llm", {"tune": (tune, Tuning)}):
        estimates.add(job.output.name, partial(_estimate, job, _devices(launch), plan))
    estimates.show(plan.flops)


def _devices(launch: list[str]) -> int:
    from fairseq_ext.training_record import parse_options

    given = parse_options(launch)
    return int(given.get("--nproc-per-node", "1").split()[0]) * int(given.get("--nnodes", "1").split()[0])


def _estimate(job: Tuning, devices: int, plan: AssumedOfFiles) -> Estimate:
    """What one tuning takes: the stages of its curriculum, each with every learning rate."""
    folders = {folder.name: folder for folder in job.instructions}
    counts = [[plan.size_of(folders.get(task)) for task in stage] for stage in job.curriculum]
    batch = job.batch_sentences * job.batches_per_update * devices
    words = batch * (2 * plan.words_per_sentence + PROMPT)
    updates, unknown = None, "how many instructions there are is not known; set TRAINING_PAIRS"
    if not any(None in stage for stage in counts):
        epochs = job.epochs * len(job.learning_rate)
        updates = sum(epochs * math.ceil(sum(stage) / batch) for stage in counts)
        unknown = "size of the model unknown; set PARAMETERS"
    operations = FROZEN if job.lora.lora_rank else OPERATIONS
    return Estimate(1, plan.size_of(job.model), updates, words, unknown=unknown, operations=operations)
