"""Triplet ranking with hard negatives, h of dual-pivot transfer (Tien and Steinert-Threlkeld 2022)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_ext.losses import comparison
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss
from fairseq_ext.options import option


@dataclass
class CountedTripletsOptions:
    """Options of h: which triplets count, and how much; the defaults are the equation."""

    hardest_without_hinge: bool = option(
        "hardest negatives count below the hinge, too, as in the authors' published code", False
    )
    mean_of_triplets: bool = option(
        "h is the mean of the batch's triplets that the hinge leaves, as in the authors' "
        "published code, not their sum",
        False,
    )


@dataclass
class TripletRankingOptions(comparison.ComparisonOptions, CountedTripletsOptions):
    weight: float = option("of the loss", 1.0)
    margin: float = option("alpha (Tien and Steinert-Threlkeld 2022, 5.2 and 5.3: 0 for bitext)", 0.0)
    random_negatives: int = option(
        "negatives besides the hardest one, which the paper's n counts, too (5.2: n = 1)", 0
    )


class TripletRanking(WeightedLoss):
    """A sentence is nearer to its translation, by a margin, than to the hardest other sentence of the batch
    and to a few random ones, in both directions.

    Reference: Tien and Steinert-Threlkeld 2022 ("Bilingual alignment transfers to multilingual alignment for
    unsupervised parallel text mining"), 3.2 and 3.3,

        h(a, b) = sum_n max(0, alpha - sim(a, b) + sim(a_n, b)) + max(0, alpha - sim(a, b) + sim(a, b_n))

    where sim is cosine, and a_n and b_n are the most similar wrong sentences of the batch (Faghri et al.
    2018), and n - 1 others, drawn at random. Once a positive is above its hardest negative by alpha, the
    sentence teaches nothing more.

    The code that its authors published, github.com/cctien/bimultialign, differs from the equation twice.
    `hardest_without_hinge`: of the hardest negative it takes alpha - sim(a, b) + sim(a_n, b) whatever its
    sign. `mean_of_triplets`: the loss of N pairs is the mean of those K triplets, of both directions, that
    count,

        N/K sum_i h(a_i, b_i)

    here, which is divided by N later. K are the triplets that are not below the hinge, and with
    `hardest_without_hinge` all hardest ones.

    Batch fields: `mirror`. Logged per pair. Half batches have fewer negatives, and do not add up to the
    whole.

    Cost: N^2 similarities.
    """

    name = "triplet_ranking"
    Options = TripletRankingOptions
    batch_fields = ("mirror",)
    counts_pairs = True
    is_information = False

    def __init__(self, options: TripletRankingOptions, sizes):
        super().__init__(options, sizes)
        check_triplets(self)
        comparison.check(self)
        self.looks_at_vectors_only = comparison.compares_vectors(options)
        self.looks_at_tokens_only = not self.looks_at_vectors_only

    def forward(self, outputs, batch) -> Term:
        scores = comparison.similarities(outputs, batch, self.options, self.sizes)
        value = triplet_ranking_of(scores, self.options)
        return Term(self.options.weight * value, value.detach(), len(scores))


def check_triplets(loss: WeightedLoss) -> None:
    """Refuse values of `margin` and `random_negatives` that mean nothing."""
    loss.require(0 <= loss.options.margin < math.inf, "margin", "a number, 0 or above")
    loss.require(loss.options.random_negatives >= 0, "random_negatives", "a number, 0 or above")


def triplet_ranking_of(scores: Tensor, options) -> Tensor:
    """The loss below with the options of a loss that has `CountedTripletsOptions`."""
    return triplet_ranking(
        scores,
        options.margin,
        options.random_negatives,
        options.hardest_without_hinge,
        options.mean_of_triplets,
    )


def triplet_ranking(
    scores: Tensor,
    margin: float,
    random_negatives: int = 0,
    hardest_without_hinge: bool = False,
    mean_of_triplets: bool = False,
) -> Tensor:
    """Sum of h over all pairs, or N times the mean of its triplets; zero, and still connected to the scores,
    without negatives.

    Args:
        scores: N x N similarities, those of the true pairs on the diagonal.
        random_negatives: besides the hardest one; all others if there are fewer.
    """
    if len(scores) < 2:
        return 0 * scores.sum()
    positive = scores.diagonal()[:, None]
    costs = []
    for anchored in (scores, scores.t()):
        rows = negatives(anchored.detach(), random_negatives)
        costs.append(margin - positive + anchored.gather(1, rows))
    costs = torch.cat(costs)  # 2N x number of negatives, the hardest first
    counted = ~(costs.detach() < 0)  # a cost that is no number counts: fairseq must see it
    if hardest_without_hinge:
        counted[:, 0] = True
    total = costs.masked_fill(~counted, 0).sum()
    return total * len(scores) / counted.sum().clamp(min=1) if mean_of_triplets else total


def negatives(scores: Tensor, random_negatives: int) -> Tensor:
    """The column of the highest score off the diagonal of each row, and those of random others, all
    different: N x (1 + random_negatives), or fewer columns if there are no more others.
    """
    own = torch.arange(len(scores), device=scores.device)[:, None]
    hardest = scores.scatter(1, own, -torch.inf).argmax(dim=1, keepdim=True)
    count = min(random_negatives, len(scores) - 2)
    if not count:
        return hardest
    order = torch.rand_like(scores).scatter_(1, own, -1).scatter_(1, hardest, -1)
    return torch.cat([hardest, order.topk(count, dim=1).indices], dim=1)
