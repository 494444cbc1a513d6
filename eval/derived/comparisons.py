"""What `python -m eval compare` found, and which of it counts where a table marks the higher score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from command_line.errors import InputError
from command_line.outputs import checksum
from eval.labels import PLACEMENT
from eval.measurements import measured_by
from eval.result_set import RETRIEVAL, SIMILARITY, ResultSet
from eval.systems import MeanStd, Run, System

KIND = "comparison"


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of two systems each.

    Attributes:
        runs: one per comparison; says which systems were compared, by what, and on which axis they differ.
        systems: those that translate.
        tests: place of a comparison in `runs`, and part ("overall", "directions") -> a row per group of
            directions; columns are measures, NaN where there is no number.
    """

    runs: list[Run]
    systems: list[System]
    tests: dict[tuple[int, str], pd.DataFrame]

    @classmethod
    def of(cls, results: ResultSet) -> "Comparisons":
        """All comparisons of all files.

        Raises:
            InputError: a file was made from other scores than those given, or two files have the same dataset
                and measure, so that their marks would belong to two families of tests.
        """
        families: dict[tuple, Path] = {}
        measured = measured_by(results, KIND, True)
        runs = [run for system in measured.systems for run in system.runs]
        for run in runs:
            family = run.dataset, run.record["measure"]
            if families.setdefault(family, run.path) != run.path:
                raise InputError(
                    f"{run.path} and {families[family]}: both compare on {family[0]} by"
                    f" {family[1] or 'two measures'}; run python -m eval compare again, once with all"
                    " systems, so that the correction counts all tests of a table"
                )
        _check_inputs(runs, [*results.systems, *results.probed(RETRIEVAL), *results.probed(SIMILARITY)])
        places = ["run", "part", "direction"]
        tests = measured.rows.set_index([*places, "measure"]).value.unstack()
        tests = tests.reindex(pd.MultiIndex.from_frame(measured.rows[places].drop_duplicates()))
        parts = tests.groupby(level=places[:2])
        return cls(runs, results.systems, {part: of.droplevel(places[:2]) for part, of in parts})

    def of_run(self, run: Run, part: str) -> pd.DataFrame:
        """The tests of one part of a comparison, by groups of directions."""
        return self.tests.get((self.runs.index(run), part), pd.DataFrame())

    def marking(self, dataset: str, measure: str = "bleu") -> list[Run]:
        """The comparisons that tables of a dataset take their marks from, of one family of tests or two.

        Those of PreNorm with PostNorm, as in Table 8.2, or else those on that axis; without them those that
        were asked for by name and those on the first axis that was compared.
        """
        runs = [run for run in self.runs if (run.dataset, run.record["measure"]) == (dataset, measure)]
        axes = [run.record["axis"] for run in runs if run.record["axis"] is not None]
        if PLACEMENT not in axes:
            return [run for run in runs if run.record["axis"] in (None, *axes[:1])]
        chosen = [run for run in runs if run.record["axis"] == PLACEMENT]
        return [run for run in chosen if self.is_of_pre_and_post(run)] or chosen

    def is_of_pre_and_post(self, run: Run) -> bool:
        """Whether it compares PreNorm with PostNorm."""
        by_name = {system.name: system for system in self.systems if system.dataset == run.dataset}
        both = [by_name.get(run.record[side]) for side in ("baseline", "compared")]
        return None not in both and are_pre_and_post(*both)

    def is_higher(self, system: System, group: str, shown: MeanStd) -> bool:
        """Whether a mean of BLEU was significantly higher in every comparison that counts.

        If the systems of a pair have other directions, what was tested is not what is shown.
        """
        verdicts = []
        for run in self.marking(system.dataset):
            sides = {run.record["baseline"]: ("baseline", -1), run.record["compared"]: ("system", 1)}
            tests = self.of_run(run, "overall")
            if system.name in sides and group in tests.index:
                (side, sign), test = sides[system.name], tests.loc[group]
                is_shown = math.isclose(shown.mean, test[side], abs_tol=1e-6)
                verdicts.append(is_shown and test["significant"] == 1 and sign * test["difference"] > 0)
        return bool(verdicts) and all(verdicts)


def _check_inputs(runs: Sequence[Run], systems: Sequence[System]) -> None:
    """Systems of the report that were compared have the scores that they were compared with."""
    for compared in runs:
        sha256s = {given["sha256"] for given in compared.file["inputs"]}
        names = {compared.record[side] for side in ("baseline", "compared")}
        for run in (run for system in systems for run in system.runs):
            is_compared = run.dataset == compared.dataset and run.name in names
            if is_compared and checksum(run.path) not in sha256s:
                raise InputError(
                    f"{compared.path}: was not made from {run.path}, a run of {run.name!r};"
                    " run python -m eval compare again"
                )


def are_pre_and_post(first: System, second: System) -> bool:
    """Not Swap-PreNorm, nor PreNorm without the encoder's final norm, which are on the same axis."""
    both = (first.settings, second.settings)
    placements = {settings.get("norm_placement") for settings in both}
    return placements == {"pre", "post"} and all(
        settings.get("encoder_final_norm", True) for settings in both
    )
