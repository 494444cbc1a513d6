"""Comparisons of translation systems, by BLEU, chrF++ and COMET."""

from collections.abc import Sequence
from functools import lru_cache
from statistics import mean

from eval.checks import check_comet
from eval.labels import GROUPS, MEASURES, groups_of
from eval.scored import Scores
from eval.scoring.comparison import Compared, common_directions, named_once
from eval.scoring.human_agreement import agreement
from eval.scoring.line_statistics import load_statistics
from eval.scoring.system_pairs import Pair, check_same
from eval.systems import Run

MEANINGLESS_BLEU = 1.0  # what references in the wrong order get, see docs/evaluation.md


def groups_to_test(pair: Pair) -> dict[str, dict[str, list[str]]]:
    """Each common direction alone, and the groups of `eval score`'s averages, those with the same directions
    once.
    """
    common = common_directions(pair)
    kinds = {name: pair.baseline.runs[0].directions[name]["kind"] for name in common}
    groups = {group: [name for name in common if group in groups_of(name, kinds[name])] for group in GROUPS}
    return {"overall": named_once(groups), "directions": {name: [name] for name in common}}


def check_measure(pairs: Sequence[Pair], measure: str) -> None:
    """Both systems of every pair were scored by the same chrF++ or COMET; else an `InputError`."""
    for pair in pairs:
        first, *others = (*pair.baseline.runs, *pair.system.runs)
        if measure == "comet":
            check_comet([first, *others])
        for run in others if measure == "chrf" else ():
            check_same(first, run, "chrf_signature")


def agreement_of_people(measure: str, pair: Pair, difference: float) -> float | None:
    """The share of people that agree with a difference, from 0.5 to 1."""
    run = pair.baseline.runs[0]
    signature = next(iter(run.directions.values()))["bleu_signature"]
    model = run.record["scoring"].get("comet_model")
    return agreement(measure, difference * MEASURES[measure].scale, model, signature)


def neither_translates(pair: Pair, directions: Sequence[str]) -> bool:
    """Whether both systems have at most `MEANINGLESS_BLEU`, on average over directions and seeds."""
    return all(
        mean(bleu_of(run)[direction] for run in system.runs for direction in directions) <= MEANINGLESS_BLEU
        for system in (pair.baseline, pair.system)
    )


@lru_cache(maxsize=1000)
def bleu_of(run: Run) -> dict[str, float]:
    """Direction -> BLEU of a scored folder."""
    from eval.measurements import rows_of  # with pandas: not before it is needed

    rows = rows_of(run)
    return rows[rows.measure == "bleu"].set_index("direction").value.to_dict()


TRANSLATIONS = Compared(
    kind="scores",
    measures=("bleu", "chrf", "comet"),
    load=lambda path: [Scores.load(path)],
    groups=groups_to_test,
    statistics=load_statistics,
    check=check_measure,
    agreement=agreement_of_people,
    neither_translates=neither_translates,
)
