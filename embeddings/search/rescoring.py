"""Neighbours by pooled vectors, compared again by their tokens, where all M x N BERT-scores are too many.

BERT-score and normalization are those of OneAligner (Niu et al. 2022, 2.2), which takes the means of an
evaluation batch, 256 sentences a side (3.2). Here a batch is what is drawn of either side, once.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import option, switch
from command_line.progress import progress
from data_prep.formats.token_states import TokenStatesFile, write_token_states
from embeddings.encoders.sentence_encoder import NotFinite, SentenceEncoder, TokenVectors
from embeddings.search.neighbours import Neighbours, in_order
from embeddings.search.retrieval import Neighbourhoods
from embeddings.search.sentence_scores import BERT_SCORE, bert_scores, tokens_of
from embeddings.search.texts import lines_at

SAMPLE = 256  # sentences
WINDOW = 1024  # sentences whose states are in memory
QUERIES = 16  # that are compared with their candidates at a time
SEED = 1
Sides = tuple[TokenStatesFile, TokenStatesFile]


@dataclass(frozen=True)
class Rescoring:
    """How the nearest are compared again."""

    rescore: str | None = option(
        "compare the nearest neighbours again, by their tokens (OneAligner 2.2; with --margin absolute);"
        " the states of all tokens are in 16 bits below TMPDIR meanwhile",
        choices=(BERT_SCORE,),
    )
    normalize: float | None = option(
        "--rescore without the popular sentence effect, with this strength (OneAligner 2.2: 0.75)",
        type=types.number(0, 1),
        metavar="ALPHA",
    )
    normalize_sample: int | None = option(
        "sentences a side, drawn at random, over which --normalize takes means"
        f" (default: {SAMPLE}; OneAligner 3.2)",
        metavar="N",
    )
    without_specials: bool = switch("--rescore: special tokens have no share in the means")

    def check(self, margin: str) -> None:
        """Refuse options that do not fit each other."""
        if self.rescore and margin != "absolute":
            raise InputError(f"--rescore {self.rescore}: found --margin {margin}, expected --margin absolute")
        if self.normalize is not None and not self.rescore:
            raise InputError(f"--normalize: needs --rescore {BERT_SCORE}; expected both or none")
        if self.normalize_sample is not None and self.normalize is None:
            raise InputError("--normalize-sample: needs --normalize; expected both or none")
        if self.without_specials and not self.rescore:
            raise InputError(f"--without-specials: needs --rescore {BERT_SCORE}; expected both or none")


BY_VECTORS = Rescoring()


@contextmanager
def states_of(
    encoder: SentenceEncoder, texts: Sequence[tuple[Sequence[str], str | None]], rescoring: Rescoring
) -> Iterator[Sides | None]:
    """The states of the tokens of both sides, in 16 bits in a folder below TMPDIR; None without rescoring.

    Args:
        texts: sentences and their language, of either side.

    Raises:
        InputError: the encoder has no states of tokens, or one is NaN, infinite or beyond float16.
    """
    if not rescoring.rescore:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="token-states-") as folder:
        places = [Path(folder) / f"{number}.npy" for number in range(len(texts))]
        for place, (sentences, language) in zip(places, texts, strict=True):
            text = {"path": str(place), "sha256": "", "lines": len(sentences)}
            record = {"encoder": encoder.record(), "text": text}
            try:
                write_token_states(place, _encoded(encoder, sentences, language), "float16", record)
            except InputError as error:
                what = str(error).split(";")[0]  # the command has no other precision
                where = f"of the different sentences of {language or 'a text'}"
                raise InputError(f"--rescore: {encoder.name}, {where}, {what}") from None
        first, second = map(TokenStatesFile.open, places)
        yield first, second


def _encoded(encoder: SentenceEncoder, sentences: Sequence[str], language: str | None) -> Iterator[tuple]:
    for rows in _parts(np.arange(len(sentences)), WINDOW, "states of tokens"):
        try:
            tokens = encoder.encode_tokens(list(lines_at(sentences, rows)), language)
        except NotFinite as error:
            raise NotFinite(encoder.name, int(rows[error.row])) from None
        yield int(rows[0]), tokens.states, tokens.special


def _parts(rows: np.ndarray, size: int, title: str) -> Iterator[np.ndarray]:
    """So many rows at a time, under a bar."""
    parts = (rows[start : start + size] for start in range(0, len(rows), size))
    yield from progress(parts, len(rows), title, "sentence", size=len)


def rescored(near: Neighbourhoods, sides: Sides, rescoring: Rescoring) -> Neighbourhoods:
    """The same neighbours with their BERT-scores in place of cosines, the best first.

    Args:
        sides: the states of both, of unit length or not.
    """
    means = None
    if rescoring.normalize is not None:
        means = _means(sides, rescoring.normalize_sample or SAMPLE, rescoring.without_specials)
    both = []
    for place, side in enumerate((near.there, near.back)):
        scores = _pair_scores(sides[place], sides[1 - place], side.rows, rescoring.without_specials)
        if means is not None:
            own, others = means[place], means[1 - place]
            scores = _normalized(scores, rescoring.normalize, own.each, others.each[side.rows], own.all)
        both.append(Neighbours(*in_order(scores, side.rows)))
    return Neighbourhoods(*both)


def _normalized(scores: np.ndarray, strength: float, own: np.ndarray, others: np.ndarray, mean: float):
    """`fairseq_ext.modules.similarity.normalized` of some of the scores, by means that are known.

    Args:
        scores: of n queries with k candidates each, n x k.
        own: mean score of each query, n.
        others: of each candidate, n x k.
        mean: of all scores.
    """
    return scores - strength * (own[:, None] + others) + (2 * strength - 1) * mean


@dataclass(frozen=True)
class _Means:
    """What sentences of a side score with those drawn of the other one.

    Attributes:
        each: the mean of each sentence.
        all: the mean of the sentences that are drawn of this side, too.
    """

    each: np.ndarray
    all: float


def _means(sides: Sides, count: int, without_specials: bool) -> tuple[_Means, _Means]:
    drawn = [_draw(len(side), count, seed) for seed, side in enumerate(sides)]
    means = []
    for side, others, own, rows in ((0, 1, drawn[0], drawn[1]), (1, 0, drawn[1], drawn[0])):
        sample = _lines(sides[others], rows)
        each = np.empty(len(sides[side]), dtype=np.float32)
        for window in _parts(np.arange(len(each)), WINDOW, "normalization"):
            each[window] = bert_scores(_lines(sides[side], window), sample, without_specials).mean(axis=1)
        means.append(_Means(each, float(each[own].mean())))
    return means[0], means[1]


def _draw(sentences: int, count: int, seed: int) -> np.ndarray:
    if count >= sentences:
        return np.arange(sentences)
    return np.sort(np.random.default_rng([SEED, seed]).choice(sentences, count, replace=False))


def _lines(side: TokenStatesFile, rows: np.ndarray) -> TokenVectors:
    lines = [side.line(row) for row in rows]
    return TokenVectors([states for states, _ in lines], [special for _, special in lines])


def _pair_scores(
    queries: TokenStatesFile, candidates: TokenStatesFile, rows: np.ndarray, without_specials: bool
) -> np.ndarray:
    """F of every query with its own candidates, n x k.

    Args:
        rows: of the candidates, n x k.
    """
    from fairseq_ext.modules.similarity import TokenStates

    scores = np.empty(rows.shape, dtype=np.float32)
    by_length = np.argsort(np.diff(queries.begins), kind="stable")
    for chosen in _parts(by_length, QUERIES, BERT_SCORE):
        sides = _lines(queries, chosen), _lines(candidates, rows[chosen].ravel())
        scores[chosen] = _f(*(TokenStates.of_sentences(tokens_of(side, without_specials)) for side in sides))
    return scores


def _f(queries, candidates) -> np.ndarray:
    """B x k, where the first k candidates belong to the first query, and so on.

    Args:
        queries, candidates: `TokenStates` of B sentences and of B k others.
    """
    import torch

    from fairseq_ext.modules.similarity import f_of

    states, shares = (
        each.unflatten(0, (len(queries.states), -1)) for each in (candidates.states, candidates.shares)
    )
    products = torch.matmul(queries.states.unsqueeze(1), states.transpose(2, 3))  # B x k x T x T'
    precision = (products.amax(dim=2) * shares).sum(dim=2)
    recall = (products.amax(dim=3) * queries.shares.unsqueeze(1)).sum(dim=2)
    return f_of(precision, recall).numpy()
