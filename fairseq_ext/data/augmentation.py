"""Data augmentation: in every epoch, words of binarized sentences are replaced by translations
(`fairseq_ext.data.word_substitution`) and split into subwords anew (`data_prep.subword_sampling`).
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from fairseq.dataclass import ChoiceEnum

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.formats.preparation import Preparation
from data_prep.lexicon import read_dictionaries
from data_prep.subword_sampling import make_sampler
from fairseq_ext.data.word_substitution import WordSubstitution
from fairseq_ext.options import option

SIDES = {"both": (True, True), "source": (True, False), "target": (False, True)}
MOST_TAGS = 4  # that a sentence is given


@dataclass
class AugmentationConfig:
    subword_dropout: float = option(
        "BPE dropout (Provilkov et al. 2020): probability to leave out a merge; the training set"
        " is segmented anew in every epoch",
        0.0,
    )
    subword_alpha: float = option(
        "subword regularization (Kudo 2018) by a unigram model of sentencepiece: smoothing alpha"
        " of the segmentations' probabilities, for example 0.1; 0: none",
        0.0,
    )
    subword_nbest: int = option("segmentations that --subword-alpha draws from; -1: all", -1)
    subword_sides: ChoiceEnum(list(SIDES)) = option("which sentences of a pair are segmented anew", "both")
    word_substitution: float = option(
        "random aligned substitution (Lin et al. 2020): probability to replace a word by one of"
        " its translations in any other language",
        0.0,
    )
    word_dictionaries: Optional[str] = option(
        "folder of A-B.txt with a word and a translation per line (`data_prep lexicon`, MUSE)"
    )
    substitution_sides: ChoiceEnum(list(SIDES)) = option(
        "in which sentences of a pair words are replaced", "source"
    )


def check_options(cfg: AugmentationConfig) -> None:
    """Refuse values that mean nothing."""
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
    if not 0 <= cfg.word_substitution <= 1:
        raise InputError(f"--word-substitution {cfg.word_substitution}: expected a number from 0 to 1")
    if bool(cfg.word_substitution) != bool(cfg.word_dictionaries):
        raise InputError("--word-substitution and --word-dictionaries go together: give both or neither")


class AugmentedSentences(Sequence):
    """Sentences of a binarized file as an epoch has them. What becomes of a sentence depends on seed, epoch,
    file and line alone: not on workers, processes, or where a training was resumed, and a sentence that a
    batch has twice (as target and as mirror) is the same.

    Args:
        sentences: token ids as binarized, each ending with `</s>`.
        draws: what is done to their units, one after the other.
        longest: tokens with `</s>`; more than that is not taken.
        name: of the file.

    Attributes:
        sizes: lengths as binarized, from which batches are made.
    """

    def __init__(self, sentences, draws: Sequence, dictionary, longest: int, seed: int, name: str):
        self.sentences, self.draws, self.dictionary = sentences, draws, dictionary
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
        units = [self.dictionary.symbols[index] for index in words]
        for each in self.draws:
            units = each.draw(units, int(state[0]))
        if len(units) + 1 > self.longest:
            return binarized
        return binarized.new_tensor([*map(self.dictionary.index, units), end])


@dataclass(frozen=True)
class Augmentation:
    """How a training reads the sentences of a folder.

    Attributes:
        substitution: of words, by language, on the sides that have one; then
        sampler: of segmentations, or None,
        sides: is it for the source's, the target's?
        dictionary, longest, seed: as in `AugmentedSentences`.
    """

    substitution: tuple[dict[str, WordSubstitution], dict[str, WordSubstitution]]
    sampler: object | None
    sides: tuple[bool, bool]
    dictionary: object
    longest: int
    seed: int

    @classmethod
    def of(cls, task, folder) -> "Augmentation | None":
        """That of a task's options; None if sentences are read as they are.

        Raises:
            InputError: an option means nothing, or not with the folder's subwords or the task's losses.
        """
        cfg = task.cfg
        check_options(cfg)
        if not (cfg.subword_dropout or cfg.subword_alpha or cfg.word_substitution):
            return None
        if "word_alignments" in task.batch_fields:
            raise InputError(
                "--subword-dropout, --subword-alpha, --word-substitution: word alignments are of the subwords"
                " as binarized; leave out the losses that read them"
            )
        vocabulary = set(task.dictionary.symbols[: task.base_vocabulary_size])
        preparation, sampler = Preparation.load(folder), None
        if cfg.subword_dropout or cfg.subword_alpha:
            options = cfg.subword_dropout, cfg.subword_alpha, cfg.subword_nbest
            sampler = make_sampler(preparation, vocabulary, *options)
        substitution = _substitutions(cfg, preparation, task.tags.languages, vocabulary)
        longest = min(cfg.max_source_positions, cfg.max_target_positions) - MOST_TAGS
        sides = (substitution if given else {} for given in SIDES[str(cfg.substitution_sides)])
        return cls(tuple(sides), sampler, SIDES[str(cfg.subword_sides)], task.dictionary, longest, cfg.seed)

    def pair(self, sources, targets, split: str, direction: Direction) -> tuple:
        """Both sides of a direction as the training reads them."""
        sides = zip((sources, targets), direction, self.substitution, self.sides, strict=True)
        return tuple(
            self._side(sentences, language, split, direction, substitution, is_sampled)
            for sentences, language, substitution, is_sampled in sides
        )

    def _side(
        self,
        sentences,
        language: str,
        split: str,
        direction: Direction,
        substitution: dict,
        is_sampled: bool,
    ):
        draws = [substitution[language]] if language in substitution else []
        draws += [self.sampler] if is_sampled and self.sampler else []
        if not draws:
            return sentences
        name = f"{split}.{'-'.join(sorted(direction))}.{language}"
        return AugmentedSentences(sentences, draws, self.dictionary, self.longest, self.seed, name)


def _substitutions(
    cfg, preparation, languages: list[str], vocabulary: set[str]
) -> dict[str, WordSubstitution]:
    """The substitutions of every language that has a dictionary; empty without the option."""
    if not cfg.word_substitution:
        return {}
    return {
        language: WordSubstitution(
            cfg.word_substitution, words, preparation.subwords, preparation.subword["type"], vocabulary
        )
        for language, words in read_dictionaries(cfg.word_dictionaries, languages).items()
    }
