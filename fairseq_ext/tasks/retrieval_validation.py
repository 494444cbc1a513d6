"""Validation of sentence encoders by what their vectors are for, finding translations; and an alarm where
they have collapsed.
"""

import logging
import math

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.logging import metrics
from fairseq.logging.meters import MetersDict
from torch import Tensor

from fairseq_ext.modules.all_gather import all_gather_rows
from fairseq_ext.modules.similarity import (
    BERT_SCORE,
    Tokens,
    bert_scores,
    normalized,
    pooled_similarity,
)

logger = logging.getLogger(__name__)
NAME = "retrieval"  # P@1 in percent
COLLAPSED_COSINE = 0.95  # mean cosine of two sentences
COLLAPSED_RANK = 0.02  # effective rank, of the largest possible
ROWS_AT_A_TIME = 1024
SIMILARITIES = ("cosine", BERT_SCORE)


class RetrievalValidation:
    """Collects the vectors of a validation set, batch by batch, and measures them when it is over.

    All processes must ask for the measures, as fairseq's do. What is collected lies in main memory until the
    next validation, and is on the device while it is measured.

    Args:
        pairs: names of the parts of the sets.
        similarity: one of SIMILARITIES, by which the nearest sentence is found; BERT-score is of cosines.
        strength: alpha of the normalization of all scores of a set; 0: without.
    """

    def __init__(self, pairs: list[str], similarity: str = "cosine", strength: float = 0.0):
        self.pairs, self.similarity, self.strength = pairs, similarity, strength
        self.begin()

    @property
    def needs_tokens(self) -> bool:
        return self.similarity == BERT_SCORE

    def begin(self, split: str | None = None) -> None:
        """A validation begins."""
        self.split = split
        self._vectors: dict[int, dict[int, Tensor]] = {}  # part -> line -> 2 x C
        # part -> line -> of both sides the states, n x C, and which of them do not count, n
        self._tokens: dict[int, dict[int, tuple[tuple[Tensor, Tensor], ...]]] = {}
        self._measured: dict[str, float] | None = None

    def add(self, split: str, part: int, lines: np.ndarray, source: Tensor, target: Tensor) -> None:
        """The vectors of a batch of a part, B x C each. A line that comes twice (fairseq gives a process
        without a batch one that it has seen) counts once.
        """
        if split != self.split:
            self.begin(split)
        self._measured, self._device = None, source.device
        both = torch.stack([source, target], dim=1).float().cpu()  # B x 2 x C
        self._vectors.setdefault(part, {}).update(zip(lines.tolist(), both, strict=True))

    def add_tokens(self, part: int, lines: np.ndarray, *sides: tuple[Tensor, Tensor, Tensor]) -> None:
        """The states of the tokens of a batch that was added, T x B x C, where they are padding, B x T, and
        where special tokens that do not count, B x T, of the sources and of the targets.
        """
        texts = [
            [(states[~padded[row], row].float(), specials[row, ~padded[row]]) for row in range(len(padded))]
            for states, padded, specials in (map(Tensor.cpu, side) for side in sides)
        ]
        self._tokens.setdefault(part, {}).update(zip(lines.tolist(), zip(*texts, strict=True), strict=True))

    def log(self, with_precision: bool) -> None:
        """Log `mean_cosine` and `effective_rank` of all sentences, and P@1 of every pair and their mean; NaN
        for a batch.
        """
        names = ["mean_cosine", "effective_rank"]
        if with_precision:
            names += [NAME, *(f"{NAME}_{pair}" for pair in self.pairs)]
        for name in names:
            metrics.log_derived(
                name,
                lambda meters, name=name: math.nan if is_under_way(meters, name) else self.measures()[name],
            )

    def measures(self) -> dict[str, float]:
        """The measures by name; NaN for a pair without validation."""
        if self._measured is None:
            sides = [self._gathered(part) for part in range(len(self.pairs))]
            precisions = {
                pair: self._precision(part, each)
                for part, (pair, each) in enumerate(zip(self.pairs, sides, strict=True))
                if len(each)
            }
            everything = torch.cat(sides).flatten(0, 1)
            self._measured = {
                "mean_cosine": round(mean_cosine(everything), 3),
                "effective_rank": round(effective_rank(everything), 1),
                NAME: round(sum(precisions.values()) / len(precisions), 2),
                **{f"{NAME}_{pair}": round(precisions.get(pair, math.nan), 2) for pair in self.pairs},
            }
            self._warn_of_collapse(min(everything.shape))
        return self._measured

    def _precision(self, part: int, vectors: Tensor) -> float:
        """P@1 of a pair, of which the vectors are n x 2 x C; all processes know whether there are any."""
        if self.needs_tokens:
            scores = bert_scores(*(self._gathered_tokens(part, side) for side in (0, 1)))
        elif self.strength:
            scores = pooled_similarity(*vectors.unbind(1))
        else:
            return precision_at_1(*vectors.unbind(1))
        return precision_of_scores(normalized(scores, self.strength) if self.strength else scores)

    def _gathered_tokens(self, part: int, side: int) -> list[Tokens]:
        """The token states of one side of all pairs of sentences of all processes, in the order of their
        lines. The order of a sentence's tokens does not change BERT-score, nor does a sentence that is twice
        as long because it comes twice.
        """
        rows = {line: both[side] for line, both in self._tokens.get(part, {}).items()}
        some = next(both[side] for pairs in self._tokens.values() for both in pairs.values())
        states = torch.cat([some[0][:0], *(own for own, _ in rows.values())])
        specials = torch.cat([some[1][:0], *(own for _, own in rows.values())])
        owners = [line for line, (own, _) in rows.items() for _ in range(len(own))]
        owners = torch.tensor(owners, dtype=torch.long)
        states, specials, owners = (each.to(self._device) for each in (states, specials.long(), owners))
        (states, _), (specials, _), (owners, _) = map(all_gather_rows, (states, specials, owners))
        lengths, order = owners.unique(return_counts=True)[1].tolist(), owners.argsort(stable=True)
        parts = (each[order].split(lengths) for each in (states, specials.bool()))
        return [Tokens(*sentence) for sentence in zip(*parts, strict=True)]

    def _gathered(self, part: int) -> Tensor:
        """The pairs of vectors of all processes, n x 2 x C, in the order of their lines."""
        rows = self._vectors.get(part, {})
        any_pair = next(pair for pairs in self._vectors.values() for pair in pairs.values())
        vectors = torch.stack(list(rows.values())) if rows else any_pair.new_zeros(0, *any_pair.shape)
        lines = torch.tensor(list(rows), dtype=torch.long)
        (vectors, _), (lines, _) = (all_gather_rows(each.to(self._device)) for each in (vectors, lines))
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


def is_under_way(meters: MetersDict, name: str) -> bool:
    """Are the meters those of a batch? fairseq asks after every batch, too, with the meters of the whole
    validation open around it; an answer then would cost as much as the last one, and nobody reads it.
    """
    apart = (meters, metrics.get_meters("default"))
    active = metrics.get_active_aggregators()
    return any(name in around and all(around is not each for each in apart) for around in active)


def precision_at_1(source: Tensor, target: Tensor) -> float:
    """Percent of the sentences whose translation is nearest to them by cosine, mean of both directions.

    Args:
        source, target: n x C, translations in the same row.
    """
    source, target = (F.normalize(vectors, dim=-1) for vectors in (source, target))
    own = torch.arange(len(source), device=source.device)
    hits = 0
    for anchors, candidates in ((source, target), (target, source)):
        for rows in own.split(ROWS_AT_A_TIME):
            hits += int((anchors[rows] @ candidates.t()).argmax(dim=1).eq(rows).sum())
    return 100 * hits / (2 * len(source))


def precision_of_scores(scores: Tensor) -> float:
    """Percent, mean of both directions, from the scores of all sources with all targets, n x n."""
    own = torch.arange(len(scores), device=scores.device)
    hits = sum(int(each.argmax(dim=1).eq(own).sum()) for each in (scores, scores.t()))
    return 100 * hits / (2 * len(scores))


def mean_cosine(vectors: Tensor) -> float:
    """The mean cosine of two different vectors out of n x C: 1 if all are the same."""
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
