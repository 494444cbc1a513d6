"""Scored folders grouped into systems, whose runs differ in their seed only, with mean and deviation."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from command_line.errors import InputError
from data_prep.bleu import tokenizer_of
from eval.results.files import Scores

SEARCH_OPTIONS = {"length_candidates": 1, "length_weight": 1, "score_without_tag": False}  # with defaults


@dataclass(frozen=True)
class MeanStd:
    """Mean over seeds and sample standard deviation (n - 1), which one run does not have."""

    mean: float
    std: float | None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "MeanStd | None":
        """None if any run lacks the value: a mean over fewer seeds would not be the system's."""
        values = list(values)
        if not values or any(value is None for value in values):
            return None
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def text(self, digits: int, scale: float = 1.0, unit: str = "") -> str:
        """As in `16.8 ± 0.6`; without deviation for one run."""
        deviation = "" if self.std is None else f" ± {self.std * scale:.{digits}f}"
        return f"{self.mean * scale:.{digits}f}{deviation}{unit}"


@dataclass(frozen=True)
class System:
    """All runs of one system on one dataset, ordered by seed."""

    name: str
    dataset: str
    runs: tuple[Scores, ...]

    @property
    def settings(self) -> dict:
        """The fields of translate.json's "system": norm_placement, language_tags, … without name and seed."""
        return _settings(self.runs[0])

    @property
    def search(self) -> dict:
        """How hypotheses were searched."""
        return _search(self.runs[0])

    @property
    def pivot(self) -> str | None:
        return self.runs[0].pivot

    @property
    def seeds(self) -> list:
        return [run.seed for run in self.runs]

    @property
    def run_labels(self) -> list[str]:
        """Seeds as column titles."""
        return [run_label(run.seed, number) for number, run in enumerate(self.runs, 1)]

    def directions(self, kind: str | None = None) -> list[str]:
        entries = self.runs[0].directions.items()
        return [direction for direction, entry in entries if kind in (None, entry["kind"])]

    def scores(self, direction: str, measure: str) -> list[float | None]:
        """One score per run; None where the direction or the measure is missing."""
        return [run.directions.get(direction, {}).get(measure) for run in self.runs]

    def averages(self, group: str, measure: str) -> list[float | None]:
        """Average over the directions of a group, per run."""
        return [run.average(group, measure) for run in self.runs]


def run_label(seed, number: int) -> str:
    """The seed; runs without a known seed are numbered."""
    return f"run {number}" if seed is None else str(seed)


class Run(Protocol):
    """What was measured of one training of a system on one dataset."""

    path: Path  # of the file, for errors
    system: dict  # the record
    name: str  # of the system
    dataset: str
    seed: int | None


def _settings(run: Run) -> dict:
    return {key: value for key, value in run.system.items() if key not in ("name", "seed")}


def _search(run: Scores) -> dict:
    return {option: run.record.get(option, default) for option, default in SEARCH_OPTIONS.items()}


def group_runs(runs: Iterable[Run]) -> dict[tuple[str, str], tuple]:
    """(dataset, name) -> the runs of one system, ordered by seed; systems as they first appear.

    Raises:
        InputError: two runs are the same seed, or runs under one name are not the same system; names both
            files.
    """
    from fairseq_ext.axes.record import check_record

    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        check_record(run.system, run.path)
        others = groups.setdefault((run.dataset, run.name), [])
        for other in others:
            if run.seed is not None and run.seed == other.seed:
                raise InputError(
                    f"{run.path} and {other.path}: both are seed {run.seed} of system {run.name!r}; give one"
                    " of them another --name"
                )
        if others:
            _same(others[0], run, "system", _settings(others[0]), _settings(run))
        others.append(run)
    return {group: tuple(sorted(found, key=_by_seed)) for group, found in groups.items()}


def _by_seed(run: Run) -> tuple:
    return (run.seed is None, run.seed if run.seed is not None else 0)


def group_systems(scores: Iterable[Scores]) -> list[System]:
    """Systems in the order in which they first appear.

    Raises:
        InputError: one run is given twice, or runs under one name are not the same system, or do not have the
            same directions, or BLEU of one direction was scored with different tokenizers; names both files.
    """
    scores = list(scores)
    seen = set()
    for run in scores:
        if run.path.resolve() in seen:
            raise InputError(f"{run.path}: given twice")
        seen.add(run.path.resolve())
    _check_tokenizers(scores)
    groups = group_runs(scores)
    for first, *others in groups.values():
        for run in others:
            _check_measured_alike(first, run)
    return [System(name, dataset, runs) for (dataset, name), runs in groups.items()]


def _check_measured_alike(first: Scores, run: Scores) -> None:
    _same(first, run, "split", first.record["split"], run.record["split"])
    for option in SEARCH_OPTIONS:
        _same(first, run, option, _search(first)[option], _search(run)[option])
    _same(first, run, "directions", _kinds(first), _kinds(run))


def _kinds(run: Scores) -> dict:
    return {direction: entry["kind"] for direction, entry in run.directions.items()}


def _check_tokenizers(scores: list[Scores]) -> None:
    """BLEU over other tokens is another number: it stands in no table and no mean beside this one."""
    seen: dict[tuple[str, str], tuple[str, Scores]] = {}
    for run in scores:
        for direction, entry in run.directions.items():
            found = tokenizer_of(str(entry.get("bleu_signature", "")))
            expected, first = seen.setdefault((run.dataset, direction), (found, run))
            if found != expected:
                raise InputError(
                    f"{run.path}: direction {direction}: BLEU with the tokenizer {found!r}, but"
                    f" {expected!r} in {first.path}; score both with the same --tokenize"
                )


def _same(first: Run, run: Run, what: str, expected, found) -> None:
    if expected == found:
        return
    if isinstance(expected, dict):
        key = next(key for key in {**expected, **found} if expected.get(key) != found.get(key))
        what, expected, found = f"{what}.{key}", expected.get(key), found.get(key)
    shown = [
        "not recorded, as in version 0.1" if value is None else repr(value) for value in (found, expected)
    ]
    raise InputError(
        f"{run.path}: {what} is {shown[0]}, but {shown[1]} in {first.path};"
        f" runs named {run.name!r} must differ in their seed only"
    )
