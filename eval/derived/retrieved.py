"""What encoders retrieved in one test set, by pairs of languages, groups of languages and directions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pandas as pd

from embeddings.averages import in_direction, pair_of, pivot_of
from eval.measurements import Measurements, measured_by
from eval.result_set import RETRIEVAL, ResultSet
from eval.systems import MeanStd, System

COSINE = "cosine"
BY_NUMBER, BY_TEXT, ERROR = "p_at_1", "p_at_1_by_text", "error"  # measures of directions
Means = dict[tuple, MeanStd]  # (encoder, …) -> percent


@dataclass(frozen=True)
class Retrieved:
    """P@1 of encoders on one test set; the similarity is the `part` of the rows.

    Attributes:
        measured: of this set; its rows have the column "pair" besides.
        similarity: what tables of pairs and figures show.
        side: FROM or TO the language that all pairs have in common; None for the mean of both.
    """

    dataset: str
    measured: Measurements
    similarity: str
    side: str | None

    @classmethod
    @lru_cache(maxsize=1)  # several sections of a report ask the same
    def of(cls, results: ResultSet) -> "list[Retrieved]":
        """Every test set of which there are results.

        Raises:
            InputError: encoders on one set are of other texts; names both files.
        """
        measured = measured_by(results, RETRIEVAL, False)
        return [cls._of(results, *each) for each in measured.by_dataset().items()]

    @classmethod
    def _of(cls, results: ResultSet, dataset: str, measured: Measurements) -> "Retrieved":
        rows = measured.rows.assign(pair=measured.rows.direction.map(pair_of))
        measured = Measurements(measured.systems, rows)
        similarity = _similarity(measured, results.similarity)
        common = pivot_of([name for name in rows.direction.unique() if name])
        return cls(dataset, measured, similarity, results.direction if common else None)

    @property
    def systems(self) -> list[System]:
        return self.measured.systems

    @cached_property
    def directions(self) -> list[str]:
        return self.measured.values("direction", BY_NUMBER)

    @cached_property
    def pairs(self) -> list[str]:
        return list(dict.fromkeys(map(pair_of, self.directions)))

    @cached_property
    def pivot(self) -> str | None:
        """The language of all pairs; None if there is none."""
        return pivot_of(self.directions)

    @cached_property
    def similarities(self) -> list[str]:
        """The similarities by which any encoder was measured."""
        return self.measured.values("part", BY_NUMBER)

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Groups of languages that all runs have -> the pairs of each, at least one."""
        first, *others = (run.record["groups"] for system in self.systems for run in system.runs)
        return {
            name: group["pairs"]
            for name, group in first.items()
            if group["pairs"] and all(other.get(name) == group for other in others)
        }

    @property
    def label(self) -> str:
        """What is shown: the similarity, and the direction if it is one."""
        return f"{self.similarity}, {self.side} {self.pivot}" if self.side else self.similarity

    def rows(self, group: str | None = None, side: str | None = None) -> pd.DataFrame:
        """P@1 in the directions of all pairs, or of those of a group.

        Args:
            side: FROM or TO the language of all pairs: only these directions.
        """
        rows = self.measured.rows[self.measured.rows.measure == BY_NUMBER]
        if group:
            rows = rows[rows.pair.isin(self.groups[group])]
        if side:
            rows = rows[[in_direction(name, side, self.pivot) for name in rows.direction]]
        return rows

    def shown_rows(self, group: str | None = None) -> pd.DataFrame:
        """The rows by the similarity and in the directions that are shown."""
        rows = self.rows(group, self.side)
        return rows[rows.part == self.similarity]

    def means(self, by: Sequence[str]) -> Means:
        """(encoder, values of `by`) -> percent; "part" is the similarity."""
        return self.measured.means(BY_NUMBER, by, scale=100)

    def shown(self, group: str | None = None) -> Means:
        """Encoder -> percent, of what is shown."""
        return Measurements(self.systems, self.shown_rows(group)).means(BY_NUMBER, scale=100)


def _similarity(measured: Measurements, wanted: str | None) -> str:
    """What is wanted, or else cosine, if all encoders were measured by it; else the first that all have."""
    rows: pd.DataFrame = measured.rows[measured.rows.measure == BY_NUMBER]
    systems = rows.groupby("part", sort=False).system.nunique()
    common = list(systems[systems == len(measured.systems)].index) or list(systems.index)
    return next((name for name in (wanted, COSINE) if name in common), common[0])
