"""Binarized sentences that a training reads otherwise in every epoch: their words are split into subwords
anew (`data_prep.subword_sampling`).
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from fairseq.dataclass import ChoiceEnum

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.formats.preparation import Preparation
from data_prep.subword_sampling import make_sampler

SIDES = {"both": (True, True), "source": (True, False), "target": (False, True)}
MOST_TAGS = 4  # that a sentence is given


@dataclass
class RemadeSentencesConfig:
    subword_dropout: float = field(
        default=0.0,
        metadata={
            "help": "BPE dropout (Provilkov et al. 2020): probability to leave out a merge; the training set"
            " is segmented anew in every epoch"
        },
    )
    subword_alpha: float = field(
        default=0.0,
        metadata={
            "help": "subword regularization (Kudo 2018) by a unigram model of sentencepiece: smoothing alpha"
            " of the segmentations' probabilities, for example 0.1; 0: none"
        },
    )
    subword_nbest: int = field(
        default=-1, metadata={"help": "segmentations that --subword-alpha draws from; -1: all"}
    )
    subword_sides: ChoiceEnum(list(SIDES)) = field(
        default="both", metadata={"help": "which sentences of a pair are segmented anew"}
    )


def check_options(cfg: RemadeSentencesConfig) -> None:
    """Refuse values that mean nothing.

    Raises:
        InputError: one does.
    """
    if not 0 <= cfg.subword_dropout < 1:
        raise InputError(f"--subword-dropout {cfg.subword_dropout}: expected a number from 0 to below 1")
    if not 0 <= cfg.subword_alpha < math.inf:
        raise InputError(f"--subword-alpha {cfg.subword_alpha}: expected a number, 0 or above")
    if cfg.subword_dropout and cfg.subword_alpha:
        raise InputError("--subword-alpha: a unigram model has no --subword-dropout, BPE no alpha; give one")
    if cfg.subword_nbest != -1 and cfg.subword_nbest < 2:
        raise InputError(f"--subword-nbest {cfg.subword_nbest}: expected -1 or a number above 1")
    if cfg.subword_nbest != -1 and not cfg.subword_alpha:
        raise InputError(f"--subword-nbest {cfg.subword_nbest}: goes with --subword-alpha")


class RemadeSentences(Sequence):
    """Sentences of a binarized file as an epoch has them. What becomes of a sentence depends on seed, epoch,
    file and line alone: not on workers, processes, or where a training was resumed, and a sentence that a
    batch has twice (as target and as mirror) is the same.

    Args:
        sentences: token ids as binarized, each ending with `</s>`.
        draw: function of units and a seed.
        dictionary: fairseq's.
        longest: tokens with `</s>`; more than that is not taken.
        seed: of the training.
        name: of the file.

    Attributes:
        sizes: lengths as binarized, from which batches are made.
    """

    def __init__(self, sentences, draw, dictionary, longest: int, seed: int, name: str):
        self.sentences, self.draw, self.dictionary = sentences, draw, dictionary
        self.sizes = sentences.sizes
        self.longest, self.seed, self.name = longest, seed, zlib.crc32(name.encode())
        self.epoch = 1

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, item: int) -> torch.Tensor:
        binarized = self.sentences[item]
        *words, end = binarized.tolist()
        state = np.random.SeedSequence([self.seed, self.epoch, self.name, int(item)]).generate_state(1)
        units = self.draw([self.dictionary.symbols[index] for index in words], int(state[0]))
        if len(units) + 1 > self.longest:
            return binarized
        return binarized.new_tensor([*map(self.dictionary.index, units), end])


@dataclass(frozen=True)
class Remade:
    """How a training reads the sentences of a folder.

    Attributes:
        sampler: of segmentations.
        sides: is it the source's, the target's?
        dictionary, longest, seed: as in `RemadeSentences`.
    """

    sampler: object
    sides: tuple[bool, bool]
    dictionary: object
    longest: int
    seed: int

    @classmethod
    def of(cls, task, folder) -> "Remade | None":
        """That of a task's options; None if sentences are read as they are.

        Raises:
            InputError: an option means nothing, or not with the folder's subwords or the task's losses.
        """
        cfg = task.cfg
        check_options(cfg)
        if not (cfg.subword_dropout or cfg.subword_alpha):
            return None
        if "word_alignments" in task.batch_fields:
            raise InputError(
                "--subword-dropout, --subword-alpha: word alignments are of the subwords as binarized; "
                "leave out the losses that read them"
            )
        known = set(task.dictionary.symbols[: task.base_vocabulary_size])
        options = cfg.subword_dropout, cfg.subword_alpha, cfg.subword_nbest
        sampler = make_sampler(Preparation.load(folder), known, *options)
        longest = min(cfg.max_source_positions, cfg.max_target_positions) - MOST_TAGS
        return cls(sampler, SIDES[str(cfg.subword_sides)], task.dictionary, longest, cfg.seed)

    def pair(self, sources, targets, split: str, direction: Direction) -> tuple:
        """Both sides of a direction as the training reads them."""
        first, second = sorted(direction)
        return tuple(
            RemadeSentences(
                side,
                self.sampler.draw,
                self.dictionary,
                self.longest,
                self.seed,
                f"{split}.{first}-{second}.{language}",
            )
            if is_remade
            else side
            for side, language, is_remade in zip((sources, targets), direction, self.sides, strict=True)
        )
