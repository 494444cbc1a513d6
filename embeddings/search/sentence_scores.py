"""All scores of the sentences of two texts: cosines of vectors, or BERT-scores of tokens, normalized or not
(Niu et al. 2022, "OneAligner", 2.2).
"""

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
    """F of all pairs of sentences (`fairseq_ext.modules.similarity.bert_scores`), M x N.

    Args:
        without_specials: special tokens can be matched, and do not count themselves.
    """
    from fairseq_ext.modules import similarity

    return similarity.bert_scores(*(tokens_of(text, without_specials) for text in (first, second))).numpy()


def tokens_of(text: TokenVectors, without_specials: bool) -> list:
    """Every sentence as `fairseq_ext.modules.similarity.Tokens`."""
    import torch

    from fairseq_ext.modules.similarity import Tokens

    return [
        Tokens(torch.from_numpy(states), torch.from_numpy(special) & without_specials)
        for states, special in zip(text.states, text.special, strict=True)
    ]


def without_popularity(scores: np.ndarray, strength: float, batch: int | None) -> np.ndarray:
    """Scores less what a sentence scores with any other (`fairseq_ext.modules.similarity.normalized`)."""
    import torch

    from fairseq_ext.modules.similarity import normalized

    return normalized(torch.from_numpy(scores), strength, batch).numpy()
