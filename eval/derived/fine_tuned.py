"""Encoders that were fine-tuned for a task: what `embeddings finetune` has found, by what they learned from.

Trainings of one encoder on other languages are systems of their own; those that differ in their seed are one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from statistics import fmean

import numpy as np
import pandas as pd

from command_line.errors import InputError
from command_line.measurements import Measured, numbers, read_arrays
from embeddings.finetuning.settings import is_translate_train_all, is_zero_shot, name_of_lines
from eval.measurements import Measurements
from eval.systems import Run, System

KIND = "finetuning"
PIVOT = "en"  # whose examples have nothing to be switched with
BASELINES = {"majority": "majority class", "chance": "chance"}  # answers that look at no text


@dataclass(frozen=True, eq=False)
class FineTuned:
    """The trainings of an encoder for a task on some languages, over seeds.

    Attributes:
        rows: of all its runs.
    """

    system: System
    rows: pd.DataFrame

    @property
    def record(self) -> dict:
        """The record of the first seed."""
        return self.system.records[0]

    @property
    def encoder(self) -> str:
        return self.record["system"]["name"]

    @property
    def dataset(self) -> str:
        return self.system.dataset

    @property
    def task(self) -> str:
        return self.record["task"]

    @property
    def measure(self) -> str:
        """The one by which the task is judged."""
        return self.record["measure"]

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What its trainings on other languages have in common with it."""
        return self.dataset, self.task, self.measure, self.encoder

    @property
    def began_with(self) -> list[tuple] | None:
        """Seeds, weights of the encoder and hyperparameters, whatever it is called; None if they are not
        known. Each language is validated on its own, which is none of them.
        """
        runs = []
        for run in self.system.runs:
            weights, how = run.file["encoder"].get("weights"), run.value("hyperparameters")
            if not weights or not how:
                return None
            runs.append((run.seed, weights, {name: how[name] for name in how if name != "validation"}))
        return runs

    @cached_property
    def measures(self) -> list[str]:
        """All that every language has, without the baselines."""
        languages = self.rows.groupby("measure", sort=False).direction.nunique()
        complete = languages[languages == len(self.tested)].index
        return [name for name in complete if name not in BASELINES]

    @property
    def taught(self) -> list[str]:
        """The languages of training."""
        return list(dict.fromkeys(self.record["train_languages"]))

    @cached_property
    def tested(self) -> list[str]:
        return list(self.rows.direction.unique())

    def values(self, language: str, measure: str) -> list[float]:
        """The numbers of all seeds."""
        rows = self.rows[(self.rows.direction == language) & (self.rows.measure == measure)]
        return list(rows.sort_values("run").value)

    def baselines(self, language: str) -> dict[str, float]:
        """What answers reach that look at no text, by the measure of the task: the same in all runs."""
        values = {name: self.values(language, name) for name in BASELINES}
        return {name: of_runs[0] for name, of_runs in values.items() if of_runs}

    def by_example(self, language: str) -> np.ndarray | None:
        """N scores of the examples of a language, means over seeds; None where they were not kept."""
        name = name_of_lines(self.measure, language)
        scores = [lines.get(name) for lines in self._lines]
        return None if any(of_run is None for of_run in scores) else np.mean(scores, axis=0)

    @cached_property
    def _lines(self) -> list[dict[str, np.ndarray]]:
        """The scores of examples of every run, by name."""
        names = [name_of_lines(self.measure, language) for language in self.tested]
        sums = [(run.path.with_suffix(".npz"), run.file.get("arrays_sha256")) for run in self.system.runs]
        return [read_arrays(path, names, sha256) if sha256 else {} for path, sha256 in sums]

    @property
    def is_switched(self) -> bool:
        """Whether examples had a half in English each."""
        return self.record["code_switching"]

    @property
    def is_zero_shot(self) -> bool:
        """Whether it learned from one language, and was tested in others."""
        return not self.is_switched and is_zero_shot(self.taught, self.tested)

    @property
    def is_of_one_language(self) -> bool:
        """Whether it learned from one language, and was tested in this alone."""
        return len(self.taught) == 1 and self.tested == self.taught

    @property
    def is_translate_train_all(self) -> bool:
        """Whether it learned from all languages that it was tested in, in one training."""
        return not self.is_switched and is_translate_train_all(self.taught, self.tested)


def fine_tuned(measured: Measurements) -> list[FineTuned]:
    """All fine-tuned encoders, in the order given.

    Raises:
        InputError: a file lacks what its task is judged by, or encoders were tested on other examples of a
            language.
    """
    tuned, tests = [], {}
    for on_dataset in measured.by_dataset().values():
        for system in on_dataset.systems:
            rows = on_dataset.rows[on_dataset.rows.system == system.name]
            for run in system.runs:
                _check_complete(run, rows)
                _check_texts(run, tests)
            tuned.append(FineTuned(system, rows))
    return tuned


def _check_complete(run: Run, rows: pd.DataFrame) -> None:
    if not run.record["train_languages"] or rows.empty:
        raise InputError(f"{run.path}: a run without languages of training or of the test, expected both")
    measure = run.record["measure"]
    judged = set(rows[rows.measure == measure].direction)
    if lacking := next((name for name in rows.direction if name not in judged), None):
        raise InputError(
            f"{run.path}: no {measure!r} of {lacking}, by which the task is judged; run"
            " `python -m embeddings finetune` again"
        )


def _check_texts(run: Run, tests: dict[tuple[str, str, str], Run]) -> None:
    """The examples of a language are those of all runs on the dataset."""
    for language, checksum in run.record["texts"].items():
        first = tests.setdefault((run.dataset, run.record["task"], language), run)
        if first.record["texts"][language] != checksum:
            raise InputError(
                f"{run.path}: was tested on other examples of {language} than {first.path}, and both are"
                f" called {run.dataset}; test them on the same files, or give them other --dataset names"
            )


@dataclass(frozen=True)
class TranslateTrain:
    """An encoder that was trained on every language by itself.

    Attributes:
        each: the training on a language, by language.
    """

    encoder: str
    is_switched: bool
    each: dict[str, FineTuned]

    @property
    def name(self) -> str:
        """The name in tables."""
        switched = ", code-switched" if self.is_switched else ""
        return f"{self.encoder}, translate-train of each language{switched}"

    def says_all_of(self, training: FineTuned) -> bool:
        """Whether a training has nothing that is not in this."""
        is_own = training.encoder == self.encoder and training in self.each.values()
        return is_own and training.is_of_one_language


def translate_train(tuned: Sequence[FineTuned]) -> list[TranslateTrain]:
    """What trainings of an encoder on one language each, and tested in that, are together: a row of tables,
    where there are several. English without code-switching is the same with it. Who has none of its own has
    that of the same encoder under another name.

    Args:
        tuned: for one task on one dataset.
    """
    alone = [
        training for training in tuned if len(training.taught) == 1 and training.taught[0] in training.tested
    ]
    english = [training for training in alone if training.taught == [PIVOT]]
    rows = []
    for encoder, is_switched in product(dict.fromkeys(training.encoder for training in tuned), (False, True)):
        of_encoder = [training for training in alone if training.encoder == encoder]
        own = [training for training in of_encoder if training.is_switched == is_switched]
        own += [training for training in of_encoder if is_switched and training in english]
        each = {training.taught[0]: training for training in own}
        others = [training for training in own if training not in english]
        if len(each) > 1 and any(training.is_of_one_language for training in others):
            rows.append(TranslateTrain(encoder, is_switched, _with_english(each, english)))
    return rows


def _with_english(each: dict[str, FineTuned], english: list[FineTuned]) -> dict[str, FineTuned]:
    """Trainings on one language each, and on English if another encoder is the same."""
    (first, *others) = (training.began_with for training in each.values())
    is_known = first and all(other == first for other in others)
    same = [training for training in english if is_known and training.began_with == first]
    return each if PIVOT in each or not same else {PIVOT: same[0], **each}


def by_setting(measured: Measurements) -> Measured:
    """The rows as the report shows them: trainings of an encoder on one language each are one system."""
    derived, groups = Measured(), {}
    for training in fine_tuned(measured):
        groups.setdefault((training.dataset, training.task), []).append(training)
    for (dataset, task), tuned in groups.items():
        joined = translate_train(tuned)
        shown = {
            training.system.name: dict.fromkeys(training.tested, training)
            for training in tuned
            if not any(row.says_all_of(training) for row in joined)
        }
        for name, languages in (shown | {row.name: row.each for row in joined}).items():
            for rows in _by_seed(languages, task):
                derived.add({"system": {"name": name}, "dataset": dataset}, rows)
        for name, rows in _baseline_rows(tuned, task).items():
            derived.add({"system": {"name": BASELINES[name]}, "dataset": dataset}, rows)
    return derived


def _baseline_rows(tuned: Sequence[FineTuned], task: str) -> dict[str, list[dict]]:
    """Baseline -> its scores in all languages, by the measure of the task."""
    tested = {language: encoder for encoder in tuned for language in encoder.tested}
    rows: dict[str, list[dict]] = {}
    for language, encoder in tested.items():
        for name, value in encoder.baselines(language).items():
            rows.setdefault(name, []).extend(numbers({encoder.measure: value}, direction=language, part=task))
    return rows


def _by_seed(languages: dict[str, FineTuned], task: str) -> list[list[dict]]:
    """The rows of every seed of a system that was trained for languages. Trainings on one language each, some
    of which have more seeds than others, have no common deviation: what is left of them are means.
    """
    seeds = {len(training.system.runs) for training in languages.values()}
    runs = [[] for _ in range(seeds.pop() if len(seeds) == 1 else 1)]
    for language, training in languages.items():
        for measure in training.measures:
            values = training.values(language, measure)
            for rows, value in zip(runs, values if not seeds else [fmean(values)], strict=True):
                rows += numbers({measure: value}, direction=language, part=task)
    return runs
