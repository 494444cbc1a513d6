"""Do encoders that transfer better learn the task better, or retrieve better?

Pearson's correlation over encoders, by language and of averages ("Is Cross-lingual Evaluation Only About
Cross-lingual?", Tables 3, 4 and 8).
"""

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from command_line.errors import InputError
from command_line.measurements import high, low, numbers
from data_prep.languages import usual_names
from eval.derived.retrieved import Retrieved
from eval.probes.transfer_indexes import LEVEL, Transfer
from eval.result_set import RETRIEVAL, ResultSet
from eval.scoring.estimates import FEWEST_UNITS, Correlation

if TYPE_CHECKING:
    from eval.derived.fine_tuned import FineTuned

FEWEST = 3  # encoders: through two points there is always a line
ROUNDING = 1e-9  # means of one number over some seeds and over others differ by so much less
AVERAGE = "pearson_average"
TITLES = {
    "zero_shot": "zero-shot",
    "translate_train": "translate-train",
    "rate": "transfer rate",
    "retrieval": "retrieval",
}
# Table 3, and Table 4.
CORRELATED = (("retrieval", "zero_shot"), ("translate_train", "zero_shot"), ("retrieval", "rate"))


class Retrieval:
    """What was retrieved by the encoders that were fine-tuned.

    Args:
        names: of encoders, and how retrieval calls them, where that differs.
        similarity: which P@1.
        tuned: all encoders.

    Raises:
        InputError: results are of several test sets, or --retrieved-as names an encoder that is not there.
    """

    def __init__(self, files: list[Path], names: dict[str, str], similarity: str, tuned: "list[FineTuned]"):
        # Encoders may be tested in other languages.
        self.retrieved, *others = Retrieved.of(ResultSet.load(files, [RETRIEVAL], allow_unlike=True))
        self.systems = {system.name: system for system in self.retrieved.systems}
        self.similarity, self.names = similarity, names
        if others:
            datasets = [one.dataset for one in (self.retrieved, *others)]
            raise InputError(f"--retrieval: of {' and of '.join(datasets)}, expected results of one test set")
        known = {one.encoder for one in tuned}
        if unknown := next((name for name in self.names if name not in known), None):
            raise InputError(
                f"--retrieved-as {unknown}={self.names[unknown]}: no encoder {unknown!r} was fine-tuned;"
                f" expected one of {', '.join(sorted(known))}"
            )

    def of(self, one: "FineTuned") -> dict[str, float]:
        """Language -> P@1 in per cent of its pair with the source language, the mean of both directions and
        of seeds, for languages that have such a pair.

        Raises:
            InputError: nothing of this encoder, or not by this similarity.
        """
        name = self.names.get(one.encoder, one.encoder)
        if name not in self.systems:
            raise InputError(
                f"--retrieval: nothing of encoder {name!r}, only of"
                f" {', '.join(map(repr, self.systems))}; --retrieved-as {one.encoder}=OTHER says how it is"
                " called there"
            )
        (source,) = one.taught
        pairs = {
            language: self._of_pair(name, source, language) for language in one.tested if language != source
        }
        return {language: value for language, value in pairs.items() if value is not None}

    def _of_pair(self, name: str, source: str, language: str) -> float | None:
        means = self.retrieved.means(["part", "direction"])
        directions = {direction for system, _, direction in means if system == name}
        codes = {code for direction in directions for code in direction.split("-")}
        one, other = (usual_names(code, codes) for code in (source, language))
        pairs = {f"{a}-{b}" for first, second in ((one, other), (other, one)) for a in first for b in second}
        values = [means.get((name, self.similarity, direction)) for direction in sorted(directions & pairs)]
        if None in values:
            raise InputError(
                f"--similarity {self.similarity}: no such P@1 of {name} on {self.retrieved.dataset}; measure"
                " it with `python -m embeddings retrieve`"
            )
        return fmean(value.mean for value in values) if values else None


def correlations(members: list[Transfer]) -> list[tuple[dict, list[dict]]]:
    """Of the transfers of several encoders, by language and of averages: the run and the rows of every pair
    of quantities of which something is known. A language that one encoder lacks, and a number that is the
    same for all, have none; averages are compared where they are of the same languages.
    """
    shared = [name for name in members[0].languages if all(name in one.languages for one in members)]
    same = all(set(one.languages) == set(shared) for one in members)
    found = []
    for pair in CORRELATED:
        rows, part = [], members[0].group
        for language in shared:
            columns = [[one.by_language(name).get(language) for one in members] for name in pair]
            rows += numbers({"pearson": pearson(*columns)}, part=part, direction=language)
        if same:
            r = pearson(*([one.average(name) for one in members] for name in pair))
            rows += numbers(_with_interval(r, len(members)), part=part)
        if rows:
            rows += numbers({"encoders": len(members)}, part=part)
            found.append((_run(pair, members), rows))
    return found


def _run(pair: tuple[str, str], members: list[Transfer]) -> dict:
    name = f"{TITLES[pair[0]]} and {TITLES[pair[1]]}"
    encoders = [one.encoder for one in members]
    return members[0].run | {"system": {"name": name}, "encoders": encoders, "translate_train": None}


def pearson(first: list[float | None], second: list[float | None]) -> float | None:
    """r; None where a number is not known, or all are the same."""
    if None in first or None in second:
        return None
    columns = np.array([first, second], dtype=float)
    if (np.ptp(columns, axis=1) <= ROUNDING * np.abs(columns).max(axis=1)).any():
        return None
    return float(np.clip(np.corrcoef(columns)[0, 1], -1, 1))


def _with_interval(r: float | None, encoders: int) -> dict[str, float | None]:
    values = {AVERAGE: r}
    if r is not None and encoders >= FEWEST_UNITS:
        values[low(AVERAGE)], values[high(AVERAGE)] = Correlation(r, encoders).interval(LEVEL)
    return values
