"""What trainings will take: updates, words, operations and hours, of each system and in all; nothing is run.

Reads the commands of a recipe, as `dry-run` does. Words are subwords of targets; those of sentence encoders
are of both sides. If the binarized data are there, sentences are as long as theirs, and an epoch has their
number. If not, a sentence has `--words-per-sentence`, and an epoch has `--sentence-pairs`. Batches of
`--max-tokens` are taken as full.

Operations are 6 floating-point operations per parameter and word (Kaplan et al., 2020, 2.1: two forward, four
backward), as if sources were as long as targets. Losses that run the encoder twice take more. Hours are those
of one training after the other. Validation and saving are not in them.
"""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from command_line import options
from command_line.errors import InputError
from command_line.estimates import Assumed, Estimate, Estimates
from command_line.option_classes import option
from command_line.recipe_commands import commands
from data_prep.formats.sentences import bitext_prefixes, sentence_lengths
from fairseq_ext.commands.dry_run import training
from fairseq_ext.training_record import parse_options

_SUBWORDS = ("python", "-m", "data_prep", "subword")
_READ = {"pretrained_checkpoint", "pretrained_dictionary", "teacher_checkpoint"}  # by a model that is built
_SIZES = ("--merges", "--vocabulary-size")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is assumed of the machine, and of text that is not prepared yet."""

    assumed: Assumed
    sentence_pairs: int | None = option("of the text of training", type=options.positive)


def main(plan: Plan) -> None:
    estimates = Estimates()
    vocabulary = 0
    for words in commands(sys.stdin):
        if run := training(words):
            estimates.add(run.output.name, partial(_estimate, run, vocabulary, plan))
        elif tuple(words[:4]) == _SUBWORDS:
            vocabulary = _vocabulary(words) or vocabulary
    estimates.show(plan.assumed.flops)


def _vocabulary(words: list[str]) -> int:
    """Entries of the subword model that a command makes, as far as its options say it."""
    given = parse_options(words)
    return sum(int(given[name]) for name in _SIZES if given.get(name, "").isdigit())


def _estimate(run, vocabulary: int, plan: Plan) -> Estimate:
    """What one training takes."""
    from fairseq import options as fairseq_options

    import fairseq_ext.plug_ins  # noqa: F401  # registers tasks, models and criterions

    parser = fairseq_options.get_training_parser(default_task="multilingual_nmt")
    arguments = fairseq_options.parse_args_and_arch(parser, input_args=run.words[1:])
    words, updates_per_epoch = _sizes(arguments, run.data, plan)
    ends = [arguments.max_update] if arguments.max_update else []
    unknown = ""
    if arguments.max_epoch and updates_per_epoch is not None:
        ends.append(arguments.max_epoch * updates_per_epoch)
    if not ends:
        unknown = "no end: give --max-update or --max-epoch"
        if arguments.max_epoch:
            unknown = f"{run.data}: not prepared yet; run --stages prepare, or set TRAINING_PAIRS"
    parameters = _parameters(arguments, run.data, vocabulary)
    if parameters is None:
        unknown = unknown or "size of the model unknown: its encoder or its subwords are not there yet"
    return Estimate(1, parameters, min(ends, default=None), words, arguments.patience > 0, unknown)


def _sizes(arguments, data: Path, plan: Plan) -> tuple[float, int | None]:
    """Words of an update, and updates of an epoch, if the number of pairs of sentences is known."""
    batches = arguments.batches_per_update or 1
    encodes_both = arguments.task == "sentence_embedding"
    sides = 2 if encodes_both else 1
    pairs, words = _counted(data, arguments.train_subset)
    length = words / pairs if pairs else plan.assumed.words_per_sentence
    pairs = pairs or plan.sentence_pairs
    if pairs is not None and getattr(arguments, "pair_budget", None):
        pairs = min(pairs, arguments.pair_budget)
    directions = 1 if encodes_both else _directions(arguments)
    per_update = batches * (arguments.batch_size or arguments.max_tokens / length)
    updates = None if pairs is None else max(1, round(pairs * directions / per_update))
    return per_update * length * sides, updates


def _directions(arguments) -> float:
    """How often a training reads each pair of sentences in an epoch."""
    given = (getattr(arguments, "lang_pairs", None) or "").split(",")
    return len(given) / len({frozenset(pair.split("-")) for pair in given})


def _counted(data: Path, split: str) -> tuple[int, float]:
    """Pairs of sentences of binarized text, and the mean of their words over both sides; 0 without text."""
    try:
        sides = [sentence_lengths(prefix) for prefix in bitext_prefixes(data, split)]
    except InputError:  # not binarized yet
        return 0, 0.0
    sentences = sum(map(len, sides))
    words = sum(int(lengths.sum()) for lengths in sides) + sentences  # with `</s>`
    return sentences // 2, words / 2


def _parameters(arguments, data: Path, vocabulary: int) -> int | None:
    """Parameters of the model, which is built without memory; None if its size is unknown.

    Args:
        vocabulary: entries of the dictionary, if the data are not there.
    """
    import torch
    from fairseq import tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    encoder = getattr(arguments, "pretrained_encoder", None)
    is_there = any(data.glob("dict.*.txt"))
    if encoder and not Path(encoder).is_dir():
        return None
    if not is_there and not vocabulary:
        return None
    vars(arguments).update(dict.fromkeys(vars(arguments).keys() & _READ))
    with TemporaryDirectory() as folder:
        if not is_there:
            _write_dictionaries(Path(folder), arguments, vocabulary)
            arguments.data = folder
        cfg = convert_namespace_to_omegaconf(arguments)
        with torch.device("meta"):
            model = tasks.setup_task(cfg.task).build_model(cfg.model)
    return sum(parameter.numel() for parameter in model.parameters())


def _write_dictionaries(folder: Path, arguments, vocabulary: int) -> None:
    """A dictionary of so many entries for every language of a training."""
    text = "".join(f"{number} 1\n" for number in range(vocabulary))
    pairs = getattr(arguments, "lang_pairs", None) or getattr(arguments, "pairs", None) or ""
    tasks = getattr(arguments, "pretraining_tasks", None) or ""
    languages = {language for pair in pairs.split(",") if pair for language in pair.split("-")}
    languages |= {part.partition("=")[0] for part in tasks.split(",") if part}
    for language in languages:
        (folder / f"dict.{language}.txt").write_text(text)
