"""Decoder positions that a batch gives, in place of 0, 1, 2, …: MASS keeps the positions of the sentence for
the tokens that it predicts (Song et al. 2019, section 3.2).

A hook on the decoder's positional embedding, so that models and checkpoints stay what they are.
"""

import contextlib
from collections.abc import Iterator

import torch


class DecoderPositions:
    """Puts given positions into one model's decoder, learned or sinusoidal.

    Args:
        decoder: a fairseq decoder; without positional embedding nothing happens.
    """

    def __init__(self, decoder):
        self._positions: torch.Tensor | None = None
        self._length = 0
        if decoder.embed_positions is not None:
            decoder.embed_positions.register_forward_hook(self._embed)

    @contextlib.contextmanager
    def at(self, positions: torch.Tensor | None, length: int) -> Iterator[None]:
        """While the context lasts, the decoder's inputs stand at these positions.

        Args:
            positions: B x T, as `prev_output_tokens`, counted from 0 (anything at padding); None: 0, 1, 2, …
            length: more than any of the positions.
        """
        self._positions, self._length = positions, length
        try:
            yield
        finally:
            self._positions = None

    def _embed(self, module, inputs, output):
        """B x T x C."""
        if self._positions is None:
            return None
        tokens = inputs[0].new_full((1, self._length), module.padding_idx + 1)
        return module.forward(tokens)[0][self._positions]
