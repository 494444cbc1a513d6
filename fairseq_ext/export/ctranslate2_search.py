"""Beam search of CTranslate2 with the hypotheses and scores of fairseq's.

Both keep the best K of 2K continuations and finish a sentence with K hypotheses. What differs is settled
here:

- A forced language tag counts in a score of fairseq, in its log-probability and in its length; CTranslate2
  leaves out the log-probability and counts the length. All K hypotheses are scored again.
- At the maximal length fairseq appends `</s>` to what is unfinished; CTranslate2 returns it as it is, and it
  is scored with `</s>`.

What stays: fairseq bans an empty hypothesis and `<pad>` after the softmax, CTranslate2 the former before it,
and `<pad>` not at all. Trained models give neither a probability that shows; `export` compares.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import ctranslate2

from command_line.errors import InputError
from fairseq_ext.processor import processor_flags

Hypothesis = tuple[list[int], float]  # token ids without forced ones and `</s>`, and score

# Of one search on a processor, with padding: states of larger batches leave its cache (docs/performance.md).
CPU_TOKENS = 512
# Of Intel's processors since Ice Lake and of AMD's since Zen 4; older ones lower their clock for AVX-512.
FULL_CLOCK = "avx512_vbmi2"


def choose_instructions() -> None:
    """Let CTranslate2's own kernels use AVX-512 where that is faster (docs/performance.md): by itself it does
    not. It reads the choice with the first model of a process; one in the environment stays.
    """
    if FULL_CLOCK in processor_flags():
        os.environ.setdefault("CT2_FORCE_CPU_ISA", "AVX512")


def precisions(cuda: bool) -> list[str]:
    """What this machine computes in."""
    return sorted(ctranslate2.get_supported_compute_types("cuda" if cuda else "cpu"))


def check_precision(precision: str, cuda: bool) -> None:
    """Refuse one in which this machine does not compute."""
    if precision not in precisions(cuda):
        raise InputError(
            f"--precision {precision}: this {'GPU' if cuda else 'processor'} has"
            f" {', '.join(precisions(cuda))}"
        )


def open_translator(folder, precision: str, threads: int, cuda: bool) -> ctranslate2.Translator:
    """The model in a folder of CTranslate2.

    Args:
        precision: of products, one of CTranslate2's names.
        threads: batches at a time, on a processor.
    """
    choose_instructions()
    return ctranslate2.Translator(
        str(folder),
        device="cuda" if cuda else "cpu",
        compute_type=precision,
        inter_threads=1 if cuda else threads,
        intra_threads=1,
    )


class Source(NamedTuple):
    """What is translated: token ids.

    Attributes:
        tokens: of the encoder, tags and `</s>` included.
        prefix: forced first tokens of the hypothesis.
        start: of the decoder's input in place of `</s>`; None: `</s>`.
    """

    tokens: list[int]
    prefix: list[int]
    start: int | None = None


@dataclass(frozen=True)
class Limits:
    """The limits of a search.

    Attributes:
        max_length: tokens of a hypothesis without `</s>`, forced ones included.
        count: so many hypotheses of every sentence are wanted, at most the beam.
        score_without_tag: forced tokens count neither in the log-probability nor in the length.
    """

    beam: int
    lenpen: float
    max_length: int
    count: int = 1
    score_without_tag: bool = False


@dataclass
class _Pending:
    """A batch on its way through CTranslate2."""

    sources: Sequence[Source]
    limits: Limits
    translations: list[Any]
    tags: list[Any] | None  # scores of the forced tokens


class Ctranslate2Search:
    """A folder of `fairseq_ext export --to ctranslate2`, ready to search.

    Args:
        folder: with `model.bin`.
        symbols: of the dictionary, by their ids.
        precision: of products, one of CTranslate2's names.
        threads: batches at a time.
        cuda: on a GPU.
    """

    def __init__(
        self, folder, symbols: Sequence[str], precision: str = "float32", threads: int = 1, cuda: bool = False
    ):
        self.symbols, self.ids = list(symbols), {symbol: index for index, symbol in enumerate(symbols)}
        self.eos = "</s>"
        self.threads = threads
        self.most_tokens = 0 if cuda else CPU_TOKENS  # 0: batches are as they come
        self.model = open_translator(folder, precision, threads, cuda)

    def n_best(self, sources: Sequence[Source], limits: Limits) -> list[list[Hypothesis]]:
        """The best hypotheses of every sentence, best first."""
        return self.finish(self.begin(sources, limits))

    def begin(self, sources: Sequence[Source], limits: Limits) -> _Pending:
        """Put a batch into the queue."""
        texts = [self._text(source.tokens) for source in sources]
        translations = self.model.translate_batch(
            texts,
            target_prefix=[self._text(self._forced(source)) for source in sources],
            beam_size=limits.beam,
            num_hypotheses=limits.beam,
            length_penalty=limits.lenpen,
            max_decoding_length=limits.max_length,
            max_input_length=0,
            max_batch_size=self.most_tokens,
            batch_type="tokens",
            return_end_token=True,
            return_scores=True,
            asynchronous=True,
        )
        tags = None
        if sources[0].prefix and not limits.score_without_tag:
            tags = self._score(sources, [[]] * len(sources), asynchronous=True)
        return _Pending(sources, limits, translations, tags)

    def finish(self, pending: _Pending) -> list[list[Hypothesis]]:
        """Wait for a batch."""
        limits, hypotheses, unfinished = pending.limits, [], []
        tags = [result.result() for result in pending.tags] if pending.tags else [None] * len(pending.sources)
        for row, (source, result, tag) in enumerate(
            zip(pending.sources, (each.result() for each in pending.translations), tags, strict=True)
        ):
            of_tag = sum(tag.log_probs[: len(source.prefix)]) if tag else 0.0
            scored = []
            for tokens, score in zip(result.hypotheses, result.scores, strict=True):
                log_p = score * len(tokens) ** limits.lenpen
                ids = [self.ids[token] for token in tokens[len(source.prefix) :]]
                if tokens[-1] == self.eos:
                    scored.append((ids[:-1], self._normalized(source, ids[:-1], log_p, of_tag, limits)))
                else:
                    unfinished.append((row, ids, of_tag))
            hypotheses.append(scored)
        self._add_unfinished(pending, unfinished, hypotheses)
        return [sorted(each, key=lambda best: -best[1])[: limits.count] for each in hypotheses]

    def _add_unfinished(self, pending: _Pending, unfinished: list, hypotheses: list) -> None:
        """Hypotheses of the maximal length, with `</s>`."""
        if not unfinished:
            return
        sources = [pending.sources[row] for row, _, _ in unfinished]
        scores = self._score(sources, [ids for _, ids, _ in unfinished])
        for (row, ids, of_tag), source, result in zip(unfinished, sources, scores, strict=True):
            log_p = sum(result.log_probs[len(source.prefix) :])
            hypotheses[row].append((ids, self._normalized(source, ids, log_p, of_tag, pending.limits)))

    def log_p(self, sources: Sequence[Source], hypotheses: Sequence[list[int]]) -> list[float]:
        """Log-probabilities of hypotheses, with forced tokens and `</s>`."""
        return [math.fsum(result.log_probs) for result in self._score(sources, hypotheses)]

    def _score(self, sources: Sequence[Source], hypotheses: Sequence[list[int]], **options) -> list:
        texts = [self._text(source.tokens) for source in sources]
        targets = [
            self._text([*self._forced(source), *ids]) for source, ids in zip(sources, hypotheses, strict=True)
        ]
        return self.model.score_batch(texts, targets, max_input_length=0, **options)

    def _normalized(
        self, source: Source, ids: list[int], log_p: float, of_tag: float, limits: Limits
    ) -> float:
        length = len(ids) + 1 + (0 if limits.score_without_tag else len(source.prefix))
        return (log_p + of_tag) / length**limits.lenpen

    def _forced(self, source: Source) -> list[int]:
        start = [] if source.start is None else [source.start]
        return [*start, *source.prefix]

    def _text(self, ids: Sequence[int]) -> list[str]:
        return [self.symbols[index] for index in ids]
