"""Forced passes over sentences of many directions, and their states as parts of a `StateStore`."""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from command_line.errors import InputError
from command_line.outputs import atomic_path, reserve
from command_line.progress import progress
from data_prep.formats.directions import Direction, format_direction
from eval.probes.forward_states import forced_states
from eval.probes.store import SIDES
from eval.translation.decoding import to_device
from fairseq_ext.data.multilingual_dataset import DirectionData

INPUTS = ("src_tokens", "src_lengths", "prev_output_tokens")


@dataclass(frozen=True)
class Sentences:
    """The sentences of one direction and what the decoder is given for them.

    Attributes:
        key: split and direction.
        sources: as the model reads them.
        outputs: token ids per sentence, without forced tag and `</s>`.
    """

    key: tuple[str, Direction]
    sources: DirectionData
    outputs: list[list[int]]

    @property
    def name(self) -> str:
        return format_direction(self.key[1])

    def inputs(self, side: str, eos: int) -> list[np.ndarray]:
        """The token of every state of a side: encoder inputs, or decoder inputs (`</s>`, tag, w1 … wn,
        or as the placement of the tags has it).
        """
        data = self.sources
        if side == "decoder":
            start = eos if data.decoder_start is None else data.decoder_start
            return [np.array([start, *data.target_tags, *tokens]) for tokens in self.outputs]
        return [data.sentence(i) for i in range(len(data))]

    def announced(self, side: str) -> list[int]:
        """What a side is told apart from the sentence, in token ids."""
        data = self.sources
        return data.source_ending[len(data.source_ending) - data.announced :] if side == "encoder" else []

    def states_of(self, side: str, tokens: Tensor, pad: int) -> Tensor:
        """Which of a side's tokens, B x T, have a state: all but padding and what is announced at the end."""
        is_token = tokens.ne(pad)
        size = is_token.sum(dim=1, keepdim=True) - len(self.announced(side))
        return is_token & (is_token.cumsum(dim=1) <= size)

    def pairs(self, eos: int) -> DirectionData:
        """Sources with outputs as targets, from which a dataset makes encoder and decoder input."""
        targets = [np.array([*tokens, eos]) for tokens in self.outputs]
        sizes = np.array([len(tokens) for tokens in targets])
        return replace(self.sources, targets=targets, target_sizes=sizes)


class _Part:
    """One side of the sentences of one direction, about to be written."""

    def __init__(self, sentences: Sentences, side: str, eos: int):
        split, self.side = sentences.key[0], side
        self.name = f"{split}.{side}.{sentences.name}"
        self.inputs = sentences.inputs(side, eos)
        digest = hashlib.sha256(np.asarray(sentences.announced(side), dtype=np.int64).tobytes())
        for tokens in self.inputs:  # </s> ends every encoder input, so that sentences do not run together
            digest.update(np.asarray(tokens, dtype=np.int64).tobytes())
        self.content = (split, digest.digest())

    def __len__(self) -> int:
        """Number of tokens."""
        return sum(map(len, self.inputs))


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


class StateWriter:
    """Computes and writes the states of sentences.

    Args:
        decoder: an `eval.translation.decoding.Decoder`: the model, and how to make batches.
        layers: the layers to store per side, name -> number in `forced_states`.
        dtype: of the states on disk, "float16" or "float32".
        output: the folder.
    """

    def __init__(self, decoder, layers: dict[str, dict[str, int]], dtype: str, output: Path):
        self.decoder, self.layers, self.dtype, self.output = decoder, layers, np.dtype(dtype), output
        self.eos = decoder.task.dictionary.eos()
        self.widths: dict[str, int] = {}  # C

    def write(self, sentences: list[Sentences]) -> dict:
        """Write the states of all sets.

        Returns:
            The field "splits" of the index: split -> direction -> names of its parts and counts.

        Raises:
            InputError: the states do not fit on the disk, or not into `dtype`.
        """
        _, states = self._states(self._dataset(sentences[0])[0], [0])
        self.widths = {side: states[side][0].size(2) for side in SIDES}
        encoders: dict[tuple, _Part] = {}
        work, splits = [], {}
        for each in sentences:
            parts = {side: _Part(each, side, self.eos) for side in SIDES}
            encoder = encoders.setdefault(parts["encoder"].content, parts["encoder"])
            splits.setdefault(each.key[0], {})[each.name] = {
                "encoder": encoder.name,
                "decoder": parts["decoder"].name,
                "sentences": len(each.outputs),
                "empty_outputs": sum(not tokens for tokens in each.outputs),
            }
            if encoder is not parts["encoder"]:  # another direction has the same inputs
                del parts["encoder"]
            work.append((each, parts))
        self._check_room(part for _, parts in work for part in parts.values())
        written = (count for each, parts in work for count in self._store(each, parts))
        total = sum(len(each.outputs) for each in sentences)
        for _ in progress(written, total, "states", "sentence", size=int):
            pass
        return splits

    def _check_room(self, parts) -> None:
        """A memory-mapped file on a full disk kills the process: know before."""
        values = sum(len(part) * len(self.layers[part.side]) * self.widths[part.side] for part in parts)
        needed, free = values * self.dtype.itemsize, shutil.disk_usage(self.output).free
        if needed > free:
            raise InputError(
                f"--output {self.output}: states need {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free;"
                " use --layers, --directions or --max-lines"
            )

    def _store(self, sentences: Sentences, parts: dict[str, _Part]) -> Iterator[int]:
        """Write the parts of one direction; yields the number of sentences of each batch."""
        pad = self.decoder.task.dictionary.pad()
        writers = {
            side: PartWriter(
                self.output / part.name, part.inputs, len(self.layers[side]), self.widths[side], self.dtype
            )
            for side, part in parts.items()
        }
        dataset, batches = self._dataset(sentences)
        for batch in batches:
            sample, states = self._states(dataset, batch)
            for side, writer in writers.items():
                tokens = sample["net_input"]["src_tokens" if side == "encoder" else "prev_output_tokens"]
                mask = sentences.states_of(side, tokens, pad)
                found = self._select(states[side], self.layers[side], mask, sentences)
                writer.write(sample["lines"], found)
            yield len(batch)
        for writer in writers.values():
            writer.close()

    def _dataset(self, sentences: Sentences):
        """Pairs of sources and outputs, and batches of them."""
        return self.decoder.batches([sentences.pairs(self.eos)])

    def _states(self, dataset, batch) -> tuple[dict, dict[str, list[Tensor]]]:
        """A batch and its states."""
        sample = to_device(dataset.collater([dataset[index] for index in batch]), self.decoder.device)
        inputs = {name: sample["net_input"][name] for name in INPUTS}
        return sample, forced_states(self.decoder.model, **inputs)

    def _select(self, states: list[Tensor], layers: dict, mask: Tensor, sentences: Sentences) -> np.ndarray:
        """The chosen layers without padding, layers x tokens x C, in the type of the files.

        Raises:
            InputError: a number that the type cannot hold.
        """
        if not layers:
            return np.zeros((0, int(mask.sum()), states[0].size(2)), self.dtype)
        chosen = torch.stack([states[number][mask] for number in layers.values()])
        return as_stored(chosen, list(layers), self.dtype, f"{sentences.key[0]} {sentences.name}")


def as_stored(states: Tensor, layers: list[str], dtype: np.dtype, where: str) -> np.ndarray:
    """States in the type of the files.

    Args:
        states: layers x tokens x C.
        where: names the sentences in the error.

    Raises:
        InputError: a number that the type cannot hold.
    """
    limit = float(np.finfo(dtype).max)
    for name, value in zip(layers, states.abs().amax(dim=(1, 2)).tolist(), strict=True):
        if not value <= limit:  # also not a number
            raise InputError(
                f"{where}: layer {name} has a state of {value:.6g}, and {dtype} ends at {limit:.6g};"
                " use --dtype float32, or leave it out of --layers"
            )
    return states.to(getattr(torch, dtype.name)).cpu().numpy()
