"""Hidden states of every layer of a model: of fairseq, or an encoder-decoder, an encoder or a causal model of
`transformers`.

Layers are named as in `eval.probes.store`. The library transformers gives the last layer behind the
final norm alone; the states before it are taken from the layer itself.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from command_line.errors import InputError
from eval.probes.store import layer_names

OPTION = "--checkpoint"
WITHOUT_ATTENTION_WEIGHTS = -1  # an `alignment_layer` that no layer has


class Tokens(NamedTuple):
    """What the two sides of a model are given for a line, in token ids.

    Attributes:
        encoder: of the encoder (or the only stack of layers), with all tags and `</s>`.
        decoder: `</s>` (or what else begins the output), tag, w1 … wn; empty for a model without a decoder.
        announced: what the encoder is told behind the line, without states.
    """

    encoder: Sequence[int]
    decoder: Sequence[int] = ()
    announced: Sequence[int] = ()

    @property
    def longest(self) -> int:
        """Tokens of the longer side."""
        return max(len(self.encoder), len(self.decoder))


def layers_of(model, path) -> dict[str, list[str]]:
    """Names of the layers of both sides, see `eval.probes.store`.

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


class CheckpointStates:
    """A translation model of fairseq that shows its states, as `HiddenStates` does.

    Attributes:
        layers: names per side.
        sides: name -> network.
    """

    def __init__(self, model: nn.Module, pad: int, path: Path):
        self.model, self.pad = model, pad
        self.layers = layers_of(model, path)
        self.sides = {"encoder": model.encoder, "decoder": model.decoder}

    def __call__(self, rows: Sequence[Tokens]) -> dict[str, Tensor]:
        states = forced_states(self.model, *self._inputs(rows))
        return {side: torch.stack(layers).float() for side, layers in states.items()}

    def scores(self, rows: Sequence[Tokens]) -> tuple[Tensor, Tensor | None]:
        """As `HiddenStates.scores`; without attention where the decoder attends to an interlingua."""
        logits, extra = self.model(*self._inputs(rows))
        return logits, None if hasattr(self.model.encoder, "interlingua") else extra["attn"][0]

    def _inputs(self, rows: Sequence[Tokens]) -> tuple[Tensor, Tensor, Tensor]:
        """Sources, their lengths, and what the decoder is given."""
        device = next(self.model.parameters()).device
        encoder = [torch.tensor([*row.encoder, *row.announced], device=device) for row in rows]
        decoder = [torch.tensor(row.decoder, device=device) for row in rows]
        ids, previous = (pad_sequence(side, True, self.pad) for side in (encoder, decoder))
        lengths = torch.tensor([len(row) for row in encoder], device=device)
        return ids, lengths, previous


TRIAL = Tokens([3, 4, 5], [3, 4, 5])  # whose states are not all 0, as those of padding may be


class HiddenStates:
    """A model of `transformers` that shows its states.

    Args:
        begin: the token that begins what the decoder reads; None for models without a decoder.

    Attributes:
        layers: names per side, as of `layer_names`; without a decoder its side has none.
        sides: name -> network.

    Raises:
        InputError: a side is not made of a list of layers.
    """

    def __init__(self, model: nn.Module, folder: Path, begin: int | None = None):
        self.model, self.folder, self.begin = model, folder, begin
        self.sides = {"encoder": model}
        if begin is not None:
            self.sides = {"encoder": model.get_encoder(), "decoder": model.get_decoder()}
        self._before_norm: dict[str, Tensor] = {}  # of the last pass
        hidden = self._pass([TRIAL])
        for side, network in self.sides.items():
            self._last_layer(network, len(hidden[side]) - 1).register_forward_hook(self._keep(side))
        hidden = self._pass([TRIAL])
        counts = [len(hidden[side]) - 1 if side in hidden else 0 for side in ("encoder", "decoder")]
        self._has_norm = {
            side: not torch.equal(states[-1], self._before_norm[side]) for side, states in hidden.items()
        }
        self.layers = layer_names(*counts, self._has_norm["encoder"], self._has_norm.get("decoder", False))
        if "decoder" not in hidden:
            self.layers["decoder"] = []

    def __call__(self, rows: Sequence[Tokens]) -> dict[str, Tensor]:
        """States of a batch, per side layers x B x T x C, float32, in the order of `layers`.

        Args:
            rows: what each line is read as. The first token of the decoder, whatever it is, stands for the
                model's own.
        """
        hidden = self._pass(rows)
        states = {}
        for side, layers in hidden.items():
            norm = [layers[-1]] if self._has_norm[side] else []
            states[side] = torch.stack([*layers[:-1], self._before_norm[side], *norm]).float()
        return states

    def scores(self, rows: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """The logits of an encoder-decoder for what follows every token of the decoder, B x T x V, with their
        graph; and the mean over heads of the last layer's attention to the encoder's tokens, B x T x S.
        """
        self.model.set_attn_implementation("eager")  # others have no weights to show
        output = self.model(**self._inputs(rows), use_cache=False, output_attentions=True)
        return output.logits, output.cross_attentions[-1].mean(dim=1)

    @torch.inference_mode()
    def _pass(self, rows: Sequence[Tokens]) -> dict[str, tuple]:
        """Side -> what the library calls hidden states."""
        inputs = self._inputs(rows)
        if self.begin is None:
            return {"encoder": self.model(**inputs, output_hidden_states=True).hidden_states}
        output = self.model(**inputs, output_hidden_states=True, use_cache=False)
        return {"encoder": output.encoder_hidden_states, "decoder": output.decoder_hidden_states}

    def _inputs(self, rows: Sequence[Tokens]) -> dict[str, Tensor]:
        """What the library's model is given."""
        ids, mask = self._padded([row.encoder for row in rows])
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.begin is not None:  # attention is causal: padding behind a row changes nothing
            inputs["decoder_input_ids"], _ = self._padded([[self.begin, *row.decoder[1:]] for row in rows])
        return inputs

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        tensors = [torch.tensor(row, device=self.model.device) for row in rows]
        ids = pad_sequence(tensors, batch_first=True)
        return ids, pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True)

    def _last_layer(self, network: nn.Module, layers: int) -> nn.Module:
        for module in network.modules():
            if isinstance(module, nn.ModuleList) and len(module) == layers:
                return module[-1]
        raise InputError(
            f"{OPTION} {self.folder}: found a {type(network).__name__}, which is not made of a list of"
            f" {layers} layers; expected a Transformer"
        )

    def _keep(self, side: str):
        def keep(module, inputs, output) -> None:
            self._before_norm[side] = output[0] if isinstance(output, tuple) else output

        return keep
