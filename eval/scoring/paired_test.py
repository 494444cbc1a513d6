"""Tests of two systems in every direction and group of directions, on the same exchanged and drawn lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.scoring.line_statistics import FORMULAS
from eval.scoring.rank_correlation import resampled_spearman, spearman
from eval.scoring.significance import (
    bootstrap_p,
    exchanged_differences,
    interval,
    p_value_with_seeds,
    randomization_p,
    resampled_scores,
    sacrebleu_bootstrap_p,
)

RANDOMIZATION, SACREBLEU_BOOTSTRAP, BOOTSTRAP = "randomization", "sacrebleu-bootstrap", "bootstrap"
TESTS = {
    RANDOMIZATION: "paired approximate randomization (Riezler and Maxwell, 2005)",
    SACREBLEU_BOOTSTRAP: "sacreBLEU's paired bootstrap, with about 11% false positives at 0.05",
    BOOTSTRAP: "paired bootstrap over pairs of sentences",
}
RESAMPLES = 2000  # for intervals
Statistics = Mapping[str, Sequence[np.ndarray]]  # direction -> one array per seed, lines x columns


@dataclass(frozen=True)
class PairedResult:
    """Scores are means over directions and seeds. `difference` is that of the system minus that of the
    baseline, `low` and `high` its interval; `p_value_with_seeds` is None for fewer than three seeds.
    """

    directions: int
    units: int
    baseline: float
    system: float
    difference: float
    low: float
    high: float
    p_value: float
    p_value_with_seeds: float | None


@dataclass(frozen=True)
class Scored:
    """The scores of a direction, each of baseline and system.

    Attributes:
        observed: S.
        resampled: samples x S.
        exchanged: differences after exchanges; None without such samples.
    """

    lines: int
    observed: list[np.ndarray]
    resampled: list[np.ndarray]
    exchanged: np.ndarray | None


@dataclass(frozen=True)
class PairedTest:
    """How to test.

    Attributes:
        samples: for the p-value.
        seed: of the random generator; sacreBLEU with the same seed and as many samples draws the same lines.
        level: 1 - the confidence of intervals.
    """

    samples: int
    seed: int = 12345
    level: float = 0.05
    test: str = RANDOMIZATION

    def __call__(
        self, measure: str, baseline: Statistics, system: Statistics, groups: Mapping[str, Sequence[str]]
    ) -> dict[str, PairedResult]:
        """Test every group.

        Args:
            measure: whose statistics they are.
            groups: name -> directions, which both systems have.
        """
        blocks: dict[int, list[str]] = {}  # directions with equally many lines
        for direction, seeds in baseline.items():
            blocks.setdefault(len(seeds[0]), []).append(direction)
        scored: dict[str, Scored] = {}
        for directions in blocks.values():
            arrays = [stacked([side[direction] for direction in directions]) for side in (baseline, system)]
            scored |= zip(directions, self._scored(measure, *arrays), strict=True)
        return {
            name: self._result([scored[direction] for direction in directions])
            for name, directions in groups.items()
        }

    def _scored(self, measure: str, *arrays: np.ndarray) -> list[Scored]:
        """The scores of directions with equally many lines, in their order."""
        exchanged = None
        if self.test == BOOTSTRAP:
            observed = [spearman(np.ones((1, len(array))), array)[0] for array in arrays]
            resampled = resampled_spearman(*arrays, self.samples, self.seed)
        else:
            score, samples = FORMULAS[measure], RESAMPLES
            observed = [score(array.sum(axis=0, dtype=np.float64)) for array in arrays]
            if self.test == SACREBLEU_BOOTSTRAP:
                samples = self.samples
            else:
                exchanged = exchanged_differences(*arrays, score, self.samples, self.seed)
            resampled = resampled_scores(*arrays, score, samples, self.seed)
        return [
            Scored(
                len(arrays[0]),
                [side[number] for side in observed],
                [side[:, number] for side in resampled],
                None if exchanged is None else exchanged[:, number],
            )
            for number in range(len(observed[0]))
        ]

    def _result(self, directions: Sequence[Scored]) -> PairedResult:
        scores = [np.mean([direction.observed[side] for direction in directions], axis=0) for side in (0, 1)]
        resampled = [
            np.mean([direction.resampled[side] for direction in directions], axis=0) for side in (0, 1)
        ]
        baseline, system = (float(side.mean()) for side in scores)
        drawn = resampled[1].mean(axis=1) - resampled[0].mean(axis=1)
        if self.test == SACREBLEU_BOOTSTRAP:
            p_value = sacrebleu_bootstrap_p(system - baseline, drawn)
        elif self.test == BOOTSTRAP:
            p_value = bootstrap_p(system - baseline, drawn)
        else:
            exchanged = np.mean([direction.exchanged for direction in directions], axis=0)
            p_value = randomization_p(system - baseline, exchanged)
        return PairedResult(
            len(directions),
            sum({direction.lines for direction in directions}),
            baseline,
            system,
            system - baseline,
            *interval(drawn, self.level),
            p_value,
            p_value_with_seeds(scores, resampled),
        )


def stacked(directions: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Arrays of lines x columns per direction and seed -> lines x directions x seeds x columns."""
    return np.stack([np.stack(seeds, axis=1) for seeds in directions], axis=1)
