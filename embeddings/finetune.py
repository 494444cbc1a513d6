"""Fine-tune an encoder for a task in some languages, and test it in others.

With --train of English alone it is zero-shot transfer; with that of all languages, translated, it is
translate-train (of all languages in one model), optionally with code-switching. Tasks are those of
"Multilingual BERT Post-Pretraining Alignment" (2.3) and "Is Cross-lingual Evaluation Only About
Cross-lingual?" (3, 4); `transfer` compares what was found. Defaults of a task are its paper's.

The checkpoint that is best in validation, of the task (--valid) or of sentence retrieval (--valid-parallel,
3.2 of the second paper), becomes DIR/model, a folder of transformers. DIR/finetuning.json has
what every checkpoint reached in validation, and DIR/finetuning.csv what the best one reached in the test. A
training that was killed goes on; with other --test files the same model is tested again.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from command_line.completion import Stamp
from command_line.measurements import Measured, numbers
from command_line.option_classes import by_name
from command_line.provenance import versions
from command_line.records import read_json
from command_line.result_file import write_result
from command_line.trainings import TrainingFolder, check_one_process
from data_prep.model_folders.identity import files_of as checksums_of
from embeddings.encoders.options import EncoderOptions, kind_of
from embeddings.finetuning.options import (
    KIND,
    MODEL,
    Finetuning,
    Training,
    files_of,
)
from embeddings.finetuning.settings import name_of_lines, setting
from embeddings.finetuning.task import Examples, by_language, checksum_of, read_files
from embeddings.parallel_validation import texts_of
from embeddings.test_sets import read_sides

LEARNED = "training.json"  # of the training alone, whatever is tested


def main(job: Finetuning) -> None:
    job.training.check()
    check_one_process("fine-tuning")
    tests = read_files(job.training.what, job.test)  # before hours of training
    learn(job.training, job.output, job.force, tests)
    model = job.output / MODEL
    inputs = [*files_of(job.test), job.output / LEARNED, *EncoderOptions(model).files()]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job, job.output, tests), job.output)


def learn(job: Training, folder: Path, force: bool, tests: list[Examples]) -> None:
    """Train from the beginning, or from the last state, unless that is done."""
    pairs = job.validation.pairs()
    texts = [*files_of(job.train), *files_of(job.valid or ()), *texts_of(pairs), *(job.code_switching or ())]
    encoders = [EncoderOptions(model).files(folder) for model in (job.model, job.pooler) if model]
    inputs = [*texts, *(path for files in encoders for path in files)]
    stamp = Stamp(folder / ".training.done", "training", by_name(job), inputs)
    TrainingFolder(stamp, force, LEARNED, MODEL).do(lambda: prepared(job, pairs, folder, tests))


def prepared(job: Training, pairs: list, folder: Path, tests: list[Examples]) -> Callable[[dict], dict]:
    """The training, of inputs that have been read."""
    train, valid = read_files(job.what, job.train), read_files(job.what, job.valid or ())
    for pair in pairs:
        read_sides(pair)
    from data_prep.model_folders.libraries import reading

    with reading(job.model, "transformers"):
        from embeddings.finetuning.training import Learner
    learner = Learner(job, train, valid, tests)

    def finetune(settings: dict) -> dict:
        (folder / f"{KIND}.json").unlink(missing_ok=True)  # of a model that is no more
        return learned(job, learner, learner.train(folder))

    return finetune


def learned(job: Training, learner, checkpoints: list[dict]) -> dict:
    """What the record of a training says."""
    from embeddings.best_model import best_of

    return {
        "updates": len(learner.course),
        "examples": learner.examples,
        "max_length": learner.reader.longest,
        "classes": list(learner.reader.classes),
        "score": learner.validation.score,
        "best": best_of(checkpoints, learner.validation.score),
        "checkpoints": checkpoints,
        "versions": versions("torch", "transformers", "accelerate"),
    }


def measure(job: Finetuning, folder: Path, tests: list) -> Measured:
    """What a fine-tuned encoder gets right in every language, in per cent."""
    from embeddings.finetuning.training import tested

    training = job.training
    scores = tested(training, folder / MODEL, tests)
    examples = by_language(tests)
    learned_from = read_json(folder / LEARNED)
    run = {
        "system": {"name": job.encoder, "seed": training.seed},
        "variant": f", {setting(training.languages, list(scores), bool(training.code_switching))}",
        "dataset": job.dataset or training.what.corpus,
        "task": training.task,
        "measure": training.what.measures[0],
        "train_languages": training.languages,
        "train_examples": learned_from["examples"],
        "texts": {language: checksum_of(examples[language]) for language in scores},
        "code_switching": bool(training.code_switching),
        "hyperparameters": training.settings,
    }
    encoder = {
        "name": job.encoder,
        "kind": kind_of(training.model),
        "model": str(training.model),
        "weights": checksums_of(training.model),
    }
    measured = Measured(about={"encoder": encoder, "training": learned_from})
    rows = []
    for language, of_language in scores.items():
        baselines = training.what.baselines(examples[language], learned_from["classes"])
        rows += numbers(of_language.values | baselines, direction=language, part=training.task)
        measured.arrays |= {
            name_of_lines(measure, language): by_example.astype(np.float32)
            for measure, by_example in of_language.by_example.items()
        }
    measured.add(run, rows)
    return measured
