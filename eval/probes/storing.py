"""Writes states as the parts of a `StateStore`. Directions share a part that says the same."""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from command_line.errors import InputError
from command_line.outputs import atomic_path, reserve
from command_line.progress import progress
from data_prep.formats.directions import Direction, format_direction
from embeddings.encoders.sentence_encoder import batches
from eval.probes.hidden_states import CheckpointStates, HiddenStates, Tokens
from eval.probes.state_options import StateOptions
from eval.probes.store import write_index

ChosenLayers = Mapping[str, Mapping[str, int]]  # side -> name -> number among all, as of `choose_layers`


class PartWriter:
    """Fills a part in any order of sentences.

    Args:
        sentences: token ids per sentence, one state each.
    """

    def __init__(self, path: Path, sentences: Sequence[np.ndarray], layers: int, width: int, dtype="float16"):
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

    def write(self, sentences, states: np.ndarray) -> None:
        """Store the states of some sentences, layers x tokens x C, one sentence after the other."""
        positions = [np.arange(self.offsets[i], self.offsets[i + 1]) for i in sentences]
        self._states[:, np.concatenate(positions)] = states

    def close(self) -> None:
        self._states.flush()


@dataclass(frozen=True)
class DirectionTokens:
    """The sentences of a direction, and what both sides of a model are given for them.

    Attributes:
        text_sha256: checksum of the lines; None where they are not known.
        numbers: of a side's token ids in the vocabulary of the store; None: the ids.
    """

    split: str
    direction: Direction
    tokens: Sequence[Tokens]
    text_sha256: str | None = None
    numbers: Callable[[Sequence[int], str], Sequence[int]] | None = None

    @property
    def name(self) -> str:
        return format_direction(self.direction)

    def part(self, side: str) -> str:
        """The name of a part of its own."""
        return f"{self.split}.{side}.{self.name}"

    def rows(self, side: str) -> list[np.ndarray]:
        """Token ids of a side, one state each."""
        rows = [getattr(tokens, side) for tokens in self.tokens]
        if self.numbers:
            rows = [self.numbers(row, side) for row in rows]
        return [np.array(row, dtype=np.int64) for row in rows]

    @cached_property
    def encoded(self) -> tuple:
        """Equal for directions whose encoder states are the same. A decoder's depend on the source, too."""
        digest = hashlib.sha256()
        for tokens in self.tokens:
            for ids in (tokens.encoder, tokens.announced):
                digest.update(len(ids).to_bytes(8, "little") + np.array(ids, dtype=np.int64).tobytes())
        return self.split, digest.digest()


def write_states(
    hidden: CheckpointStates | HiddenStates,
    layers: ChosenLayers,
    directions: Sequence[DirectionTokens],
    job: StateOptions,
    output: Path,
    described: dict,
    started: float,
) -> None:
    """Compute and write the states of some directions, and the index of the store.

    Args:
        described: what else the index says.
        started: when the translation began, by `time.monotonic`.

    Raises:
        InputError: the states do not fit on the disk, or not into the type of the files.
    """
    translated = time.monotonic()
    splits = write_parts(hidden, layers, directions, job.dtype, job.decoding.max_tokens, output)
    seconds = {"translate": translated - started, "states": time.monotonic() - translated}
    write_index(output, {
        **described,
        "layers": {side: list(chosen) for side, chosen in layers.items()},
        "encoder_output": hidden.layers["encoder"][-1],
        "splits": splits,
        "seconds": {stage: round(value, 2) for stage, value in seconds.items()},
    })  # fmt: skip


def write_parts(
    hidden: CheckpointStates | HiddenStates,
    layers: ChosenLayers,
    directions: Sequence[DirectionTokens],
    dtype: str,
    max_tokens: int,
    output: Path,
) -> dict:
    """The parts; returns split -> direction -> names of its parts, and what is known of it."""
    encoders: dict[tuple, str] = {}
    splits: dict[str, dict] = {}
    work: list[tuple[DirectionTokens, list[str]]] = []  # and the sides to write
    for each in directions:
        encoder = encoders.setdefault(each.encoded, each.part("encoder"))
        sides = ["encoder"] if encoder == each.part("encoder") else []
        described = {"encoder": encoder, "sentences": len(each.tokens)}
        if hidden.layers["decoder"]:
            described["decoder"] = each.part("decoder")
            sides.append("decoder")
        if each.text_sha256:
            described["text_sha256"] = each.text_sha256
        splits.setdefault(each.split, {})[each.name] = described
        if sides:
            work.append((each, sides))
    widths = {side: states.shape[-1] for side, states in hidden(directions[0].tokens[:1]).items()}
    _check_room(work, layers, widths, dtype, output)
    written = (
        count
        for each, sides in work
        for count in _write(hidden, layers, widths, each, sides, dtype, max_tokens, output)
    )
    for _ in progress(written, sum(len(each.tokens) for each, _ in work), "states", "sentence", size=int):
        pass
    return splits


def _check_room(
    work: Iterable[tuple], layers: ChosenLayers, widths: Mapping[str, int], dtype: str, output: Path
) -> None:
    """A memory-mapped file on a full disk kills the process: know before."""
    values = sum(
        sum(len(getattr(tokens, side)) for tokens in each.tokens) * len(layers[side]) * widths[side]
        for each, sides in work
        for side in sides
    )
    needed, free = values * np.dtype(dtype).itemsize, shutil.disk_usage(output).free
    if needed > free:
        raise InputError(
            f"--output {output}: states need {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free;"
            " use --layers, --directions or --max-lines"
        )


def _write(
    hidden: CheckpointStates | HiddenStates,
    layers: ChosenLayers,
    widths: Mapping[str, int],
    each: DirectionTokens,
    sides: Sequence[str],
    dtype: str,
    max_tokens: int,
    output: Path,
) -> Iterator[int]:
    """Write the parts of one direction; yields the number of sentences of each batch."""
    writers = {
        side: PartWriter(output / each.part(side), each.rows(side), len(layers[side]), widths[side], dtype)
        for side in sides
    }
    for batch in batches([tokens.longest for tokens in each.tokens], max_tokens):
        states = hidden([each.tokens[number] for number in batch])
        for side, writer in writers.items():
            chosen = list(layers[side].values())
            lengths = [len(getattr(each.tokens[number], side)) for number in batch]
            of_sentences = [states[side][chosen, i, :length] for i, length in enumerate(lengths)]
            joined = torch.cat(of_sentences, dim=1)
            where = f"{each.split} {each.name}"
            writer.write(batch, as_stored(joined, list(layers[side]), np.dtype(dtype), where))
        yield len(batch)
    for writer in writers.values():
        writer.close()


def as_stored(states: Tensor, layers: list[str], dtype: np.dtype, where: str) -> np.ndarray:
    """States (layers x tokens x C) in the type of the files.

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
