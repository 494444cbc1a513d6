"""Validation of sentence encoders by what their vectors are for, finding translations; and an alarm where
they have collapsed.
"""

import logging
import math

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.logging import metrics
from torch import Tensor

from fairseq_ext.modules.all_gather import all_gather_rows

logger = logging.getLogger(__name__)
NAME = "retrieval"  # P@1 in percent
COLLAPSED_COSINE = 0.95  # mean cosine of two sentences
COLLAPSED_RANK = 0.02  # effective rank, of the largest possible
ROWS_AT_A_TIME = 1024


class RetrievalValidation:
    """Collects the vectors of a validation set, batch by batch, and measures them when it is over.

    All processes must ask for the measures, as fairseq's do.

    Args:
        pairs: names of the parts of the sets.
    """

    def __init__(self, pairs: list[str]):
        self.pairs = pairs
        self.begin()

    def begin(self, split: str | None = None) -> None:
        """A validation begins."""
        self.split = split
        self._vectors: dict[int, dict[int, Tensor]] = {}  # part -> line -> 2 x C
        self._measured: dict[str, float] | None = None

    def add(self, split: str, part: int, lines: np.ndarray, source: Tensor, target: Tensor) -> None:
        """The vectors of a batch of a part, B x C each. A line that comes twice (fairseq gives a process
        without a batch one that it has seen) counts once.
        """
        if split != self.split:
            self.begin(split)
        self._measured = None
        both = torch.stack([source, target], dim=1).float()  # B x 2 x C
        self._vectors.setdefault(part, {}).update(zip(lines.tolist(), both, strict=True))

    def log(self, with_precision: bool) -> None:
        """Log `mean_cosine` and `effective_rank` of all sentences, and P@1 of every pair and their mean."""
        names = ["mean_cosine", "effective_rank"]
        if with_precision:
            names += [NAME, *(f"{NAME}_{pair}" for pair in self.pairs)]
        for name in names:
            metrics.log_derived(name, lambda meters, name=name: self.measures()[name])

    def measures(self) -> dict[str, float]:
        """By name; NaN for a pair of which nothing was validated."""
        if self._measured is None:
            sides = [self._gathered(part) for part in range(len(self.pairs))]
            found = {
                pair: precision_at_1(*each.unbind(1))
                for pair, each in zip(self.pairs, sides, strict=True)
                if len(each)
            }
            everything = torch.cat(sides).flatten(0, 1)
            self._measured = {
                "mean_cosine": round(mean_cosine(everything), 3),
                "effective_rank": round(effective_rank(everything), 1),
                NAME: round(sum(found.values()) / len(found), 2),
                **{f"{NAME}_{pair}": round(found.get(pair, math.nan), 2) for pair in self.pairs},
            }
            self._warn_of_collapse(min(everything.shape))
        return self._measured

    def _gathered(self, part: int) -> Tensor:
        """The pairs of vectors of all processes, n x 2 x C, in the order of their lines."""
        rows = self._vectors.get(part, {})
        any_pair = next(pair for pairs in self._vectors.values() for pair in pairs.values())
        vectors = torch.stack(list(rows.values())) if rows else any_pair.new_zeros(0, *any_pair.shape)
        lines = torch.tensor(list(rows), dtype=torch.long, device=vectors.device)
        (vectors, _), (lines, _) = map(all_gather_rows, (vectors, lines))
        _, once = np.unique(lines.cpu().numpy(), return_index=True)
        return vectors[torch.from_numpy(once).to(vectors.device)]

    def _warn_of_collapse(self, largest_rank: int) -> None:
        cosine, rank = self._measured["mean_cosine"], self._measured["effective_rank"]
        if not (cosine < COLLAPSED_COSINE and rank > COLLAPSED_RANK * largest_rank):
            logger.warning(
                f"{self.split}: the sentence vectors have collapsed: mean cosine {cosine} (expected below "
                f"{COLLAPSED_COSINE}), effective rank {rank} of {largest_rank}; a lower --lr, a longer "
                "warm-up or a contrastive loss may help"
            )


def precision_at_1(source: Tensor, target: Tensor) -> float:
    """Percent of the sentences whose translation is nearest to them by cosine, mean of both directions.

    Args:
        source, target: n x C, translations in the same row.
    """
    source, target = (F.normalize(vectors, dim=-1) for vectors in (source, target))
    own = torch.arange(len(source), device=source.device)
    found = 0
    for anchors, candidates in ((source, target), (target, source)):
        for rows in own.split(ROWS_AT_A_TIME):
            found += int((anchors[rows] @ candidates.t()).argmax(dim=1).eq(rows).sum())
    return 100 * found / (2 * len(source))


def mean_cosine(vectors: Tensor) -> float:
    """Of two different vectors out of n x C: 1 if all are the same."""
    count = len(vectors)
    total = F.normalize(vectors.double(), dim=-1).sum(dim=0).square().sum()
    return float((total - count) / (count * (count - 1)))


def effective_rank(vectors: Tensor) -> float:
    """exp of the entropy of the normalized singular values of n x C unit vectors (Roy and Vetterli 2007):
    the number of dimensions that they fill, 1 if all are the same.
    """
    unit = F.normalize(vectors, dim=-1)
    if not unit.isfinite().all():
        return math.nan
    gram = unit.t() @ unit if unit.size(1) < len(unit) else unit @ unit.t()
    singular = torch.linalg.eigvalsh(gram.double()).clamp(min=0).sqrt()
    shares = singular / singular.sum()
    return float(torch.exp(-torch.special.xlogy(shares, shares).sum()))
