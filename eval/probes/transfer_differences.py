"""Does one encoder transfer better than another? Tests of the differences between zero-shot averages."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from command_line.measurements import numbers
from eval.probes.transfer_indexes import Transfer, average, uncertainty, with_interval
from eval.scoring.estimates import Difference
from eval.scoring.significance import holm

MEASURE = "difference"


def differences(members: Sequence[Transfer]) -> list[tuple[dict, list[dict]]]:
    """The run and the rows of every two encoders that were tested in the same languages: the second less the
    first, its interval, and the p-value, also by Holm for all of them.

    Without kept examples and without several seeds of both, there is no test.
    """
    pairs = [pair for pair in combinations(members, 2) if set(pair[0].languages) == set(pair[1].languages)]
    tested = [(*pair, estimate) for pair in pairs if (estimate := difference_of(*pair))]
    p_values = [two_sided(estimate) for *_, estimate in tested]
    runs = []
    for (first, second, found), p_value, adjusted in zip(tested, p_values, holm(p_values), strict=True):
        values = with_interval(MEASURE, found.effect, found)
        values |= {"p_value": p_value, "adjusted_p_value": adjusted}
        name = f"{second.encoder} - {first.encoder}"
        run = first.run | {"system": {"name": name}, "translate_train": None}
        runs.append((run, numbers(values, part=first.group)))
    return runs


def difference_of(first: Transfer, second: Transfer) -> Difference | None:
    """Of the averages over languages. Examples are those of both encoders: they are paired. Trainings are
    independent.
    """
    terms = [(1.0, average(second.zero_shot)), (-1.0, average(first.zero_shot))]
    examples = [(1 / len(first.languages), paired(first, second, language)) for language in first.languages]
    return uncertainty(sum(c * values.mean() for c, values in terms), terms, examples)


def paired(first: Transfer, second: Transfer, language: str) -> np.ndarray | None:
    """N differences of the examples of a language; None where they were not kept, or are other examples."""
    scores = [transfer.zero_shot_examples.get(language) for transfer in (first, second)]
    are_paired = all(values is not None for values in scores) and len(scores[0]) == len(scores[1])
    return scores[1] - scores[0] if are_paired else None


def two_sided(estimate: Difference) -> float:
    """The p-value of no difference."""
    return min(1.0, 2 * min(estimate.p_above(0.0), estimate.p_below(0.0)))
