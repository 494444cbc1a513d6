"""Validation per direction: losses of every direction, and BLEU on detokenized text.

The decoder's language tag is given at inference, and so it is in validation: `loss`, `nll_loss`, `ppl` and
`accuracy` are those of the tokens after it. (The training loss has it, as fairseq's.)

Zero-shot directions are measured too, but their sums live under their own names: the `loss` that selects
the best checkpoint is that of the supervised directions alone.
"""

import math
from argparse import Namespace
from pathlib import Path

import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.logging import metrics

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.records import check, parse_json
from data_prep.bleu import bleu_metric
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.preparation import Preparation, raw_text_path
from fairseq_ext.checkpoints.option_values import Unfit, describe, fitted, shown

SUMS = ("loss", "nll_loss", "sample_size", "ntokens")  # that a batch logs under its direction, too
BLEU_STATISTICS = 10  # 4 n-gram matches, 4 n-gram totals, length of the hypotheses, length of the references


def without_forced_tags(sample: dict, padding: int) -> dict:
    """The batch with the decoder's language tag as context only: where it is to be predicted, is padding.

    A zero-shot direction shows why: the model has learned that this tag never follows a source in this
    language, and its log-probability would say nothing about the translation.
    """
    forced = sample["prefix_tokens"].size(1)
    if not forced:
        return sample
    target = sample["target"].clone()
    target[:, :forced] = padding
    return {**sample, "target": target, "ntokens": sample["ntokens"] - forced * len(target)}


def add_direction_losses(
    logging_output: dict, directions: list[Direction], direction: Direction, supervised: bool
) -> dict:
    """The batch's logging output with its loss under the direction's name as well.

    Every batch logs all directions (zero where they are not its own), and in the same order, because fairseq
    sums the logs of all processes place by place, tensors and numbers apart: a zero is of the type of the
    value that it stands for.
    A zero-shot batch contributes nothing to the totals.
    """
    logged = dict(logging_output)
    for other in directions:
        name = format_direction(other)
        for key, value in ((key, logging_output[key]) for key in SUMS if key in logging_output):
            logged[f"{key}:{name}"] = value if other == direction else _zero(value)
    if not supervised:
        logged.update({key: _zero(value) for key, value in logging_output.items()})
    return logged


def _zero(value):
    return torch.zeros_like(value) if torch.is_tensor(value) else 0


def total(logging_outputs: list[dict], key: str):
    """The sum of what batches have logged."""
    return sum(log.get(key, 0) for log in logging_outputs)


def log_direction_losses(logging_outputs: list[dict], directions: list[Direction]) -> None:
    """Log `loss_de-en`, `nll_loss_de-en` in bits per token, as fairseq logs `loss` and `nll_loss`."""
    for name in map(format_direction, directions):
        for key, unit in (("loss", "sample_size"), ("nll_loss", "ntokens")):
            weight = total(logging_outputs, f"{unit}:{name}")
            if weight > 0 and any(f"{key}:{name}" in log for log in logging_outputs):
                bits = total(logging_outputs, f"{key}:{name}") / weight / math.log(2)
                metrics.log_scalar(f"{key}_{name}", bits, weight, round=3)


class ValidationBleu:
    """sacreBLEU of the validation sets, on detokenized text against the raw references.

    Args:
        preparation: the `Preparation` of the binarized folder: how to detokenize.
        references: function (split, direction, line numbers) -> raw reference lines.
    """

    def __init__(self, preparation, references):
        self.preparation = preparation
        self.references = references
        self._scorers = {}

    @classmethod
    def of_folder(cls, folder: str) -> "ValidationBleu":
        """BLEU on a binarized folder, which says how its text was prepared."""
        return cls(Preparation.load(folder), RawReferences(folder))

    def _scorer(self, language: str):
        if language not in self._scorers:
            self._scorers[language] = bleu_metric(language)
        return self._scorers[language]

    def statistics(self, hypotheses: list[str], split: str, direction: Direction, lines) -> torch.Tensor:
        """The sufficient statistics of one batch; they add up over batches. Shape: `BLEU_STATISTICS`."""
        language = direction[1]
        texts = [self.preparation.detokenize(language, hypothesis) for hypothesis in hypotheses]
        score = self._scorer(language).corpus_score(texts, [self.references(split, direction, lines)])
        return torch.tensor([*score.counts, *score.totals, score.sys_len, score.ref_len], dtype=torch.float64)


def bleu_of_statistics(statistics: torch.Tensor) -> float:
    """BLEU from summed statistics, with sacreBLEU's smoothing."""
    from sacrebleu.metrics import BLEU

    numbers = [int(number) for number in statistics.tolist()]
    if not numbers[4]:
        return 0.0
    score = BLEU.compute_bleu(
        correct=numbers[:4], total=numbers[4:8], sys_len=numbers[8], ref_len=numbers[9], smooth_method="exp"
    )
    return round(score.score, 2)


def log_bleu(logging_outputs: list[dict], supervised: list[Direction], zero_shot: list[Direction]) -> None:
    """Log `bleu_de-en` per direction, their mean `bleu` (supervised) and `zero_shot_bleu`."""

    def average(names: list[str]):
        return lambda meters: round(
            sum(bleu_of_statistics(meters[f"_bleu_{name}"].sum) for name in names) / len(names), 2
        )

    for key, directions in (("bleu", supervised), ("zero_shot_bleu", zero_shot)):
        names = [format_direction(direction) for direction in directions]
        for name in names:
            metrics.log_scalar(f"_bleu_{name}", sum(log[f"bleu:{name}"] for log in logging_outputs).cpu())
            metrics.log_derived(
                f"bleu_{name}", lambda meters, name=name: bleu_of_statistics(meters[f"_bleu_{name}"].sum)
            )
        if names:
            metrics.log_derived(key, average(names))


class RawReferences:
    """Raw reference lines of a binarized folder: `FOLDER/text/SPLIT.PAIR.LANG`, read once per file."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._lines: dict[Path, list[str]] = {}

    def __call__(self, split: str, direction: Direction, lines) -> list[str]:
        """The lines with these numbers (from 0) on the target side of `direction`."""
        path = raw_text_path(self.folder, split, "-".join(sorted(direction)), direction[1])
        if path not in self._lines:
            self._lines[path] = list(read_lines(path))
        return [self._lines[path][int(line)] for line in lines]


def generation_options(text: str) -> Namespace:
    """Fairseq's options of generation that `--eval-bleu-args` gives as JSON.

    Raises:
        InputError: not JSON, no such option, or a value of another type.
    """
    where = "--eval-bleu-args"
    given = parse_json(text.encode("utf-8", "replace"), where)
    check(given, dict, where)
    declared = GenerationConfig.__dataclass_fields__
    for name, value in given.items():
        if name not in declared:
            raise InputError(f"{where}: no option {shown(name)}, expected fairseq's of generation, as beam")
        try:
            given[name] = fitted(declared[name].type, value)
        except Unfit:
            raise InputError(
                f"{where}: {name} is {shown(value)}, expected {describe(declared[name].type)}"
            ) from None
    if "beam" in given and (given["beam"] is None or given["beam"] < 1):
        raise InputError(f"{where}: beam is {shown(given['beam'])}, expected a whole number of at least 1")
    return Namespace(**given)
