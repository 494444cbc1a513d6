"""What encoders of several sizes reach on all benchmarks, as Tables 3.1, 3.3, 3.4 and A.1 to A.4 of the
thesis: parameters, width of vectors, P@1 of retrieval (Tatoeba, UN) and F1 of mining (BUCC); and P@1 against
both sizes. Published numbers stand in a table of their own.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from command_line.measurements import read_rows
from eval.derived.retrieved import COSINE, Retrieved
from eval.measurements import Measurements
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, mean_cell, number_cell, slug
from eval.reporting.plots import scatter
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd

SEED = re.compile(r"-seed\d+$")
BUCC = re.compile(r"BUCC \S+, (?P<part>.+)")
SPEED, MINING = "encoding-speed", "mining"
FEW_PAIRS = 6  # of a benchmark whose pairs have columns of their own, as UN's
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

Reached = dict[str, MeanStd]  # by the name of an encoder
Sizes = dict[str, dict[str, float]]  # encoder -> measure -> value


@dataclass(frozen=True)
class Benchmarks:
    """What encoders reach.

    Attributes:
        columns: by title: of pairs of languages, where they are few, and behind them of the whole benchmark.
        whole: titles of the latter.
        sizes: of those encoders whose sizes are known.
    """

    columns: dict[str, Reached]
    whole: list[str]
    sizes: Sizes

    @classmethod
    def of(cls, results: ResultSet, retrieved: list[Retrieved]) -> "Benchmarks":
        """What was measured."""
        columns: dict[str, Reached] = {}
        sizes: Sizes = {}
        for test in retrieved:
            columns |= _columns_of(test)
            for measure in TITLES:
                for (name,), mean in test.measured.means(measure).items():
                    sizes.setdefault(name, {})[measure] = mean.mean
        pairs = {dataset: of for dataset, of in _means(results, MINING, "f1", scale=100).items() if of}
        means = _means_of_bucc(pairs)
        return cls(columns | pairs | means, [*(test.dataset for test in retrieved), *(means or pairs)], sizes)

    @classmethod
    def published(cls, reference: Path | None) -> "Benchmarks":
        """What a file of rows has besides whole tables: results by cosine, F1 of mining, and sizes."""
        columns: dict[str, Reached] = {}
        sizes: Sizes = {}
        for row in read_rows(reference) if reference else ():
            if row["group"]:
                continue
            name, value = row["system"], row["value"]
            if row["measure"] in TITLES:
                sizes.setdefault(name, {})[row["measure"]] = value
            else:
                title = f"{row['dataset']} {row['direction'] or ''}".strip()
                columns.setdefault(title, {})[name] = MeanStd(100 * value, None)
        return cls(columns, list(columns), sizes)

    def on(self, title: str) -> Reached:
        """What is reached on a benchmark, whatever part of it: "BUCC de-en, training" is "BUCC de-en"."""
        return self.columns.get(title.partition(",")[0], {})

    def table(self, name: str, caption: str, encoders: Iterable[str], speeds: Reached, digits: int) -> Table:
        """A row per encoder: sizes as far as any is known, and what it reaches.

        Args:
            digits: of millions.
        """
        shown = [measure for measure in TITLES if any(measure in of for of in self.sizes.values())]
        rows = [
            [
                cell(encoder),
                *(_size_cell(self.sizes.get(encoder, {}).get(measure), measure, digits) for measure in shown),
                *([mean_cell(speeds.get(encoder), 0)] if speeds else []),
                *(mean_cell(of.get(encoder), 1) for of in self.columns.values()),
            ]
            for encoder in encoders
        ]
        speed = ["lines/s"] if speeds else []
        titles = cells("Encoder", *(TITLES[measure] for measure in shown), *speed, *self.columns)
        return Table(name, caption, [titles], rows)


def section(results: ResultSet) -> Section:
    retrieved = Retrieved.of(results)
    benchmarks = Benchmarks.of(results, retrieved)
    if not any("width" in of for of in benchmarks.sizes.values()):
        return Section("Encoders by size", [])
    encoders = dict.fromkeys(system.name for test in retrieved for system in test.systems)
    caption = "Encoders by size: what they reach on every benchmark."
    tables = [benchmarks.table("encoder_sizes", caption, encoders, _speeds(results), digits=1)]
    published = Benchmarks.published(results.reference)
    columns = {title: found for title in benchmarks.columns if (found := published.on(title))}
    if columns:
        caption = "Published encoders, named as our systems: of all languages of each benchmark."
        shown = Benchmarks(columns, [], published.sizes)
        tables.append(shown.table("encoder_sizes_published", caption, published.sizes, {}, digits=0))
    return Section("Encoders by size", [*tables, *_plots(retrieved, benchmarks.sizes)], NOTES)


def _size_cell(value: float | None, measure: str, digits: int):
    return number_cell(value, f".{digits}f", 1e-6) if measure in MILLIONS else number_cell(value, ".0f")


def _columns_of(retrieved: Retrieved) -> dict[str, Reached]:
    """P@1 by cosine of every pair of languages, if they are few, and of the whole set."""
    means = retrieved.means(["part", "pair"])
    pairs = sorted(retrieved.pairs) if 1 < len(retrieved.pairs) <= FEW_PAIRS else []
    columns = {
        f"{retrieved.dataset} {pair}": {
            system.name: means[system.name, COSINE, pair]
            for system in retrieved.systems
            if (system.name, COSINE, pair) in means
        }
        for pair in pairs
    }
    return columns | {retrieved.dataset: _by_cosine(retrieved)}


def _by_cosine(retrieved: Retrieved) -> Reached:
    return {name: mean for (name, part), mean in retrieved.means(["part"]).items() if part == COSINE}


def _speeds(results: ResultSet) -> Reached:
    """Lines per second of the encoders whose speed was compared; in recipes a name ends with its seed."""
    speeds: dict[str, list[float]] = {}
    for of in _means(results, SPEED, "lines_per_second").values():
        for name, mean in of.items():
            speeds.setdefault(SEED.sub("", name), []).append(mean.mean)
    return {name: MeanStd.of(values) for name, values in speeds.items()}


def _means(results: ResultSet, kind: str, measure: str, scale: float = 1.0) -> dict[str, Reached]:
    """Dataset -> encoder -> mean of a measure."""
    if not results.of_kind(kind):
        return {}
    measured = Measurements.of(results.probed(kind), results.allow_unlike)
    return {
        dataset: {name: mean for (name,), mean in of.means(measure, scale=scale).items()}
        for dataset, of in measured.by_dataset().items()
    }


def _means_of_bucc(of_pairs: dict[str, Reached]) -> dict[str, Reached]:
    """Mean of all pairs of languages of each part, as "BUCC, training", of the encoders that have all."""
    parts: dict[str, list[Reached]] = {}
    for dataset, of in of_pairs.items():
        if match := BUCC.fullmatch(dataset):
            parts.setdefault(f"BUCC, {match['part']}", []).append(of)
    return {
        title: {
            name: MeanStd(fmean(of[name].mean for of in pairs), None)
            for name in pairs[0]
            if all(name in of for of in pairs)
        }
        for title, pairs in parts.items()
        if len(pairs) > 1
    }


def _plots(retrieved: list[Retrieved], sizes: Sizes) -> list[Figure]:
    """P@1 of every benchmark against parameters and against the width, where encoders differ in them."""
    figures = []
    for measure, (title, scale) in AGAINST.items():
        for test in retrieved:
            points = [
                (scale * sizes[name][measure], mean.mean, name)
                for name, mean in _by_cosine(test).items()
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
