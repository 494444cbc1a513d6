"""The kinds of plots in the report, as files of several formats that depend on nothing but the numbers."""

import io
from collections.abc import Mapping, Sequence

from command_line.figures import show_names_as_they_are
from eval.systems import MeanStd

# Okabe and Ito (2008): distinguishable with every common kind of colour vision. Those of the second line are
# as far from all before as possible (CIELAB); markers tell them apart, too.
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D1F", "#444444"),
    *("#7F00FF", "#5A8F00", "#EE3377", "#332288", "#800000"),
)
MARKERS = "osD^vP*X"
LEVEL_STYLES = (":", "-.")
# Format of an image -> what its file does not say: when, and by what it was made.
UNDATED = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
# Text stays text; names inside of SVG do not change from file to file.
FONTS_AND_NAMES = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": ""}
Images = dict[str, bytes]  # format -> file
INK, FAINT = "#24292f", "#d0d7de"


def horizontal_bars(
    rows: Sequence[str], series: Mapping[str, Sequence[MeanStd | None]], title: str
) -> Images:
    """Bars grouped by row, one colour per series, means with their standard deviation as error bars."""
    height = 0.8 / len(series)
    figure, (axes,) = _canvas(9.0, 0.9 + max(0.55, 0.28 * len(series)) * len(rows))
    for i, (name, values) in enumerate(series.items()):
        positions = [row + (i - (len(series) - 1) / 2) * height for row in range(len(rows))]
        means = [value.mean if value else 0.0 for value in values]
        errors = [(value.std or 0.0) if value else 0.0 for value in values]
        # An all-zero error would draw a cap and claim a deviation that was not measured.
        error_bars = {"xerr": errors, "capsize": 2.5, "ecolor": INK} if any(errors) else {}
        axes.barh(positions, means, height * 0.92, label=name, color=COLOURS[i], **error_bars)
        for position, value, error in zip(positions, values, errors, strict=True):
            text = f"{value.mean:.1f}" if value else "–"
            place = ((value.mean if value else 0.0) + error, position)
            style = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": INK}
            axes.annotate(text, place, xytext=(4, 0), **style)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set_xlabel(title)
    axes.grid(axis="x", color=FAINT, linewidth=0.7)
    figure.legend(loc="outside upper center", ncols=len(series), frameon=False)
    return image_files(figure)


def dots(
    rows: Sequence[str], series: Mapping[str, Sequence[MeanStd | None]], title: str, rules: Sequence[int]
) -> Images:
    """One line per row, one marker per series, for many rows. `rules`: rows with a line above."""
    height = max(0.26, min(0.4, 0.07 * len(series))) * len(rows) + 0.22 * ((len(series) + 1) // 2)
    figure, (axes,) = _canvas(9.0, 1.2 + height)
    for i, (name, values) in enumerate(series.items()):
        offset = (i - (len(series) - 1) / 2) * 0.5 / len(series)
        drawn = [(row, value) for row, value in enumerate(values) if value]
        errors = [value.std or 0.0 for _, value in drawn]
        axes.errorbar(
            [value.mean for _, value in drawn],
            [row + offset for row, _ in drawn],
            xerr=errors if any(errors) else None,
            fmt=_marker(i),
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
    return image_files(figure)


def heatmap(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    title: str,
    rules: Sequence[int],
    x_title: str,
    y_title: str,
) -> Images:
    """Percentages (0 to 100) as colours, with numbers while they fit. `rules`: columns with a line before."""
    numbers = len(columns) <= 24
    beside = max(2.6, 1.4 + 0.075 * max(map(len, rows)))  # names of the rows, and the scale of colours
    width = max(6.0, beside + (0.5 if numbers else 0.3) * len(columns))
    figure, (axes,) = _canvas(width, 1.4 + 0.42 * len(rows))
    turned = 90 if len(columns) > 16 else 45 if max(map(len, columns)) > 3 else 0
    image = _coloured(axes, rows, columns, values, ".1f" if numbers else None, turned)
    for column in rules:
        axes.axvline(column - 0.5, color=INK, linewidth=1.2)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    figure.colorbar(image, ax=axes, label=title, shrink=0.9, pad=0.02)
    return image_files(figure)


def heatmaps(
    panels: Mapping[str, Sequence[Sequence[float | None]]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    x_title: str,
    y_title: str,
    beside: int = 3,
) -> Images:
    """Percentages (0 to 100) as colours with numbers, in panels with the same rows and columns.

    Args:
        panels: title -> rows of values; None for a gap.
        beside: panels side by side.
    """
    beside = min(beside, len(panels))
    down = -(-len(panels) // beside)
    width, height = max(2.2, 0.9 + 0.42 * len(columns)), max(1.8, 0.9 + 0.3 * len(rows))
    figure, axes = _canvas(1.2 + width * beside, 0.4 + height * down, down, beside)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    turned = 45 if max(map(len, columns)) > 3 else 0
    for number, (axis, (panel, values)) in enumerate(zip(axes, panels.items(), strict=False)):
        image = _coloured(axis, rows, columns, values, ".0f", turned)
        axis.set_title(panel, fontsize=10, color=INK)
        if number + beside >= len(panels):
            axis.set_xlabel(x_title)
        if number % beside == 0:
            axis.set_ylabel(y_title)
    figure.colorbar(image, ax=list(axes), label=title, shrink=0.9, pad=0.02)
    return image_files(figure)


def signed_heatmap(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    title: str,
    x_title: str,
    y_title: str,
) -> Images:
    """Signed numbers as colours around zero, red above and blue below, with the numbers."""
    figure, (axes,) = _canvas(max(6.0, 2.6 + 0.55 * len(columns)), 1.2 + 0.36 * len(rows))
    image = _coloured(axes, rows, columns, values, "+.2f", 45 if max(map(len, columns)) > 4 else 0, True)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    figure.colorbar(image, ax=axes, label=title, shrink=0.9, pad=0.02)
    return image_files(figure)


def _coloured(axes, rows, columns, values, form: str | None, turned: int, is_signed: bool = False):
    """Numbers as colours, from 0 to 100 or around zero, and in a format, if there is one."""
    import numpy as np

    grid = np.array([[np.nan if value is None else value for value in row] for row in values], dtype=float)
    most = max(float(np.abs(grid).max()), 1e-9) if is_signed else 100
    colours = {"cmap": "RdBu_r", "vmin": -most} if is_signed else {"cmap": "Blues", "vmin": 0}
    image = axes.imshow(grid, vmax=most, aspect="auto", **colours)
    for row, column in np.argwhere(~np.isnan(grid)) if form else ():
        value = grid[row, column]
        colour = "white" if abs(value) > (0.6 if is_signed else 0.55) * most else INK
        axes.text(column, row, f"{value:{form}}", ha="center", va="center", fontsize=7.5, color=colour)
    axes.set_xticks(range(len(columns)), columns, rotation=turned)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    return image


def lines(
    ticks: Sequence[str],
    panels: Mapping[str, Mapping[str, Sequence[MeanStd | None]]],
    title: str | None,
    columns: int | None = None,
    rules: Sequence[int] = (),
    levels: Mapping[str, Mapping[str, Sequence[Sequence[float | None]]]] | None = None,
    baselines: Mapping[str, Mapping[str, Sequence[MeanStd | None]]] | None = None,
    x_title: str | None = None,
    baseline_title: str | None = None,
    broken: bool = False,
) -> Images:
    """Curves over ordered ticks (layers), in panels side by side.

    Args:
        panels: title of the panel -> name of the series -> one value per tick, None for a gap. A series has
            the same colour and marker in all panels; deviations are drawn as bands.
        columns: panels side by side; all by default.
        rules: ticks with a line before.
        levels: what no series beats by itself, such as chance: title of the panel -> name -> lines of one
            height per tick; a style per name, and none of the series' colours.
        baselines: title of the panel -> name of the series -> what it is compared with, one value per tick;
            dashed, in the colour of the series.
        x_title: of the x axis.
        baseline_title: what the dashed lines are, for the legend.
        broken: a gap interrupts the line of a series.
    """
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    columns = min(columns or len(panels), len(panels))
    rows = -(-len(panels) // columns)
    width = max(4.2, 1.2 + 0.42 * len(ticks))
    height = (3.4 if rows == 1 else 2.7 * rows + 0.4) + 0.22 * -(-len(names) // 3)
    figure, axes = _canvas(width * columns, height, rows, columns, shared=title is not None)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    for axis, (panel, series) in zip(axes, panels.items(), strict=False):
        for name, values in series.items():
            _curve(axis, names.index(name), name, values, broken)
        for name, values in (baselines or {}).get(panel, {}).items():
            _curve(axis, names.index(name), None, values, broken)
        for style, (name, heights) in zip(LEVEL_STYLES, (levels or {}).get(panel, {}).items(), strict=False):
            _levels(axis, name, heights, style)
        for tick in rules:
            axis.axvline(tick - 0.5, color=INK, linewidth=0.7)
        if title is None:
            axis.set_ylabel(panel)
        else:
            axis.set_title(panel, fontsize=10, color=INK)
        axis.set_xlabel(x_title)
        axis.set_xticks(range(len(ticks)), ticks, rotation=45 if max(map(len, ticks)) > 4 else 0)
        axis.set_xlim(-0.4, len(ticks) - 0.6)
        axis.grid(color=FAINT, linewidth=0.7)
    if title is not None:
        for axis in axes[::columns]:
            axis.set_ylabel(title)
    if baselines and baseline_title:
        axes[0].plot([], [], color=INK, linestyle="--", linewidth=1.2, label=baseline_title)
    _legend(figure, axes, names)
    return image_files(figure)


def _legend(figure, axes, names: Sequence[str]) -> None:
    """One for all panels: series, unless there is only one, and levels."""
    handles = {
        label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    shown = [*(names if len(names) > 1 else []), *(name for name in handles if name not in names)]
    if shown:
        lines_shown = [handles[name] for name in shown]
        columns = min(3, len(shown))
        figure.legend(lines_shown, shown, loc="outside upper center", ncols=columns, frameon=False)


def _marker(number: int) -> str:
    """The marker of a series; no two series have the same colour and marker."""
    return MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def _curve(axis, number: int, name: str | None, values: Sequence[MeanStd | None], broken: bool) -> None:
    """One series: the number chooses colour and marker. Without a name, what it is compared with: dashed."""
    drawn = {x: value for x, value in enumerate(values) if value or broken}
    xs, means = list(drawn), [value.mean if value else float("nan") for value in drawn.values()]
    colour = COLOURS[number % len(COLOURS)]
    style = {"marker": _marker(number), "markersize": 5, "linewidth": 1.5, "label": name}
    axis.plot(xs, means, color=colour, **(style if name else {"linestyle": "--", "linewidth": 1.2}))
    spread = [(value.std or 0.0) if value else 0.0 for value in drawn.values()]
    if any(spread):
        low, high = ([m + sign * d for m, d in zip(means, spread, strict=True)] for sign in (-1, 1))
        axis.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)


def _levels(axis, name: str, heights: Sequence[Sequence[float | None]], style: str) -> None:
    """Lines of one height per tick, from half a tick before it to half a tick after it."""
    for number, row in enumerate(heights):
        ends = [x + side for x in range(len(row)) for side in (-0.5, 0.5)]
        steps = [float("nan") if value is None else value for value in row for _ in range(2)]
        axis.plot(ends, steps, color=INK, linewidth=0.9, linestyle=style, label=None if number else name)


def scatter(
    series: Mapping[str, Sequence[tuple[float, float, str]]],
    x_title: str,
    y_title: str,
    by_magnitude: bool = False,
) -> Images:
    """Labelled points (x, y, label) with the line of least squares per series; zero is marked. By magnitude:
    x has a logarithmic scale, and there are points alone.
    """
    import numpy as np

    figure, (axes,) = _canvas(6.0, 4.6)
    for i, (name, points) in enumerate(series.items()):
        xs, ys = np.array([point[:2] for point in points], dtype=float).T
        colour = COLOURS[i % len(COLOURS)]
        axes.scatter(xs, ys, s=26, marker=_marker(i), color=colour, label=name, zorder=3)
        for x, y, label in points:
            axes.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7.5, color=INK)
        if np.ptp(xs) > 0 and not by_magnitude:
            ends = np.array([xs.min(), xs.max()])
            axes.plot(ends, np.polyval(np.polyfit(xs, ys, 1), ends), color=colour, linewidth=1, alpha=0.7)
    if by_magnitude:
        _scale_by_magnitude(axes, [point[0] for points in series.values() for point in points])
    else:
        axes.axhline(0, color=INK, linewidth=0.7)
        axes.axvline(0, color=INK, linewidth=0.7)
    return _png_of_points(figure, axes, x_title, y_title)


def clouds(series: Mapping[str, Sequence[tuple[float, float]]], x_title: str, y_title: str) -> Images:
    """Points (x, y), a colour and marker per series."""
    rows = (len(series) + 1) // 2
    figure, (axes,) = _canvas(7.2, 4.6 + 0.22 * rows)
    for i, (name, points) in enumerate(series.items()):
        xs, ys = zip(*points, strict=True)
        style = {"marker": _marker(i), "color": COLOURS[i % len(COLOURS)], "alpha": 0.85}
        axes.scatter(xs, ys, s=34, label=name, zorder=3, **style)
    return _png_of_points(figure, axes, x_title, y_title)


def _png_of_points(figure, axes, x_title: str, y_title: str) -> Images:
    axes.margins(0.12)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    axes.grid(color=FAINT, linewidth=0.7)
    series = axes.get_legend_handles_labels()[1]
    figure.legend(loc="outside upper center", ncols=min(2, len(series)), frameon=False)
    return image_files(figure)


def _scale_by_magnitude(axes, values: Sequence[float]) -> None:
    """A logarithmic scale of x, with numbers written out: 10^4 is a formula, and no name must become one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    is_narrow = max(values) < 300 * min(values)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_narrow else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.12g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _canvas(width: float, height: float, rows: int = 1, columns: int = 1, shared: bool = True):
    """A figure of `width` x `height` inches without global state (pyplot), and the axes of its panels, row by
    row; `shared`: with the same y axis.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=100)
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(rows, columns, sharey=shared, squeeze=False).flatten()
    for axes in all_axes:
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(labelsize=9, colors=INK)
    return figure, all_axes


def image_files(figure) -> Images:
    """A figure as PNG for screens, and as SVG and PDF, whose text stays text, for papers."""
    from matplotlib import rc_context

    show_names_as_they_are(figure)
    files = {}
    with rc_context(FONTS_AND_NAMES):
        for ending, metadata in UNDATED.items():
            stream = io.BytesIO()
            figure.savefig(stream, format=ending, metadata=metadata)
            figure.set_layout_engine(None)  # the first file has laid it out for all
            files[ending] = stream.getvalue()
    return files
