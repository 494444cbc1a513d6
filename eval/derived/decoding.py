"""Quality of what is in the target language, apart, and what decoding cost: for whatever changes how much of
the output is off target.
"""

from statistics import fmean

from eval.measurements import Measurements, as_table
from eval.systems import System

SCORES = ("bleu", "chrf", "off_target", "on_target_bleu", "on_target_chrf")
COUNTS = ("on_target_lines", "lines")


def on_target(scored: Measurements) -> Measurements:
    """For every run, the means of scores over zero-shot directions, or over all if none are zero-shot; how
    many of their lines are on target; and the cost of decoding all directions.
    """
    rows = scored.rows
    zero_shot = rows[rows.kind == "zero-shot"]
    rows = rows[(rows.kind == "zero-shot") | ~rows.system.isin(zero_shot.system.unique())]
    of_runs = rows.groupby(["run", "measure"]).value
    means, sums, counts = of_runs.mean(), of_runs.sum(), of_runs.count()
    firsts = rows.drop_duplicates("run").set_index("run")
    relative = {system.name: _relative_tokens(system, scored.systems) for system in scored.systems}
    runs = [run for system in scored.systems for run in system.runs]
    derived = []
    for number, run in enumerate(runs):
        of_run = counts[number]
        values = {name: means[number][name] for name in SCORES if name in of_run}
        if of_run.get("on_target_lines") == of_run["lines"]:  # of every direction
            values |= {name: sums[number][name] for name in COUNTS}
        values |= {"sentences_per_second": _per(run.record, "sentences", "seconds")}
        values |= {"tokens_per_sentence": _tokens(run.record), "relative_tokens": relative[run.name]}
        place = {"run": number, "dataset": run.dataset, "system": run.name, "seed": run.seed}
        place["kind"] = "zero-shot" if firsts.kind[number] == "zero-shot" else "all"
        derived += [
            {**place, "measure": name, "value": value} for name, value in values.items() if value is not None
        ]
    return Measurements(scored.systems, as_table(derived))


def _relative_tokens(system: System, systems: list[System]) -> float | None:
    """Tokens of the decoder per sentence over those of a plain search by the same models; None if there is
    none.
    """
    tokens = [_tokens(record) for record in system.records]
    for other in systems:
        usual = (
            [_tokens(record) for record in other.records] if _is_plain_search_of(other, system) else [None]
        )
        if None not in (*tokens, *usual):
            return fmean(tokens) / fmean(usual)
    return None


def _is_plain_search_of(other: System, system: System) -> bool:
    """Whether it is the same models, decoded as usual, and the same directions."""
    both = (other, system)
    names = {each.runs[0].system["name"] for each in both}
    directions = {(each.dataset, frozenset(each.directions())) for each in both}
    is_usual = not (other.search_label or other.pivot)
    return is_usual and len(names) == len(directions) == 1 and other.seeds == system.seeds


def _tokens(record: dict) -> float | None:
    """Tokens of the decoder per sentence; None for translations made elsewhere, and for an engine that does
    not count them.
    """
    return _per(record, "decoder_tokens", "sentences")


def _per(record: dict, first: str, second: str) -> float | None:
    decoding = record.get("decoding") or {}
    is_known = decoding.get(first) is not None and decoding.get(second)
    return decoding[first] / decoding[second] if is_known else None
