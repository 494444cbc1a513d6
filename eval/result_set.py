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
    def load(cls, paths: Iterable, kinds: Iterable[str], **shown) -> "ResultSet":
        """Read files of these kinds; a folder stands for all such files in it."""
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
        return [Scores.of(path, record) for path, record in self.of_kind("scores")]

    @cached_property
    def systems(self) -> list[System]:
        """Systems that translate, in the order of Table 8.2; checked."""
        systems = group_runs(self._scores)
        check_comet(self._scores)
        check_identifier(self._scores)
        return sorted(systems, key=order)

    def systems_of(self, kind: str) -> list[System]:
        """Those of all files of a kind."""
        return self.systems if kind == "scores" else self.probed(kind)

    @cached_property
    def datasets(self) -> list[str]:
        """The datasets in the order given."""
        return list(dict.fromkeys(scores.dataset for scores in self._scores))

    def on(self, dataset: str) -> list[System]:
        return by_dataset(self.systems)[dataset]

    def probed(self, kind: str) -> list[System]:
        """The systems of the "runs" of all files of a kind, in the order given; checked by `group_runs`."""
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
        scored = {(run.dataset, run.name, run.seed): run for system in self.systems for run in system.runs}
        for kind, path, record in ((kind, *file) for kind, files in self.files.items() for file in files):
            for probed in (Run(path, run) for run in record.get("runs", [])):
                run = scored.get((probed.dataset, probed.system["name"], probed.seed))
                sha256s = {each.value("checkpoint", "sha256") for each in (run, probed) if each} - {None}
                has_other_search = (
                    kind in OF_TRANSLATIONS and run and probed.record.get("search") != run.search
                )
                if len(sha256s) > 1 or has_other_search:
                    what = "checkpoint" if len(sha256s) > 1 else "search"
                    raise InputError(
                        f"{path}: is of another {what} of {run.name!r} than {run.path}; probe that one again"
                    )

    def overwritten(self) -> list[tuple[Path, Path]]:
        """Scores, and the checkpoint that their translations were made with, where that is another one now.
        Its path is as it was given then: from elsewhere it may not be found, and nothing is known. Of a
        language model it is the folder of what was tuned last.
        """
        overwritten = []
        for path, record in self.of_kind("scores"):
            translated = path.with_name(TRANSLATION)
            # Scores may have been made again, of old translations.
            checkpoints = _changed_checkpoint(record, translated if translated.exists() else path)
            overwritten += [(path, checkpoint) for checkpoint in checkpoints]
        return overwritten

    def outdated(self) -> list[tuple[Path, Path]]:
        """Results of probes, and files that they were made from, where these are others now: logs,
        checkpoints, results, and checkpoints that these results are of. Paths as for `overwritten`.
        """
        probed = [file for kind, files in self.files.items() if kind not in COMPARED for file in files]
        return [(path, file) for path, record in probed for file in _changed_inputs(path, record)]

    def sources(self) -> list[tuple[str, str, str]]:
        """Kind, path and SHA-256 of every file read."""
        return [(kind, str(path), checksum(path)) for kind, files in self.files.items() for path, _ in files]


def _changed_inputs(path: Path, record: dict) -> list[Path]:
    changed = []
    for given in record.get("inputs", []):
        file = Path(given["path"])
        if file.is_file() and is_overwritten(file, path, given["sha256"]):
            changed.append(file)
        elif file.is_file() and file.suffix == ".json":
            changed += _changed_checkpoint(read_json(file), file)
    return changed


def _changed_checkpoint(record, result: Path) -> list[Path]:
    """The checkpoint that the record of a result (of whatever kind) names, if it is another one now."""
    checkpoint = checkpoint_now(record)
    is_another = checkpoint and is_overwritten(checkpoint, result, record["checkpoint"].get("sha256"))
    return [checkpoint] if is_another else []
