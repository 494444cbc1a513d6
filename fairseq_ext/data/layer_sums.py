"""Sums of layers from the disk, which replace a frozen encoder (`data_prep.formats.layer_sums`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from command_line.errors import InputError
from data_prep.formats.layer_sums import LayerSums, layer_sums_path
from data_prep.formats.sentences import load_sentences
from data_prep.formats.teacher_vectors import STEP
from fairseq_ext.data.dataset_parts import StoredOfBothSides, in_place_of_tokens
from fairseq_ext.modules.pooling import POOLINGS

OPTION = "--layer-sums"
FIELD = "layer_sums"  # of a batch
EXACT_POOLINGS = ("sum", "mean")
SAMPLE = 3  # sentences of a side that are encoded again, besides the longest
TOLERANCE = 0.001  # of the length of a sum: float16 on the disk makes a third of it
TOLERANCE_IN_HALF = 0.01  # of an encoder that is trained above in half precision


class SummedSentences(Sequence):
    """Binarized sentences and their sums of layers.

    Raises:
        InputError: there are no sums of this name, they are of another text, or sentences were cut elsewhere.
    """

    def __init__(self, prefix: Path, name: str, longest: int):
        self.sentences = load_sentences(prefix)
        self.sizes = np.asarray(self.sentences.sizes)
        path = layer_sums_path(prefix, name)
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; `{STEP} {prefix.parent} {OPTION} --name {name}` writes it"
            )
        self.sums = LayerSums(path)
        self.sums.check(prefix)
        cuts = {longest, self.sums.longest}
        if len(cuts) > 1 and self.sizes.max() > min(cuts):
            raise InputError(
                f"{path}: sums of sentences of at most {self.sums.longest} tokens; expected"
                f" --max-source-positions {self.sums.longest}, or `{STEP} {OPTION} --max-tokens {longest}`"
            )

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, item: int) -> Tensor:
        return self.sentences[item]

    def layer_sums(self, item: int) -> np.ndarray:
        """L + 1 x C."""
        return self.sums[item]


class LayerSumsField(StoredOfBothSides):
    """The sums of both sentences of a pair. In a batch: "source" and "target", B x (L + 1) x C."""

    def __getitem__(self, item: int) -> tuple[np.ndarray, ...]:
        return tuple(side.layer_sums(item) for side in self.sides)


def complete(batch: dict) -> dict:
    """A batch whose inputs of the encoder have their sums, so that it does not read their tokens."""
    return in_place_of_tokens(batch, FIELD, "layer_sums")


def check_encoder(encoder) -> None:
    """Refuse an encoder whose vectors do not follow from sums of layers.

    Raises:
        InputError: something below the sums is trained, or the pooling is of another kind.
    """
    if not getattr(encoder, "frozen", False):
        raise InputError(f"{OPTION}: the layers are trained; expected --freeze-encoder")
    if encoder.kind not in [POOLINGS[name] for name in EXACT_POOLINGS]:
        raise InputError(
            f"{OPTION}: {encoder.kind.label} pooling is no sum over tokens; expected --pooling sum or mean"
        )
    if len(encoder.left_out):
        raise InputError(f"{OPTION}: sums all tokens; leave --pooling-without-eos out")


@torch.no_grad()
def check_sums(encoder, sides: Sequence) -> None:
    """Encode some sentences again, to find out whether the sums are of this encoder.

    Args:
        sides: sentences with their sums, and `sizes`.

    Raises:
        InputError: a sum is not what the encoder computes.
    """
    encoder.eval()  # as a frozen one is in training
    is_whole = encoder.embed_tokens.weight.dtype == torch.float32
    tolerance = TOLERANCE if is_whole else TOLERANCE_IN_HALF
    for side in sides:
        for line in _sample(side):
            tokens = side[line].long().unsqueeze(0).to(encoder.embed_tokens.weight.device)
            stored = torch.from_numpy(side.layer_sums(line))
            sums = encoder.sums_of_layers(tokens)[0].float().cpu()
            if sums.shape != stored.shape or (sums - stored).norm() > tolerance * sums.norm():
                raise InputError(
                    f"{OPTION}: stored sums are not those of this encoder ({stored.shape[0]} layers of width"
                    f" {stored.shape[1]}, here {sums.shape[0]} of {sums.shape[1]}); run"
                    f" `{STEP} {OPTION}` with the encoder that the training starts from"
                )


def _sample(side) -> Iterator[int]:
    yield int(np.argmax(side.sizes))
    yield from range(min(SAMPLE, len(side)))
