"""Rows for the tables of sentence retrieval (Tables 2.4 to 2.7 of the thesis).

The functions take the results of a report and return rows of all test sets. The `part` says by which
similarity P@1 is, and in which direction if only one is shown.
"""

import functools
import re
from collections.abc import Callable

import pandas as pd

from command_line.measurements import high, low
from embeddings.averages import FROM, TO
from eval.derived.retrieved import BY_NUMBER, BY_TEXT, COSINE, ERROR, Retrieved
from eval.measurements import Measurements, as_cells, joined
from eval.result_set import ResultSet
from eval.scoring.compared_retrieval import depends_on, hits_of
from eval.scoring.comparison import named_once
from eval.scoring.significance import interval_of_mean
from eval.systems import System

XSIM, XSIM_NEIGHBOURS = "ratio", 4
LEVEL, RESAMPLES, SEED = 0.05, 2000, 12345
BYTES, SMALLER = "bytes", "smaller_p_at_1"  # measures of smaller vectors
# An untrained encoder is called "NAME (layer 8)" or "NAME layer 8", one that a recipe trains "NAME-layer-8".
_ONE_LAYER = re.compile(r"(?P<encoder>.+?)[ (-]+layer[ -](?P<layer>\d+|average)\)?")
AVERAGE = "average"  # of all layers
FEWEST = 2  # layers of a curve


def of_each(rows_of: Callable[[Retrieved], pd.DataFrame]) -> Callable[[ResultSet], Measurements]:
    """Make a function of the results of a report from one of a test set: its rows of every set."""

    @functools.wraps(rows_of)
    def of_results(results: ResultSet) -> Measurements:
        return joined(Measurements(each.systems, rows_of(each)) for each in Retrieved.of(results))

    return of_results


@of_each
def averages(retrieved: Retrieved) -> pd.DataFrame:
    """P@1 over all pairs with its interval and by text, the error, and how much of the nearest was found. The
    error `xsim` is that of one margin with 4 neighbours.
    """
    rows = retrieved.measured.rows
    measured = rows[rows.measure.isin([BY_NUMBER, BY_TEXT, ERROR])]
    is_xsim = measured.part == XSIM
    is_xsim &= measured.system.isin(
        [system.name for system in retrieved.systems if system.runs[0].file["neighbours"] == XSIM_NEIGHBOURS]
    )
    measured = measured[(measured.measure != ERROR) | is_xsim]
    firsts = measured[measured.measure == BY_NUMBER].drop_duplicates(["run", "part"])
    recalls = rows[rows.measure == "recall"].drop(columns="part").merge(firsts[["run", "part"]], on="run")
    every_row = pd.concat([measured, *_intervals(retrieved.systems, firsts), recalls], ignore_index=True)
    labels = {
        (system.name, part): part + _difference(retrieved.systems, system, part)
        for system in retrieved.systems
        for part in retrieved.similarities
    }
    keys = zip(every_row.system, every_row.part, strict=True)
    return every_row.assign(part=[labels[key] for key in keys])


def _intervals(systems: list[System], firsts: pd.DataFrame) -> list[pd.DataFrame]:
    """The ends of the intervals of P@1, for other test sentences and these trainings; all runs of a system
    have the same. They stand in place of the first row of each run and similarity.
    """
    by_name = {system.name: system for system in systems}
    tables = []
    for (name, part), rows in firsts.groupby(["system", "part"], sort=False):
        if len(rows) == len(by_name[name].runs):
            ends = _interval(by_name[name], part)
            tables += [
                rows.assign(measure=measure, value=end)
                for measure, end in zip((low(BY_NUMBER), high(BY_NUMBER)), ends, strict=True)
            ]
    return tables


def _interval(system: System, similarity: str) -> tuple[float, float]:
    hits = [hits_of(run, similarity) for run in system.runs]
    by_direction = {name: [seed[name] for seed in hits] for name in hits[0]}
    return interval_of_mean(by_direction, LEVEL, RESAMPLES, SEED)


def _difference(systems: list[System], system: System, similarity: str) -> str:
    """What is to be said beside the name of a similarity, which is another one in other systems."""
    return "".join(
        f", {name.replace('_', ' ')} {system.runs[0].file.get(name)}"
        for name in depends_on(similarity)
        if len({str(other.runs[0].file.get(name)) for other in systems}) > 1
    )


@of_each
def by_direction(retrieved: Retrieved) -> pd.DataFrame:
    """P@1 from and to the language of all pairs, over all pairs and in groups of languages; of sets with
    such a language, which is the `kind`. A group of all languages has no rows, and several with the
    same pairs have them once.
    """
    tables = [retrieved.rows().head(0)]
    everything, kind = len(retrieved.pairs), f"common language {retrieved.pivot}"
    sizes = {name: len(pairs) for name, pairs in named_once(retrieved.groups).items()}
    counts = {None: everything} | {name: size for name, size in sizes.items() if size < everything}
    for group, count in counts.items() if retrieved.pivot else ():
        for side, measure in ((FROM, "from_common"), (TO, "to_common"), (None, BY_NUMBER)):
            label = f"{group or 'all'} ({count})"
            tables.append(retrieved.rows(group, side).assign(group=label, measure=measure, kind=kind))
    return pd.concat(tables)


@of_each
def pairs(retrieved: Retrieved) -> pd.DataFrame:
    """What is shown, by pair of languages (Table 2.4)."""
    rows = retrieved.shown_rows()
    return rows.assign(part=retrieved.label, direction=rows.pair)


@of_each
def groups(retrieved: Retrieved) -> pd.DataFrame:
    """What is shown, by group of languages, which is the `kind` (Table 2.5); each set of pairs once."""
    tables = [retrieved.rows().head(0)]
    for name, of_group in named_once(retrieved.groups).items():
        rows = retrieved.shown_rows(name)
        tables.append(rows.assign(part=retrieved.label, kind=f"{name} ({len(of_group)})"))
    return pd.concat(tables)


@of_each
def directions(retrieved: Retrieved) -> pd.DataFrame:
    """Rows by the similarity that is shown, if not all directions between some languages were measured."""
    return _shown_directions(retrieved, is_grid=False)


@of_each
def languages(retrieved: Retrieved) -> pd.DataFrame:
    """By the similarity that is shown, where all directions were measured: `direction` is the language of the
    queries, `group` that of the candidates.
    """
    rows = _shown_directions(retrieved, is_grid=True)
    queries, candidates = (rows.direction.str.split("-").str[place] for place in (0, 1))
    return rows.assign(direction=queries, group=candidates).sort_values(["direction", "group"], kind="stable")


def _shown_directions(retrieved: Retrieved, is_grid: bool) -> pd.DataFrame:
    rows = retrieved.rows()
    count = len({name.split("-")[0] for name in retrieved.directions})
    has_all = count > 2 and len(retrieved.directions) == count * (count - 1)
    return rows[(rows.part == retrieved.similarity) & (has_all == is_grid)]


@of_each
def smaller_vectors(retrieved: Retrieved) -> pd.DataFrame:
    """P@1 of vectors of fewer numbers and fewer bits, their size, and the loss against the vectors as they
    are (thesis 3.2.2, Table A.2). The kind of vectors is the `direction`.
    """
    rows, whole = retrieved.measured.rows, retrieved.rows()
    smaller = rows[rows.measure == SMALLER]
    whole = whole[whole.part == COSINE].groupby("run").value.mean()
    losses = smaller.assign(measure="loss", value=smaller.run.map(whole) - smaller.value)
    shown = pd.concat([smaller, losses.dropna(subset="value"), rows[rows.measure == BYTES]])
    return shown.assign(direction=shown.part, part="")


def layers(results: ResultSet) -> Measurements:
    """P@1 of encoders that are the same but for the layer, and which layer is the best: over all pairs and
    for every group of languages, which is the `group` (Niu et al. 2022, Table 1).
    """
    return joined(_layers(retrieved) for retrieved in Retrieved.of(results))


def curves_over_layers(results: ResultSet) -> Measurements:
    """The same without the average of all layers, with the similarity as the measure."""
    measured = layers(results).where(measure=BY_NUMBER)
    rows = measured.rows[measured.rows.layer != AVERAGE]
    order = pd.to_numeric(rows.layer).argsort(kind="stable")
    return Measurements(measured.systems, rows.assign(measure=rows.part).iloc[order])


def _layers(retrieved: Retrieved) -> Measurements:
    encoders: dict[str, dict[str, System]] = {}
    for system in retrieved.systems:
        if match := _ONE_LAYER.fullmatch(system.name):
            encoders.setdefault(match["encoder"], {})[match["layer"]] = system
    cells = [
        (of_encoder[layer], {"system": encoder, "layer": layer})
        for encoder, of_encoder in encoders.items()
        if len(of_encoder.keys() - {AVERAGE}) >= FEWEST
        for layer in sorted(
            of_encoder, key=lambda layer: (layer == AVERAGE, layer.isdecimal() and int(layer))
        )
    ]
    if not cells:
        return joined([])
    every_group = (None, *retrieved.groups)
    rows = pd.concat(
        retrieved.rows(group, retrieved.side).assign(group=group or "all") for group in every_group
    )
    measured = as_cells(Measurements(retrieved.systems, rows), cells)
    places = ["system", "group", "part", "layer"]
    means = measured.rows.groupby(places).value.mean()
    best = means == means.groupby(places[:-1]).transform("max")
    marks = measured.rows.drop_duplicates([*places, "run"])
    is_best = [float(best[key]) for key in marks[places].itertuples(index=False, name=None)]
    marks = marks.assign(measure="is_best", value=is_best)
    return Measurements(measured.systems, pd.concat([measured.rows, marks]))
