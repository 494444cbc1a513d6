"""Sentence-level contrastive learning (Pan et al. 2021, mRASP2), the rival of thesis 5.3.6 ("+sent")."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from fairseq_ext.losses.in_batch_contrast import in_batch_contrast
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss, padding_of, states_of
from fairseq_ext.modules.pooling import sentence_means
from fairseq_ext.options import option


@dataclass
class SentenceContrastiveOptions:
    weight: float = option("lambda of Pan et al. 2021", 1.0)
    temperature: float = option("tau of Pan et al. 2021", 0.1)


class SentenceContrastive(WeightedLoss):
    """Every source sentence has to find its translation among the target sentences of the batch.

    Reference: Pan et al. 2021 ("Contrastive Learning for Many-to-many Multilingual Neural Machine
    Translation"): with R(x) the mean of the encoder's states without padding,

        L_ctr = - sum_i log exp(cos(R(x_i), R(y_i))/tau) / sum_j exp(cos(R(x_i), R(y_j))/tau)

    is added as lambda |s| L_ctr, where |s|, the average length of a target sentence of the batch, brings a
    loss per sentence to the scale of a loss per token.

    Batch fields: `mirror`. No parameters of its own. Half batches have fewer negatives, and do not add up to
    the whole.

    Cost: one more encoder pass for the mirror.
    """

    name = "sentence_contrastive"
    Options = SentenceContrastiveOptions
    batch_fields = ("mirror",)

    def __init__(self, options: SentenceContrastiveOptions, sizes):
        super().__init__(options, sizes)
        self.require(options.temperature > 0, "temperature", "a number above 0")

    def forward(self, outputs, batch) -> Term:
        source, target = (
            F.normalize(sentence_means(states_of(encoded), padding_of(encoded)), dim=-1)
            for encoded in (outputs.source, outputs.mirror)
        )
        own = torch.arange(len(source), device=source.device)
        value = in_batch_contrast(source / self.options.temperature, target, own)
        scale = self.options.weight * batch["ntokens"] / len(source)
        return Term(scale * value, value.detach(), len(source))
