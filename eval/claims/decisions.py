"""Claims with what finished trainings say of them."""

from dataclasses import dataclass, replace

import numpy as np

from eval.claims.costs import CostOfClaim, cost_of_claim
from eval.claims.declared import Claim, Claims, Term, Value
from eval.claims.trainings import Trainings
from eval.claims.verdicts import CANNOT_TELL, Finding, corrected, finding, together, verdict
from eval.scoring.estimates import Estimate, correlation, difference, paired_difference

Numbers = dict[tuple[str, str], list[float | None]]  # system, value -> one per seed


@dataclass(frozen=True)
class Decision:
    """A claim, and what is known of it.

    Attributes:
        trainings: finished and planned ones; no estimate while they are fewer.
        estimates: one per contrast, or of the correlation.
        deviations: over seeds: of every system, or of the paired contrast.
        p_value: after Holm's correction.
        cost: of all its trainings; None where a system has none, nor any that may stand for it.
    """

    claim: Claim
    trainings: tuple[int, int] = (0, 0)
    estimates: tuple[Estimate, ...] = ()
    deviations: tuple[tuple[str, float], ...] = ()
    found: Finding | None = None
    p_value: float | None = None
    verdict: str | None = None
    cost: CostOfClaim | None = None


def decide(claims: Claims, trainings: Trainings) -> list[Decision]:
    """What is known of every claim; one of whose trainings some are not there waits."""
    first = {claim.number: _measured(claim, trainings) for claim in claims.claims}
    decisions = []
    for claim in claims.claims:
        decision = first[claim.number]
        if decision.found is not None:
            family = [first[one.number] for one in claims.family(claim)]
            p_values = corrected([one.found and one.found.p_value for one in family])
            p_value = p_values[family.index(decision)]
            said = verdict(decision.found, p_value, claims.level)
            decision = replace(decision, p_value=p_value, verdict=said)
        # when all trainings of all claims have been looked at, as one may stand for another
        cost = cost_of_claim(systems_of(claim), claim.seeds, trainings.costs(claim.place), claim.one_budget)
        decisions.append(replace(decision, cost=cost))
    return decisions


def decide_paired(claims: Claims, trainings: Trainings) -> list[tuple[Decision, Decision]]:
    """Every row that has its numbers and takes trainings of one seed for independent ones: as it finds them
    so, and as it would by the differences of every seed. No p-value is corrected.
    """
    found = []
    for claim in claims.claims:
        if claim.paired or max(map(len, claim.contrasts), default=0) < 2:
            continue
        declared, paired = (_measured(one, trainings) for one in (claim, replace(claim, paired=True)))
        if declared.found is not None:
            found.append((declared, paired))
    return found


def _measured(claim: Claim, trainings: Trainings) -> Decision:
    if claim.not_tried:
        return Decision(claim)
    for system in systems_of(claim):
        for seed in claim.seeds:
            trainings.measure_cost(claim.place, system, seed)
    numbers: Numbers = {
        (system, value.name): [trainings.number(claim.place, value, system, seed) for seed in claim.seeds]
        for system, value in measures_of(claim)
    }
    known = [value for values in numbers.values() for value in values]
    counts = sum(value is not None for value in known), len(known)
    if counts[0] < counts[1]:
        return Decision(claim, counts)
    if none := next((key for key, values in numbers.items() if np.isnan(values).any()), None):
        seed = claim.seeds[int(np.argmax(np.isnan(numbers[none])))]
        return Decision(claim, counts, verdict=f"{CANNOT_TELL}: no {none[1]} of `{none[0]}`, seed {seed}")
    arrays = {key: np.array(values, dtype=float) for key, values in numbers.items()}
    estimates = tuple(_estimates(claim, arrays))
    found = together([finding(claim.expectation, one) for one in estimates])
    return Decision(claim, counts, estimates, tuple(_deviations(claim, arrays)), found)


def measures_of(claim: Claim) -> list[tuple[str, Value]]:
    """The systems and values that a claim is about, each once."""
    terms = [(term.system, term.value) for contrast in claim.contrasts for term in contrast]
    terms += [(system, value) for system in claim.systems for value in claim.correlation]
    return list(dict.fromkeys(terms))


def systems_of(claim: Claim) -> list[str]:
    """Those that are trained for a claim, each once."""
    return list(dict.fromkeys(system for system, _ in measures_of(claim)))


def _estimates(claim: Claim, arrays: dict):
    if claim.correlation:
        means = [
            [arrays[system, value.name].mean() for system in claim.systems] for value in claim.correlation
        ]
        yield correlation(*means)
    for contrast in claim.contrasts:
        estimate = paired_difference if claim.paired else difference
        yield estimate(_values(contrast, arrays))


def _values(contrast: tuple[Term, ...], arrays: dict) -> list[tuple[float, np.ndarray]]:
    return [(term.coefficient, arrays[term.system, term.value.name]) for term in contrast]


def _deviations(claim: Claim, arrays: dict):
    if claim.paired:
        for shown, contrast in zip(claim.shown, claim.contrasts, strict=True):
            yield shown, float(sum(c * values for c, values in _values(contrast, arrays)).std(ddof=1))
    elif not claim.correlation:
        for (system, _), values in arrays.items():
            yield system, float(values.std(ddof=1))
