"""Beam search with the results of fairseq's `SequenceGenerator` at a fraction of its cost.

The search is the same: a step keeps the best 2K continuations of the K hypotheses of a sentence; `</s>`
among the first K finishes a hypothesis; a sentence is done with K finished hypotheses or at the maximal
length; the best has the highest score / length^lenpen. What is saved: the forced language tag and the first
free step are computed for one hypothesis per sentence and not for K equal ones, continuations are chosen
per hypothesis before they are compared, only as many finished hypotheses are kept as are asked for, a
sentence is left as soon as no hypothesis can overtake the last of them, and the states of the encoder are
never repeated for the beam.

A search may turn away from what is also probable given other inputs, the contrasts: another source, another
target language. They are further sentences of the batch, whose hypotheses are those of the sentence.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from command_line.errors import InputError
from eval.translation.best_tokens import NextTokens, repeated
from eval.translation.finished_hypotheses import FinishedHypotheses, Hypothesis
from eval.translation.search_options import SearchOptions
from fairseq_ext.modules.ensemble import output_projections


@dataclass
class _Hypotheses:
    """The unfinished hypotheses of `n` unfinished sentences, `K` each (1 before the first free step)."""

    sentences: Tensor  # n: number of the sentence in the batch
    tokens: Tensor  # n x K x t + 1, beginning with </s> or the tag in its place
    scores: Tensor  # n x K: sums of log-probabilities
    finished: Tensor  # n: how many hypotheses have been finished
    best: Tensor  # n: normalized score of the best finished one, or of the last one that is asked for


class NoScore(Exception):
    """The model gives a sentence scores that are NaN or infinite, so none of its hypotheses is the best.

    Attributes:
        row: of the sentence in the batch.
    """

    def __init__(self, row: int):
        super().__init__(row)
        self.row = row


class BeamSearch:
    """Best hypotheses of a batch.

    Args:
        model: a fairseq encoder-decoder model with incremental decoding, or an `Ensemble` of some.

    Attributes:
        decoder_tokens: for how many tokens the decoder was run until now, of all hypotheses, contrasts and
            members of an ensemble: what a search costs on any machine.

    Raises:
        InputError: a model with an adaptive softmax; a beam as wide as the vocabulary.
    """

    def __init__(self, model, dictionary, options: SearchOptions):
        if any(projection is None for projection in output_projections(model)):
            raise InputError(
                "the model has an adaptive softmax (--adaptive-softmax-cutoff), which this search does not"
                " know; expected one projection to the vocabulary; use fairseq-generate"
            )
        if options.beam >= len(dictionary):
            raise InputError(
                f"--beam {options.beam}: expected fewer than the {len(dictionary)} symbols of the dictionary"
            )
        self.model, self.options = model, options
        self.pad, self.eos = dictionary.pad(), dictionary.eos()
        self.decoder_tokens = 0

    def max_length(self, source_length: int) -> int:
        """Most tokens of a hypothesis without `</s>`, as fairseq defines it, by a batch's longest source."""
        longest = int(self.options.max_len_a * source_length + self.options.max_len_b)
        return min(longest, self.model.max_decoder_positions() - 1)

    def __call__(self, src_tokens, src_lengths, prefix, **arguments) -> list[list[int]]:
        """Token ids of the best hypothesis of every sentence, without prefix and `</s>`; see `scored`."""
        scored = self.scored(src_tokens, src_lengths, prefix, **arguments)
        return [tokens for tokens, _ in scored]

    def scored(self, src_tokens, src_lengths, prefix, **arguments) -> list[Hypothesis]:
        """The best hypothesis of every sentence with its score; see `n_best`."""
        lists = self.n_best(src_tokens, src_lengths, prefix, count=1, **arguments)
        return [best[0] for best in lists]

    @torch.no_grad()
    def n_best(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prefix: Tensor,
        count: int,
        starts: Tensor | None = None,
        contrast: Tensor | None = None,
        **encoder_arguments,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of every sentence, best first, without prefix and `</s>`, each with its
        log-probability over length^lenpen, where `</s>` counts, and the prefix unless the options leave it
        out. There may be fewer than `count`: a search ends at the maximal length.

        With contrasts, the log-probability of a token is log( p - sum_v w_v p_v ), `contrasted`; that of a
        token which is not chosen (the prefix, `</s>` at the maximal length) is log p. A sentence of which
        that leaves no hypothesis is searched without.

        Args:
            count: at most so many, no more than the beam.
            src_tokens: B x S; with V contrasts (1 + V) B x S, the B first contrasts after the sentences.
            src_lengths: B, or (1 + V) B.
            prefix: as many rows of P token ids that every hypothesis begins with (the decoder's language
                tag).
            starts: as many, the first token of the decoder's input; `</s>` by default. It does not count.
            contrast: V x B weights w.
            encoder_arguments: what else the model's encoder is to be given, of each source.

        Raises:
            NoScore: a score is not a number.
        """
        if starts is None:
            starts = src_tokens.new_full((len(src_tokens),), self.eos)
        encoder_out = self.model.encoder(src_tokens, src_lengths=src_lengths, **encoder_arguments)
        longest = src_tokens.size(1) if contrast is None else int(src_lengths[: contrast.size(1)].max())
        given = torch.cat([starts[:, None], prefix], dim=1)
        try:
            lists = self._search(encoder_out, given, self.max_length(longest), count, contrast)
        finally:  # attention keeps its beam size, and then reads every n-th source in a plain pass as well
            self.model.decoder.set_beam_size(1)
        lost = [row for row, hypotheses in enumerate(lists) if not hypotheses]
        if lost and contrast is None:
            raise NoScore(lost[0])
        if lost:
            # as wide as without contrasts: the width is what limits the length of hypotheses
            inputs = (tensor[lost] for tensor in (src_tokens[:, :longest], src_lengths, prefix))
            others = {name: rows[lost] for name, rows in encoder_arguments.items()}
            try:
                again = self.n_best(*inputs, count=count, starts=starts[lost], **others)
            except NoScore as error:
                raise NoScore(lost[error.row]) from None
            lists = [hypotheses or again.pop(0) for hypotheses in lists]
        return lists

    def _search(self, encoder_out, given: Tensor, max_length: int, count: int, contrast: Tensor | None):
        """Hypotheses of every sentence, best first; none where no score is above -inf.

        Args:
            given: (1 + V) B x 1 + P, what the decoder is given before it chooses.
        """
        contrasts = 0 if contrast is None else len(contrast)
        size, prefix = len(given) // (1 + contrasts), given[:, 1:]
        width = prefix.size(1)
        decoder, state = self.model.decoder, {}
        decoder.set_beam_size(1)
        results = [FinishedHypotheses(count) for _ in range(size)]
        failed = torch.zeros(size, dtype=torch.bool, device=given.device)
        live = self._start(given[:size, 0])
        projections = output_projections(self.model)
        following = NextTokens(projections, never=[self.pad])
        first = NextTokens(projections, never=[self.pad, self.eos])  # min_len 1
        for step in range(max_length + 1):
            rows = self._decoder_rows(live, given, contrasts)
            self.decoder_tokens += len(rows) * len(projections)
            features = decoder(rows, encoder_out=encoder_out, incremental_state=state, features_only=True)[0][
                :, -1
            ]
            if step < width and step < max_length:
                live = self._force(live, following, features, prefix[live.sentences, step])
                continue
            scores, origins, tokens = self._continuations(
                live, following if step else first, features, contrast, only_eos=step == max_length
            )
            failed[live.sentences] |= ~(scores[:, 0] < math.inf)  # NaN is sorted as the highest score
            forced = min(width, max_length)
            self._finish(live, scores, origins, tokens, self.options.normalizer(forced, step + 1), results)
            keep = (live.finished < self.options.beam) & (step < max_length)
            # none leaves while it has one hypothesis: attention finds those that stay by K rows of each
            is_first = live.scores.size(1) < self.options.beam
            keep &= is_first | (self._best_possible(scores, forced, max_length) > live.best)
            if not keep.any():
                break
            order, live = self._continue(live, scores, origins, tokens, keep)
            decoder.set_beam_size(self.options.beam)
            apart = len(rows) // (1 + contrasts)
            order = torch.cat([order + apart * number for number in range(1 + contrasts)])
            decoder.reorder_incremental_state_scripting(state, order)
        if failed.any():
            raise NoScore(int(failed.nonzero()[0]))
        return [[(tokens[width:], score) for tokens, score in finished.best] for finished in results]

    def _decoder_rows(self, live: _Hypotheses, given: Tensor, contrasts: int) -> Tensor:
        """What the decoder reads: the hypotheses, and for every contrast the same behind its own prefix."""
        rows = live.tokens.flatten(0, 1)
        if not contrasts:
            return rows
        size, hypotheses = len(given) // (1 + contrasts), live.tokens.size(1)
        copies = [rows]
        for number in range(1, 1 + contrasts):
            own = given[live.sentences + size * number].repeat_interleave(hypotheses, dim=0)
            copies.append(torch.cat([own, rows[:, own.size(1) :]], dim=1)[:, : rows.size(1)])
        return torch.cat(copies)

    def _start(self, starts: Tensor) -> _Hypotheses:
        size, device = len(starts), starts.device
        return _Hypotheses(
            sentences=torch.arange(size, device=device),
            tokens=starts[:, None, None],
            scores=torch.zeros(size, 1, device=device),
            finished=torch.zeros(size, dtype=torch.long, device=device),
            best=torch.full((size,), -torch.inf, device=device),
        )

    def _force(self, live: _Hypotheses, following: NextTokens, features: Tensor, token: Tensor):
        """Append the prefix's token."""
        if not self.options.score_without_tag:
            live.scores = live.scores + following.log_p(features[: len(token)], token[:, None])
        live.tokens = torch.cat([live.tokens, token[:, None, None]], dim=2)
        return live

    def _continuations(
        self, live: _Hypotheses, following: NextTokens, features: Tensor, contrast: Tensor | None, only_eos
    ):
        """The best 2K continuations per sentence, best first: scores, hypotheses they continue, tokens (n x
        2K).
        """
        n, hypotheses = live.scores.shape
        if only_eos:
            eos = live.tokens.new_full((n * hypotheses, 1), self.eos)
            scores = live.scores + following.log_p(features[: len(eos)], eos).view(n, hypotheses)
            scores, origins = scores.sort(dim=1, descending=True)
            return scores, origins, torch.full_like(origins, self.eos)
        width = min(2 * self.options.beam, following.vocabulary - 1)
        banned = repeated(live.tokens.flatten(0, 1), self.options.no_repeat_ngram)
        if contrast is not None:
            contrast = contrast[:, live.sentences].repeat_interleave(hypotheses, dim=1)
        # a hypothesis cannot contribute more than is kept
        best, tokens = following.best(features, width, banned, contrast)
        scores = (best.view(n, hypotheses, width) + live.scores[:, :, None]).flatten(1)
        scores, chosen = scores.topk(width, dim=1)
        return scores, chosen // width, tokens.view(n, -1).gather(1, chosen)

    def _finish(self, live: _Hypotheses, scores, origins, tokens, normalizer: float, results) -> None:
        """Count the hypotheses that end among the first K continuations, and note the best of each
        sentence; equal ones in the order of their probabilities.
        """
        beam = self.options.beam
        ends = tokens[:, :beam].eq(self.eos) & scores[:, :beam].isfinite()
        ends &= ends.cumsum(1) + live.finished[:, None] <= beam  # fairseq stops counting at K
        live.finished = live.finished + ends.sum(1)
        normalized = (scores[:, :beam] / normalizer).masked_fill(~ends, -torch.inf)
        better = (normalized > live.best[:, None]).nonzero(as_tuple=True)
        rows = better[0].tolist()
        if not rows:
            return
        # few and whole transfers: a GPU is waited for at each
        finished = (
            live.sentences[better[0]],
            live.tokens[better[0], origins[better]][:, 1:],
            normalized[better],
        )
        best = live.best.tolist()
        for row, sentence, hypothesis, score in zip(rows, *(each.tolist() for each in finished), strict=True):
            if score > results[sentence].last:
                results[sentence].add(hypothesis, score)
                best[row] = results[sentence].last
        live.best = live.best.new_tensor(best)

    def _best_possible(self, scores: Tensor, forced: int, max_length: int) -> Tensor:
        """A bound on the normalized score of what unfinished hypotheses may still become (n): with a sum of
        log-probabilities as it is now, at the most favourable length.
        """
        normalizers = [self.options.normalizer(forced, tokens) for tokens in (forced + 1.0, max_length + 1.0)]
        return scores[:, 0] / max(normalizers)

    def _continue(self, live: _Hypotheses, scores, origins, tokens, keep):
        """The first K continuations that do not end, of the sentences to keep; and the rows that they come
        from.
        """
        beam, hypotheses = self.options.beam, live.scores.size(1)
        rows = keep.nonzero().flatten()
        scores, origins, tokens = scores[rows], origins[rows], tokens[rows]
        rank = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
        rank = rank.masked_fill(tokens.eq(self.eos) & scores.isfinite(), tokens.size(1))
        chosen = rank.topk(beam, dim=1, largest=False, sorted=True).indices
        origins, tokens = origins.gather(1, chosen), tokens.gather(1, chosen)
        history = live.tokens[rows[:, None], origins]
        continued = _Hypotheses(
            sentences=live.sentences[rows],
            tokens=torch.cat([history, tokens[:, :, None]], dim=2),
            scores=scores.gather(1, chosen),
            finished=live.finished[rows],
            best=live.best[rows],
        )
        return (rows[:, None] * hypotheses + origins).flatten(), continued
