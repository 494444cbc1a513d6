"""How well an encoder that learned from one language does in others: transfer gap and transfer rate.

"Is Cross-lingual Evaluation Only About Cross-lingual?", 2.1 and 4.5. Scores are in per cent, and means over
seeds; averages over languages leave the source language out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from command_line.measurements import high, low, numbers
from eval.scoring.estimates import difference

if TYPE_CHECKING:
    from eval.derived.fine_tuned import FineTuned

LEVEL = 0.05
ALL, EACH = "all", "each"  # languages are learned in one training, or in one each
Scores = Mapping[str, np.ndarray]  # of every language, one of each training


@dataclass(frozen=True)
class Transfer:
    """Scores of an encoder that learned from one language, and its indexes.

    Attributes:
        encoder: its name.
        task: what was learned.
        dataset: on what.
        source: the language.
        source_scores: in that language; None where it was not tested.
        zero_shot: in the other languages.
        how: how these were learned themselves: ALL, EACH, or None.
        translate_train: in those of them that were.
        retrieval: P@1 in per cent of languages with the source language, where it is known.
    """

    encoder: str
    task: str
    dataset: str
    source: str
    source_scores: np.ndarray | None
    zero_shot: Scores
    how: str | None
    translate_train: Scores
    retrieval: Mapping[str, float]

    @property
    def group(self) -> str:
        """What transfers of one dataset have in common that are compared."""
        return f"{self.task}-from-{self.source}"

    @property
    def languages(self) -> list[str]:
        """Without the source."""
        return list(self.zero_shot)

    @cached_property
    def rates(self) -> dict[str, float]:
        return rates_of(self.zero_shot, self.translate_train)

    def by_language(self, quantity: str) -> dict[str, float]:
        """Language -> mean over seeds of "zero_shot" or "translate_train", or its "rate" or "retrieval"."""
        if quantity in ("rate", "retrieval"):
            return {"rate": self.rates, "retrieval": dict(self.retrieval)}[quantity]
        scores = {"zero_shot": self.zero_shot, "translate_train": self.translate_train}[quantity]
        return {language: float(values.mean()) for language, values in scores.items()}

    def average(self, quantity: str) -> float | None:
        """Over all languages; None where one has no number."""
        values = self.by_language(quantity)
        return fmean(values.values()) if set(values) == set(self.languages) else None

    @property
    def run(self) -> dict:
        """What the result file says of it."""
        return {
            "system": {"name": self.encoder},
            "variant": f", {self.task} from {self.source}",
            "dataset": self.dataset,
            "translate_train": self.how,
        }

    @property
    def rows(self) -> list[dict]:
        rows = self._scores("zero_shot", self.zero_shot)
        rows += self._scores("translate_train", self.translate_train)
        for quantity in ("rate", "retrieval"):
            for language, value in self.by_language(quantity).items():
                rows += numbers({quantity: value}, part=self.group, direction=language)
        rows += self._averages()
        trainings = [len(values) for values in self.translate_train.values()]
        seeds = {
            "seeds": len(next(iter(self.zero_shot.values()))),
            "translate_train_seeds": min(trainings, default=None),
        }
        indexes = {"retrieval_average": self.average("retrieval")}
        if self.source_scores is not None:
            indexes |= gap(self.zero_shot, self.source_scores)
        rate = transfer_rate(self.zero_shot, self.how, self.translate_train)
        return rows + numbers(seeds | indexes | rate, part=self.group)

    def _scores(self, measure: str, scores: Scores) -> list[dict]:
        """A row per language and training."""
        return [
            row
            for language, values in scores.items()
            for repeat, value in enumerate(values)
            for row in numbers({measure: value}, part=self.group, direction=language, repeat=repeat)
        ]

    def _averages(self) -> list[dict]:
        """Of the source language, and over the others: a row per training; trainings on one language each
        have only the mean in common.
        """
        averages = {"zero_shot_average": average(self.zero_shot)}
        if self.source_scores is not None:
            averages["source_score"] = self.source_scores
        if (mean := self.average("translate_train")) is not None:
            together = average(self.translate_train) if self.how == ALL else np.array([mean])
            averages["translate_train_average"] = together
        return [
            row
            for measure, values in averages.items()
            for repeat, value in enumerate(values)
            for row in numbers({measure: value}, part=self.group, repeat=repeat)
        ]


def transfer(one: "FineTuned", tuned: "list[FineTuned]", retrieval: Mapping[str, float]) -> Transfer:
    """Of an encoder that learned from one language.

    Args:
        tuned: all; among them those of the same encoder that learned from the languages themselves.
        retrieval: P@1 in per cent of every language with the source language, where it is known.
    """
    (source,) = one.taught
    others = [language for language in one.tested if language != source]
    how, train = translate_train(one, tuned, others)
    return Transfer(
        encoder=one.encoder,
        task=one.task,
        dataset=one.dataset,
        source=source,
        source_scores=scores_of(one, [source])[source] if source in one.tested else None,
        zero_shot=scores_of(one, others),
        how=how,
        translate_train=train,
        retrieval={language: retrieval[language] for language in others if language in retrieval},
    )


def scores_of(one: "FineTuned", languages: Iterable[str]) -> dict[str, np.ndarray]:
    return {language: np.array(one.values(language, one.measure), dtype=float) for language in languages}


def translate_train(
    one: "FineTuned", tuned: "list[FineTuned]", languages: list[str]
) -> tuple[str | None, dict[str, np.ndarray]]:
    """What the same encoder reaches in languages that it learned from: in several at once, or else in each
    alone. That of most of the languages is taken, of equal ones in several at once that on the fewest.

    Returns:
        ALL or EACH, None without any; and the scores of those languages that were learned and tested.
    """
    same = [other for other in tuned if other.subject == one.subject]
    together = [
        (other, scores_of(other, [language for language in languages if language in other.tested]))
        for other in same
        if other.is_translate_train_all
    ]
    alone = {other.taught[0]: other for other in same if len(other.taught) == 1 and not other.is_switched}
    each = {
        language: scores_of(alone[language], [language])[language]
        for language in languages
        if language in alone and language in alone[language].tested
    }
    _, found = max(together, key=lambda one: (len(one[1]), -len(one[0].taught)), default=(None, {}))
    if found and len(found) >= len(each):
        return ALL, found
    return EACH if each else None, each


def average(scores: Scores) -> np.ndarray:
    """Over languages, of every training."""
    return np.mean(list(scores.values()), axis=0)


def rates_of(zero: Scores, train: Scores) -> dict[str, float]:
    """In per cent, of means over seeds; of languages that have both, and that can be learned at all."""
    return {
        language: 100 * float(zero[language].mean() / values.mean())
        for language, values in train.items()
        if values.mean() > 0
    }


def gap(zero: Scores, source: np.ndarray) -> dict[str, float]:
    """The "gap": scores in the source language less the mean of the others (2.1); with its interval."""
    return _estimate("gap", [(1.0, source - average(zero))])


def transfer_rate(zero: Scores, how: str | None, train: Scores) -> dict[str, float]:
    """The "rate_average": the mean of the rates of all languages, with its interval; nothing where a language
    has no rate.

    The rate is linear in scores, but for terms of second order: a training of zero-shot transfer moves it by
    the mean of z / T over languages, one of translate-train by that of -Z t / T^2, where Z and T are means
    over seeds.
    """
    rates = rates_of(zero, train)
    if set(rates) != set(zero):
        return {}
    slopes = {language: 100 / train[language].mean() for language in zero}
    learned = {language: rates[language] * values / values.mean() for language, values in train.items()}
    moved = [(1.0, average({language: values * slopes[language] for language, values in zero.items()}))]
    if how == ALL:
        moved.append((-1.0, average(learned)))
    else:
        moved += [(-1 / len(learned), values) for values in learned.values()]
    return _estimate("rate_average", moved, fmean(rates.values()))


def _estimate(
    measure: str, terms: list[tuple[float, np.ndarray]], effect: float | None = None
) -> dict[str, float]:
    """The measure, and the ends of its interval; no interval of single trainings.

    Args:
        effect: where it is another number than that of the terms, which then say how sure it is.
    """
    found = sum(c * values.mean() for c, values in terms)
    shift = 0.0 if effect is None else effect - found
    estimate = {measure: float(found + shift)}
    if min(len(values) for _, values in terms) > 1:
        ends = difference(terms).interval(LEVEL)
        estimate |= {low(measure): float(ends[0] + shift), high(measure): float(ends[1] + shift)}
    return estimate
