"""What makes one vector of the states of a sentence's tokens, as tensors for other libraries."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from fairseq_ext.export.affine import Affine


@dataclass(frozen=True)
class SentenceHead:
    """Pooling and what is above it.

    Attributes:
        width: C, of the states.
        layers: the share of every layer in the states that are pooled, the embeddings' first, 1 in all; None
            if they are the states of the highest layer.
        pooling: "mean", "max", "sum", "cls" or "pooler".
        without_eos: `</s>` does not count in the pooling.
        pooler: linear layer on the pooled states, with tanh behind it if the pooling is "pooler"; or None.
        sentence_map: linear layer on top of all, or None.
    """

    width: int
    layers: Tensor | None = None
    pooling: str = "mean"
    without_eos: bool = False
    pooler: Affine | None = None
    sentence_map: Affine | None = None

    @classmethod
    def of(cls, encoder: nn.Module, options, is_cut: bool) -> "SentenceHead":
        """The head of a `PooledEncoder`.

        Args:
            is_cut: layers above the pooled one are left out, so that it is the highest.
        """
        layers, count = None, len(encoder.layers)
        if encoder.layer_weights is not None:
            layers = encoder.layer_weights.detach().float().softmax(0)
        elif encoder.layer != count and not is_cut:
            layers = one_hot(torch.tensor(encoder.layer), count + 1).float()
        return cls(
            width=encoder.embed_tokens.embedding_dim,
            layers=layers,
            pooling=str(options.pooling),
            without_eos=bool(len(encoder.left_out)),
            pooler=Affine.if_any(encoder.pooler),
            sentence_map=Affine.if_any(encoder.sentence_map),
        )

    @property
    def has_tanh(self) -> bool:
        """Behind the pooler; without it, that is a linear map."""
        return self.pooling == "pooler"

    @property
    def sentence_width(self) -> int:
        """C', of the vectors."""
        highest = self.sentence_map or self.pooler
        return self.width if highest is None else len(highest.weight)
