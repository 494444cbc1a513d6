"""All result files given to a report, by kind, with their runs grouped into systems."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.records import field, read_json
from eval.checks import check_comet, check_identifier, group_runs
from eval.labels import order
from eval.result_files import checkpoint_now, is_overwritten, read_result, result_files
from eval.scored import TRANSLATION, Scores
from eval.systems import Run, System, by_dataset

RETRIEVAL, SIMILARITY = "sentence-retrieval", "sts"  # of which comparisons are made, too
OF_TRANSLATIONS = ("off-target", "adequacy", "bleurt")  # probes of what was translated and scored
COMPARED = ("scores", "comparison")  # kinds that have checks of their own


@dataclass(frozen=True, eq=False)
class ResultSet:
    """Result files, and what of them is shown.

    Attributes:
        files: (path, contents) per kind, in the order given.
        similarity: by which retrieval is shown, where it was measured by several; None for cosine.
        direction: in which retrieval is shown, where all pairs have a language in common: "from" it, or
            "to" it; None for the mean of both.
        allow_unlike: systems on one dataset may be of other sentences, or measured in other ways.
        reference: rows of published numbers, to show beside; None without.
    """

    files: dict[str, list[tuple[Path, dict]]]
    similarity: str | None = None
    direction: str | None = None
    allow_unlike: bool = False
    reference: Path | None = None

    @classmethod
    def load(
        cls,
        paths: Iterable,
        kinds: Iterable[str],
        **shown,
    ) -> "ResultSet":
        """Read files; a folder stands for all result files in it.

        Args:
            kinds: the kinds of files that some section shows.
            shown: the other attributes.
        """
        files: dict[str, list[tuple[Path, dict]]] = {kind: [] for kind in kinds}
        for path in (path for given in paths for path in result_files(given, files)):
            record = read_result(path)
            kind = field(record, "kind", str, path)
            if kind not in files:
                raise InputError(f"{path}: kind is {kind!r}, expected one of: {', '.join(files)}")
            files[kind].append((path, record))
        return cls(files, **shown)

    def of_kind(self, kind: str) -> list[tuple[Path, dict]]:
        return self.files.get(kind, [])

    @cached_property
    def _scores(self) -> list[Scores]:
        return [Scores.load(path) for path, _ in self.of_kind("scores")]

    @cached_property
    def systems(self) -> list[System]:
        """Systems in the order of Table 8.2.

        Raises:
            InputError: as `group_runs`, `check_comet`, `check_identifier`.
        """
        systems = group_runs(self._scores)
        check_comet(self._scores)
        check_identifier(self._scores)
        return sorted(systems, key=order)

    def systems_of(self, kind: str) -> list[System]:
        """Those of all files of a kind."""
        return self.systems if kind == "scores" else self.probed(kind)

    @cached_property
    def datasets(self) -> list[str]:
        """In the order given."""
        return list(dict.fromkeys(scores.dataset for scores in self._scores))

    def on(self, dataset: str) -> list[System]:
        return by_dataset(self.systems)[dataset]

    def probed(self, kind: str) -> list[System]:
        """The systems of the "runs" of all files of a kind, in the order given.

        Raises:
            InputError: two runs are the same seed of a system, or runs under one name are other systems, or
                were measured in other ways.
        """
        runs = [
            Run(path, run, record, number)
            for path, record in self.of_kind(kind)
            for number, run in enumerate(field(record, "runs", list, path))
        ]
        return group_runs(runs)

    def check_checkpoints(self) -> None:
        """What probes found is of the very models whose translations were scored, and of these translations.

        Raises:
            InputError: a training or a search was made anew in between; names both files.
        """
        scored = {(one.dataset, one.name, one.seed): one for system in self.systems for one in system.runs}
        for kind, path, record in ((kind, *file) for kind, files in self.files.items() for file in files):
            for run in record.get("runs", []):
                known = (run.get("checkpoint") or {}).get("sha256")
                system = run.get("system") or {}
                one = scored.get((run.get("dataset"), system.get("name"), system.get("seed")))
                if known and one and one.value("checkpoint", "sha256") not in (None, known):
                    raise InputError(
                        f"{path}: is of another checkpoint of {one.name!r} than {one.path}; probe that one"
                        " again"
                    )
                if one and kind in OF_TRANSLATIONS and run.get("search") != one.search:
                    raise InputError(
                        f"{path}: is of another search of {one.name!r} than {one.path}; probe that one again"
                    )

    def overwritten(self) -> list[tuple[Path, Path]]:
        """Scores, and the checkpoint that their translations were made with, where that is another one now.
        Its path is as it was given then: from elsewhere it may not be found, and nothing is known. Of a
        language model it is the folder of what was tuned last.
        """
        found = []
        for path, record in self.of_kind("scores"):
            checkpoint, translated = checkpoint_now(record), path.with_name(TRANSLATION)
            # Scores may have been made again, of old translations.
            made = translated if translated.exists() else path
            if checkpoint and is_overwritten(checkpoint, made, {record["checkpoint"].get("sha256")}):
                found.append((path, checkpoint))
        return found

    def outdated(self) -> list[tuple[Path, Path]]:
        """What probes found, and files that it was made from, where these are others now: logs, checkpoints,
        results, and checkpoints that these results are of. Paths as for `overwritten`.
        """
        probed = [file for kind, files in self.files.items() if kind not in COMPARED for file in files]
        return [(path, file) for path, record in probed for file in _changed_inputs(path, record)]

    def sources(self) -> list[tuple[str, str, str]]:
        """Kind, path and SHA-256 of every file read."""
        return [(kind, str(path), checksum(path)) for kind, files in self.files.items() for path, _ in files]


def _changed_inputs(path: Path, record: dict) -> list[Path]:
    changed = []
    for one in record.get("inputs", []):
        file = Path(one["path"])
        if not file.is_file():
            continue
        if is_overwritten(file, path, {one["sha256"]}):
            changed.append(file)
        elif file.suffix == ".json":
            changed += _changed_checkpoint(file)
    return changed


def _changed_checkpoint(result: Path) -> list[Path]:
    """The checkpoint that a result is of, if it is another one now."""
    record = read_json(result)  # of whatever kind
    checkpoint = checkpoint_now(record)
    is_another = checkpoint and is_overwritten(checkpoint, result, {record["checkpoint"].get("sha256")})
    return [checkpoint] if is_another else []
