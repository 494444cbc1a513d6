"""What the sections of the probes share: runs of one system on one dataset, which differ in their seed."""

from collections.abc import Iterable

from eval.result_set import ResultSet
from eval.results import field


def runs_of(results: ResultSet, kind: str) -> dict[tuple[str, str], list[dict]]:
    """(dataset, system) -> its runs in all result files of a kind, in the order given."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for path, record in results.of_kind(kind):
        for run in field(record, "runs", list, path):
            key = (field(run, "dataset", str, path), field(run, "system.name", str, path))
            groups.setdefault(key, []).append(run)
    return groups


def seed_of(run: dict, number: int) -> str:
    """The seed as a label; runs without a known seed are numbered."""
    seed = run["system"].get("seed")
    return f"run {number}" if seed is None else str(seed)


def datasets_of(groups: Iterable[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(dataset for dataset, _ in groups))
