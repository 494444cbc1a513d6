"""Hidden states of every layer, of fairseq's Transformers and ours, in one pass over given tokens."""

import torch
from torch import Tensor

from command_line.errors import InputError
from eval.probes.store import layer_names

WITHOUT_ATTENTION_WEIGHTS = -1  # an `alignment_layer` that no layer has


def layers_of(model, path) -> dict[str, list[str]]:
    """Names of the layers of both sides, see `eval.probes.store`.

    Args:
        model: an encoder-decoder model.
        path: of its checkpoint, for the error.

    Raises:
        InputError: a side is no Transformer (an LSTM, for instance).
    """
    for side in (model.encoder, model.decoder):
        if not hasattr(side, "layers") or not hasattr(side, "layer_norm"):
            raise InputError(
                f"{path}: found a {type(side).__name__}, which is not made of Transformer layers;"
                " expected fairseq's transformer or mnmt_transformer"
            )
    encoder, decoder = model.encoder, model.decoder
    norms = (side.layer_norm is not None for side in (encoder, decoder))
    return layer_names(len(encoder.layers), len(decoder.layers), *norms)


@torch.no_grad()
def forced_states(
    model, src_tokens: Tensor, src_lengths: Tensor, prev_output_tokens: Tensor
) -> dict[str, list[Tensor]]:
    """States of all layers of "encoder" and "decoder", each B x T x C, in the order of `layers_of`.

    Attention is causal, so decoder states are those of step-by-step decoding of the same tokens.

    Args:
        model: in evaluation mode.
        src_tokens: B x S.
        src_lengths: B.
        prev_output_tokens: B x T: `</s>`, tag, w1, … wn, padded on the right.
    """
    source = model.encoder(src_tokens, src_lengths=src_lengths, return_all_hiddens=True)
    _, extra = model.decoder.extract_features(
        prev_output_tokens, encoder_out=source, alignment_layer=WITHOUT_ATTENTION_WEIGHTS
    )
    states = {"encoder": list(source["encoder_states"]), "decoder": list(extra["inner_states"])}
    for name, side in (("encoder", model.encoder), ("decoder", model.decoder)):
        if side.layer_norm is not None:
            states[name].append(side.layer_norm(states[name][-1]))
    return {name: [layer.transpose(0, 1) for layer in layers] for name, layers in states.items()}
