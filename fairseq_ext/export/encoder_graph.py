"""What a side of a checkpoint's model computes, as tensors and choices that other libraries' models are made
of; and a sentence encoder.

What a training adds (dropout, a decoder, layers above the pooled one) is not in it.
"""

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from command_line.errors import InputError
from fairseq_ext.export.affine import Affine
from fairseq_ext.export.sentence_head import SentenceHead
from fairseq_ext.modules.residual_block import PLACEMENTS

ACTIVATIONS = {  # fairseq's names: those of transformers
    "relu": "relu",
    "gelu": "gelu",
    "gelu_fast": "gelu_new",
    "gelu_accurate": "gelu_new",
    "tanh": "tanh",
    "linear": "linear",
}


@dataclass(frozen=True)
class GraphAttention:
    """Attention, and the norm or the norms of its block."""

    query: Affine
    key: Affine
    value: Affine
    output: Affine
    norm: Affine | list[Affine]

    @classmethod
    def of(cls, attention: nn.Module, norm: nn.Module) -> "GraphAttention":
        """That of a layer, ours or fairseq's."""
        projections = attention.q_proj, attention.k_proj, attention.v_proj, attention.out_proj
        return cls(*map(Affine.of, projections), Affine.of_block(norm))


@dataclass(frozen=True)
class GraphLayer:
    """A layer, and the norm or the norms of each block.

    Attributes:
        cross: attention to the encoder's states, of a decoder.
    """

    attention: GraphAttention
    inner: Affine
    outer: Affine
    feed_forward_norm: Affine | list[Affine]
    has_attention_residual: bool
    cross: GraphAttention | None

    @classmethod
    def of(cls, layer: nn.Module) -> "GraphLayer":
        """That of a layer, ours or fairseq's."""
        cross = getattr(layer, "encoder_attn", None)
        return cls(
            attention=GraphAttention.of(layer.self_attn, layer.self_attn_layer_norm),
            inner=Affine.of(layer.fc1),
            outer=Affine.of(layer.fc2),
            feed_forward_norm=Affine.of_block(layer.final_layer_norm),
            has_attention_residual=getattr(layer, "self_attention_residual", True),
            cross=None if cross is None else GraphAttention.of(cross, layer.encoder_attn_layer_norm),
        )


@dataclass(frozen=True)
class Stack:
    """An encoder or a decoder, from token ids to states.

    Attributes:
        tokens: V x C, not scaled.
        scale: of the embeddings.
        positions: T x C, the first row of the first token, learned or sinusoidal.
        learned_positions: are they weights?
        embedding_norm: on the sum of both, or None.
        layers: lowest first.
        placement: of norms, a key of `PLACEMENTS`.
        final_norm: on the states of the highest layer, or None.
        activation: fairseq's name.
    """

    tokens: Tensor
    scale: float
    positions: Tensor
    learned_positions: bool
    embedding_norm: Affine | None
    layers: tuple[GraphLayer, ...]
    placement: str
    final_norm: Affine | None
    heads: int
    activation: str

    @classmethod
    def of(cls, side: nn.Module, options, longest: int, depth: int | None = None, **more):
        """That of a side of a model.

        Args:
            longest: tokens.
            depth: layers, from the lowest on; None: all.
            more: fields of a class below.
        """
        first = side.layers[0]
        return cls(
            tokens=side.embed_tokens.weight.detach().float(),
            scale=float(side.embed_scale),
            positions=positions_of(side, longest),
            learned_positions=isinstance(side.embed_positions, nn.Embedding),
            embedding_norm=Affine.if_any(side.layernorm_embedding),
            layers=tuple(map(GraphLayer.of, list(side.layers)[:depth])),
            placement=placement_of_layer(first),
            final_norm=Affine.if_any(side.layer_norm),
            heads=heads_of(first),
            activation=str(getattr(options, "activation_fn", None) or "relu"),
            **more,
        )

    @property
    def width(self) -> int:
        """C, of the states."""
        return self.tokens.shape[1]

    @property
    def inner_width(self) -> int | None:
        """The width of the feed-forward networks; None without layers."""
        return len(self.layers[0].inner.weight) if self.layers else None


@dataclass(frozen=True)
class EncoderGraph(Stack):
    """A sentence encoder from token ids to vectors, with the layers below the pooled states.

    Attributes:
        head: what makes a vector of the states.
        parameters: all of the encoder's.
        layer_parameters: of its layers.
    """

    head: SentenceHead
    parameters: int
    layer_parameters: int

    @property
    def longest(self) -> int:
        """Tokens that it reads, all of them counted."""
        return len(self.positions)

    @property
    def embeddings(self) -> Tensor:
        """V x C, scaled."""
        return self.scale * self.tokens

    def with_rows(self, rows: Tensor) -> "EncoderGraph":
        """The same for a tokenizer whose ids stand for these rows of the embeddings, some perhaps for one."""
        tokens = self.tokens[rows]
        parameters = self.parameters + tokens.numel() - self.tokens.numel()
        return dataclasses.replace(self, tokens=tokens, parameters=parameters)


def graph_of(encoder: nn.Module, options, longest: int, path) -> EncoderGraph:
    """The graph of a sentence encoder, or of a translation model's encoder, of which the mean is pooled.

    Args:
        encoder: in evaluation mode.
        longest: tokens, `<s>` in front included.

    Raises:
        InputError: it is no plain Transformer encoder.
    """
    from fairseq.models.transformer import TransformerEncoder, TransformerEncoderBase

    from fairseq_ext.models.mnmt_transformer import MnmtEncoder
    from fairseq_ext.models.sentence_encoder import SentenceEncoder

    if type(encoder) not in (SentenceEncoder, MnmtEncoder, TransformerEncoder, TransformerEncoderBase):
        raise refusal(path, f"its encoder is a {type(encoder).__name__}, not a Transformer encoder alone")
    own = isinstance(encoder, SentenceEncoder)
    width = encoder.embed_tokens.embedding_dim
    return EncoderGraph.of(
        encoder,
        options,
        longest,
        encoder.layer if own else None,  # which is None, too, of a mixture of all layers
        head=SentenceHead.of(encoder, options, is_cut=True) if own else SentenceHead(width),
        parameters=count_of(encoder),
        layer_parameters=count_of(encoder.layers),
    )


def refusal(path, reason: str, advice: str = "") -> InputError:
    """What to raise where a point of the axes has no expression in the other library."""
    return InputError(f"{path}: cannot be exported: {reason}{advice and f'; {advice}'}")


def count_of(module: nn.Module) -> int:
    """Parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def heads_of(layer: nn.Module) -> int:
    """The number of heads of self-attention."""
    attention = layer.self_attn
    return attention.heads if hasattr(attention, "heads") else attention.num_heads


def placement_of_layer(layer: nn.Module) -> str:
    """A key of `PLACEMENTS`: of our layers by their entry, of fairseq's by their flag."""
    if hasattr(layer, "norm_placement"):
        return next(name for name, placement in PLACEMENTS.items() if placement == layer.norm_placement)
    return "pre" if layer.normalize_before else "post"


def positions_of(side: nn.Module, longest: int) -> Tensor:
    """T x C of the positions that an encoder or decoder of fairseq gives to tokens without padding; zeros if
    it gives none.
    """
    width = side.embed_tokens.embedding_dim
    if side.embed_positions is None:
        return torch.zeros(longest, width)
    no_padding = torch.full((1, longest), side.padding_idx + 1)
    with torch.no_grad():
        return side.embed_positions(no_padding)[0].detach().float().expand(longest, width).clone()
