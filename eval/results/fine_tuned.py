"""Encoders that were fine-tuned for a task: what `embeddings finetune` has found, by what they learned from.

Trainings of one encoder on other languages are systems of their own; those that differ in their seed are one.
"""

from dataclasses import dataclass

from command_line.errors import InputError
from eval.results.result_set import ResultSet
from eval.results.systems import Run, System, group_probed

KIND = "finetuning"
TRANSLATE_TRAIN = "translate-train-all"
PIVOT = "en"  # whose examples have nothing to be switched with
TITLES = {"f1": "F1"}  # of measures that are not called as they are written


@dataclass(frozen=True)
class FineTuned:
    """The trainings of an encoder for a task on some languages, over seeds."""

    system: System

    @property
    def record(self) -> dict:
        """Of the first seed."""
        return self.system.records[0]

    @property
    def encoder(self) -> str:
        return self.system.name

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
        found = []
        for run in self.system.runs:
            weights, how = run.file["encoder"].get("weights"), run.value("hyperparameters")
            if not weights or not how:
                return None
            found.append((run.seed, weights, {name: how[name] for name in how if name != "validation"}))
        return found

    @property
    def measures(self) -> list[str]:
        """All that every language has."""
        entries = list(self.record["languages"].values())
        return [name for name in entries[0] if all(name in one for one in entries)]

    @property
    def taught(self) -> list[str]:
        """The languages of training."""
        return list(dict.fromkeys(self.record["train_languages"]))

    @property
    def tested(self) -> list[str]:
        return list(self.record["languages"])

    @property
    def is_switched(self) -> bool:
        """Whether examples had a half in English each."""
        return self.record["code_switching"]

    @property
    def is_zero_shot(self) -> bool:
        """Whether it learned from one language, and was tested in others."""
        return not self.is_switched and len(self.taught) == 1 and self.tested != self.taught

    @property
    def is_of_one_language(self) -> bool:
        """Whether it learned from one language, and was tested in this alone."""
        return len(self.taught) == 1 and self.tested == self.taught

    @property
    def is_translate_train_all(self) -> bool:
        """Whether it learned from all languages that it was tested in, in one training."""
        return not self.is_switched and len(self.taught) > 1 and set(self.taught) >= set(self.tested)

    @property
    def setting(self) -> str:
        """In tables: "zero-shot from en", "translate-train-all", "code-switched, en, de", …"""
        languages = ", ".join(self.taught)
        if self.is_switched:
            return f"code-switched, {languages}"
        if self.is_translate_train_all:
            return TRANSLATE_TRAIN
        return f"zero-shot from {languages}" if self.is_zero_shot else f"on {languages}"


def fine_tuned(results: ResultSet) -> list[FineTuned]:
    """All fine-tuned encoders, in the order given.

    Raises:
        InputError: two files are of one seed, or seeds of a training differ in something else; or a file
            lacks what its task is judged by.
    """
    groups: dict[tuple, list[Run]] = {}
    for path, record in results.of_kind(KIND):
        for one in record["runs"]:
            run = Run(path, one, record)
            _check_complete(run)
            what = (run.dataset, one["task"], one["measure"], run.name)
            learned = (one["code_switching"], frozenset(one["train_languages"]))
            groups.setdefault((*what, *learned), []).append(run)
    return [FineTuned(system) for runs in groups.values() for system in group_probed(runs)]


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
    def setting(self) -> str:
        """In tables."""
        return "translate-train of each language" + (", code-switched" if self.is_switched else "")


def translate_train(tuned: list[FineTuned]) -> list[TranslateTrain]:
    """What trainings of an encoder on one language each, and tested in that, are together: a row of tables,
    where there are several. English without code-switching is the same with it. Who has none of its own has
    that of the same encoder under another name.

    Args:
        tuned: on one dataset.
    """
    found, english = [], [one for one in tuned if one.taught == [PIVOT] and PIVOT in one.tested]
    for encoder in dict.fromkeys(one.encoder for one in tuned):
        alone = [one for one in tuned if one.encoder == encoder and len(one.taught) == 1]
        for is_switched in (False, True):
            own = [one for one in alone if one.is_switched == is_switched and one.taught[0] in one.tested]
            own += [one for one in alone if is_switched and one.taught == [PIVOT] and PIVOT in one.tested]
            each = {one.taught[0]: one for one in own}
            if len(each) > 1 and any(one.is_of_one_language for one in own if one.taught != [PIVOT]):
                found.append(TranslateTrain(encoder, is_switched, _with_english(each, english)))
    return found


def _with_english(each: dict[str, FineTuned], english: list[FineTuned]) -> dict[str, FineTuned]:
    """Trainings on one language each, and on English if another encoder is the same."""
    known = [one.began_with for one in each.values()]
    same = [one for one in english if one.began_with and all(one.began_with == other for other in known)]
    return each if PIVOT in each or not same else {PIVOT: same[0], **each}


def _check_complete(run: Run) -> None:
    if not (run.record["train_languages"] and run.record["languages"]):
        raise InputError(f"{run.path}: a run without languages of training or of the test, expected both")
    measure = run.record["measure"]
    if lacking := next((name for name, one in run.record["languages"].items() if measure not in one), None):
        raise InputError(
            f"{run.path}: no {measure!r} of {lacking}, by which the task is judged; run"
            " `python -m embeddings finetune` again"
        )


def title_of(measure: str) -> str:
    """In captions: "accuracy", "F1", "exact match"."""
    return TITLES.get(measure, measure.replace("_", " "))
