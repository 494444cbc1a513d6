"""Encoders compared with each other ("Is Cross-lingual Evaluation Only About Cross-lingual?").

Does one transfer better than another? Tests of the differences between zero-shot averages. Do encoders that
transfer better learn the task better, or retrieve better? Pearson's correlation over encoders, by language
and of averages (Tables 3, 4 and 8).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from command_line.measurements import high, low, numbers
from eval.probes.transfer_indexes import LEVEL, Transfer, uncertainty, with_interval
from eval.scoring.estimates import FEWEST_UNITS, Correlation, Difference
from eval.scoring.significance import holm

FEWEST = 3  # encoders: through two points there is always a line
ROUNDING = 1e-9  # means of one number over some seeds and over others differ by so much less
AVERAGE, DIFFERENCE = "pearson_average", "difference"
TITLES = {
    "zero_shot": "zero-shot",
    "translate_train": "translate-train",
    "rate": "transfer rate",
    "retrieval": "retrieval",
}
# Table 3, and Table 4.
CORRELATED = (("retrieval", "zero_shot"), ("translate_train", "zero_shot"), ("retrieval", "rate"))


def differences(members: Sequence[Transfer]) -> list[tuple[dict, list[dict]]]:
    """The run and the rows of every two encoders that were tested in the same languages: the second less the
    first, its interval, and the p-value, also by Holm for all of them.

    Without kept examples and without several seeds of both, there is no test.
    """
    pairs = [pair for pair in combinations(members, 2) if set(pair[0].languages) == set(pair[1].languages)]
    tested = [(*pair, estimate) for pair in pairs if (estimate := difference_of(*pair))]
    p_values = [two_sided(estimate) for *_, estimate in tested]
    runs = []
    for (first, second, estimate), p_value, adjusted in zip(tested, p_values, holm(p_values), strict=True):
        values = with_interval(DIFFERENCE, estimate.effect, estimate)
        values |= {"p_value": p_value, "adjusted_p_value": adjusted}
        name = f"{second.encoder} - {first.encoder}"
        run = first.run | {"system": {"name": name}, "translate_train": None}
        runs.append((run, numbers(values, part=first.group)))
    return runs


def difference_of(first: Transfer, second: Transfer) -> Difference | None:
    """The difference of the averages over languages. Both encoders have the same examples, which are paired.
    Trainings are independent.
    """
    terms = [(1.0, second.zero_shot.average), (-1.0, first.zero_shot.average)]
    examples = [(1 / len(first.languages), paired(first, second, language)) for language in first.languages]
    return uncertainty(sum(c * values.mean() for c, values in terms), terms, examples)


def paired(first: Transfer, second: Transfer, language: str) -> np.ndarray | None:
    """N differences of the examples of a language; None where they were not kept, or are other examples."""
    scores = [transfer.zero_shot.of_examples.get(language) for transfer in (first, second)]
    are_paired = all(values is not None for values in scores) and len(scores[0]) == len(scores[1])
    return scores[1] - scores[0] if are_paired else None


def two_sided(estimate: Difference) -> float:
    """The p-value of no difference."""
    return min(1.0, 2 * min(estimate.p_above(0.0), estimate.p_below(0.0)))


def correlations(members: list[Transfer]) -> list[tuple[dict, list[dict]]]:
    """Of the transfers of several encoders, by language and of averages: the run and the rows of every pair
    of quantities of which something is known. A language that one encoder lacks, and a number that is the
    same for all, have none; averages are compared where they are of the same languages.
    """
    shared = [name for name in members[0].languages if all(name in member.languages for member in members)]
    same = all(set(member.languages) == set(shared) for member in members)
    runs = []
    for pair in CORRELATED:
        rows, part = [], members[0].group
        for language in shared:
            columns = [[member.by_language(name).get(language) for member in members] for name in pair]
            rows += numbers({"pearson": pearson(*columns)}, part=part, direction=language)
        if same:
            r = pearson(*([member.average(name) for member in members] for name in pair))
            rows += numbers(_with_interval(r, len(members)), part=part)
        if rows:
            rows += numbers({"encoders": len(members)}, part=part)
            runs.append((_run(pair, members), rows))
    return runs


def _run(pair: tuple[str, str], members: list[Transfer]) -> dict:
    name = f"{TITLES[pair[0]]} and {TITLES[pair[1]]}"
    encoders = [member.encoder for member in members]
    return members[0].run | {"system": {"name": name}, "encoders": encoders, "translate_train": None}


def pearson(first: list[float | None], second: list[float | None]) -> float | None:
    """r; None where a number is not known, or all are the same."""
    if None in first or None in second:
        return None
    columns = np.array([first, second], dtype=float)
    if (np.ptp(columns, axis=1) <= ROUNDING * np.abs(columns).max(axis=1)).any():
        return None
    return float(np.clip(np.corrcoef(columns)[0, 1], -1, 1))


def _with_interval(r: float | None, encoders: int) -> dict[str, float | None]:
    values = {AVERAGE: r}
    if r is not None and encoders >= FEWEST_UNITS:
        values[low(AVERAGE)], values[high(AVERAGE)] = Correlation(r, encoders).interval(LEVEL)
    return values
