"""The folder of hidden states that `python -m eval probe states` writes and the probes read.

    store = StateStore.open(folder)
    part = store.encoder("test", "de-fr")           # or store.decoder(…)
    part.states("L3")                               # memory-mapped, tokens x C
    part.mean_pooled("L6")                          # sentences x C
    part.pieces                                     # a text per token

Layers are named as in Figure 8.2 of the thesis, encoder and decoder counted through. Of N encoder and M
decoder layers:

| name                  | states                                                                        |
|-----------------------|-------------------------------------------------------------------------------|
| `L0`                  | encoder embeddings with positions, what the first layer is given              |
| `L1` … `LN`           | outputs of the encoder layers, before the final norm                          |
| `encoder-norm`        | output of the final norm, what the decoder attends to, in models that have one |
| `decoder-embedding`   | decoder embeddings with positions                                             |
| `LN+1` … `LN+M`       | outputs of the decoder layers, before the final norm                          |
| `decoder-norm`        | output of the decoder's final norm, in models that have one                   |

On disk are parts, one per side (encoder or decoder) and direction, of three files each: `NAME.states.npy`
(layers x tokens x C), `NAME.tokens.npy`, `NAME.offsets.npy`; directions whose encoder inputs are the same
share one. vocabulary.txt has the text of every token id, one a line. states.json is the index and is written
last; its "encoder_output" names the layer that the decoder attends to (through the interlingua of models that
have one), stored or not.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.names_in_records import plain_name
from command_line.outputs import write_json, write_text
from command_line.records import field
from data_prep.formats.directions import Direction
from data_prep.formats.vectors import load_array
from eval.result_files import FORMAT, read_result, split_direction

INDEX, VOCABULARY = "states.json", "vocabulary.txt"
KIND = "states"
SIDES = ("encoder", "decoder")
NO_TOKEN = -1
TRAINING_SPLIT = "valid"  # on which classifiers are trained


def layer_names(encoder_layers: int, decoder_layers: int, encoder_norm: bool, decoder_norm: bool) -> dict:
    """The names above per side, for a model of so many layers with or without final norms."""
    last = encoder_layers + decoder_layers
    return {
        "encoder": [f"L{n}" for n in range(encoder_layers + 1)] + ["encoder-norm"] * encoder_norm,
        "decoder": ["decoder-embedding", *(f"L{n}" for n in range(encoder_layers + 1, last + 1))]
        + ["decoder-norm"] * decoder_norm,
    }


def choose_layers(available: dict[str, list[str]], wanted: list[str]) -> dict[str, dict[str, int]]:
    """The layers to store per side, from the bottom up: name -> number among those available.

    In a model without a final norm its name stands for the last layer.

    Raises:
        InputError: the model has no such layer.
    """
    names = [name for side in available.values() for name in side]
    chosen = names if wanted == ["all"] else wanted
    for side, layers in available.items():  # one list fits systems with and without final norms
        if (norm := f"{side}-norm") not in layers:
            chosen = [layers[-1] if name == norm else name for name in chosen]
    for name in chosen:
        if name not in names:
            raise InputError(f"--layers: {name!r} is no layer of the model; it has: {', '.join(names)}")
    return {
        side: {name: number for number, name in enumerate(layers) if name in chosen}
        for side, layers in available.items()
    }


@dataclass(frozen=True)
class StatePart:
    """Hidden states of one side of the sentences of one direction, in the order of the sentences.

    Attributes:
        path: of the files, without their endings; names the part in errors.
        layers: names of the layers stored.
        tag_ids, eos: token ids of the language tags and of `</s>`, or `NO_TOKEN` where nothing ends a line.
    """

    path: Path
    layers: list[str]
    tag_ids: list[int]
    eos: int

    @property
    def pieces(self) -> list[str]:
        """The text of the token of each state.

        Raises:
            InputError: the store has no vocabulary, or one without such a token.
        """
        path = self.path.parent / VOCABULARY
        vocabulary = list(read_lines(path))
        if len(vocabulary) <= self.tokens.max():
            raise InputError(
                f"{path}: {len(vocabulary)} lines, but {self.path.name} has the token {self.tokens.max()};"
                " expected the text of every token"
            )
        return [vocabulary[token] for token in self.tokens]

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

    def check(self, side: str) -> None:
        """Compare the three files with each other: offsets of other sentences would give other means.

        Args:
            side: "encoder", whose sentences all end with the same token (`</s>`, or a tag behind it), or
                "decoder", whose sentences all begin with the same one.

        Raises:
            InputError: one is not of the others, or holds other numbers than it must.
        """
        states, tokens, offsets = self.all_states, self.tokens, self.offsets
        if states.ndim != 3 or states.dtype.kind != "f" or len(states) != len(self.layers):
            shown = f"an array of {states.dtype} of shape {states.shape}"
            raise _damaged(self.path, "states", f"{shown}, expected {len(self.layers)} layers x tokens x C")
        if tokens.shape != states.shape[1:2] or tokens.dtype.kind != "i":
            shown = f"an array of {tokens.dtype} of shape {tokens.shape}"
            raise _damaged(
                self.path, "tokens", f"{shown}, expected a token id for each of {states.shape[1]} states"
            )
        is_list = offsets.ndim == 1 and offsets.dtype.kind == "i" and len(offsets) > 1
        if not is_list or (offsets[0], offsets[-1]) != (0, len(tokens)) or (np.diff(offsets) < 1).any():
            raise _damaged(
                self.path, "offsets", f"expected where sentences begin, rising from 0 to {len(tokens)}"
            )
        if self.eos == NO_TOKEN:
            return
        edges = tokens[offsets[1:] - 1] if side == "encoder" else tokens[offsets[:-1]]
        if (edges != edges[0]).any():
            sentence, where = int((edges != edges[0]).argmax()) + 1, "end" if side == "encoder" else "begin"
            raise _damaged(
                self.path,
                "offsets",
                f"sentence {sentence} does not {where} with the token {edges[0]}, as sentence 1 does",
            )

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


def _damaged(path: Path, ending: str, shown: str) -> InputError:
    return InputError(f"{path}.{ending}.npy: {shown}; extract the states again (--force)")


def _load(path: Path, ending: str) -> np.ndarray:
    return load_array(f"{path}.{ending}.npy", "extract the states again (--force)")


class StateStore:
    """A complete folder of hidden states.

    Attributes:
        record: the contents of states.json.
        supervised: directions (source, target) that the model was trained on.
        encoder_layers, decoder_layers: names of the layers stored, from the bottom up.
    """

    def __init__(self, folder, record: dict):
        self.folder, self.record = Path(folder), record
        path = self.folder / INDEX
        self.supervised: set[Direction] = {
            split_direction(text, path) for text in field(record, "supervised", list, path)
        }
        self.encoder_layers: list[str] = field(record, "layers.encoder", list, path)
        self.decoder_layers: list[str] = field(record, "layers.decoder", list, path)

    @classmethod
    def open(cls, folder) -> "StateStore":
        """The store in a folder.

        Raises:
            InputError: the folder has no index (or extraction was interrupted), or a file is damaged.
        """
        check_finished(folder, KIND)
        path = Path(folder) / INDEX
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the complete output of `eval probe states`")
        record = read_result(path)
        if record.get("kind") != KIND:
            raise InputError(f"{path}: kind is {record.get('kind')!r}, expected {KIND!r}")
        return cls(folder, record)

    @property
    def system(self) -> dict:
        """Name, seed and settings of the system."""
        return self.record["system"]

    @property
    def splits(self) -> list[str]:
        return list(self.record["splits"])

    def directions(self, split: str) -> list[Direction]:
        """The directions of a split, supervised and zero-shot, in alphabetical order."""
        return sorted(split_direction(text, self.folder / INDEX) for text in self._split(split))

    def encoder(self, split: str, direction: Direction | str) -> StatePart:
        """The encoder's states of a direction, `("de", "fr")` or `"de-fr"`."""
        return self._part(split, direction, "encoder")

    def decoder(self, split: str, direction: Direction | str) -> StatePart:
        """The decoder's states of a direction, `("de", "fr")` or `"de-fr"`."""
        return self._part(split, direction, "decoder")

    def text_sha256(self, split: str, direction: Direction) -> str | None:
        """The checksum of the source lines; None where it is not known."""
        return self._split(split).get("-".join(direction), {}).get("text_sha256")

    def texts(self, split: str) -> dict[str, tuple[int | None, str | None]]:
        """Direction -> the number of its sentences, and the checksum of the source lines, where known."""
        directions = self._split(split)
        return {name: (of.get("sentences"), of.get("text_sha256")) for name, of in directions.items()}

    def _split(self, split: str) -> dict:
        splits = self.record["splits"]
        if split not in splits:
            raise InputError(f"{self.folder}: no states of the set {split!r}, it has: {', '.join(splits)}")
        return splits[split]

    def _part(self, split: str, direction: Direction | str, side: str) -> StatePart:
        text = direction if isinstance(direction, str) else "-".join(direction)
        directions = self._split(split)
        if text not in directions:
            there = ", ".join(directions)
            raise InputError(f"{self.folder}: no {split} states of direction {text}, it has: {there}")
        if directions[text].get(side) is None:
            raise InputError(
                f"{self.folder}: has no states of a {side}; this probe needs a translation model's"
            )
        name = plain_name(directions[text][side], f"{self.folder / INDEX}: {split} {text} {side}")
        layers = self.encoder_layers if side == "encoder" else self.decoder_layers
        part = StatePart(self.folder / name, layers, self.record["tags"], self.record["eos"])
        part.check(side)
        return part


def store_files(folder) -> list[Path]:
    """The files of an extraction, the index first."""
    patterns = (INDEX, VOCABULARY, "*.states.npy", "*.tokens.npy", "*.offsets.npy")
    return [path for pattern in patterns for path in sorted(Path(folder).glob(pattern))]


def write_vocabulary(folder, pieces: Iterable[str]) -> None:
    """Write the text of every token id, from 0; line ends in it become spaces."""
    lines = (" ".join(piece.splitlines()) for piece in pieces)
    write_text(Path(folder) / VOCABULARY, "".join(f"{line}\n" for line in lines))


def sha256_of_lines(lines: Iterable[str]) -> str:
    """What tells sentences from as many others."""
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def write_index(folder, record: dict) -> None:
    """Make a folder of parts a `StateStore`; the last thing that extraction does."""
    write_json(Path(folder) / INDEX, {"format": FORMAT, "kind": KIND, **record})
