"""The teacher of a student (thesis 3.3): where its vectors of the sentences of a batch come from."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor
from typing_extensions import NotRequired, TypedDict

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.formats.sentences import bitext_prefixes, file_prefix
from data_prep.formats.teacher_vectors import (
    STEP,
    TeacherVectors,
    check_teacher,
    checksums,
    encoder_identity,
    encoder_title,
    vectors_path,
)
from fairseq_ext.data.dataset_parts import BatchField, StoredOfBothSides, pad_right

OPTION = "--teacher"
TRAIN = "train"
OF_ENCODER = (
    "name",
    "width",
    "pooling",
    "layer",
    "prefix",
    "target_lang",
)  # in its record, and in checkpoints

TeacherState = TypedDict(  # what a checkpoint says of its teacher
    "TeacherState",
    {
        **dict.fromkeys(OF_ENCODER, NotRequired[Any]),
        "name": str,
        "weights": NotRequired[list[str] | None],
        "normalized": bool,
    },
)


class Teacher(abc.ABC):
    """Gives batches the field "teacher": {"source": B x Ct, "target": B x Ct}, float32.

    Attributes:
        normalized: are the vectors of length 1, whatever the encoder gives?
    """

    encoder: dict
    normalized = False

    @property
    def width(self) -> int:
        """Ct."""
        return self.encoder["width"]

    @abc.abstractmethod
    def field(self, folder, split: str, direction: Direction, sides: Sequence) -> BatchField:
        """The field of one direction of a set.

        Args:
            sides: the source and the target sentences.
        """

    def complete(self, batch: dict) -> dict:
        """A batch with vectors, made of what the field has put into it."""
        return batch

    def state(self) -> dict:
        """What a checkpoint of the student says of its teacher."""
        weights = self.encoder.get("weights")
        return {
            **{name: self.encoder.get(name) for name in OF_ENCODER},
            "weights": weights and checksums(weights),
            "normalized": self.normalized,
        }

    def check_state(self, state: dict | None) -> None:
        """Compare with the teacher that a checkpoint's training has had.

        A name is compared where there are no checksums: that of a running teacher is made of its options.
        """
        if state is None:
            return
        there, here = encoder_identity(state), self.state()
        compared = [field for field in here if not (field == "name" and here["weights"])]
        if differing := [field for field in compared if there.get(field) != here[field]]:
            raise InputError(
                f"{OPTION}: the checkpoint learned from the teacher {encoder_title(there)}, here it is "
                f"{encoder_title(here)}, with other {', '.join(differing)}; give that one, or begin anew with"
                " --finetune-from-model"
            )


class StoredTeacher(Teacher):
    """A teacher whose vectors `python -m embeddings encode --data` has stored beside the sentences.

    Args:
        name: of the teacher, in the names of the files.
        option: with which the user names it.

    Raises:
        InputError: the folder has no vectors of that name.
    """

    def __init__(self, data, name: str, option: str = OPTION):
        check_teacher(data, name, option)
        self.name = name
        self._first = self._first_file(data)
        self.encoder = self._first.description["encoder"]
        self.normalized = self._first.description["normalized"]

    def _first_file(self, data) -> TeacherVectors:
        paths = [vectors_path(prefix, self.name) for prefix in bitext_prefixes(data, TRAIN)]
        there = [path for path in paths if path.is_file()]
        if not there:
            raise InputError(f"{paths[0]}: no such file; `{STEP} {data} --name {self.name}` writes it")
        return TeacherVectors(there[0])

    def field(self, folder, split, direction, sides):
        return StoredOfBothSides(*(self._open(folder, split, direction, language) for language in direction))

    def _open(self, folder, split: str, direction: Direction, language: str) -> TeacherVectors:
        """The vectors of one side, of this teacher and of these sentences.

        Raises:
            InputError: they are missing, or of another encoder or text; names both.
        """
        prefix = file_prefix(folder, split, direction, language)
        path = vectors_path(prefix, self.name)
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; `{STEP} {folder} --split {split} --name {self.name}` writes it"
            )
        vectors = TeacherVectors(path)
        encoder, first = vectors.description["encoder"], self._first
        if encoder_identity(encoder) != encoder_identity(self.encoder):
            raise InputError(
                f"{path}: vectors of the encoder {encoder_title(encoder)} and width {vectors.width}, but"
                f" {first.path} has those of {encoder_title(self.encoder)} and width {first.width}; encode"
                " with one encoder"
            )
        if vectors.description["normalized"] != self.normalized:
            own, others = ("of length 1" if each else "as the encoder gives them"
                           for each in (vectors.description["normalized"], self.normalized))  # fmt: skip
            raise InputError(
                f"{path}: vectors {own}, but {first.path} has them {others}; encode both with --normalize, or"
                " both without"
            )
        vectors.check(prefix)
        return vectors


class TokensForTeacher(BatchField):
    """Both sentences of a pair as a teacher inside the training reads them.

    In a batch: "source" and "target", B x T each, padded on the right.
    """

    def __init__(self, sides: Sequence):
        self.sides = sides

    def __getitem__(self, item: int) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(side[item], dtype=np.int64) for side in self.sides)

    @staticmethod
    def collate(shares: list[tuple[np.ndarray, ...]], pad: int) -> dict[str, Tensor]:
        source, target = (pad_right(list(side), pad) for side in zip(*shares, strict=True))
        return {"source": source, "target": target}
