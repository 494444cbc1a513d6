"""Plots take names as they are."""

import pytest

from eval.reporting import plots
from eval.systems import MeanStd

NAME = '$a_{$ \\frac{ <b> & "q"'
VALUE = MeanStd(1.0, 0.5)
pytestmark = pytest.mark.usefixtures("draws")
PLOTS = {
    "horizontal_bars": lambda: plots.horizontal_bars([NAME, "x"], {NAME: [VALUE, None]}, NAME),
    "dots": lambda: plots.dots([NAME, "x"], {NAME: [VALUE, None]}, NAME, []),
    "lines": lambda: plots.lines([NAME, "x"], {NAME: {NAME: [VALUE, None]}}, NAME),
    "scatter": lambda: plots.scatter({NAME: [(0.0, 1.0, NAME), (1.0, 2.0, NAME)]}, NAME, NAME),
    "clouds": lambda: plots.clouds({NAME: [(0.0, 1.0), (1.0, 2.0)], "x": [(1.0, 1.0)]}, NAME, NAME),
    "heatmaps": lambda: plots.heatmaps({NAME: [[1.0, None]]}, [NAME], [NAME, "x"], NAME, NAME, NAME),
    "signed_heatmap": lambda: plots.signed_heatmap([NAME], [NAME, "x"], [[1.0, -1.0]], NAME, NAME, NAME),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_a_dollar_in_a_name_is_no_formula(plot):
    images = PLOTS[plot]()
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert images.keys() == starts.keys()
    assert all(images[ending].startswith(start) for ending, start in starts.items())


def test_the_same_numbers_give_the_same_files():
    first, second = (PLOTS["lines"]() for _ in range(2))
    assert first == second


@pytest.mark.filterwarnings("error")  # matplotlib warns where a figure has no room for what is in it
@pytest.mark.parametrize("columns", [1, 3, 30])
def test_a_heat_map_has_room_beside_the_longest_name(columns):
    name = "PostNorm S-ENC-T-DEC Len-vari. Intl. +interlingua_alignment +length_prediction tiny, by chance"
    values = [[50.0] * columns] * 2
    assert plots.heatmap([name, name], ["de-en"] * columns, values, "cosine", [], "pair", "system")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((1000, 50_000), ["1,000", "2,000", "5,000", "10,000", "20,000", "50,000"]),
        ((20, 3_000_000), ["100", "1,000", "10,000", "100,000", "1,000,000"]),
        ((0.2, 4), ["0.2", "0.5", "1", "2"]),
    ],
)
def test_magnitudes_are_written_out(monkeypatch, sizes, expected):
    monkeypatch.setattr(plots, "image_files", lambda figure: figure)
    points = [(size, 1.0, NAME) for size in sizes]
    (axes,) = plots.scatter({NAME: points}, NAME, NAME, by_magnitude=True).axes
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert set(expected) <= set(shown) and not any(set(label) - set("0123456789,.") for label in shown)


@pytest.mark.parametrize(("broken", "expected"), [(True, [1.0, None, 1.0]), (False, [1.0, 1.0])])
def test_a_line_runs_through_a_gap_only_where_it_is_meant_to(monkeypatch, broken, expected):
    monkeypatch.setattr(plots, "image_files", lambda figure: figure)
    values = [VALUE, None, VALUE]
    figure = plots.lines(["L1", "L2", "L3"], {"panel": {"A": values}}, "accuracy", broken=broken)
    (line,) = figure.axes[0].get_lines()
    assert [None if y != y else y for y in line.get_ydata()] == expected


def test_titles_of_axes_are_at_the_left_and_the_lower_edge_of_heat_maps(monkeypatch):
    monkeypatch.setattr(plots, "image_files", lambda figure: figure)
    panels = {name: [[50.0]] for name in "abcd"}
    figure = plots.heatmaps(panels, ["row"], ["column"], "title", "below", "left", beside=3)
    titles = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes[:4]]
    assert titles == [("", "left"), ("below", ""), ("below", ""), ("below", "left")]


def test_dashed_lines_are_in_the_legend(monkeypatch):
    monkeypatch.setattr(plots, "image_files", lambda figure: figure)
    curves = {"panel": {"A": [VALUE, VALUE], "B": [VALUE, VALUE]}}
    figure = plots.lines(["1", "2"], curves, "P@1", baselines=curves, baseline_title="by chance")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A", "B", "by chance"]
