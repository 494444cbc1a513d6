"""All result files given to a report, by kind, with their runs grouped into systems."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.records import field, read_json
from eval.results.files import checkpoint_now, is_overwritten, read_result, result_files
from eval.results.labels import PLACEMENT, differing_axis, order
from eval.results.measures import common_measure
from eval.results.scores import TRANSLATION, Scores, check_comet, check_identifier, group_scores
from eval.results.systems import Run, System, by_dataset, group_probed

RETRIEVAL = "sentence-retrieval"  # of which comparisons are made, too
OF_TRANSLATIONS = ("off-target", "adequacy")  # probes of what was translated and scored
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
            InputError: as `group_scores`, `check_comet`, `check_identifier`.
        """
        systems = group_scores(self._scores)
        check_comet(self._scores)
        check_identifier(self._scores)
        return sorted(systems, key=order)

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
        return group_probed(runs)

    @cached_property
    def comparisons(self) -> list[dict]:
        """All comparisons of all comparison files.

        Raises:
            InputError: a file was made from other scores than those given, or two files have the same dataset
                and measure, so that their marks would belong to two families of tests.
        """
        families: dict[tuple, Path] = {}
        found = []
        for path, record in self.of_kind("comparison"):
            self._check_inputs(path, record)
            for comparison in field(record, "comparisons", list, path):
                family = comparison["dataset"], common_measure(comparison)
                if families.setdefault(family, path) != path:
                    raise InputError(
                        f"{path} and {families[family]}: both compare on {family[0]} by"
                        f" {family[1] or 'two measures'}; run python -m eval compare again, once with all"
                        " systems, so that the correction counts all tests of a table"
                    )
                found.append(comparison)
        return found

    def _check_inputs(self, path: Path, record: dict) -> None:
        """Systems of the report that were compared have the scores that they were compared with."""
        compared = {one["sha256"] for one in field(record, "inputs", list, path)}
        names = {
            (one["dataset"], one[side]) for one in record["comparisons"] for side in ("baseline", "system")
        }
        for run in (run for system in [*self.systems, *self.probed(RETRIEVAL)] for run in system.runs):
            if (run.dataset, run.name) in names and checksum(run.path) not in compared:
                raise InputError(
                    f"{path}: was not made from {run.path}, a run of {run.name!r};"
                    " run python -m eval compare again"
                )

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

    def rivals(self, system: System) -> list[System]:
        """Systems whose off-target rates are compared with that of `system`: PostNorm of PreNorm, as in Table
        8.2; on datasets without two such systems all that differ from it in that placement only.
        """
        found = [other for other in self.systems if differing_axis(system, other) == PLACEMENT]
        if self.has_pre_and_post(system.dataset):
            return [other for other in found if are_pre_and_post(system, other)]
        return found

    def has_pre_and_post(self, dataset: str) -> bool:
        """Whether two systems on a dataset differ in being PreNorm and PostNorm only."""
        systems = self.on(dataset)
        return any(
            differing_axis(first, second) == PLACEMENT and are_pre_and_post(first, second)
            for place, first in enumerate(systems)
            for second in systems[:place]
        )

    def marking(self, dataset: str, measure: str = "bleu") -> list[dict]:
        """The comparisons that tables of a dataset take their marks from, of one family of tests or two.

        Those of PreNorm with PostNorm, as in Table 8.2, or else those on that axis; without them those that
        were asked for by name and those on the first axis that was compared.
        """
        found = [one for one in self.comparisons if (one["dataset"], one["measure"]) == (dataset, measure)]
        axes = [one["axis"] for one in found if one["axis"] is not None]
        if PLACEMENT not in axes:
            return [one for one in found if one["axis"] in (None, *axes[:1])]
        chosen = [one for one in found if one["axis"] == PLACEMENT]
        return [one for one in chosen if self.is_of_pre_and_post(one)] or chosen

    def is_of_pre_and_post(self, comparison: dict) -> bool:
        """Whether it compares PreNorm with PostNorm."""
        by_name = {one.name: one for one in self.on(comparison["dataset"])}
        names = [comparison["baseline"], comparison["system"]]
        return set(names) <= by_name.keys() and are_pre_and_post(*(by_name[name] for name in names))

    def is_significantly_better(self, system: System, group: str) -> bool:
        """Whether BLEU of `system`, as it is shown, was significantly higher in every comparison that counts.

        If the systems of a pair have other directions, what was tested is not what is shown.
        """
        shown, verdicts = system.mean("averages", group, "bleu"), []
        for comparison in self.marking(system.dataset):
            result = comparison["overall"].get(group)
            if result and system.name in (comparison["baseline"], comparison["system"]):
                side, sign = ("system", 1) if comparison["system"] == system.name else ("baseline", -1)
                is_shown = shown is not None and math.isclose(shown.mean, result[side], abs_tol=1e-6)
                verdicts.append(is_shown and result["significant"] and sign * result["difference"] > 0)
        return bool(verdicts) and all(verdicts)

    def sources(self) -> list[tuple[str, str, str]]:
        """Kind, path and SHA-256 of every file read."""
        return [(kind, str(path), checksum(path)) for kind, files in self.files.items() for path, _ in files]


def are_pre_and_post(first: System, second: System) -> bool:
    """Not Swap-PreNorm, nor PreNorm without the encoder's final norm, which are on the same axis."""
    settings = (first.settings, second.settings)
    placements = {one.get("norm_placement") for one in settings}
    return placements == {"pre", "post"} and all(one.get("encoder_final_norm", True) for one in settings)


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
