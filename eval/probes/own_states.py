"""States that another program has computed, as a store that all probes read."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from eval.probes.store import NO_TOKEN, SIDES, StateStore, write_index, write_vocabulary
from eval.probes.storing import PartWriter
from eval.results.files import split_direction

Sentence = tuple[Sequence[str], np.ndarray]  # its pieces, and their states: layers x pieces x C


def write_store(
    folder: Path,
    name: str,
    dataset: str,
    sentences: Mapping[tuple[str, str, str], Sequence[Sentence]],
    layers: Mapping[str, Sequence[str]],
    supervised: Sequence[str] = (),
    encoder_output: str | None = None,
    tags: Sequence[str] = (),
    end: str | None = None,
    seed: int | None = None,
    dtype: str = "float16",
) -> StateStore:
    """Write states into a folder.

    Args:
        folder: of the store.
        name: of the system, for tables.
        dataset: name of the data, for tables.
        sentences: set, direction ("de-fr") and side ("encoder" or "decoder") -> the sentences, in the order
            of the lines.
        layers: side -> names of its layers from the bottom up, see `eval.probes.store`.
        supervised: directions that the model was trained on.
        encoder_output: the layer that the decoder attends to; the last of the encoder by default.
        tags: pieces that are language tags.
        end: the piece that ends every sentence of an encoder and begins every one of a decoder, if there is
            one.
        seed: of the training.
        dtype: of the states on disk, "float16" or "float32".

    Raises:
        InputError: a side or direction that is none; a sentence with other numbers of pieces, layers or
            dimensions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pieces = sorted({piece for of_part in sentences.values() for texts, _ in of_part for piece in texts})
    numbers = {piece: number for number, piece in enumerate(pieces)}
    splits: dict[str, dict[str, dict[str, str]]] = {}
    for (split, direction, side), of_part in sentences.items():
        split_direction(direction)
        if side not in SIDES:
            raise InputError(f"{folder}: found the side {side!r}; expected {' or '.join(SIDES)}")
        part, width = f"{split}.{side}.{direction}", of_part[0][1].shape[-1]
        for line, (texts, states) in enumerate(of_part, 1):
            expected = (len(layers[side]), len(texts), width)
            if states.shape != expected:
                raise InputError(
                    f"{folder}: sentence {line} of {part} has states of shape {states.shape}; expected"
                    f" {expected}: layers x pieces x dimensions"
                )
        tokens = [np.array([numbers[piece] for piece in texts]) for texts, _ in of_part]
        writer = PartWriter(folder / part, tokens, len(layers[side]), width, dtype)
        writer.write(range(len(of_part)), np.concatenate([states for _, states in of_part], axis=1))
        writer.close()
        splits.setdefault(split, {}).setdefault(direction, {})[side] = part
    write_vocabulary(folder, pieces)
    record = {
        "system": {"name": name, "seed": seed},
        "dataset": dataset,
        "supervised": list(supervised),
        "layers": {side: list(layers.get(side, [])) for side in SIDES},
        "encoder_output": encoder_output or layers["encoder"][-1],
        "tags": [numbers[piece] for piece in tags if piece in numbers],
        "eos": NO_TOKEN if end is None else numbers[end],
        "splits": splits,
    }
    write_index(folder, record)
    return StateStore.open(folder)
