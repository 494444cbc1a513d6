"""Global in-batch negatives, the loss of OneAligner (Niu et al. 2022): true pairs score above false ones."""

import math
from dataclasses import dataclass

import torch
from fairseq.dataclass import ChoiceEnum
from torch import Tensor

from fairseq_ext.losses import comparison
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss
from fairseq_ext.options import option


@dataclass
class GlobalRankingOptions(comparison.ComparisonOptions):
    weight: float = option("of the loss", 1.0)
    temperature: float = option("by which similarities are divided (Niu et al. 2022, 3.2)", 5.0)
    similarity: ChoiceEnum(comparison.CHOICES) = option(
        f"{comparison.HELP} (Niu et al. 2022, 2.2 and 3.3)", "bert-score"
    )
    normalization: float = option("alpha of in-batch normalization (Niu et al. 2022, 2.2); 0: without", 0.75)
    one_dimensional: bool = option(
        "negatives of a pair are those of its source alone, N - 1 in place of N^2 - N", False
    )


class GlobalRanking(WeightedLoss):
    """Every true pair against all false pairs of the batch, so that one threshold tells all of them apart.

    Reference: Niu et al. 2022 ("OneAligner"), 2.4. With s_mn the normalized similarity of source m and target
    n among N pairs, and T the temperature,

        L = - sum_i log( exp(s_ii/T) / (exp(s_ii/T) + sum over all m != n of exp(s_mn/T)) )

    and with `one_dimensional` the sum over n != i of exp(s_in/T). The paper compares by the F of BERT-score
    with dot products of token states, and trains with T = 5, strength 0.75, batches of 64 pairs.

    Batch fields: `mirror`. Logged per pair. Half batches have fewer negatives, and do not add up to the
    whole; each process has those of its own batch.

    Cost: N^2 BERT-scores in blocks; with 64 pairs of 100 tokens and a small encoder a step takes 1.15 to 1.17
    times one that compares pooled vectors (`benchmarks/sentence_losses.py --only pooled,BERT-score`).
    """

    name = "global_ranking"
    Options = GlobalRankingOptions
    batch_fields = ("mirror",)
    counts_pairs = True

    def __init__(self, options: GlobalRankingOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 < options.temperature < math.inf, "temperature", "a number above 0")
        comparison.check(self)
        self.looks_at_vectors_only = comparison.compares_vectors(options)
        self.looks_at_tokens_only = not self.looks_at_vectors_only

    def forward(self, outputs, batch) -> Term:
        scores = comparison.similarities(outputs, batch, self.options, self.sizes)
        value = global_ranking(scores / self.options.temperature, self.options.one_dimensional)
        return Term(self.options.weight * value, value.detach(), len(scores))


def global_ranking(scores: Tensor, one_dimensional: bool = False) -> Tensor:
    """The loss above, summed over the pairs; zero, and still connected to the scores, without negatives.

    Args:
        scores: s/T, N x N, those of the true pairs on the diagonal.
    """
    if len(scores) < 2:
        return 0 * scores.sum()
    positive = scores.diagonal()
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    negatives = scores.masked_fill(own, -torch.inf)
    total = negatives.logsumexp(dim=1) if one_dimensional else negatives.flatten().logsumexp(dim=0)
    return (torch.logaddexp(positive, total) - positive).sum()
