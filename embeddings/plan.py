"""What fine-tunings and calibrations will take: updates, subwords, operations and hours; nothing is run.

Reads the commands of a recipe, as `fairseq_ext plan` does. How many examples a file has and how many
parameters a model has, a recipe says by --sizes: it is known before they are there. A sentence has
`--words-per-sentence`, and a window of question answering is full. A third of the pairs of inference are
entailed.
"""

import math
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from command_line.estimates import AssumedOfFiles, Estimate, Estimates
from command_line.recipe_commands import jobs
from embeddings import calibrate, finetune
from embeddings.calibration.options import Calibration
from embeddings.finetuning.options import Finetuning, files_of

SENTENCES = {"pairs": 2, "names": 1}  # of an example of a task
_STEPS = {"calibrate": (calibrate, Calibration), "finetune": (finetune, Finetuning)}


def main(plan: AssumedOfFiles) -> None:
    estimates = Estimates()
    for _, job in jobs(sys.stdin, "embeddings", _STEPS):
        estimates.add("/".join(job.output.parts[-2:]), partial(_estimate, job, plan))
    estimates.show(plan.flops)


def _estimate(job: Calibration | Finetuning, plan: AssumedOfFiles) -> Estimate:
    length = plan.words_per_sentence
    if isinstance(job, Calibration):
        model, batch = job.model, job.batch_size
        parts = [(job.nli_epochs / 3, job.nli, 3 * length), (job.sts_epochs, [job.sts], 2 * length)]
    else:
        model, task, how = job.training.model, job.training.task, job.training.how
        batch = how.batch_size
        words = SENTENCES[task] * length if task in SENTENCES else how.max_length
        parts = [(how.epochs, files_of(job.training.train), words)]
    return _summed(plan, model, parts, batch)


def _summed(
    plan: AssumedOfFiles, model: Path, parts: list[tuple[float, Iterable[Path], float]], batch: int
) -> Estimate:
    """What a training of several parts takes.

    Args:
        parts: epochs, files, words of an example.
        batch: examples of an update.
    """
    updates, words = 0, 0.0
    for epochs, files, length in parts:
        examples = [plan.size_of(path) for path in files]
        if None in examples:
            return Estimate(1, None, None, 0, unknown="how many examples its text has is not known")
        updates += math.ceil(epochs * sum(examples) / batch)
        words += epochs * sum(examples) * length
    parameters = plan.size_of(model)
    return Estimate(1, parameters, updates, words / updates, unknown="size of the model unknown")
