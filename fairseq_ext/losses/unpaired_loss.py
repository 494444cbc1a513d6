"""Losses of two languages whose sentences are no translations of each other."""

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_ext.losses.weighted_loss import WeightedLoss, vectors_of


class UnpairedLoss(WeightedLoss):
    """A loss of the vectors of both sides of a batch; the first language of a pair (`--pairs`) is the source.

    Its options have `dropout` and `unit_vectors`: vectors are compared when they have length 1.
    """

    batch_fields = ("mirror",)
    counts_pairs = True
    is_information = False
    looks_at_vectors_only = True
    needs_translations = False
    sides_are_languages = True

    def __init__(self, options, sizes):
        super().__init__(options, sizes)
        self.require(0 <= options.dropout < 1, "dropout", "a number from 0 to below 1")
        self.width = sizes.sentence_width or sizes.encoder_width

    def vectors(self, outputs, dtype: torch.dtype | None = None) -> list[Tensor]:
        """The vectors of the sentences of both languages, B x C each, in the given type or as the encoder has
        them.
        """
        sides = [vectors_of(encoded).to(dtype) for encoded in (outputs.source, outputs.mirror)]
        return [F.normalize(side, dim=1) for side in sides] if self.options.unit_vectors else sides
