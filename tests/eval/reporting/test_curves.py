"""The view of curves, on rows with known numbers."""

import pytest

from command_line.measurements import Measured, numbers
from eval.measurements import Measurements
from eval.reporting import curves
from eval.reporting.curves import curves_over

PANELS = [{"measure": "loss", "title": "bits"}, {"measure": "p_at_1", "title": "P@1 (%)", "scale": 100}]


@pytest.fixture
def drawn(monkeypatch):
    """What was handed to the plot: ticks, panels and options."""
    calls = []
    monkeypatch.setattr(curves, "lines", lambda *given, **options: calls.append((*given, options)) or b"")
    return calls


def measured(updates=(100, 200), systems=(("A", 1), ("A", 2), ("B", 1))) -> Measurements:
    """The loss of an update is its number and that of the seed, P@1 a thousandth of the update."""
    curves_of_systems = Measured()
    for name, seed in systems:
        rows = []
        for update in updates:
            precision = update / 1000 if name == "B" else None
            rows += numbers({"loss": update + seed, "p_at_1": precision}, update=update)
        curves_of_systems.add({"system": {"name": name, "seed": seed}, "dataset": "toy"}, rows)
    return Measurements.derived(curves_of_systems)


def test_a_panel_per_measure_with_an_axis_of_its_own(drawn):
    (figure,) = curves_over(measured(), "toy", "course", PANELS, "Loss and P@1")
    ticks, panels, title, options = drawn[0]
    assert (ticks, title, options["x_title"]) == (["100", "200"], None, "updates")
    assert {panel: list(series) for panel, series in panels.items()} == {"bits": ["A", "B"], "P@1 (%)": ["B"]}
    assert [(value.mean, value.std) for value in panels["bits"]["A"]] == [
        (101.5, pytest.approx(0.5**0.5)), (201.5, pytest.approx(0.5**0.5)),
    ]  # fmt: skip
    assert [[cell.text for cell in row] for row in figure.rows] == [
        ["bits", "A", "2", "101.5 ± 0.7", "201.5 ± 0.7"],
        ["bits", "B", "1", "101.0", "201.0"],
        ["P@1 (%)", "B", "1", "10.0", "20.0"],
    ]
    assert figure.rules == {2} and figure.name == "course_toy"


def test_of_many_updates_some_are_drawn_and_all_are_in_the_file(drawn):
    updates = range(10, 460, 10)  # 45: more than two for every tick
    (figure,) = curves_over(measured(updates), "toy", "course", PANELS, "Loss", most_ticks=20)
    ticks = [int(tick) for tick in drawn[0][0]]
    assert ticks == list(range(30, 460, 30))  # every third, back from the last one
    lines = [line.split(",") for line in figure.csv.splitlines()]
    of_b = [line for line in lines[1:] if "B" in line and "loss" in line]
    assert [int(line[lines[0].index("update")]) for line in of_b] == list(updates)


def test_an_update_that_one_seed_lacks_is_a_gap(drawn):
    of_seeds = measured(systems=[("A", 1), ("A", 2)])
    rows = of_seeds.rows[(of_seeds.rows.seed == 1) | (of_seeds.rows["update"] == 100)]
    curves_over(Measurements(of_seeds.systems, rows), "toy", "course", PANELS, "Loss")
    first, second = drawn[0][1]["bits"]["A"]
    assert first.mean == 101.5 and second is None
