"""Runs of one system on one dataset, which differ in their seed, in the result files of probes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eval.results.files import field
from eval.results.result_set import ResultSet
from eval.results.systems import group_runs, run_label

Runs = dict[tuple[str, str], list[dict]]  # (dataset, system) -> runs


def runs_of(results: ResultSet, kind: str) -> Runs:
    """The runs of all result files of a kind, systems in the order given.

    Raises:
        InputError: two are the same seed of the same system, or runs under one name are other systems.
    """
    runs = [
        (path, run) for path, record in results.of_kind(kind) for run in field(record, "runs", list, path)
    ]
    return grouped(runs)


@dataclass(frozen=True)
class ProbedRun:
    """One of the "runs" of a result file of a probe."""

    path: Path
    record: dict

    @property
    def system(self) -> dict:
        return field(self.record, "system", dict, self.path)

    @property
    def name(self) -> str:
        return field(self.record, "system.name", str, self.path)

    @property
    def dataset(self) -> str:
        return field(self.record, "dataset", str, self.path)

    @property
    def seed(self) -> int | None:
        return self.system.get("seed")


def grouped(runs: Iterable[tuple[object, dict]]) -> Runs:
    """The runs of every system, as `group_runs` groups those of scored folders.

    Args:
        runs: each with where it is from, for errors.
    """
    groups = group_runs(ProbedRun(origin, run) for origin, run in runs)
    return {group: [run.record for run in found] for group, found in groups.items()}


def seed_of(run: dict, number: int) -> str:
    return run_label(run["system"].get("seed"), number)


def datasets_of(groups: Iterable[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(dataset for dataset, _ in groups))


def on(groups: Runs, dataset: str) -> dict[str, list[dict]]:
    """System -> its runs on one dataset."""
    return {system: runs for (name, system), runs in groups.items() if name == dataset}
