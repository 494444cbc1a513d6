"""What a translation model of a checkpoint computes, as tensors and choices, for formats of other libraries.

Only plain Transformers have a graph: an encoder, a decoder with attention to it, and one projection to the
vocabulary. A weight that no field of the graph has, and every option that changes what is computed, is
refused by name: a library that copies weights by their names would compute something else and not say it.
"""

import re
from dataclasses import dataclass

from torch import nn

from fairseq_ext.export.affine import Affine
from fairseq_ext.export.encoder_graph import ACTIVATIONS, Stack, refusal
from fairseq_ext.modules.residual_block import PLACEMENTS


@dataclass(frozen=True)
class TranslationGraph:
    """A translation model.

    Attributes:
        projection: V x C, to the vocabulary.
    """

    encoder: Stack
    decoder: Stack
    projection: Affine

    @property
    def sides(self) -> tuple[Stack, Stack]:
        return self.encoder, self.decoder


EXPORTED_PLACEMENTS = ("pre", "post")
KNOWN_WEIGHTS = re.compile(
    r"(encoder|decoder)\.(embed_tokens|embed_positions|output_projection|layernorm_embedding|layer_norm"
    r"|layers\.\d+\.((self_attn|encoder_attn)(\.[qkv]_proj|\.out_proj|_layer_norm)|final_layer_norm|fc[12]))"
    r"\.(weight|bias)"
)


def translation_graph_of(loaded, path) -> TranslationGraph:
    """The graph of a loaded model.

    Raises:
        InputError: another library computes nothing of the kind; says what it is.
    """
    model, options = loaded.model, loaded.state["cfg"]["model"]
    _check_languages(loaded.task.tags, options, path)
    _check_classes(model, path)
    longest = loaded.task.max_positions()[0], model.max_decoder_positions()
    graph = TranslationGraph(
        Stack.of(model.encoder, options, longest[0]),
        Stack.of(model.decoder, options, longest[1]),
        Affine.of(model.decoder.output_projection),
    )
    _check_graph(graph, path)
    _check_weights(model, path)
    return graph


def _check_languages(tags, options, path) -> None:
    """Languages are tokens, and not what the model adds to states."""
    if tags.placement.embedded:
        raise refusal(path, f"--language-tags {tags.placement_name} adds languages to all embeddings")
    if getattr(options, "target_embedding_layers", 0):
        raise refusal(path, "upper layers of its encoder are told the target (--target-embedding-layers)")


def _check_classes(model: nn.Module, path) -> None:
    from fairseq.models.transformer import (
        TransformerDecoder,
        TransformerDecoderBase,
        TransformerEncoder,
        TransformerEncoderBase,
    )

    from fairseq_ext.models.mnmt_transformer import MnmtDecoder, MnmtEncoder

    plain = {
        "encoder": (MnmtEncoder, TransformerEncoder, TransformerEncoderBase),
        "decoder": (MnmtDecoder, TransformerDecoder, TransformerDecoderBase),
    }
    for side, classes in plain.items():
        module = getattr(model, side, None)
        if type(module) not in classes:
            raise refusal(path, f"its {side} is a {type(module).__name__}, not a plain Transformer {side}")
    if getattr(model.decoder, "output_projection", None) is None:
        raise refusal(path, "it has an adaptive softmax (--adaptive-softmax-cutoff)")
    if any(getattr(layer, "encoder_attn", None) is None for layer in model.decoder.layers):
        raise refusal(path, "layers of its decoder do not attend to the encoder (--no-cross-attention)")


def _check_graph(graph: TranslationGraph, path) -> None:
    for name, side in zip(("encoder", "decoder"), graph.sides, strict=True):
        if side.placement not in EXPORTED_PLACEMENTS:
            label = PLACEMENTS[side.placement].label
            raise refusal(
                path, f"the {name} has --norm-placement {side.placement} ({label}), which it does not compute"
            )
        if not all(layer.has_attention_residual for layer in side.layers):
            raise refusal(path, f"layers of the {name} have no residual connection (--drop-residual-layers)")
        if side.activation not in ACTIVATIONS:
            raise refusal(path, f"--activation-fn {side.activation} is none of {', '.join(ACTIVATIONS)}")
    if graph.encoder.width != graph.decoder.width:
        raise refusal(
            path,
            f"encoder and decoder have other widths, {graph.encoder.width} and {graph.decoder.width}",
        )


def _check_weights(model: nn.Module, path) -> None:
    """No parameter of the model is left out of the graph."""
    for name, _ in model.named_parameters():
        if not KNOWN_WEIGHTS.fullmatch(name):
            raise refusal(path, f"its weights {name} are no part of a plain Transformer")
