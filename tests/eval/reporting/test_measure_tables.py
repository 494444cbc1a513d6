"""Tables of systems by measures, and of effects with intervals, on rows with known numbers."""

import pytest

from command_line.measurements import Measured, high, low, numbers
from eval.measurements import Measurements
from eval.reporting import measure_tables
from eval.reporting.measure_tables import effects, measures


def test_lines_formats_and_gaps():
    rows_of_systems = Measured()
    for seed, bleu in ((1, 0.25), (2, 0.35)):
        rows = numbers({"bleu": bleu, "lines": 1234}, direction="de→fr") + numbers(
            {"bleu": bleu / 5, "further": 1.0}, direction="fr→de"
        )
        rows_of_systems.add({"system": {"name": "A", "seed": seed}, "dataset": "toy"}, rows)
    rows_of_systems.add({"system": {"name": "B"}, "dataset": "toy"}, numbers({"further": 2.0}))
    columns = [
        {"measure": "bleu", "title": "BLEU", "scale": 100, "unit": "%"},
        {"measure": "lines", "title": "Lines", "form": ",.0f"},
    ]
    given = Measurements.derived(rows_of_systems)
    (table,) = measures(given, "toy", "groups", columns, "Groups", lines={"direction": "Languages"})
    assert table.columns() == ["System", "Seeds", "Languages", "BLEU", "Lines"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["A", "2", "de→fr", "30.0 ± 7.1%", "1,234"],
        ["A", "2", "fr→de", "6.0 ± 1.4%", "–"],
    ]  # B has none of these measures
    assert table.caption == "Groups on toy."
    assert measures(given, "toy", "groups", [{"measure": "chrf", "title": "chrF"}], "Groups") == []


def test_a_column_that_no_system_has_is_left_out():
    rows_of_systems = Measured()
    rows_of_systems.add({"system": {"name": "A"}, "dataset": "toy"}, numbers({"rate": 2.0}))
    columns = [{"measure": "gap", "title": "Gap"}, {"measure": "rate", "title": "Rate"}]
    (table,) = measures(Measurements.derived(rows_of_systems), "toy", "t", columns, "T", derived=True)
    assert table.columns() == ["System", "Rate"]


@pytest.fixture
def bars(monkeypatch):
    """What was drawn: title of the column -> bars."""
    series = {}
    monkeypatch.setattr(measure_tables, "dots", lambda rows, given, title, rules: series.update(given) or b"")
    return series


def test_effects_have_intervals_in_the_table_and_in_the_figure(bars):
    rows_of_systems = Measured()
    of_first = {"seeds": 3, "gain": 0.02, low("gain"): -0.01, high("gain"): 0.05}
    for name, values in (("a and b", of_first), ("c and d", {"seeds": 1, "gain": -0.01})):
        rows_of_systems.add({"system": {"name": name}, "dataset": "toy"}, numbers(values))
    columns = [
        {"measure": "seeds", "title": "Seeds", "form": ".0f"},
        {"measure": "gain", "title": "Gain", "scale": 100, "interval": True},
    ]
    (figure,) = effects(Measurements.derived(rows_of_systems), "toy", "gains", columns, "Gains", "points")
    assert [[cell.text for cell in row] for row in figure.rows] == [
        ["a and b", "3", "+2.0 [-1.0, +5.0]"], ["c and d", "1", "-1.0"],
    ]  # fmt: skip
    assert list(bars) == ["Gain"]  # not the number of seeds
    assert [(bar.mean, bar.std) for bar in bars["Gain"]] == [(2.0, pytest.approx(3.0)), (-1.0, None)]
