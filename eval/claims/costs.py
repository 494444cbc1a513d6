"""What the trainings of a claim took, all together, from their logs (`eval.probes.cost`).

A training whose log nobody has, or that is still to come, counts as the mean of its system, or else, where
all systems of the experiment have one budget, of the experiment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import fmean

from eval.probes import cost
from eval.probes.training_logs import LOG
from fairseq_ext.training_record import has_ended

Known = Mapping[str, Mapping[str, "Cost"]]  # system -> seed -> of that training


@dataclass(frozen=True)
class Cost:
    """Of one training, or of several.

    Attributes:
        updates: of the parameters.
        words: subwords of targets.
        operations: floating-point operations; None where they do not follow from words and parameters.
        cpu_seconds: None where they were not noted.
    """

    updates: float
    words: float
    operations: float | None
    cpu_seconds: float | None

    @classmethod
    def of(cls, record: Mapping) -> "Cost":
        """From a record that has these fields among others."""
        return cls(*(record[field.name] for field in fields(cls)))


@dataclass(frozen=True)
class CostOfClaim:
    """Of all trainings of a claim.

    Attributes:
        trainings: their number.
        measured: of how many there is a log.
        total: over all of them.
    """

    trainings: int
    measured: int
    total: Cost


def cost_of_training(folder: Path) -> Cost | None:
    """None where the training has not ended or has no log."""
    if not (folder / LOG).exists() or not has_ended(folder):
        return None
    return Cost.of(cost.measure(folder / LOG))


def cost_of_claim(
    systems: Iterable[str], seeds: Sequence[int], known: Known, one_budget: bool
) -> CostOfClaim | None:
    """None where no training of a system has been measured, nor any that may stand for it.

    Args:
        known: of all systems of the experiment.
        one_budget: do these have one?
    """
    every = [one for of_system in known.values() for one in of_system.values()] if one_budget else []
    measured, counted = 0, []
    for system in systems:
        own = known.get(system, {})
        if not own and not every:
            return None
        usual = _over(fmean, own.values() or every)
        counted += [own.get(str(seed), usual) for seed in seeds]
        measured += sum(str(seed) in own for seed in seeds)
    return CostOfClaim(len(counted), measured, _over(sum, counted)) if counted else None


def _over(take, costs: Iterable[Cost]) -> Cost:
    """Of every number their mean, or their sum; None where one lacks it."""
    columns = zip(*map(astuple, costs), strict=True)
    return Cost(*(None if None in column else take(column) for column in columns))
