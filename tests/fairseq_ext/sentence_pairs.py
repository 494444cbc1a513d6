"""Sentence pairs with their vectors, for the tests of the losses of sentence encoders."""

import dataclasses

import torch

from fairseq_ext.losses.weighted_loss import ModelOutputs
from tests.fairseq_ext import encodings

PAD, EOS = 1, 2
SIZES = dataclasses.replace(encodings.SIZES, languages=4, sentence_width=6, vocabulary=30, encoder_width=8)
SOURCES = [[5, 6, 5, 5, EOS], [7, EOS], [8, 9, 10, EOS]]  # the first has a word three times
TARGETS = [[11, 12, EOS], [13, 14, 13, EOS], [15, EOS]]
SOURCE_LANGUAGES, TARGET_LANGUAGES = [0, 1, 0], [2, 0, 3]


def padded(sentences: list[list[int]], more: int = 0) -> torch.Tensor:
    width = max(map(len, sentences)) + more
    return torch.tensor([each + [PAD] * (width - len(each)) for each in sentences])


def pair_batch(rows=(0, 1, 2), more: int = 0, sources=SOURCES, targets=TARGETS) -> dict:
    """The pairs of these rows, in this order, with `more` columns of padding."""
    tokens = [padded([side[row] for row in rows], more) for side in (sources, targets)]
    return {
        "net_input": {"src_tokens": tokens[0], "src_lengths": tokens[0].ne(PAD).sum(1)},
        "mirror": {"src_tokens": tokens[1], "src_lengths": tokens[1].ne(PAD).sum(1)},
        "source_languages": torch.tensor([SOURCE_LANGUAGES[row] for row in rows]),
        "target_languages": torch.tensor([TARGET_LANGUAGES[row] for row in rows]),
    }


def pair_vectors(pairs: int = 3, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """u and v of so many pairs."""
    generator = torch.Generator().manual_seed(seed)
    width = SIZES.sentence_width
    return tuple(
        torch.randn(pairs, width, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in range(2)
    )


def outputs_of(u: torch.Tensor, v: torch.Tensor, embeddings=None, rows=None) -> ModelOutputs:
    if rows is not None:
        u, v = u[list(rows)], v[list(rows)]
    return ModelOutputs({"sentence_vectors": u}, {"sentence_vectors": v}, token_embeddings=embeddings)


def random_embeddings(seed: int = 4) -> torch.Tensor:
    """V x C of the encoder."""
    generator = torch.Generator().manual_seed(seed)
    shape = (SIZES.vocabulary, SIZES.encoder_width)
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
