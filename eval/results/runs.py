"""Runs of one system on one dataset, which differ in their seed, in the result files of probes."""

from collections.abc import Iterable

from command_line.errors import InputError
from eval.results.files import field
from eval.results.result_set import ResultSet

Runs = dict[tuple[str, str], list[dict]]  # (dataset, system) -> runs


def runs_of(results: ResultSet, kind: str) -> Runs:
    """The runs of all result files of a kind, in the order given.

    Raises:
        InputError: two are the same seed of the same system.
    """
    runs = [
        (path, run) for path, record in results.of_kind(kind) for run in field(record, "runs", list, path)
    ]
    return grouped(runs)


def grouped(runs: Iterable[tuple[object, dict]]) -> Runs:
    """
    Args:
        runs: each with where it is from, for errors.
    """
    groups: Runs = {}
    seen: dict[tuple, object] = {}
    for origin, run in runs:
        key = (field(run, "dataset", str, origin), field(run, "system.name", str, origin))
        seed = run["system"].get("seed")
        if seed is not None and (*key, seed) in seen:
            raise InputError(
                f"{origin} and {seen[(*key, seed)]}: both are seed {seed} of system {key[1]!r}; give one of"
                " them another --name"
            )
        seen[(*key, seed)] = origin
        groups.setdefault(key, []).append(run)
    return groups


def seed_of(run: dict, number: int) -> str:
    """The seed as a label; runs without a known seed are numbered."""
    seed = run["system"].get("seed")
    return f"run {number}" if seed is None else str(seed)


def datasets_of(groups: Iterable[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(dataset for dataset, _ in groups))


def on(groups: Runs, dataset: str) -> dict[str, list[dict]]:
    """System -> its runs on one dataset."""
    return {system: runs for (name, system), runs in groups.items() if name == dataset}
