"""What turns sentences of any language into vectors of one space."""

import abc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from data_prep.formats.vector_numbers import Numbers
from data_prep.formats.vectors import VectorsFile, first_not_finite
from embeddings.encoders.sizes import EncoderSize

BATCH_TOKENS = 2048  # of a batch, padding included
NO_STATES = "has vectors of sentences alone; expected an encoder with states of tokens, in a form that trains"


class NotFinite(InputError):
    """An encoder gave a vector with numbers that are NaN or infinite.

    Attributes:
        row: of the sentence, from 0.
    """

    def __init__(self, name: str, row: int):
        super().__init__(
            f"encoder {name}: the vector of sentence {row + 1} has numbers that are NaN or infinite; expected"
            " an encoder whose training converged"
        )
        self.row = row


class LanguageNeeded(InputError):
    """An encoder was not told the language of a text, on which what it reads depends."""


@contextmanager
def of_text(path: Path, option: str) -> Iterator[None]:
    """Encode a text whose name may end with no language.

    Args:
        option: of the command, that gives the language as well.

    Raises:
        InputError: the encoder must know the language, and neither gives it; names the text.
    """
    try:
        yield
    except LanguageNeeded as error:
        raise InputError(f"{path}: no language in its name, and none by {option}; {error}") from None


class SentenceEncoder(abc.ABC):
    """Sentences to vectors.

    Attributes:
        name: of the encoder, in tables.
        width: C, numbers of a vector.
        cut: sentences so far that may have been cut, as they have as many tokens as the encoder reads; each
            as often as it was encoded. None of vectors of others, of which it is not known.
        dictionary_fingerprint: of an encoder that also reads binarized sentences (`encode_binarized`).
        dtype: of the numbers of its vectors: others than float32 are read from a disk.
        size: what it consists of, as far as it is known.
    """

    name: str
    width: int
    cut: int | None = 0
    dtype: str = "float32"
    dictionary_fingerprint: str | None = None
    size: EncoderSize = EncoderSize()

    @abc.abstractmethod
    def encode(self, sentences: Sequence[str], language: str | None = None) -> np.ndarray:
        """The vectors of sentences, in their order.

        Args:
            sentences: B raw lines; empty ones have vectors, too.
            language: of all of them, for encoders that read it or whose tokenizer depends on it.

        Returns:
            B x C, float32, finite.

        Raises:
            NotFinite: a vector is NaN or infinite.
            LanguageNeeded: the encoder needs a language.
            InputError: it does not know this one.
        """

    def encode_binarized(self, sentences: Sequence[Sequence[int]], language: str | None) -> np.ndarray:
        """The vectors of sentences of a binarized folder of the encoder's own dictionary, B x C.

        Args:
            sentences: token ids, `</s>` last.

        Raises:
            NotFinite: a vector is NaN or infinite.
        """
        raise NotImplementedError

    def encode_tokens(self, sentences: Sequence[str], language: str | None = None) -> "TokenVectors":
        """The states of the tokens of every sentence.

        Raises:
            NotFinite: a state is NaN or infinite.
            InputError: this kind of encoder has none.
        """
        raise InputError(f"{self.name}: {NO_STATES}")

    def encode_lines(
        self, path: Path, rows: np.ndarray, sentences: Sequence[str], language: str | None = None
    ) -> np.ndarray | VectorsFile:
        """The vectors of some lines of a text, B x C: a file where there is one of this text.

        Args:
            rows: numbers of the lines, from 0.
        """
        return self.encode(sentences, language)

    @property
    def numbers(self) -> Numbers:
        """The kind of numbers of its vectors."""
        return Numbers(self.dtype, self.width)

    @property
    def system(self) -> dict:
        """The system that a result is of: its name and, of a checkpoint, its seed and axes."""
        return {"name": self.name}

    @abc.abstractmethod
    def record(self) -> dict:
        """What a result says of its encoder: "name", "kind", "model", "width", and what changes vectors."""


@dataclass(frozen=True)
class TokenVectors:
    """The states of the tokens of sentences.

    Attributes:
        states: one array per sentence, T x C, float32; T is 0 where it has no token.
        special: one per sentence, T, true at tokens that are no words: `</s>`, [CLS], tags.
    """

    states: list[np.ndarray]
    special: list[np.ndarray]

    def __len__(self) -> int:
        return len(self.states)

    @property
    def bytes(self) -> int:
        return sum(each.nbytes for each in self.states)


class TokenEncoder(SentenceEncoder):
    """An encoder that reads token ids: sentences of one length together, equal ones once.

    Args:
        batch_tokens: of a batch, padding included; a longer sentence is a batch of its own.

    Attributes:
        longest: tokens that the model reads of a sentence, those that it adds included.
    """

    longest: int

    def __init__(self, batch_tokens: int = BATCH_TOKENS):
        self.batch_tokens = batch_tokens

    @abc.abstractmethod
    def tokens(self, sentences: Sequence[str], language: str | None) -> list[list[int]]:
        """The token ids of every sentence as the model reads them, without padding, at most `longest`."""

    @abc.abstractmethod
    def run(self, batch: list[list[int]]):
        """What the model gives for sentences of similar lengths, for the two methods below; no sentence is
        without tokens.
        """

    @abc.abstractmethod
    def vectors(self, output):
        """The vectors of the sentences of a `run`, a tensor B x C of any type on any device."""

    def states(self, output):
        """The states of the tokens of a `run`, B x T x C, and, both B x T, which are padding and which are no
        words.

        Raises:
            InputError: this kind of encoder has none.
        """
        raise InputError(f"{self.name}: {NO_STATES}")

    def encode_tokens(self, sentences: Sequence[str], language: str | None = None) -> TokenVectors:
        tokens = self.tokens(list(sentences), language)
        states = self._no_states(len(tokens))
        for rows, output in self._outputs(tokens):
            self._keep_states(states, rows, output)
        self._count_cut(tokens)
        return states

    def encode_with_tokens(
        self, sentences: Sequence[str], language: str | None = None
    ) -> tuple[np.ndarray, TokenVectors]:
        """`encode` and `encode_tokens` of the same sentences; the model runs once."""
        tokens = self.tokens(list(sentences), language)
        vectors = np.zeros((len(tokens), self.width), dtype=np.float32)
        states = self._no_states(len(tokens))
        for rows, output in self._outputs(tokens):
            vectors[rows] = self.vectors(output).float().cpu().numpy()
            self._keep_states(states, rows, output)
        self._count_cut(tokens)
        return self._finite(vectors), states

    def try_out(self, tokens: list[int]) -> None:
        """Encode one sentence, so that a model that cannot be run is found where it is loaded.

        Raises:
            ValueError: its vector is of another width than the encoder says; or what the library raises.
        """
        for _, output in self._outputs([tokens]):
            shape = tuple(self.vectors(output).shape)
            if shape != (1, self.width):
                raise ValueError(f"gives vectors of the shape {shape}, expected {(1, self.width)}")

    def _no_states(self, sentences: int) -> TokenVectors:
        return TokenVectors(
            [np.zeros((0, self.width), dtype=np.float32)] * sentences, [np.zeros(0, dtype=bool)] * sentences
        )

    def _keep_states(self, kept: TokenVectors, rows: list[int], output) -> None:
        states, padding, others = (tensor.cpu() for tensor in self.states(output))
        for row, of_sentence, left_out, no_word in zip(rows, states.float(), padding, others, strict=True):
            kept.states[row] = of_sentence[~left_out].numpy()
            kept.special[row] = no_word[~left_out].numpy()
            if not np.isfinite(kept.states[row]).all():
                raise NotFinite(self.name, row)

    def _outputs(self, tokens: list[list[int]]) -> Iterator[tuple[list[int], object]]:
        """The model's outputs, a batch at a time, and the numbers of its sentences."""
        import torch

        for rows in batches(list(map(len, tokens)), self.batch_tokens):
            with torch.inference_mode():
                output = self.run([tokens[row] for row in rows])
            yield rows, output

    def encode(self, sentences: Sequence[str], language: str | None = None) -> np.ndarray:
        """As above. A sentence without any token, and only such a one, has the vector zero."""
        lines: dict[str, int] = {}
        order = [lines.setdefault(line, len(lines)) for line in sentences]
        return self._encode_once(self.tokens(list(lines), language), order)

    def _encode_once(self, tokens: list[list[int]], order: list[int]) -> np.ndarray:
        """The vectors of different sentences, each as often as its number is in `order`, B x C."""
        vectors = np.zeros((len(tokens), self.width), dtype=np.float32)
        for rows, output in self._outputs(tokens):
            vectors[rows] = self.vectors(output).float().cpu().numpy()
        self._count_cut([tokens[row] for row in order])
        return self._finite(vectors[order])

    def _finite(self, vectors: np.ndarray) -> np.ndarray:
        row = first_not_finite(vectors)
        if row is not None:
            raise NotFinite(self.name, row)
        return vectors

    def _count_cut(self, tokens: list[list[int]]) -> None:
        self.cut += sum(len(each) >= self.longest for each in tokens)


def batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Numbers of sentences of similar lengths, the longest first, to run out of memory early if at all.

    Args:
        lengths: tokens of every sentence; those without any are in no batch.
        most: tokens of a batch, padding included.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda row: (-lengths[row], row)):
        if not lengths[number]:
            break
        if batch and lengths[batch[0]] * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
