"""A task whose examples are pairs of sentences that mean the same: its datasets."""

import functools
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.sentences import load_pair, load_sentences
from fairseq_ext.data import layer_sums
from fairseq_ext.data.batch_fields import FIELDS, FieldSource
from fairseq_ext.data.multilingual_dataset import DirectionData
from fairseq_ext.data.sentence_pairs import CutSentences, SentencePairDataset, uncut
from fairseq_ext.data.teachers import Teacher
from fairseq_ext.data.training_sample import TrainingSample
from fairseq_ext.data.unpaired import ChosenSentences, UnpairedDataset, load_sides
from fairseq_ext.tasks import frozen_vectors
from fairseq_ext.tasks.base import BaseTask
from fairseq_ext.tasks.frozen_vectors import FrozenVectors

logger = logging.getLogger(__name__)
PAIR_FIELDS = (
    "mirror",
    "source_languages",
    "target_languages",
)  # what a pair is, whatever the losses ask for


class SentencePairTask(BaseTask):
    """The datasets of `sentence_embedding`.

    Attributes:
        pairs: of languages, that are trained on.
        decodes: does the model have a decoder?
        longest: tokens to which sentences are cut, `</s>` included: `--max-source-positions`, or as many as
            the model that was built reads.
        teacher: of the student that is trained, or None.
        frozen_vectors: what stands for the encoder that is trained, or None.
    """

    pairs: list[Direction]
    decodes: bool
    longest: int
    teacher: Teacher | None
    frozen_vectors: FrozenVectors | None

    def make_dataset(self, folder: str, name: str, is_training: bool, **options) -> SentencePairDataset:
        if is_training and self.cfg.unpaired:
            return self._unpaired(folder, name, **options)
        opened = self._opened(name)
        parts = [
            self._with_fields(
                folder, name, pair, *self._cut(name, pair, load_pair(folder, name, pair, opened))
            )
            for pair in self.pairs
        ]
        opposites = None
        if is_training and self.cfg.random_sides:
            opposites = [
                self._with_fields(folder, name, part.direction[::-1], part.targets, part.sources)
                for part in parts
            ]
        if is_training:
            sizes = [np.minimum(part.source_sizes, part.target_sizes) for part in parts]
            names = [f"{name} {format_direction(pair)}" for pair in self.pairs]
            both = [uncut(part.sources).sizes + uncut(part.targets).sizes for part in parts]
            options["chosen"] = TrainingSample.of(self.cfg).lines(names, sizes, of_both=both)
            options["by_length"] = not self.cfg.random_batches
        return SentencePairDataset(parts, opposites, self.decodes, **options)

    def _unpaired(self, folder: str, name: str, **options) -> UnpairedDataset:
        """Either side has the whole budget."""
        opened = self._opened(name)
        texts = [self._cut(name, pair, load_sides(folder, name, pair, opened)) for pair in self.pairs]
        chosen = [self.pairs]
        for side in (0, 1):
            names = [f"{name} {format_direction(pair)} {pair[side]}" for pair in self.pairs]
            own = [text[side] for text in texts]
            lines = TrainingSample.of(self.cfg).lines(names, [text.sizes for text in own], side)
            chosen.append(map(ChosenSentences, own, lines))
        make_part = functools.partial(self._with_fields, folder, name)
        return UnpairedDataset(list(zip(*chosen, strict=True)), make_part, self.decodes, **options)

    def _opened(self, split: str) -> Callable[[Path], Sequence]:
        """How the sentences of a prefix are opened; sets that are not trained on are encoded."""
        if not self.cfg.layer_sums or split != self.cfg.train_subset:
            return load_sentences
        return lambda prefix: layer_sums.SummedSentences(prefix, self.cfg.layer_sums, self.longest)

    def _cut(self, split: str, pair: Direction, texts) -> list[CutSentences]:
        sides = [CutSentences(sentences, self.longest, self.dictionary.eos()) for sentences in texts]
        is_chosen = self.longest == self.cfg.max_source_positions
        reason = "--max-source-positions" if is_chosen else "the model reads no more"
        for language, side in zip(pair, sides, strict=True):
            if side.cut:
                logger.info(
                    f"{split} {format_direction(pair)}: {side.cut:,} of {len(side):,} sentences in "
                    f"{language} are cut to {self.longest} tokens ({reason})"
                )
        return sides

    def _with_fields(self, folder, split: str, pair: Direction, source, target) -> DirectionData:
        part = DirectionData.with_tags(self.tags, pair, source, target, source.sizes, target.sizes)
        field_source = FieldSource(
            part,
            self.tags,
            folder,
            split,
            aligner=self.cfg.alignments,
            teacher=self.teacher,
            encoder_vectors=self.frozen_vectors and self.frozen_vectors.stored,
        )
        further = [frozen_vectors.FIELD] if self.frozen_vectors else []
        for name in dict.fromkeys((*PAIR_FIELDS, *further, *self.batch_fields)):
            part.fields[name] = FIELDS[name](field_source)
        if self.cfg.layer_sums and split == self.cfg.train_subset:
            part.fields[layer_sums.FIELD] = layer_sums.LayerSumsField(source, target)
        return part
