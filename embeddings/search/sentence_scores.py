"""All scores of the sentences of two texts: cosines of vectors, or BERT-scores of tokens, normalized or not
(Niu et al. 2022, "OneAligner", 2.2).
"""

from collections.abc import Iterator

import numpy as np

from command_line.errors import InputError
from data_prep.formats.vectors import normalized as unit_length
from embeddings.encoders.sentence_encoder import TokenVectors
from embeddings.search.retrieval import COSINE, SIMILARITIES

BERT_SCORE = "bert-score"
NORMALIZED = "-normalized"  # behind the name of a similarity
NORMALIZABLE = (COSINE, BERT_SCORE)
MEASURES = (*SIMILARITIES, BERT_SCORE, *(f"{name}{NORMALIZED}" for name in NORMALIZABLE))  # of P@1
MOST_SCORES = 1 << 28  # 1 GiB
CHUNK = 64  # sentences of similar lengths


def check_size(queries: int, candidates: int) -> None:
    """Refuse texts whose scores would fill the memory.

    Raises:
        InputError: they would.
    """
    if queries * candidates > MOST_SCORES:
        raise InputError(
            f"--similarity {BERT_SCORE}, --normalize: need all {queries:,} x {candidates:,} scores at"
            f" once; expected at most {MOST_SCORES:,}"
        )


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """M x C, N x C -> M x N."""
    return unit_length(first) @ unit_length(second).T


def bert_scores(first: TokenVectors, second: TokenVectors, without_specials: bool) -> np.ndarray:
    """F of all pairs of sentences, from cosines of their tokens, M x N; a sentence without tokens has 0 with
    every other one.

    Args:
        without_specials: special tokens can be matched, and do not count themselves.
    """
    from fairseq_ext.modules.similarity import bert_score

    scores = np.zeros((len(first), len(second)), dtype=np.float32)
    chunks = list(_chunks(second, without_specials))
    for rows, one in _chunks(first, without_specials):
        for columns, other in chunks:
            scores[np.ix_(rows, columns)] = bert_score(one, other).f.numpy()
    return scores


def _chunks(sentences: TokenVectors, without_specials: bool) -> Iterator[tuple[np.ndarray, object]]:
    """Sentences of similar lengths, so many at a time: their numbers, and `TokenStates`."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    from fairseq_ext.modules.similarity import TokenStates

    lengths = np.array([len(states) for states in sentences.states])
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    for start in range(0, len(order), CHUNK):
        rows = order[start : start + CHUNK]
        states = pad_sequence([torch.from_numpy(sentences.states[row]) for row in rows], batch_first=True)
        special = pad_sequence([torch.from_numpy(sentences.special[row]) for row in rows], batch_first=True)
        padding = torch.arange(states.size(1)) >= torch.from_numpy(lengths[rows]).unsqueeze(1)
        yield rows, TokenStates.of(states, padding, special if without_specials else None, cosine=True)


def without_popularity(scores: np.ndarray, strength: float, batch: int | None) -> np.ndarray:
    """Scores less what a sentence scores with any other (`fairseq_ext.modules.similarity.normalized`)."""
    import torch

    from fairseq_ext.modules.similarity import normalized

    return normalized(torch.from_numpy(scores), strength, batch).numpy()
