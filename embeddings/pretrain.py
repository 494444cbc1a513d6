"""Pre-train a multilingual encoder as a masked language model, as XLM-R (Conneau et al. 2020).

--text is a folder of `data_prep clean` with monolingual text, train.LANG and valid.LANG for every language;
what is evaluated later is kept out of it by `clean --exclude-text`. The tokenizer is learned from the text,
or taken from another model. The output is a folder update-N for every N at which the model was saved: a
complete encoder of transformers, with the loss and the accuracy of held-out lines by language in
validation.json. A training that was killed goes on.
"""

from collections.abc import Callable
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import by_name
from command_line.outputs import scratch_folder
from command_line.provenance import command_typed, versions
from command_line.records import read_json
from command_line.trainings import TrainingFolder, check_one_process
from data_prep.formats.texts import TRAIN, VALID, find_texts
from data_prep.model_folders.libraries import reading
from data_prep.transformers_tokenizer import tokenizer_files
from embeddings.pretraining.examples import Batches, Masking, read_examples
from embeddings.pretraining.options import (
    KIND,
    VALIDATION,
    Pretraining,
    encoder_folder,
)
from embeddings.pretraining.vocabulary import learn_tokenizer, load_tokenizer

TOKENIZER = "tokenizer"  # in the folder of the trainer's state


def main(job: Pretraining) -> None:
    job.check()
    check_one_process("pre-training")
    texts = texts_of(job)
    inputs = [path for pair in texts.values() for path in pair]
    if job.tokenizer and job.tokenizer.is_dir():
        inputs += tokenizer_files(job.tokenizer)
    stamp = Stamp(job.output / f".{KIND}.done", KIND, by_name(job), inputs)
    training = TrainingFolder(stamp, job.force, f"{KIND}.json", "update-*")
    training.do(lambda: prepared(job, texts, training))
    print(encoder_folder(job.output, job.updates))


def texts_of(job: Pretraining) -> dict[str, tuple[Path, Path]]:
    """Language -> training and validation text.

    Raises:
        InputError: a language lacks one.
    """
    paths = {(text.split, text.pair): text.paths[0] for text in find_texts(job.text) if not text.is_bitext}
    for language in job.languages:
        for split in (TRAIN, VALID):
            if (split, language) not in paths:
                raise InputError(
                    f"{job.text}: no {split}.{language}; expected monolingual text of all of --languages"
                )
    return {language: (paths[TRAIN, language], paths[VALID, language]) for language in job.languages}


def prepared(
    job: Pretraining, texts: dict[str, tuple[Path, Path]], training: TrainingFolder
) -> Callable[[dict], dict]:
    """The training, of texts that have been read."""
    learned = training.state / TOKENIZER if training.goes_on() else None
    with reading(job.output, "transformers"):
        from embeddings.pretraining.model import new_model
        from embeddings.pretraining.training import train

    tokenizer = tokenizer_of(job, [train for train, _ in texts.values()], learned)
    longest = job.network.max_length
    languages = [read_examples(train, tokenizer, job.examples, longest) for train, _ in texts.values()]
    held_out = {
        language: read_examples(valid, tokenizer, job.examples, longest, job.valid_lines)
        for language, (_, valid) in texts.items()
    }
    number = job.updates * job.batches_per_update
    batches = Batches(languages, job.sampling_temperature, job.batch_tokens, number, job.seed)

    def pretrain(settings: dict) -> dict:
        if not (job.tokenizer or learned):
            tokenizer.save_pretrained(training.state / TOKENIZER)
        masking = Masking(tokenizer, job.mask_rate, job.seed)
        model = new_model(job.network, tokenizer, job.seed)
        train(job, job.output, model, tokenizer, batches, masking, held_out)
        return described(job, settings)

    return pretrain


def described(job: Pretraining, settings: dict) -> dict:
    """The record of the training."""
    kept = sorted({*range(job.save_updates, job.updates, job.save_updates), job.updates})
    folders = [encoder_folder(job.output, update) for update in kept]
    return {
        "format": 1,
        "kind": KIND,
        "settings": settings,
        "encoders": [{"folder": folder.name} | read_json(folder / VALIDATION) for folder in folders],
        "command": command_typed("embeddings"),
        "versions": versions("torch", "transformers", "accelerate", "tokenizers"),
    }


def tokenizer_of(job: Pretraining, texts: list[Path], learned: Path | None):
    """That of --tokenizer, the one that this training has learned before, or one that is learned now."""
    longest = job.network.max_length
    if job.tokenizer or learned:
        return load_tokenizer(job.tokenizer or learned, longest)
    job.output.mkdir(parents=True, exist_ok=True)
    with scratch_folder(job.output) as scratch:
        tokenizer = learn_tokenizer(
            texts,
            job.vocabulary_size,
            job.tokenizer_lines,
            job.sampling_temperature,
            job.seed,
            longest,
            scratch,
        )
        tokenizer.save_pretrained(scratch / TOKENIZER)
        return load_tokenizer(scratch / TOKENIZER, longest)
