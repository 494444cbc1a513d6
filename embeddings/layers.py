"""Print the layers of encoders that a recipe measures as they are: a line "LAYER FOLDER" for each.

The first line is the layer at which the first encoder is trained, which is also measured. A layer of
`--layers` is a number or `average`. DEPTH:LAYER is the layer of encoders that have DEPTH layers. If the
folder of the first encoder is not there yet, its depth is the largest DEPTH.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import option, positional
from command_line.options import path, text

_DEPTHS = ("num_hidden_layers", "n_layers")  # in config.json
LAST = "last"


@dataclass(frozen=True, kw_only=True)
class MeasuredLayers:
    """Encoders, and which of their layers are measured."""

    encoders: list[Path] = positional(
        "folders of transformers; the first one is trained", nargs="+", type=path
    )
    layers: list[str] = option("of each encoder", required=True, nargs="+", type=text)
    trained: str = option("layer of the first encoder that is trained", LAST, type=text)


def main(job: MeasuredLayers) -> None:
    measured = {folder: _chosen(folder, depth_of(folder), job.layers) for folder in job.encoders}
    first = job.encoders[0]
    trained = _trained(depth_of(first), job)
    if trained not in measured[first]:
        measured[first].append(trained)
    print(trained)
    for folder, layers in measured.items():
        for layer in layers:
            print(layer, folder)


def depth_of(folder: Path) -> int | None:
    """The number of layers of an encoder; None if there is no such folder."""
    config = folder / "config.json"
    if not config.exists():
        return None
    settings = json.loads(config.read_text(encoding="utf-8"))
    depth = next((settings[name] for name in _DEPTHS if name in settings), None)
    if not isinstance(depth, int):
        raise InputError(f"{config}: no {_DEPTHS[0]}; expected a folder of transformers")
    return depth


def _chosen(folder: Path, depth: int | None, layers: list[str]) -> list[str]:
    """Those layers that are meant for an encoder; all of them if its depth is unknown."""
    chosen = []
    for layer in layers:
        wanted, colon, number = layer.rpartition(":")
        if not colon or depth is None or int(wanted) == depth:
            chosen.append(number)
    if not chosen:
        raise InputError(
            f"{folder}: has {depth} layers; expected, in the configuration, {depth}:LAYER among LAYERS"
            f" ({' '.join(layers)})"
        )
    return chosen


def _trained(depth: int | None, job: MeasuredLayers) -> str:
    if job.trained != LAST:
        return job.trained
    if depth is None:
        numbers = (layer.partition(":")[0] for layer in job.layers)
        depths = [int(number) for number in numbers if number.isdigit()]
        if not depths:
            raise InputError(
                f"{job.encoders[0]}: no such folder, expected that of an encoder of transformers"
            )
        depth = max(depths)
    return str(depth)
