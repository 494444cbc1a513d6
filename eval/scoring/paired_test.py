"""Tests of two systems in every direction and group of directions, on the same exchanged and drawn lines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

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

    def record(self) -> dict:
        return asdict(self)


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
        columns = _Columns()
        for directions in _with_equally_many_lines(baseline):
            arrays = [stacked([one[direction] for direction in directions]) for one in (baseline, system)]
            self._add(columns, directions, arrays, measure)
        return {name: self._result(columns, directions) for name, directions in groups.items()}

    def _add(
        self, columns: "_Columns", directions: list[str], arrays: list[np.ndarray], measure: str
    ) -> None:
        exchanged = None
        if self.test == BOOTSTRAP:
            whole = np.ones((1, len(arrays[0])))
            observed = [spearman(whole, one)[0] for one in arrays]
            resampled = resampled_spearman(*arrays, self.samples, self.seed)
        else:
            score = FORMULAS[measure]
            observed = [score(one.sum(axis=0, dtype=np.float64)) for one in arrays]
            by_bootstrap = self.test == SACREBLEU_BOOTSTRAP
            resamples = self.samples if by_bootstrap else RESAMPLES
            resampled = resampled_scores(*arrays, score, resamples, self.seed)
            if not by_bootstrap:
                exchanged = exchanged_differences(*arrays, score, self.samples, self.seed)
        for i, direction in enumerate(directions):
            columns.lines[direction] = len(arrays[0])
            columns.observed[direction] = [one[i] for one in observed]
            columns.resampled[direction] = [one[:, i] for one in resampled]
            columns.exchanged[direction] = None if exchanged is None else exchanged[:, i]

    def _result(self, columns: "_Columns", directions: Sequence[str]) -> PairedResult:
        scores = [np.mean([columns.observed[d][side] for d in directions], axis=0) for side in (0, 1)]
        resampled = [np.mean([columns.resampled[d][side] for d in directions], axis=0) for side in (0, 1)]
        baseline, system = (float(one.mean()) for one in scores)
        drawn = resampled[1].mean(axis=1) - resampled[0].mean(axis=1)
        if self.test == SACREBLEU_BOOTSTRAP:
            p_value = sacrebleu_bootstrap_p(system - baseline, drawn)
        elif self.test == BOOTSTRAP:
            p_value = bootstrap_p(system - baseline, drawn)
        else:
            exchanged = np.mean([columns.exchanged[d] for d in directions], axis=0)
            p_value = randomization_p(system - baseline, exchanged)
        return PairedResult(
            len(directions),
            sum({columns.lines[d] for d in directions}),
            baseline,
            system,
            system - baseline,
            *interval(drawn, self.level),
            p_value,
            p_value_with_seeds(scores, resampled),
        )


@dataclass
class _Columns:
    """What was found of every direction: scores per seed, observed and per sample."""

    lines: dict[str, int] = field(default_factory=dict)
    observed: dict[str, list[np.ndarray]] = field(default_factory=dict)  # S of either system
    resampled: dict[str, list[np.ndarray]] = field(default_factory=dict)  # samples x S of either system
    exchanged: dict[str, np.ndarray | None] = field(default_factory=dict)  # samples


def _with_equally_many_lines(statistics: Statistics) -> list[list[str]]:
    blocks: dict[int, list[str]] = {}
    for direction, seeds in statistics.items():
        blocks.setdefault(len(seeds[0]), []).append(direction)
    return list(blocks.values())


def stacked(directions: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Arrays of lines x columns per direction and seed -> lines x directions x seeds x columns."""
    return np.stack([np.stack(seeds, axis=1) for seeds in directions], axis=1)
