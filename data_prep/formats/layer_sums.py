"""The sums over tokens of every layer of an encoder, of binarized sentences:
`DATA/SPLIT.A-B.LANG.NAME.layers`, of monolingual ones `DATA/SPLIT.LANG.NAME.layers`.

What is trained above a frozen encoder that pools by sums or means needs nothing else of it: a sum over tokens
commutes with the mixture of layers (Tien and Steinert-Threlkeld 2022, 3.1). The format is that of a
teacher's vectors (`data_prep.formats.teacher_vectors`), a row having the L + 1 layers one after the other,
the embeddings first.
"""

from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.records import check
from data_prep.formats.teacher_vectors import LAYERS_SUFFIX, STEP, TeacherVectors


class LayerSumsDescription(TypedDict):
    """What a file says beyond a teacher's."""

    layers: int
    longest: int


def layer_sums_path(prefix: Path, name: str) -> Path:
    """The file of the binarized sentences `prefix` (`DATA/SPLIT.A-B.LANG`, or `DATA/SPLIT.LANG`)."""
    return prefix.with_name(f"{prefix.name}.{name}{LAYERS_SUFFIX}")


class LayerSums(TeacherVectors):
    """The sums of all sentences of a file, memory-mapped; `[i]` is L + 1 x C, float32.

    Attributes:
        layers: L + 1.
        longest: tokens of a sentence, `</s>` included, behind which it was cut.
    """

    def __init__(self, path):
        super().__init__(path)
        check(self.description, LayerSumsDescription, self.path)
        self.layers, self.longest = self.description["layers"], self.description["longest"]
        if self.layers < 1 or self.width % self.layers:
            raise InputError(
                f"{self.path}: {self.width} numbers of {self.layers} layers; run `{STEP} --layer-sums` again"
            )

    def __getitem__(self, line: int) -> np.ndarray:
        return super().__getitem__(line).reshape(self.layers, -1)
