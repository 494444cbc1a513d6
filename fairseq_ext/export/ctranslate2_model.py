"""The graph of a translation model as a specification of CTranslate2.

Its own converter of fairseq's checkpoints copies weights by their names; here the graph says what is
computed, side by side, with its own heads, norms and positions.
"""

import numpy as np
import torch
from ctranslate2.specs import common_spec, transformer_spec
from torch import Tensor

from fairseq_ext.export.affine import Affine
from fairseq_ext.export.encoder_graph import GraphLayer, Stack
from fairseq_ext.export.translation_graph import TranslationGraph

ACTIVATIONS = {  # fairseq's names
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_fast": common_spec.Activation.GELUTanh,
    "gelu_accurate": common_spec.Activation.GELUTanh,
    "tanh": common_spec.Activation.Tanh,
}


def specification(graph: TranslationGraph) -> transformer_spec.TransformerSpec:
    """A specification with all weights, in float32, and without a vocabulary."""
    encoder, decoder = graph.sides
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(
            num_layers=len(encoder.layers),
            num_heads=encoder.heads,
            activation=ACTIVATIONS[encoder.activation],
            **_norms(encoder),
        ),
        transformer_spec.TransformerDecoderSpec(
            num_layers=len(decoder.layers),
            num_heads=decoder.heads,
            activation=ACTIVATIONS[decoder.activation],
            **_norms(decoder),
        ),
    )
    _fill(spec.encoder, spec.encoder.embeddings[0], encoder)
    _fill(spec.decoder, spec.decoder.embeddings, decoder)
    _linear(spec.decoder.projection, graph.projection)
    return spec


def _norms(side: Stack) -> dict[str, bool]:
    return {
        "pre_norm": side.placement == "pre",
        "no_final_norm": side.final_norm is None,
        "layernorm_embedding": side.embedding_norm is not None,
    }


def _fill(spec, embeddings, side: Stack) -> None:
    embeddings.weight = _array(side.tokens)
    spec.scale_embeddings = side.scale
    spec.position_encodings.encodings = _array(side.positions)
    if side.embedding_norm is not None:
        _norm(spec.layernorm_embedding, side.embedding_norm)
    if side.final_norm is not None:
        _norm(spec.layer_norm, side.final_norm)
    for layer_spec, layer in zip(spec.layer, side.layers, strict=True):
        _layer(layer_spec, layer)


def _layer(spec, layer: GraphLayer) -> None:
    attention, place = layer.attention, spec.self_attention
    _linear(place.linear[0], _joined(attention.query, attention.key, attention.value))
    _linear(place.linear[1], attention.output)
    _norm(place.layer_norm, attention.norm)
    if (cross := layer.cross) is not None:
        _linear(spec.attention.linear[0], cross.query)
        _linear(spec.attention.linear[1], _joined(cross.key, cross.value))
        _linear(spec.attention.linear[2], cross.output)
        _norm(spec.attention.layer_norm, cross.norm)
    _linear(spec.ffn.linear_0, layer.inner)
    _linear(spec.ffn.linear_1, layer.outer)
    _norm(spec.ffn.layer_norm, layer.feed_forward_norm)


def _joined(*layers: Affine) -> Affine:
    """Several layers of one input as one."""
    return Affine(torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers]))


def _linear(spec, layer: Affine) -> None:
    spec.weight = _array(layer.weight)
    if layer.bias.any():
        spec.bias = _array(layer.bias)


def _norm(spec, norm: Affine) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(values: Tensor) -> np.ndarray:
    return np.ascontiguousarray(values.numpy())
