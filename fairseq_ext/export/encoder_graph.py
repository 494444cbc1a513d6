"""What an encoder of a checkpoint computes, as tensors and choices that other libraries' models are made of.

Embeddings are already scaled, and positions are a table whose first row is the first token's, learned or
sinusoidal. What a training adds (dropout, a decoder, layers above the pooled one) is not in it.
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
class GraphLayer:
    """Self-attention and feed-forward network, with the norm or the norms of each block."""

    query: Affine
    key: Affine
    value: Affine
    output: Affine
    attention_norm: Affine | list[Affine]
    inner: Affine
    outer: Affine
    feed_forward_norm: Affine | list[Affine]
    has_attention_residual: bool


@dataclass(frozen=True)
class EncoderGraph:
    """A sentence encoder from token ids to vectors.

    Attributes:
        tokens: V x C, scaled.
        positions: T x C.
        embedding_norm: on the sum of both, or None.
        layers: below the pooled states, lowest first.
        placement: of norms, a key of `PLACEMENTS`.
        final_norm: on the states of the highest layer, or None.
        activation: fairseq's name.
        head: what makes a vector of the states.
        parameters: all of the encoder's.
        layer_parameters: of its layers.
    """

    tokens: Tensor
    positions: Tensor
    embedding_norm: Affine | None
    layers: tuple[GraphLayer, ...]
    placement: str
    final_norm: Affine | None
    heads: int
    activation: str
    head: SentenceHead
    parameters: int
    layer_parameters: int

    @property
    def width(self) -> int:
        """C, of the states."""
        return self.tokens.shape[1]

    @property
    def longest(self) -> int:
        """Tokens that it reads, all of them counted."""
        return len(self.positions)

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
    depth = encoder.layer if own and encoder.layer is not None else len(encoder.layers)
    layers = tuple(graph_layer(layer) for layer in list(encoder.layers)[:depth])
    width = encoder.embed_tokens.embedding_dim
    first = encoder.layers[0]
    return EncoderGraph(
        tokens=encoder.embed_scale * encoder.embed_tokens.weight.detach().float(),
        positions=positions_of(encoder, longest),
        embedding_norm=Affine.if_any(encoder.layernorm_embedding),
        layers=layers,
        placement=placement_of_layer(first),
        final_norm=Affine.if_any(encoder.layer_norm),
        heads=heads_of(first),
        activation=str(getattr(options, "activation_fn", None) or "relu"),
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
    """Of self-attention."""
    attention = layer.self_attn
    return attention.heads if hasattr(attention, "heads") else attention.num_heads


def placement_of_layer(layer: nn.Module) -> str:
    """A key of `PLACEMENTS`: of our layers by their entry, of fairseq's by their flag."""
    if hasattr(layer, "norm_placement"):
        return next(name for name, placement in PLACEMENTS.items() if placement == layer.norm_placement)
    return "pre" if layer.normalize_before else "post"


def graph_layer(layer: nn.Module) -> GraphLayer:
    """Self-attention and feed-forward network of a layer, ours or fairseq's."""
    attention = layer.self_attn
    return GraphLayer(
        query=Affine.of(attention.q_proj),
        key=Affine.of(attention.k_proj),
        value=Affine.of(attention.v_proj),
        output=Affine.of(attention.out_proj),
        attention_norm=Affine.of_block(layer.self_attn_layer_norm),
        inner=Affine.of(layer.fc1),
        outer=Affine.of(layer.fc2),
        feed_forward_norm=Affine.of_block(layer.final_layer_norm),
        has_attention_residual=getattr(layer, "self_attention_residual", True),
    )


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
