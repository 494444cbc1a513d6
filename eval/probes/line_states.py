"""States of single lines, of our models or of any other program, and a store of them that all probes read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError
from data_prep.formats.directions import format_direction
from eval.probes.store import NO_TOKEN, SIDES, StateStore, write_index, write_vocabulary
from eval.probes.storing import PartWriter
from eval.result_files import split_direction


class LineStates(NamedTuple):
    """The states of a line.

    Attributes:
        source, target: its languages; without a target, the states are in no store.
        encoder, decoder: layer -> states, T x C, from the bottom up; a model without a decoder has none.
        encoder_tokens, decoder_tokens: what stands at the T places, as the model writes it.
    """

    source: str
    target: str | None
    encoder: Mapping[str, np.ndarray]
    encoder_tokens: Sequence[str]
    decoder: Mapping[str, np.ndarray] = {}
    decoder_tokens: Sequence[str] = ()


def write_store(
    folder,
    states: Mapping[str, Sequence[LineStates]],
    name: str,
    dataset: str,
    supervised: Sequence[str] = (),
    encoder_output: str | None = None,
    tags: Sequence[str] = (),
    end: str | None = None,
    seed: int | None = None,
    dtype: str = "float16",
) -> StateStore:
    """Write states into a folder.

    Args:
        states: set -> its lines. Lines of a direction keep their order. Layers are named as
            `eval.probes.store` says.
        supervised: directions that the model was trained on, such as "de-fr".
        encoder_output: the layer that the decoder attends to; the last of the encoder by default.
        tags: tokens that are language tags.
        end: the token that ends every line of an encoder and begins every one of a decoder, if there is one.

    Raises:
        InputError: no lines; a direction that is none; a line with other layers, or other numbers of states.
    """
    folder = Path(folder)
    lines = [line for of_set in states.values() for line in of_set]
    if not lines:
        raise InputError(f"{folder}: no lines; expected those of a set or more")
    folder.mkdir(parents=True, exist_ok=True)
    layers = {side: list(getattr(lines[0], side)) for side in SIDES}
    tokens = sorted({token for line in lines for side in SIDES for token in getattr(line, f"{side}_tokens")})
    numbers = {token: number for number, token in enumerate(tokens)}
    splits: dict[str, dict] = {}
    for split, of_set in states.items():
        by_direction: dict[str, list[LineStates]] = {}
        for line in of_set:
            if line.target is None:
                raise InputError(
                    f"{folder}: a {split} line in {line.source} has no target language; expected one"
                )
            by_direction.setdefault(format_direction((line.source, line.target)), []).append(line)
        for direction, of_direction in by_direction.items():
            split_direction(direction)
            described = splits.setdefault(split, {}).setdefault(direction, {"sentences": len(of_direction)})
            for side in (side for side in SIDES if layers[side]):
                described[side] = f"{split}.{side}.{direction}"
                _write_part(folder / described[side], of_direction, side, layers[side], numbers, dtype)
    write_vocabulary(folder, tokens)
    record = {
        "system": {"name": name, "seed": seed},
        "dataset": dataset,
        "supervised": list(supervised),
        "layers": layers,
        "encoder_output": encoder_output or layers["encoder"][-1],
        "tags": [numbers[token] for token in tags if token in numbers],
        "eos": NO_TOKEN if end is None else numbers[end],
        "splits": splits,
    }
    write_index(folder, record)
    return StateStore.open(folder)


def _write_part(
    path: Path, lines: Sequence[LineStates], side: str, layers: list[str], numbers: Mapping, dtype: str
) -> None:
    width = getattr(lines[0], side)[layers[0]].shape[-1]
    tokens = [getattr(line, f"{side}_tokens") for line in lines]
    for number, (line, of_line) in enumerate(zip(lines, tokens, strict=True), 1):
        where, by_layer = f"{path}: line {number}", getattr(line, side)
        if list(by_layer) != layers:
            raise InputError(
                f"{where} has the layers {', '.join(by_layer)}; expected {', '.join(layers)}, as the first"
                " of all has"
            )
        expected = len(of_line), width
        for layer, states in by_layer.items():
            if states.shape != expected:
                raise InputError(
                    f"{where}: layer {layer} has states of shape {states.shape}; expected {expected}: tokens"
                    " x dimensions"
                )
    rows = [np.array([numbers[token] for token in of_line]) for of_line in tokens]
    writer = PartWriter(path, rows, len(layers), width, dtype)
    states = [np.stack(list(getattr(line, side).values())) for line in lines]
    writer.write(range(len(lines)), np.concatenate(states, axis=1))
    writer.close()
