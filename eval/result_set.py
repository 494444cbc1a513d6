"""All result files given to a report, by kind, with the scored folders grouped into systems."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import checksum
from eval.labels import block, order
from eval.results import SCORES, Scores, field, read_result, result_file
from eval.systems import System, group_systems


@dataclass(frozen=True, eq=False)
class ResultSet:
    """Result files in the order given: (path, contents) per kind."""

    files: dict[str, list[tuple[Path, dict]]]

    @classmethod
    def load(cls, paths: Iterable, kinds: Iterable[str]) -> "ResultSet":
        """Read files; a folder stands for its scores.json.

        Args:
            kinds: the kinds of files that some section shows.
        """
        files: dict[str, list[tuple[Path, dict]]] = {kind: [] for kind in kinds}
        for given in paths:
            path = result_file(given, SCORES)
            record = read_result(path)
            kind = field(record, "kind", str, path)
            if kind not in files:
                raise InputError(f"{path}: kind is {kind!r}, expected one of: {', '.join(files)}")
            files[kind].append((path, record))
        return cls(files)

    def of_kind(self, kind: str) -> list[tuple[Path, dict]]:
        return self.files.get(kind, [])

    @cached_property
    def systems(self) -> list[System]:
        """Systems in the order of Table 8.2."""
        return sorted(group_systems(Scores.load(path) for path, _ in self.of_kind("scores")), key=order)

    @cached_property
    def datasets(self) -> list[str]:
        """In the order given."""
        return list(dict.fromkeys(Scores.load(path).dataset for path, _ in self.of_kind("scores")))

    def on(self, dataset: str) -> list[System]:
        return [system for system in self.systems if system.dataset == dataset]

    @cached_property
    def comparisons(self) -> list[dict]:
        """All comparisons of all comparison files, each with the p-value `level` of its file."""
        return [
            comparison | {"level": field(record, "level", (int, float), path)}
            for path, record in self.of_kind("comparison")
            for comparison in field(record, "comparisons", list, path)
        ]

    def rivals(self, system: System) -> list[System]:
        """Systems that differ from `system` in the placement of normalization only."""
        return [other for other in self.systems if other is not system and block(other) == block(system)]

    def is_significantly_better(self, system: System, group: str) -> bool:
        """Whether BLEU of `system` was compared with rivals' and significantly higher every time."""
        rivals = {rival.name for rival in self.rivals(system)}
        verdicts = []
        for comparison in self.comparisons:
            pair = [comparison["baseline"], comparison["system"]]
            result = comparison["overall"].get(group)
            if (
                comparison["dataset"] != system.dataset
                or system.name not in pair
                or not rivals & set(pair)
                or not result
            ):
                continue
            sign = 1 if comparison["system"] == system.name else -1
            verdicts.append(result["significant"] and sign * result["difference"] > 0)
        return bool(verdicts) and all(verdicts)

    def sources(self) -> list[tuple[str, str, str]]:
        """Kind, path and SHA-256 of every file read."""
        return [(kind, str(path), checksum(path)) for kind, files in self.files.items() for path, _ in files]
