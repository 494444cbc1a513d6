"""Several models as one: their probabilities of the next token are averaged, as in `fairseq-generate`.

A search sees a model with an encoder and a decoder. The features of a step, R x (C_1 + C_2 + …), are those of
the members side by side; whoever makes probabilities of them knows the members' projections
(`output_projections`).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def output_projections(model) -> list[Tensor]:
    """The projections to the vocabulary, V x C_i, of an ensemble or of a model alone.

    A member without one (an adaptive softmax) gives None.
    """
    members = model.members if isinstance(model, Ensemble) else [model]
    projections = [getattr(member.decoder, "output_projection", None) for member in members]
    return [getattr(projection, "weight", None) for projection in projections]


class Ensemble(nn.Module):
    """Members with one dictionary, in inference.

    Args:
        members: encoder-decoder models of fairseq with incremental decoding.
    """

    def __init__(self, members: Sequence[nn.Module]):
        super().__init__()
        self.members = nn.ModuleList(members)

    def encoder(self, *arguments, **options) -> list:
        """The outputs of the encoders."""
        return [member.encoder(*arguments, **options) for member in self.members]

    @property
    def decoder(self) -> "Decoders":
        return Decoders([member.decoder for member in self.members])

    def max_decoder_positions(self) -> int:
        return min(member.max_decoder_positions() for member in self.members)


class Decoders:
    """The decoders of an ensemble as one.

    Args:
        decoders: of the members. Their states lie in one dictionary of a search, each under its number.
    """

    def __init__(self, decoders: Sequence[Any]):
        self.decoders = list(decoders)

    def __call__(self, tokens: Tensor, encoder_out: list, incremental_state: dict, features_only: bool):
        """As fairseq's: features, R x 1 x (C_1 + C_2 + …), and nothing."""
        features = [
            decoder(
                tokens,
                encoder_out=encoder_out[number],
                incremental_state=incremental_state.setdefault(number, {}),
                features_only=features_only,
            )[0][:, -1:]
            for number, decoder in enumerate(self.decoders)
        ]
        return torch.cat(features, dim=2), None

    def set_beam_size(self, size: int) -> None:
        for decoder in self.decoders:
            decoder.set_beam_size(size)

    def reorder_incremental_state_scripting(self, incremental_state: dict, order: Tensor) -> None:
        for number, decoder in enumerate(self.decoders):
            decoder.reorder_incremental_state_scripting(incremental_state[number], order)
