"""The kinds of plots in the report, as PNG bytes that depend on nothing but the numbers."""

import io
from collections.abc import Mapping, Sequence

from eval.systems import MeanStd

# Okabe and Ito (2008): distinguishable with every common kind of colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D1F", "#444444")
MARKERS = "osD^vP*X"
INK, FAINT = "#24292f", "#d0d7de"


def horizontal_bars(rows: Sequence[str], series: Mapping[str, Sequence[MeanStd | None]], title: str) -> bytes:
    """Bars grouped by row, one colour per series, means with their standard deviation as error bars."""
    height = 0.8 / len(series)
    figure, axes = _canvas(9.0, 0.9 + max(0.55, 0.28 * len(series)) * len(rows))
    for i, (name, values) in enumerate(series.items()):
        positions = [row + (i - (len(series) - 1) / 2) * height for row in range(len(rows))]
        means = [value.mean if value else 0.0 for value in values]
        errors = [(value.std or 0.0) if value else 0.0 for value in values]
        # An all-zero error would draw a cap and claim a deviation that was not measured.
        error_bars = {"xerr": errors, "capsize": 2.5, "ecolor": INK} if any(errors) else {}
        axes.barh(positions, means, height * 0.92, label=name, color=COLOURS[i], **error_bars)
        for position, value, error in zip(positions, values, errors, strict=True):
            text = f"{value.mean:.1f}" if value else "–"
            place = (value.mean if value else 0.0) + error
            axes.annotate(
                text,
                (place, position),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=INK,
            )
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set_xlabel(title)
    axes.grid(axis="x", color=FAINT, linewidth=0.7)
    figure.legend(loc="outside upper center", ncols=len(series), frameon=False)
    return _png(figure)


def dots(
    rows: Sequence[str], series: Mapping[str, Sequence[MeanStd | None]], title: str, rules: Sequence[int]
) -> bytes:
    """One line per row, one marker per series, for many rows. `rules`: rows with a line above."""
    figure, axes = _canvas(
        9.0, 1.2 + max(0.26, 0.07 * len(series)) * len(rows) + 0.22 * ((len(series) + 1) // 2)
    )
    for i, (name, values) in enumerate(series.items()):
        offset = (i - (len(series) - 1) / 2) * 0.5 / len(series)
        known = [(row, value) for row, value in enumerate(values) if value]
        axes.errorbar(
            [value.mean for _, value in known],
            [row + offset for row, _ in known],
            xerr=[value.std or 0.0 for _, value in known],
            fmt=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],  # no pair of colour and marker twice
            markersize=5.5,
            elinewidth=1,
            color=COLOURS[i % len(COLOURS)],
            label=name,
        )
    for row in rules:
        axes.axhline(row - 0.5, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(title)
    axes.grid(color=FAINT, linewidth=0.7)
    figure.legend(loc="outside upper center", ncols=min(2, len(series)), frameon=False)
    return _png(figure)


def heatmap(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    title: str,
    rules: Sequence[int],
) -> bytes:
    """Percentages (0 to 100) as colours, with numbers while they fit. `rules`: columns with a line before."""
    import numpy as np

    numbers = len(columns) <= 24
    figure, axes = _canvas(max(6.0, 2.6 + (0.5 if numbers else 0.3) * len(columns)), 1.4 + 0.42 * len(rows))
    grid = np.array([[np.nan if value is None else value for value in row] for row in values], dtype=float)
    image = axes.imshow(grid, cmap="Blues", vmin=0, vmax=100, aspect="auto")
    if numbers:
        for row, column in np.argwhere(~np.isnan(grid)):
            value = grid[row, column]
            colour = "white" if value > 55 else INK
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7.5, color=colour)
    for column in rules:
        axes.axvline(column - 0.5, color=INK, linewidth=1.2)
    axes.set_xticks(range(len(columns)), columns, rotation=90 if len(columns) > 16 else 45, ha="center")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, label=title, shrink=0.9, pad=0.02)
    return _png(figure)


def _canvas(width: float, height: float):
    """A figure of `width` x `height` inches without global state (pyplot), and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=9, colors=INK)
    return figure, axes


def _png(figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()
