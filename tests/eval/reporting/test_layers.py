"""Layers of systems that are built in different ways, in one figure."""

from pathlib import Path

import pandas as pd
import pytest

from command_line.measurements import COLUMNS
from eval.measurements import Measurements
from eval.reporting.layers import layer_curves, layers_in_order
from eval.systems import Run, System

PRE = ["L0", "L1", "L2", "encoder-norm", "decoder-embedding", "L3", "L4", "decoder-norm"]
POST = ["L0", "L1", "L2", "decoder-embedding", "L3", "L4"]


@pytest.fixture
def measured():
    """Function of the layers of systems: what was measured in them, the number of the layer, and a level."""

    def make(**layers: list[str]) -> Measurements:
        rows, systems = [], []
        for number, (name, names) in enumerate(layers.items()):
            run = {"system": {"name": name}, "dataset": "toy", "layers": {"decoder": ["L3", "L4"]}}
            systems.append(System(name, "toy", (Run(Path(), run, number=number),)))
            for place, layer in enumerate(names):
                place_of = {"run": number, "system": name, "kind": "supervised", "layer": layer}
                rows += [
                    {**place_of, "measure": "accuracy", "value": place / 10},
                    {**place_of, "measure": "level", "value": 0.25},
                ]
        table = pd.DataFrame(rows, columns=list(COLUMNS)).fillna({"part": "", "direction": ""})
        return Measurements(systems, table)

    return make


@pytest.mark.parametrize("order", [{"A": PRE, "B": POST}, {"B": POST, "A": PRE}])
def test_layers_that_one_system_lacks_stand_where_the_other_has_them(measured, order):
    assert layers_in_order(measured(**order), "accuracy") == PRE
    assert layers_in_order(measured(A=["L0", "L1", "norm"], B=["L0", "L1", "L2"]), "accuracy") == [
        "L0", "L1", "L2", "norm",
    ]  # fmt: skip


def test_a_level_that_is_the_same_in_the_layers_of_both_is_one_line(measured, monkeypatch):
    drawn = {}
    monkeypatch.setattr("eval.reporting.layers.lines", lambda *a, **options: drawn.update(options) or b"")
    (figure,) = layer_curves(
        measured(B=POST, A=PRE), "toy", "x", "accuracy", "x", "x", levels=["level"], drawn="L[1-9]"
    )
    assert drawn["levels"] == {"Supervised pairs": {"level": [(0.25, 0.25, 0.25, 0.25)]}}
    assert drawn["rules"] == [2]  # before L3, the first of the decoder
    titles = [row[1].text for row in figure.rows]
    assert titles == ["B", "A", "level"]
