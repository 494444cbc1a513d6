"""Neural interlingua between encoder and decoder (thesis 7.2.1, 7.3.3): the *bridge* axis.

Queries of a length of their own attend to the states of the encoder, and the decoder attends to what comes
of them. `T` here counts positions of the interlingua, `S` tokens of the sentence.
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_ext.modules.attention import Attention
from fairseq_ext.modules.dropout import EmbeddingDropout
from fairseq_ext.modules.transformer_layers import Layer


class InterlinguaLayer(Layer):
    """Self-attention over the queries, encoder-interlingua attention, feed-forward network (Figure 7.2).

    The first layer has a feed-forward network in place of self-attention, because untrained queries have no
    similarities yet (thesis 7.2.1, footnote 2), without the residual connection around it (thesis 7.3.3).

    Args:
        hidden: width of the feed-forward networks.
        is_first: whether it is the first layer.
    """

    def __init__(self, cfg, hidden: int, is_first: bool):
        self.is_first = is_first
        super().__init__(cfg, dataclasses.replace(cfg.encoder, ffn_embed_dim=hidden))

    def _build_first(self, cfg, side) -> None:
        if not self.is_first:
            super()._build_first(cfg, side)
            return
        self.query_fc1 = nn.Linear(side.embed_dim, side.ffn_embed_dim)
        self.query_fc2 = nn.Linear(side.ffn_embed_dim, side.embed_dim)

    def _build_between(self, cfg, width: int) -> None:
        self.encoder_attn = Attention(
            width, cfg.encoder.attention_heads, cfg.attention_dropout, self_attention=False
        )
        self.encoder_attn_layer_norm = self._norms(cfg, width)

    def forward(self, x: Tensor, padding: Tensor, states: Tensor, state_padding: Tensor | None) -> Tensor:
        """What the queries have become after the layer, T x B x C.

        Args:
            x: queries, T x B x C.
            padding: B x T, true at padding.
            states: of the encoder, S x B x C.
            state_padding: B x S, or None without padding.
        """

        def first(queries):
            if self.is_first:
                hidden = self.activation_fn(self.query_fc1(queries))
                return self.query_fc2(self.activation_dropout_module(hidden))
            return self.self_attn(queries, padding_mask=padding)[0]

        def encoder_attention(queries):
            return self.encoder_attn(queries, states, state_padding)[0]

        x = self._block(x, first, self.self_attn_layer_norm, residual=not self.is_first)
        x = self._block(x, encoder_attention, self.encoder_attn_layer_norm)
        return self._block(x, self._feed_forward, self.final_layer_norm)


class Queries(nn.Module):
    """The first columns of a matrix per language, or of one for all (equation 7.4).

    Initialized and scaled as fairseq's token embeddings; the paper says "randomly".

    Args:
        languages: number of matrices; 1 serves all languages.
        length: K, columns of a matrix.
        width: C.
    """

    def __init__(self, languages: int, length: int, width: int):
        super().__init__()
        self.scale = width**0.5
        self.weight = nn.Parameter(torch.empty(languages, length, width).normal_(std=width**-0.5))

    def forward(self, languages: Tensor | None, size: int, length: int) -> Tensor:
        """T x B x C.

        Args:
            languages: B numbers of matrices; whatever if there is one.
            size: B.
            length: T.
        """
        columns = self.weight[:, :length]
        chosen = columns.expand(size, -1, -1) if len(columns) == 1 else columns.index_select(0, languages)
        return self.scale * chosen.transpose(0, 1)


class LengthPredictor(nn.Module):
    """Classifier over lengths 1 … K on the mean of the encoder's states (equation 7.3).

    Args:
        width: C.
        length: K.
        with_source_length: an embedding of the sentence's own length is added to the mean (not in the paper).
        regression: predicts one number x (thesis 7.2.1, footnote 3). Length i has the logit -(i - x)² / 2,
            so that -log p of the right length is half the squared error but for a constant.
    """

    def __init__(self, width: int, length: int, with_source_length: bool = False, regression: bool = False):
        super().__init__()
        self.longest, self.regression = length, regression
        self.linear = nn.Linear(width, 1 if regression else length)
        self.source_length = nn.Embedding(length, width) if with_source_length else None
        if with_source_length:
            nn.init.normal_(self.source_length.weight, std=width**-0.5)

    def forward(self, means: Tensor, lengths: Tensor) -> Tensor:
        """Logits, B x K, in float32 or the type of the parameters: near ties must not depend on autocast.

        Args:
            means: of the states of every sentence, B x C.
            lengths: own lengths of the sentences, B.
        """
        weight = self.linear.weight
        with torch.autocast(means.device.type, enabled=False):
            features = means.to(weight.dtype)
            if self.source_length is not None:
                features = features + self.source_length(lengths.clamp(max=self.longest) - 1)
            predicted = F.linear(features, weight, self.linear.bias)
            if not self.regression:
                return predicted
            classes = torch.arange(1, self.longest + 1, device=weight.device)
            return -(classes - predicted).square() / 2


class Interlingua(nn.Module):
    """Interlingua layers over queries of given lengths.

    Args:
        norm: after the last layer, or None.
        dropout: of the queries, as of token embeddings.
    """

    def __init__(
        self, queries: Queries, layers: list[InterlinguaLayer], norm: nn.Module | None, dropout: float
    ):
        super().__init__()
        self.queries = queries
        self.layers = nn.ModuleList(layers)
        self.layer_norm = norm
        self.dropout_module = EmbeddingDropout(dropout, module_name="Interlingua")

    def forward(self, states: Tensor, state_padding: Tensor, languages: Tensor | None, lengths: Tensor):
        """H_I of equation 7.6, T x B x C, and its padding mask, B x T.

        Args:
            states: of the encoder, S x B x C.
            state_padding: B x S, true at padding.
            languages: B numbers, or None with queries that serve all.
            lengths: of the interlingua, B.
        """
        longest = int(lengths.max())
        padding = torch.arange(longest, device=lengths.device) >= lengths[:, None]
        x = self.dropout_module(self.queries(languages, states.size(1), longest))
        state_padding = state_padding if state_padding.any() else None
        for layer in self.layers:
            x = layer(x, padding, states, state_padding)
        return (x if self.layer_norm is None else self.layer_norm(x)), padding
