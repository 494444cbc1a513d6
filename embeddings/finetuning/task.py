"""The interface of what an encoder can be fine-tuned for. A task is one file, and a line in `registry.py`.

A task knows its examples, which come from the files of its corpora, and what a model reads of one: a *window*
or several, where a text is longer than that. It knows nothing of torch: what a model says of windows are
arrays.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

import numpy as np

from command_line.errors import InputError

# What a model reads, by the names of its arguments ("input_ids", "attention_mask", perhaps "token_type_ids":
# lists of T numbers), with what it is to say: "labels" (a number, or T, of which IGNORED ones do not count),
# or "start_positions" and "end_positions". Fields whose names begin with "_" are the task's own.
Window = dict
Outputs = dict[
    str, np.ndarray
]  # of a window: "logits", C or T x C; or "start_logits" and "end_logits", T each
Predict = Callable[[Sequence[Window]], Iterator[Outputs]]  # in the order of the windows
IGNORED = -100  # a label that has no share in the loss


@dataclass(frozen=True)
class Hyperparameters:
    """How a task is learned.

    Attributes:
        epochs: over all examples.
        batch_size: windows of an update.
        learning_rate: the highest.
        warmup: updates over which it grows; then it falls to 0 linearly.
        max_length: tokens of a window.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    warmup: int
    max_length: int


@dataclass(frozen=True)
class Reader:
    """What turns examples into windows.

    Attributes:
        tokenizer: a fast one of transformers.
        longest: tokens of a window.
        classes: what the model's head gives a number each, in its order.
        padding: the id that windows of a batch end with, up to the longest.
    """

    tokenizer: object
    longest: int
    classes: tuple[str, ...] = ()
    padding: int = 0

    def number_of(self, label: str) -> int:
        return self.classes.index(label)


@dataclass(frozen=True)
class Scores:
    """What a model gets right of the examples of a language, in per cent.

    Attributes:
        values: measure -> score.
        by_example: measure -> N numbers, whose mean is the score; measures that are no means have none.
    """

    values: dict[str, float]
    by_example: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def means_of(cls, by_example: dict[str, np.ndarray]) -> "Scores":
        return cls({name: float(numbers.mean()) for name, numbers in by_example.items()}, by_example)


class Task(ABC):
    """A task.

    Attributes:
        corpus: in tables, where --dataset says nothing.
        measures: names of the scores; by the first one checkpoints are chosen.
        model: the class of transformers that has the encoder and the head.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    corpus: ClassVar[str]
    measures: ClassVar[tuple[str, ...]]
    model: ClassVar[str]
    defaults: ClassVar[Hyperparameters]

    @abstractmethod
    def read(self, path: Path, language: str) -> list:
        """The examples of a language in a file.

        Raises:
            InputError: the file is of none of the layouts of the task, or has no example of the language.
        """

    def learnable(self, examples: Sequence, where: str) -> list:
        """Those examples that a model can learn from; what is tested are all.

        Raises:
            InputError: there is none.
        """
        return list(examples)

    @abstractmethod
    def classes(self, examples: Sequence) -> tuple[str, ...]:
        """What the head gives a number each: the labels that examples of training have, for example."""

    def check(self, examples: Sequence, classes: Sequence[str]) -> None:  # noqa: B027  # few need it
        """Refuse examples that a model with these classes cannot be measured by, before it is trained.

        Raises:
            InputError: names the first one.
        """

    @abstractmethod
    def windows(self, example, reader: Reader) -> list[Window]:
        """What the model reads of an example, and is to say."""

    def count(self, example, reader: Reader) -> int:
        """How many windows an example has; to be said again where it may be more than one."""
        return 1

    @abstractmethod
    def measure(self, examples: Sequence, language: str, reader: Reader, predict: Predict) -> Scores:
        """The scores of all `measures`."""

    def baselines(self, examples: Sequence, classes: Sequence[str]) -> dict[str, float]:
        """The first measure, in per cent, of answers that look at no text, by the names of the baselines."""
        return {}

    def switched(self, english: Sequence, others: Sequence, where: str) -> list[tuple]:
        """Every example of another language in its two code-switched forms, each half of which is English.

        Args:
            english: examples, of which `others` are translations.

        Raises:
            InputError: they are no translations of each other, or the task has no two halves.
        """
        raise InputError(f"--code-switching: examples of --task {self.name} are no pairs of texts")


@dataclass(frozen=True)
class Examples:
    """The examples of a language in a file."""

    language: str
    path: Path
    examples: list


def checksum_of(examples: Sequence) -> str:
    """SHA-256 of what is compared of examples: tests with the same one can be compared."""
    digest = hashlib.sha256()
    for example in examples:
        values = [getattr(example, part.name) for part in fields(example) if part.compare]
        digest.update(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def read_files(task: Task, given: Sequence[tuple[str, Path]]) -> list[Examples]:
    """The examples of files, of which each is given with a language."""
    return [Examples(language, path, task.read(path, language)) for language, path in given]


def by_language(files: Sequence[Examples]) -> dict[str, list]:
    """All examples of every language, of which there may be several files."""
    examples: dict[str, list] = {}
    for file in files:
        examples.setdefault(file.language, []).extend(file.examples)
    return examples
