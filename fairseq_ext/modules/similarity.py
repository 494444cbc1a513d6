"""How sentences are compared: one number for each of M sentences with each of N, M x N (an axis of sentence
encoders; Niu et al. 2022, "OneAligner").

The same functions serve training and inference: dot products in training and cosines in evaluation (3.3) are
a choice of who calls.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.modules.greedy_matching import greedy_matching

BERT_SCORE = "bert-score"
SENTENCES_AT_A_TIME = 64  # of similar lengths


def pooled_similarity(source: Tensor, target: Tensor, cosine: bool = True) -> Tensor:
    """Cosine, or dot product, of all vectors of both sides: M x C, N x C -> M x N, in float32 or better."""
    source, target = at_least_float32(source), at_least_float32(target)
    if cosine:
        source, target = F.normalize(source, dim=-1), F.normalize(target, dim=-1)
    with torch.autocast(source.device.type, enabled=False):
        return source @ target.t()


class Tokens(NamedTuple):
    """A sentence as it is compared with those of a whole text.

    Attributes:
        states: T x C.
        specials: T, true at tokens that have no share in the mean, see `TokenStates.of`.
    """

    states: Tensor
    specials: Tensor


@dataclass(frozen=True)
class TokenStates:
    """The states of sentences as BERT-score reads them.

    Attributes:
        states: B x T x C; padding repeats a token of its sentence, so that no match can be better than those
            of the sentence's own.
        shares: B x T, of every token in the mean of its sentence; 0 at padding.
    """

    states: Tensor
    shares: Tensor

    @classmethod
    def of(
        cls, states: Tensor, padding: Tensor, specials: Tensor | None = None, cosine: bool = False
    ) -> "TokenStates":
        """The token states with this padding, in float32 or better.

        Args:
            states: B x T x C.
            padding: B x T, true at padding.
            specials: B x T, true at tokens that have no share in the mean, though they may be the match of
                another one (as in Zhang et al. 2020's library); a sentence of nothing else has them all.
            cosine: are products of unit vectors wanted?
        """
        states = at_least_float32(states)
        if cosine:
            states = F.normalize(states, dim=-1)
        first = (~padding).int().argmax(dim=1)
        own = states[torch.arange(len(states), device=states.device), first]
        left_out = padding
        if specials is not None:
            either = padding | specials
            left_out = torch.where(either.all(dim=1, keepdim=True), padding, either)
        counted = (~left_out).to(states.dtype)
        return cls(
            torch.where(padding[:, :, None], own[:, None], states),
            counted / counted.sum(dim=1, keepdim=True).clamp(min=1),
        )

    @classmethod
    def of_sentences(cls, sentences: Sequence[Tokens]) -> "TokenStates":
        """The token states of sentences of any lengths, for cosines; a sentence without tokens has none
        that counts.
        """
        lengths = torch.tensor([len(states) for states, _ in sentences])
        width = max(states.size(1) for states, _ in sentences)
        padded = sentences[0].states.new_zeros(len(sentences), max(1, int(lengths.max())), width)
        left_out = torch.zeros(padded.shape[:2], dtype=torch.bool, device=padded.device)
        for row, (states, specials) in enumerate(sentences):
            padded[row, : len(states)] = states
            left_out[row, : len(states)] = specials
        padding = torch.arange(padded.size(1)) >= lengths[:, None]
        return cls.of(padded, padding.to(padded.device), left_out, cosine=True)


class BertScore(NamedTuple):
    """Precision, recall and F of all pairs of sentences, M x N each."""

    precision: Tensor
    recall: Tensor
    f: Tensor


def bert_score(source: TokenStates, target: TokenStates, block: int | None = None) -> BertScore:
    """Tokens of both sentences matched greedily (2.2).

    With s_i the states of a source and t_j those of a target,

        P = 1/|t| sum_j max_i s_i t_j,   R = 1/|s| sum_i max_j s_i t_j,   F = 2 P R / (P + R)

    Only of two positive numbers is F a mean: with dot products, P or R may be negative, and F has a pole at
    P + R = 0. There F is the smaller one, which P and R that approach 0 approach, too.

    Args:
        block: products of tokens that exist at a time (default:
            `fairseq_ext.modules.greedy_matching.PRODUCTS_PER_BLOCK`).
    """
    with torch.autocast(source.states.device.type, enabled=False):
        precision, recall = greedy_matching(source.states, target.states, source.shares, target.shares, block)
    return BertScore(precision, recall, f_of(precision, recall))


@torch.no_grad()
def bert_scores(source: Sequence[Tokens], target: Sequence[Tokens]) -> Tensor:
    """F of all pairs of sentences of two texts, from cosines of their tokens, M x N, without a gradient; a
    sentence without tokens has 0 with every other one.

    Sentences of similar lengths are compared at a time: padded to the longest one of its text, a sentence
    would mostly be compared with padding.
    """
    scores = torch.zeros(len(source), len(target), device=source[0].states.device if source else None)
    columns = list(_of_similar_lengths(target))
    for row_numbers, rows in _of_similar_lengths(source):
        for column_numbers, some in columns:
            scores[row_numbers[:, None], column_numbers] = bert_score(rows, some).f.to(scores.dtype)
    return scores


def _of_similar_lengths(text: Sequence[Tokens]) -> Iterator[tuple[Tensor, TokenStates]]:
    """Numbers of sentences, and their states."""
    lengths = torch.tensor([len(sentence.states) for sentence in text], dtype=torch.long)
    order = lengths.argsort(stable=True)
    for numbers in order[lengths[order] > 0].split(SENTENCES_AT_A_TIME):
        states = TokenStates.of_sentences([text[number] for number in numbers])
        yield numbers.to(states.states.device), states


def f_of(precision: Tensor, recall: Tensor) -> Tensor:
    """Their F; the smaller one, where that is not positive."""
    smaller, total = torch.minimum(precision, recall), precision + recall
    is_mean = smaller > 0
    return torch.where(is_mean, 2 * precision * recall / torch.where(is_mean, total, 1), smaller)


def normalized(scores: Tensor, strength: float, batch: int | None = None) -> Tensor:
    """Scores without what a sentence scores with just any other one (2.2, the "popular sentence effect").

        s_mn = f_mn - alpha (mean_n f_mn + mean_m f_mn) + (2 alpha - 1) mean_mn f_mn

    The last term keeps the mean of the scores at 0 (footnote 3).

    Args:
        scores: M x N.
        strength: alpha.
        batch: means are those of tiles of so many sentences a side, or a few less so that all tiles have the
            same size but for one; None: of all scores.
    """
    if batch is None:
        means = scores.mean(dim=1, keepdim=True) + scores.mean(dim=0, keepdim=True)
        return scores - strength * means + (2 * strength - 1) * scores.mean()
    tiles = [
        torch.cat([normalized(tile, strength) for tile in _parts(rows, batch, dim=1)], dim=1)
        for rows in _parts(scores, batch, dim=0)
    ]
    return torch.cat(tiles)


def _parts(scores: Tensor, batch: int, dim: int) -> tuple[Tensor, ...]:
    return scores.tensor_split(-(-scores.size(dim) // batch), dim=dim)
