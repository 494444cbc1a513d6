"""How long the interlingua of a sentence is: fixed (thesis 7.3.3), or as long as the sentence in the centric
language (equation 7.1).
"""

import logging
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fairseq_ext.modules.interlingua import LengthPredictor

logger = logging.getLogger(__name__)


@dataclass
class Lengths:
    """Lengths of a batch.

    Attributes:
        chosen: B, of the interlingua.
        logits: B x K of the length predictor, None without one.
        targets: B, what the predictor should have said; 0 where nobody asks it or nobody knows.
    """

    chosen: Tensor
    logits: Tensor | None = None
    targets: Tensor | None = None


class FixedLength(nn.Module):
    """The same length for all sentences (thesis 7.3.3: 17 for OPUS, 21 for IWSLT, 30 for Europarl)."""

    def __init__(self, length: int):
        super().__init__()
        self.length = length

    def forward(self, means, own: Tensor, is_centric, gold) -> Lengths:
        return Lengths(torch.full_like(own, self.length))


class CentricLength(nn.Module):
    """The length of the sentence in the centric language: its own, given (teacher forcing), or predicted.

    Args:
        longest: K; longer ones are cut to it.
        jitter: in training, given lengths are multiplied by random numbers from 1 - jitter to 1 + jitter,
            except those of centric sentences, which are exact at inference too.
    """

    def __init__(self, predictor: LengthPredictor, longest: int, jitter: float = 0.0):
        super().__init__()
        self.predictor = predictor
        self.longest, self.jitter = longest, jitter

    def forward(self, means: Tensor, own: Tensor, is_centric: Tensor, gold: Tensor | None) -> Lengths:
        """The lengths of the interlinguas of a batch.

        Args:
            means: mean state of every sentence, B x C.
            own: lengths of the sentences, B.
            is_centric: B, whether they are in the centric language.
            gold: their lengths in the centric language, B, 0 where unknown; None: nowhere known.
        """
        if not self.training and (too_long := int((own > self.longest).sum())):
            logger.warning(
                f"{too_long} sentences are longer than {self.longest} tokens: their queries are cut"
            )
        logits = self.predictor(means, own)
        chosen = torch.where(is_centric, own, 1 + logits.argmax(dim=1))
        if gold is None:
            return Lengths(self._cut(chosen), logits)
        targets = self._cut(gold).masked_fill(is_centric | gold.eq(0), 0)
        given = torch.where(is_centric, gold, self._jittered(gold))
        chosen = torch.where(gold > 0, given, chosen)
        return Lengths(self._cut(chosen), logits, targets)

    def _jittered(self, lengths: Tensor) -> Tensor:
        if not (self.training and self.jitter):
            return lengths
        factors = 1 + self.jitter * (2 * torch.rand(lengths.shape, device=lengths.device) - 1)
        return (lengths * factors).round().long()

    def _cut(self, lengths: Tensor) -> Tensor:
        return lengths.clamp(1, self.longest)
