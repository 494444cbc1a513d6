"""Hidden states of one side (encoder or decoder) of the sentences of one direction, in three files.

`NAME.states.npy` (layers x tokens x C), `NAME.tokens.npy`, `NAME.offsets.npy`; memory-mapped when read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.outputs import atomic_path, reserve


@dataclass(frozen=True)
class StatePart:
    """The states, in the order of the sentences in their file.

    Attributes:
        path: of the files, without their endings; names the part in errors.
        layers: names of the layers stored.
        tag_ids, eos: token ids of the language tags and of `</s>`.
    """

    path: Path
    layers: list[str]
    tag_ids: list[int]
    eos: int

    @cached_property
    def all_states(self) -> np.ndarray:
        """layers x tokens x C, memory-mapped, float16 (or float32, as extracted)."""
        return _load(self.path, "states")

    @cached_property
    def tokens(self) -> np.ndarray:
        """Token id of each state: encoder input, or decoder *input* (`</s>`, tag if any, w1 … wn), whose
        state predicts the next token.
        """
        return _load(self.path, "tokens")

    @cached_property
    def offsets(self) -> np.ndarray:
        """sentences + 1; sentence i has the states offsets[i] to offsets[i + 1] (excluded)."""
        return _load(self.path, "offsets")

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    @property
    def is_tag(self) -> np.ndarray:
        """Per token: whether it is a language tag."""
        return np.isin(self.tokens, self.tag_ids)

    @property
    def is_end(self) -> np.ndarray:
        """Per token: whether it is `</s>`, the last of an encoder input and the first of a decoder input."""
        return np.asarray(self.tokens) == self.eos

    @property
    def is_word(self) -> np.ndarray:
        """Per token: whether it is neither a tag nor `</s>`."""
        return ~(self.is_tag | self.is_end)

    def states(self, layer: str) -> np.ndarray:
        """tokens x C of one layer, memory-mapped.

        Raises:
            InputError: the layer was not extracted.
        """
        if layer not in self.layers:
            raise InputError(
                f"{self.path}: no states of layer {layer!r}, it has: {', '.join(self.layers) or 'none'}"
            )
        return self.all_states[self.layers.index(layer)]

    def read(self, start: int, stop: int, layer: str | None = None) -> np.ndarray:
        """The states of some tokens in memory, float32: layers x tokens x C, of one layer tokens x C.

        Raises:
            InputError: one is NaN or infinite; names layer and sentence.
        """
        import torch  # converts and compares half precision several times faster than NumPy

        layers = self.layers if layer is None else [layer]
        stored = self.all_states if layer is None else self.states(layer)[None]
        states = torch.from_numpy(np.array(stored[:, start:stop])).float()
        if not states.isfinite().all():
            number, token = (~states.isfinite()).any(dim=2).nonzero()[0].tolist()
            sentence = int(np.searchsorted(self.offsets, start + token, side="right"))
            raise InputError(
                f"{self.path}.states.npy: sentence {sentence} has a state of layer {layers[number]} that is"
                " NaN or infinite; extract the states again (--force)"
            )
        return states.numpy() if layer is None else states[0].numpy()

    def blocks(self, tokens: int = 16384) -> Iterator[tuple[int, int]]:
        """Ranges of sentences (first, end) of about so many tokens, at least one sentence each."""
        first = 0
        while first < len(self):
            end = int(np.searchsorted(self.offsets, self.offsets[first] + tokens, side="right")) - 1
            end = min(max(end, first + 1), len(self))
            yield first, end
            first = end

    def mean_pooled(self, layer: str, only_words: bool = False) -> np.ndarray:
        """sentences x C, float32: the mean over the tokens of each sentence. There is no padding in it.

        Args:
            only_words: leave out tags and `</s>`.

        Raises:
            InputError: `only_words`, and a sentence has none; names it. As `read`.
        """
        wanted = self.is_word if only_words else np.ones(len(self.tokens), bool)
        counts = np.add.reduceat(wanted.astype(np.int64), self.offsets[:-1])
        if not counts.all():
            raise InputError(
                f"{self.path}: sentence {int(np.argmin(counts)) + 1} has no words, so its words have no mean;"
                " include tags and </s>, or leave the line out of the data"
            )
        pooled = np.empty((len(self), self.all_states.shape[2]), dtype=np.float32)
        for first, end in self.blocks():
            start, stop = self.offsets[first], self.offsets[end]
            block = self.read(start, stop, layer) * wanted[start:stop, None]
            pooled[first:end] = np.add.reduceat(block, self.offsets[first:end] - start)
        return pooled / counts[:, None].astype(np.float32)


def _load(path: Path, ending: str) -> np.ndarray:
    file = Path(f"{path}.{ending}.npy")
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; extract the states again (--force)") from None
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{file}: damaged ({error}); extract the states again (--force)") from None


# --- writing


class PartWriter:
    """Fills a part in any order of sentences.

    Args:
        path: of the files, without their endings.
        sentences: token ids per sentence, one state each.
        layers: number of layers.
        width: C.
        dtype: of the states on disk.
    """

    def __init__(self, path: Path, sentences: list[np.ndarray], layers: int, width: int, dtype="float16"):
        self.path = Path(path)
        self.offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
        np.cumsum([len(tokens) for tokens in sentences], out=self.offsets[1:])
        self._save("tokens", np.concatenate(sentences).astype(np.int32))
        self._save("offsets", self.offsets)
        shape = (layers, int(self.offsets[-1]), width)
        file = Path(f"{self.path}.states.npy")
        np.lib.format.open_memmap(file, "w+", dtype, shape)  # the header, and no room on the disk yet
        reserve(file, file.stat().st_size)
        self._states = np.lib.format.open_memmap(file, "r+")

    def _save(self, ending: str, array: np.ndarray) -> None:
        with atomic_path(f"{self.path}.{ending}.npy") as temporary, open(temporary, "wb") as stream:
            np.save(stream, array)

    def positions(self, sentences) -> np.ndarray:
        """Where the states of these sentences are, one after the other."""
        return np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in sentences])

    def write(self, sentences, states: np.ndarray) -> None:
        """Store the states of some sentences.

        Args:
            sentences: their numbers.
            states: layers x tokens x C, the sentences one after the other.
        """
        self._states[:, self.positions(sentences)] = states

    def close(self) -> None:
        self._states.flush()
