"""What encoders of several sizes reach on all benchmarks, as Tables 3.1, 3.3, 3.4 and A.1 to A.4 of the
thesis: parameters, width of vectors, P@1 of retrieval (Tatoeba, UN) and F1 of mining (BUCC); and P@1 against
both sizes. Published numbers stand in a table of their own.
"""

import re
from collections.abc import Iterable

from eval.derived.benchmarks import Reached, by_cosine, columns, published, reached_in
from eval.derived.retrieved import Retrieved
from eval.measurements import Measurements, measured_by
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, mean_cell, number_cell, slug
from eval.reporting.plots import scatter
from eval.result_set import ResultSet
from eval.systems import MeanStd

SEED = re.compile(r"-seed\d+$")
SPEED = "encoding-speed"
NOTES = [
    "La.: languages of the training; L: layers; d_h: width of their states; d_ff: of their feed-forward"
    " networks; H: heads; P: parameters of the encoder, embeddings counted; P_E: those of its layers; d:"
    " numbers of a vector. Retrieval: P@1 (%) by cosine, mean of both directions; mining: F1 (%)."
]
TITLES = {  # measure of an encoder -> title
    "languages": "La.",
    "layers": "L",
    "state_width": "d_h",
    "ffn_width": "d_ff",
    "heads": "H",
    "parameters": "P (M)",
    "layer_parameters": "P_E (M)",
    "width": "d",
}
MILLIONS = ("parameters", "layer_parameters")
AGAINST = {"parameters": ("parameters (millions)", 1e-6), "width": ("numbers of a vector", 1)}

Sizes = dict[str, dict[str, float]]  # encoder -> measure -> value


def section(results: ResultSet) -> Section:
    retrieved = Retrieved.of(results)
    sizes: Sizes = {}
    for test in retrieved:
        sizes |= sizes_in(test.measured)
    if not any("width" in of for of in sizes.values()):
        return Section("Encoders by size", [])
    encoders = dict.fromkeys(system.name for test in retrieved for system in test.systems)
    reached = columns(results)
    caption = "Encoders by size: what they reach on every benchmark."
    tables = [table("encoder_sizes", caption, encoders, sizes, reached, _speeds(results), digits=1)]
    theirs = published(results).by_dataset()
    known = {title: of for title in reached if (of := theirs.get(title.partition(",")[0]))}
    if known:
        caption = "Published encoders, named as our systems: of all languages of each benchmark."
        of_known = sizes_in(theirs["encoder"]) if "encoder" in theirs else {}
        of_theirs = {title: reached_in(of) for title, of in known.items()}
        names = dict.fromkeys([*of_known, *(name for of in of_theirs.values() for name in of)])
        tables.append(table("encoder_sizes_published", caption, names, of_known, of_theirs, {}, digits=0))
    return Section("Encoders by size", [*tables, *_plots(retrieved, sizes)], NOTES)


def sizes_in(measured: Measurements) -> Sizes:
    """Those of encoders on one dataset, as far as they are known."""
    sizes: Sizes = {}
    for measure in TITLES:
        for (name,), mean in measured.means(measure).items():
            sizes.setdefault(name, {})[measure] = mean.mean
    return sizes


def table(
    name: str,
    caption: str,
    encoders: Iterable[str],
    sizes: Sizes,
    reached: dict[str, Reached],
    speeds: Reached,
    digits: int,
) -> Table:
    """A row per encoder: sizes as far as any is known, and what it reaches.

    Args:
        digits: of millions.
    """
    shown = [measure for measure in TITLES if any(measure in of for of in sizes.values())]
    rows = [
        [
            cell(encoder),
            *(_size_cell(sizes.get(encoder, {}).get(measure), measure, digits) for measure in shown),
            *([mean_cell(speeds.get(encoder), 0)] if speeds else []),
            *(mean_cell(of.get(encoder), 1) for of in reached.values()),
        ]
        for encoder in encoders
    ]
    speed = ["lines/s"] if speeds else []
    titles = cells("Encoder", *(TITLES[measure] for measure in shown), *speed, *reached)
    return Table(name, caption, [titles], rows)


def _size_cell(value: float | None, measure: str, digits: int):
    return number_cell(value, f".{digits}f", 1e-6) if measure in MILLIONS else number_cell(value, ".0f")


def _speeds(results: ResultSet) -> Reached:
    """Lines per second of the encoders whose speed was compared; in recipes a name ends with its seed."""
    speeds: dict[str, list[float]] = {}
    for measured in measured_by(results, SPEED, False).by_dataset().values():
        for (name,), mean in measured.means("lines_per_second").items():
            speeds.setdefault(SEED.sub("", name), []).append(mean.mean)
    return {name: MeanStd.of(values) for name, values in speeds.items()}


def _plots(retrieved: list[Retrieved], sizes: Sizes) -> list[Figure]:
    """P@1 of every benchmark against parameters and against the width, where encoders differ in them."""
    figures = []
    for measure, (title, scale) in AGAINST.items():
        for test in retrieved:
            points = [
                (scale * sizes[name][measure], mean.mean, name)
                for name, mean in reached_in(by_cosine(test)).items()
                if measure in sizes.get(name, {})
            ]
            if len({size for size, _, _ in points}) < 2:
                continue
            name = slug(f"p_at_1_by_{measure}", test.dataset)
            rows = [[cell(label), number_cell(x, ".1f"), number_cell(y, ".1f")] for x, y, label in points]
            caption = f"P@1 (cosine) on {test.dataset} against {title}."
            numbers = Table(name, caption, [cells("Encoder", title, "P@1")], rows)
            plot = scatter({test.dataset: points}, title, "P@1 (%)", by_magnitude=True)
            figures.append(Figure(name, caption, plot, numbers))
    return figures
