"""Tune a language model on instructions: low-rank adapters, in one of the curricula of thesis 6.3.2.

--model is a folder of a causal language model of transformers (BLOOMZ, for example), --instructions the
output of `llm instruct`. --curriculum says which objectives are learned: `mt` is the baseline MTInstruct,
`mt+align` learns both at once, `align,mt` one after the other, `mt+align,mt` is mixed fine-tuning. Only
answers are learned. On several GPUs: `torchrun --nproc-per-node 8 -m llm tune …`.

Writes OUTPUT/stage-N, an adapter of peft for every stage (with --lora-rank 0, a whole model), and
OUTPUT/tuning.json: validation losses and accuracies after every epoch, and everything that tables need. A
training that was killed goes on.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import by_name
from command_line.outputs import check_other_folder, write_json
from command_line.provenance import command_typed, versions
from command_line.records import read_json
from command_line.trainings import STATE
from data_prep.model_folders.loading import check_ids
from data_prep.model_folders.models import check_model
from llm.instructions.folder import Instructions
from llm.language_model import check_positions, load_tokenizer, model_files, weights_identity, without_weights
from llm.tuned import TUNING, curriculum_title
from llm.tuning.model import check_adapter
from llm.tuning.options import VALIDATION, Tuning
from llm.tuning.overlong import ENDING, Overlong
from llm.tuning.processes import Processes, SharedTrainingFolder, world_size

STATES = ("stage-*", f"{STATE}/stage-*/rate-*/{VALIDATION}", f"{STATE}/stage-*/rate-*-state/checkpoint-*")


def main(job: Tuning) -> None:
    check_model(job.model)
    check_output(job)
    instructions = Instructions.load(job.instructions)
    stages = [
        [{task: instructions.paths(split, [task]) for task in tasks} for split in ("train", "valid")]
        for tasks in job.curriculum
    ]
    inputs = {path for sets in stages for paths in sets for each in paths.values() for path in each}
    settings = by_name(job) | {"batches_per_update": job.batches_per_update * world_size()}  # of all devices
    stamp = Stamp(job.output / ".tuning.done", "tune", settings, [*sorted(inputs), *model_files(job.model)])
    processes = Processes(job.cpu)
    training = SharedTrainingFolder(processes, stamp, job.force, TUNING, "stage-*", STATES)

    def prepare() -> Callable[[dict], dict]:
        check_readable(job, inputs)
        return lambda settings: tune(job, instructions, stages, processes, settings)

    training.do(prepare)
    print(job.output)


def check_output(job: Tuning) -> None:
    """Refuse to write where something is read."""
    check_other_folder(job.output, [job.model, *job.instructions])
    if any(job.model.resolve().is_relative_to(old.resolve()) for old in job.output.glob("stage-*")):
        raise InputError(
            f"--output {job.output}: has --model {job.model} in it, which a new tuning removes; give another"
        )


def check_readable(job: Tuning, files: Iterable[Path]) -> None:
    """Refuse what cannot be tuned, before what was tuned is removed (`--force`).

    Raises:
        InputError: the tokenizer or a file cannot be read, or the model has no such layers, or too few
            positions.
    """
    from llm.tuning.examples import InstructionLines

    limits = f"--max-input {job.max_input}, --max-output {job.max_output}"
    check_positions(job.model, job.max_input + job.max_output, limits)
    check_ids(load_tokenizer(job.model), without_weights(job.model), job.model)
    InstructionLines(sorted(files))
    check_adapter(job)


def tune(job: Tuning, instructions: Instructions, stages: list, processes: Processes, settings: dict) -> dict:
    """Train all stages, one after the other; those that are done are left as they are. Returns the record.

    Args:
        stages: of each, objective -> files of training, and of validation.
    """
    started = time.monotonic()
    train_stages(job, stages, processes)
    return describe(job, instructions, settings, time.monotonic() - started)


def train_stages(job: Tuning, stages: list, processes: Processes) -> None:
    """Train those that are not done."""
    from torch.utils.data import ConcatDataset

    from llm.tuning.examples import Examples, InstructionLines
    from llm.tuning.training import Stage

    tokenizer = load_tokenizer(job.model)

    def examples(lines, notes: Overlong | None = None) -> Examples:
        limits = job.max_input, job.max_output
        return Examples(lines, tokenizer, *limits, notes, job.skip_overlong)

    def training(paths: dict[str, list[Path]], state: Path) -> Examples:
        lines = {task: InstructionLines(each) for task, each in paths.items()}
        sizes = {task: len(each) for task, each in lines.items()}
        notes = Overlong(state / f"device-{processes.number}{ENDING}", sizes)
        return examples(ConcatDataset(lines.values()), notes)

    before: Path | None = None
    for number, (train, valid) in enumerate(stages, start=1):
        target = job.output / f"stage-{number}"
        if not (target / VALIDATION).is_file():
            title = f"stage {number} of {len(stages)}, {curriculum_title([job.curriculum[number - 1]])}"
            state = job.output / STATE / target.name
            held_out = {
                task: examples(InstructionLines(paths, job.valid_instructions))
                for task, paths in valid.items()
            }
            stage = Stage(title, training(train, state), held_out, before)
            best_of_rates(job, stage, tokenizer, state, target, processes)
        before = target


def best_of_rates(job: Tuning, stage, tokenizer, state: Path, target: Path, processes: Processes) -> None:
    """Train a stage with every learning rate; the result with the lowest validation loss becomes the stage's.

    Thesis 6.3.2 chose the rate of each experiment so. A rate that is too high for the stage has none.
    """
    from data_prep.transformers_trainer import Diverged
    from llm.tuning.training import tune_stage

    validations, reasons = {}, []
    for rate in job.learning_rate:
        result = state / f"rate-{rate:g}"
        if not (result / VALIDATION).is_file():
            try:
                tune_stage(job, stage, tokenizer, rate, state / f"rate-{rate:g}-state", result)
            except Diverged as error:
                reasons.append(str(error))  # the error itself would hold the model
                continue
        validations[rate] = read_json(result / VALIDATION)
    if not validations:
        raise InputError(reasons[-1])
    for reason in reasons if processes.is_first else ():
        print(f"tune: {stage.title}: {reason}; goes on without it", file=sys.stderr)
    best = min(validations, key=lambda rate: validations[rate]["loss"])
    stage.training.flush()
    processes.wait()  # all have read what the first one moves
    if processes.is_first:
        losses = {
            f"{rate:g}": validations[rate]["loss"] if rate in validations else None
            for rate in job.learning_rate
        }
        result = state / f"rate-{best:g}"
        overlong = stage.training.overlong.counts()
        write_json(result / VALIDATION, validations[best] | {"losses_of_rates": losses, "overlong": overlong})
        if len(losses) > 1:
            print(
                f"tune: {stage.title}: learning rate {best:g} is kept, valid losses {losses}", file=sys.stderr
            )
        os.replace(result, target)
    processes.wait()


def describe(job: Tuning, instructions: Instructions, settings: dict, seconds: float) -> dict:
    """The record of the tuning."""
    stages = [job.output / f"stage-{number}" for number in range(1, len(job.curriculum) + 1)]
    return {
        "format": 1,
        "kind": "tuning",
        "model": {
            "path": str(job.model),
            "name": job.model.resolve().name,
            "weights": weights_identity(job.model),
        },
        "curriculum": curriculum_title(job.curriculum),
        "settings": settings,
        "directions": instructions.directions(task for stage in job.curriculum for task in stage),
        "languages": instructions.languages,
        "stages": [
            {"folder": stage.name, "objectives": tasks, **read_json(stage / VALIDATION)}
            for stage, tasks in zip(stages, job.curriculum, strict=True)
        ],
        "seconds": round(seconds, 1),  # of this run
        "command": command_typed("llm"),
        "versions": versions("torch", "transformers", "peft", "accelerate", "tokenizers"),
    }
