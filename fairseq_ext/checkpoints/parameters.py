"""How many parameters a checkpoint has, and where."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from fairseq_ext.checkpoints.reading import EMBEDDINGS

BUFFERS = (".version", "._float_tensor")  # what fairseq saves besides parameters
ENCODER_LAYER = re.compile(r"encoder\.(model\.(.+\.)?)?layers?\.\d+\.")  # ours, or one of transformers
WORD_EMBEDDINGS, ENCODER_LAYERS = "word embeddings", "encoder layers"


def count_parameters(weights: Mapping[str, Tensor]) -> dict[str, int]:
    """Numbers of parameters; those that several weights share count once.

    "total" is P of Table 3.1 and "encoder layers" P_E. Its caption leaves out the word embeddings alone, but
    its numbers (85M of 12 layers of width 768) are those of the layers, without positions and pooling.
    """
    counts = dict.fromkeys((WORD_EMBEDDINGS, ENCODER_LAYERS, "rest of the encoder", "decoder", "others"), 0)
    for name, values in _distinct(weights).items():
        counts[_part_of(name)] += values.numel()
    return {"total": sum(counts.values()), **counts}


def _part_of(name: str) -> str:
    if name in EMBEDDINGS:
        return WORD_EMBEDDINGS
    if ENCODER_LAYER.match(name):
        return ENCODER_LAYERS
    side = name.split(".")[0]
    return {"encoder": "rest of the encoder", "decoder": "decoder"}.get(side, "others")


def _distinct(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters without buffers; a weight with several names comes once.

    A checkpoint written on a GPU has copies of shared embeddings.
    """
    distinct: dict[str, Tensor] = {}
    for name, values in weights.items():
        shared = name in EMBEDDINGS and any(
            other in distinct and _equal(distinct[other], values) for other in EMBEDDINGS
        )
        if not (shared or name.endswith(BUFFERS)):
            distinct[name] = values
    return distinct


def _equal(values: Tensor, other: Tensor) -> bool:
    return values.shape == other.shape and (values is other or torch.equal(values, other))
