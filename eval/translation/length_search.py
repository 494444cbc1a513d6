"""Beam search over the lengths that an interlingua may have (a repair of thesis 7.4.3).

The predictor of an interlingua's length is right for one sentence in five (Table 7.5). Here the sentence is
decoded with each of its k most probable lengths l, and the hypothesis y is kept that has the highest

    ( log p(y | x, l) + w log p(l | x) ) / |y|^lenpen,

with w = 1 the joint probability of output and length, normalized as beam search does it (`SearchOptions`).
Sentences in the centric language know their length and are decoded once.
"""

import torch
from torch import Tensor

from command_line.errors import InputError
from eval.translation.beam_search import BeamSearch, NoScore
from eval.translation.finished_hypotheses import Hypothesis


class LengthSearch:
    """Best hypotheses of a batch over k lengths of the interlingua, of the weight w.

    Args:
        search: for one length; of a model whose encoder has `length_candidates`.

    Raises:
        InputError: the model predicts no length.
    """

    def __init__(self, search: BeamSearch, count: int, weight: float = 1.0):
        if getattr(search.model.encoder, "centric", None) is None:
            raise InputError(
                f"--length-candidates {count}: the model does not predict the length of an interlingua,"
                " expected one of --arch interlingua_transformer --interlingua variable"
            )
        self.search, self.count, self.weight = search, count, weight

    @property
    def decoder_tokens(self) -> int:
        return self.search.decoder_tokens

    def __call__(self, src_tokens: Tensor, src_lengths: Tensor, prefix: Tensor) -> list[list[int]]:
        """As `BeamSearch`."""
        return [tokens for tokens, _ in self.scored(src_tokens, src_lengths, prefix)]

    def n_best(
        self, src_tokens: Tensor, src_lengths: Tensor, prefix: Tensor, count: int
    ) -> list[list[Hypothesis]]:
        """As `BeamSearch`, of one hypothesis."""
        return [[best] for best in self.scored(src_tokens, src_lengths, prefix)]

    @torch.no_grad()
    def scored(self, src_tokens: Tensor, src_lengths: Tensor, prefix: Tensor) -> list[Hypothesis]:
        """As `BeamSearch`, with the score above."""
        rows, lengths, log_p = self.search.model.encoder.length_candidates(src_tokens, self.count)
        try:
            scored = self.search.scored(
                src_tokens[rows], src_lengths[rows], prefix[rows], interlingua_lengths=lengths
            )
        except NoScore as error:
            raise NoScore(int(rows[error.row])) from None
        best: dict[int, Hypothesis] = {}
        for row, of_length, (tokens, score) in zip(rows.tolist(), log_p.tolist(), scored, strict=True):
            size = len(tokens) + prefix.size(1) + 1  # with `</s>`
            total = score + self.weight * of_length / self.search.options.normalizer(prefix.size(1), size)
            if row not in best or total > best[row][1]:
                best[row] = (tokens, total)
        return [best[row] for row in range(len(src_tokens))]
