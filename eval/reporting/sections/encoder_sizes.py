"""What encoders of several sizes reach on all benchmarks, as Tables 3.1, 3.3, 3.4 and A.1 to A.4 of the
thesis: parameters, width of vectors, P@1 of retrieval (Tatoeba, UN) and F1 of mining (BUCC); and P@1 against
both sizes.
"""

import re
from dataclasses import dataclass
from statistics import fmean

from embeddings.averages import by_pair
from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Figure, Section, Table, cell, cells, mean_cell, number_cell, slug
from eval.reporting.plots import scatter
from eval.reporting.sections.retrieval_pairs import means_of_pairs
from eval.reporting.sections.sentence_retrieval import COSINE
from eval.reporting.sections.thesis_encoders import SIZES as TITLES
from eval.reporting.sections.thesis_encoders import thesis_table
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset

SEED = re.compile(r"-seed\d+$")
BUCC = re.compile(r"BUCC \S+, (?P<part>.+)")
RETRIEVAL, SPEED, MINING = "sentence-retrieval", "encoding-speed", "mining"
FEW_PAIRS = 6  # of a benchmark whose pairs have columns of their own, as UN's
NOTES = [
    "L: layers; d_h: width of their states; d_ff: of their feed-forward networks; H: heads; P: parameters of"
    " the encoder, embeddings counted; P_E: those of its layers; d: numbers of a vector. Retrieval: P@1 (%)"
    " by cosine, mean of both directions; mining: F1 (%)."
]
MILLIONS = (".1f", 1e-6)
COLUMNS = {  # field of a record: format and scale
    "layers": (".0f", 1),
    "state_width": (".0f", 1),
    "ffn_width": (".0f", 1),
    "heads": (".0f", 1),
    "parameters": MILLIONS,
    "layer_parameters": MILLIONS,
    "width": (".0f", 1),
}
SIZES = {"parameters": ("parameters (millions)", 1e-6), "width": ("numbers of a vector", 1)}


Reached = dict[str, MeanStd | None]  # by the name of an encoder


@dataclass(frozen=True)
class Benchmarks:
    """What encoders reach.

    Attributes:
        columns: by title: of pairs of languages, where they are few, and behind them of the whole benchmark.
        whole: titles of the latter.
    """

    columns: dict[str, Reached]
    whole: list[str]

    @classmethod
    def of(cls, results: ResultSet) -> "Benchmarks":
        columns: dict[str, Reached] = {}
        whole: list[str] = []
        for dataset, systems in by_dataset(results.probed(RETRIEVAL)).items():
            columns |= _pairs_of_retrieval(dataset, systems)
            columns[dataset] = {one.name: one.mean("average", COSINE, scale=100) for one in systems}
            whole.append(dataset)
        pairs = {dataset: of for dataset, of in _means(results, MINING, "f1", scale=100).items() if of}
        means = _means_of_bucc(pairs)
        return cls(columns | pairs | means, [*whole, *(means or pairs)])


def section(results: ResultSet) -> Section:
    retrieval = by_dataset(results.probed(RETRIEVAL))
    names = list(dict.fromkeys(one.name for systems in retrieval.values() for one in systems))
    sizes = {one.name: one for systems in retrieval.values() for one in systems if _size(one, "width")}
    if not sizes:
        return Section("Encoders by size", [])
    columns = Benchmarks.of(results).columns
    speeds = _speeds(results)
    rows = [
        [
            cell(name),
            *_size_cells(sizes.get(name)),
            *([mean_cell(speeds.get(name), 0)] if speeds else []),
            *(mean_cell(of.get(name), 1) for of in columns.values()),
        ]
        for name in names
    ]
    caption = "Encoders by size: what they reach on every benchmark."
    titles = cells("Encoder", *TITLES, *(["lines/s"] if speeds else []), *columns)
    tables = [Table("encoder_sizes", caption, [titles], rows)]
    if reference := thesis_table(list(columns)):
        tables.append(reference)
    return Section("Encoders by size", [*tables, *_plots(retrieval, sizes)], NOTES)


def _speeds(results: ResultSet) -> Reached:
    """Lines per second of the encoders whose speed was compared; in recipes a name ends with its seed."""
    found: dict[str, list[float]] = {}
    for of in _means(results, SPEED, "lines_per_second").values():
        for name, mean in of.items():
            found.setdefault(SEED.sub("", name), []).append(mean.mean)
    return {name: MeanStd.of(values) for name, values in found.items()}


def _means(results: ResultSet, kind: str, measure: str, scale: float = 1.0) -> dict[str, Reached]:
    """Dataset -> encoder -> mean of a measure."""
    if not results.of_kind(kind):
        return {}
    measured = Measurements.of(results.probed(kind), results.allow_unlike)
    return {
        dataset: {name: mean for (name,), mean in of.means(measure, scale=scale).items()}
        for dataset, of in measured.by_dataset().items()
    }


def _size(one: System, which: str) -> int | None:
    return one.runs[0].value("size", which)


def _size_cells(one: System | None) -> list[Cell]:
    """In the order of TITLES."""
    of = {name: None if one is None else _size(one, name) for name in COLUMNS}
    return [number_cell(of[name], *COLUMNS[name]) for name in COLUMNS]


def _pairs_of_retrieval(dataset: str, systems: list[System]) -> dict[str, Reached]:
    """P@1 of every pair of languages, if they are few."""
    pairs = by_pair(systems[0].runs[0].directions)
    return {
        f"{dataset} {pair}": {one.name: means_of_pairs(one, COSINE).get(pair) for one in systems}
        for pair in (sorted(pairs) if 1 < len(pairs) <= FEW_PAIRS else ())
    }


def _means_of_bucc(found: dict[str, Reached]) -> dict[str, Reached]:
    """Mean of all pairs of languages of each part, as "BUCC, training", of the encoders that have all."""
    parts: dict[str, list[dict]] = {}
    for dataset, of in found.items():
        if match := BUCC.fullmatch(dataset):
            parts.setdefault(f"BUCC, {match['part']}", []).append(of)
    return {
        title: {
            name: MeanStd(fmean(of[name].mean for of in pairs), None)
            for name in pairs[0]
            if all(of.get(name) for of in pairs)
        }
        for title, pairs in parts.items()
        if len(pairs) > 1
    }


def _plots(retrieval: dict[str, list[System]], sizes: dict[str, System]) -> list[Figure]:
    """P@1 of every benchmark against parameters and against the width, where encoders differ in them."""
    figures = []
    for which, (title, scale) in SIZES.items():
        for dataset, systems in retrieval.items():
            points = [
                (scale * size, mean.mean, one.name)
                for one in systems
                if one.name in sizes
                and (size := _size(sizes[one.name], which))
                and (mean := one.mean("average", COSINE, scale=100))
            ]
            if len({size for size, _, _ in points}) < 2:
                continue
            name = slug(f"p_at_1_by_{which}", dataset)
            rows = [[cell(label), number_cell(x, ".1f"), number_cell(y, ".1f")] for x, y, label in points]
            caption = f"P@1 (cosine) on {dataset} against {title}."
            numbers = Table(name, caption, [cells("Encoder", title, "P@1")], rows)
            plot = scatter({dataset: points}, title, "P@1 (%)", by_magnitude=True)
            figures.append(Figure(name, caption, plot, numbers))
    return figures
