"""How well an encoder that learned from one language does in others: transfer gap and transfer rate.

"Is Cross-lingual Evaluation Only About Cross-lingual?", 2.1 and 4.5. Scores are in per cent, and means over
seeds; averages over languages leave the source language out.

An index compares scores with one that says whether the task was learned: the gap with the source language's,
the rate with that of translate-train. If this score is not above every baseline (the most frequent class, the
chance of a class), there is no index: an encoder that gives one answer everywhere would transfer perfectly.
There is no rate either where the source language was not learned: there was nothing to transfer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from command_line.measurements import high, low, numbers
from eval.scoring.estimates import Difference, difference

if TYPE_CHECKING:
    from eval.derived.fine_tuned import FineTuned

LEVEL = 0.05
ALL, EACH = "all", "each"  # languages are learned in one training, or in one each


@dataclass(frozen=True)
class Scores:
    """Scores in some languages.

    Attributes:
        of_trainings: language -> one of each training.
        of_examples: language -> N of single examples, means over trainings, where these were kept.
    """

    of_trainings: Mapping[str, np.ndarray] = field(default_factory=dict)
    of_examples: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, encoders: "Mapping[str, FineTuned]") -> "Scores":
        """In every language, of the encoder given for it."""
        examples = {language: encoder.by_example(language) for language, encoder in encoders.items()}
        return cls(
            {
                language: np.array(encoder.values(language, encoder.measure), dtype=float)
                for language, encoder in encoders.items()
            },
            {language: values for language, values in examples.items() if values is not None},
        )

    @cached_property
    def means(self) -> dict[str, float]:
        """Language -> mean over trainings."""
        return {language: float(values.mean()) for language, values in self.of_trainings.items()}

    @cached_property
    def average(self) -> np.ndarray:
        """Over languages, of every training."""
        return np.mean(list(self.of_trainings.values()), axis=0)


@dataclass(frozen=True)
class Transfer:
    """Scores of an encoder that learned from one language, and its indexes.

    Attributes:
        in_source: scores in it; empty where it was not tested.
        zero_shot: in the other languages.
        how: how these were learned themselves: ALL, EACH, or None.
        translate_train: in those of them that were.
        retrieval: P@1 in per cent of languages with the source language, where it is known.
        baselines: name -> language -> what answers reach that look at no text.
    """

    encoder: str
    task: str
    dataset: str
    source: str
    zero_shot: Scores
    in_source: Scores = field(default_factory=Scores)
    how: str | None = None
    translate_train: Scores = field(default_factory=Scores)
    retrieval: Mapping[str, float] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """What transfers of one dataset have in common that are compared."""
        return f"{self.task}-from-{self.source}"

    @property
    def languages(self) -> list[str]:
        """The languages without the source."""
        return list(self.zero_shot.of_trainings)

    @cached_property
    def learned(self) -> Scores:
        """Translate-train of the languages that were learned; of none where the source language was not."""
        scores = self.translate_train
        if self.in_source.of_trainings and not self.has_learned_source:
            return Scores()
        of_trainings = {
            language: values
            for language, values in scores.of_trainings.items()
            if self.is_learned(language, scores)
        }
        return replace(scores, of_trainings=of_trainings)

    @property
    def has_learned_source(self) -> bool:
        """Whether it was tested in the source language, and has learned the task there."""
        return bool(self.in_source.of_trainings) and self.is_learned(self.source, self.in_source)

    def is_learned(self, language: str, scores: Scores) -> bool:
        """Whether scores are above all baselines; of kept examples, with the probability 1 - LEVEL / 2."""
        highest = max((of_name.get(language, 0.0) for of_name in self.baselines.values()), default=0.0)
        examples = scores.of_examples.get(language)
        error = 0.0 if examples is None else math.sqrt(variance_of_mean([(1.0, examples)]))
        return Difference(scores.means[language], error, math.inf).interval(LEVEL)[0] > highest

    def by_language(self, quantity: str) -> dict[str, float]:
        """Language -> mean over seeds of "zero_shot" or "translate_train", or its "rate" or "retrieval"."""
        return {
            "zero_shot": self.zero_shot.means,
            "translate_train": self.translate_train.means,
            "rate": rates_of(self.zero_shot, self.learned),
            "retrieval": dict(self.retrieval),
        }[quantity]

    def average(self, quantity: str) -> float | None:
        """Over all languages; None where one has no number."""
        return self._over_languages(self.by_language(quantity))

    def _over_languages(self, values: Mapping[str, float]) -> float | None:
        others = [values[language] for language in self.languages if language in values]
        return fmean(others) if len(others) == len(self.languages) else None

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
        """Scores of every training, numbers by language, averages and indexes."""
        rows: list[dict] = []
        for measure, scores in (("zero_shot", self.zero_shot), ("translate_train", self.translate_train)):
            for language, values in scores.of_trainings.items():
                rows += self._of_trainings(measure, values, direction=language)
        quantities = {name: self.by_language(name) for name in ("rate", "retrieval")}
        for measure, by_language in {**self.baselines, **quantities}.items():
            for language, value in by_language.items():
                rows += numbers({measure: value}, part=self.group, direction=language)
        for measure, values in self._averages().items():
            rows += self._of_trainings(measure, values)
        return rows + numbers(self._indexes(), part=self.group)

    def _of_trainings(self, measure: str, values: np.ndarray, **place: str) -> list[dict]:
        return [
            row
            for repeat, value in enumerate(values)
            for row in numbers({measure: value}, part=self.group, repeat=repeat, **place)
        ]

    def _averages(self) -> dict[str, np.ndarray]:
        """The scores of the source language, and the averages over the others, of every training. Trainings
        on one language each share only the mean.
        """
        averages = {"zero_shot_average": self.zero_shot.average}
        if self.in_source.of_trainings:
            averages["source_score"] = self.in_source.average
        if (mean := self.average("translate_train")) is not None:
            together = self.translate_train.average if self.how == ALL else np.array([mean])
            averages["translate_train_average"] = together
        return averages

    def _indexes(self) -> dict[str, float | None]:
        trained = self.translate_train.of_trainings.values()
        indexes = {
            "seeds": len(self.zero_shot.average),
            "translate_train_seeds": min(map(len, trained), default=None),
            "retrieval_average": self.average("retrieval"),
        }
        for name, by_language in self.baselines.items():
            indexes[f"{name}_average"] = self._over_languages(by_language)
        if self.has_learned_source:
            indexes |= gap(self.zero_shot, self.in_source, self.source)
        return indexes | transfer_rate(self.zero_shot, self.how, self.learned)


def transfer(encoder: "FineTuned", tuned: "list[FineTuned]", retrieval: Mapping[str, float]) -> Transfer:
    """The transfer of an encoder that learned from one language.

    Args:
        tuned: all; among them those of the same encoder that learned from the languages themselves.
        retrieval: P@1 in per cent of every language with the source language, where it is known.
    """
    (source,) = encoder.taught
    others = [language for language in encoder.tested if language != source]
    how, trained = translate_train(encoder, tuned, others)
    baselines: dict[str, dict[str, float]] = {}
    for language in encoder.tested:
        for name, value in encoder.baselines(language).items():
            baselines.setdefault(name, {})[language] = value
    return Transfer(
        encoder=encoder.encoder,
        task=encoder.task,
        dataset=encoder.dataset,
        source=source,
        in_source=Scores.of({source: encoder} if source in encoder.tested else {}),
        zero_shot=Scores.of(dict.fromkeys(others, encoder)),
        how=how,
        translate_train=Scores.of(trained),
        retrieval={language: retrieval[language] for language in others if language in retrieval},
        baselines=baselines,
    )


def translate_train(
    encoder: "FineTuned", tuned: "list[FineTuned]", languages: list[str]
) -> "tuple[str | None, dict[str, FineTuned]]":
    """What the same encoder reaches in languages that it learned from: in several at once, or else in each
    alone. That of most of the languages is taken, of equal ones in several at once that on the fewest.

    Returns:
        ALL or EACH, None without any; and by language, of those that were learned and tested, the encoder.
    """
    same = [other for other in tuned if other.subject == encoder.subject]
    together = [
        {language: other for language in languages if language in other.tested}
        for other in sorted(same, key=lambda other: len(other.taught))
        if other.is_translate_train_all
    ]
    alone = {other.taught[0]: other for other in same if len(other.taught) == 1 and not other.is_switched}
    each = {
        language: alone[language]
        for language in languages
        if language in alone and language in alone[language].tested
    }
    most = max(together, key=len, default={})
    if most and len(most) >= len(each):
        return ALL, most
    return EACH if each else None, each


def rates_of(zero: Scores, learned: Scores) -> dict[str, float]:
    """The rates in per cent, of means over seeds, for languages that were learned."""
    return {language: 100 * (zero.means[language] / mean) for language, mean in learned.means.items()}


def gap(zero: Scores, in_source: Scores, source: str) -> dict[str, float]:
    """The "gap": scores in the source language less the mean of the others (2.1); with its interval."""
    examples = [(1.0, in_source.of_examples.get(source))]
    examples += [(-1 / len(zero.means), zero.of_examples.get(language)) for language in zero.means]
    gaps = in_source.average - zero.average
    return with_interval("gap", gaps.mean(), uncertainty(gaps.mean(), [(1.0, gaps)], examples))


def transfer_rate(zero: Scores, how: str | None, learned: Scores) -> dict[str, float]:
    """The "rate_average": the mean of the rates of all languages, with its interval; nothing where a language
    has no rate.

    The rate is linear in scores, but for terms of second order: a training, or an example, of zero-shot
    transfer moves it by the mean of z / T over languages, one of translate-train by that of -Z t / T^2, where
    Z and T are means over seeds.
    """
    rates = rates_of(zero, learned)
    if set(rates) != set(zero.means):
        return {}
    slopes = {language: 100 / learned.means[language] for language in rates}
    of_zero_shot = Scores({
        language: values * slopes[language] for language, values in zero.of_trainings.items()
    })  # fmt: skip
    shares = Scores({
        language: rates[language] * values / values.mean()
        for language, values in learned.of_trainings.items()
    })  # fmt: skip
    moved = [(1.0, of_zero_shot.average)]
    if how == ALL:
        moved.append((-1.0, shares.average))
    else:
        moved += [(-1 / len(rates), values) for values in shares.of_trainings.values()]
    of_examples = []
    for language in zero.of_trainings:
        z, t = zero.of_examples.get(language), learned.of_examples.get(language)
        is_kept = z is not None and t is not None and len(z) == len(t)  # both of the same examples
        influence = slopes[language] * (z - rates[language] / 100 * t) if is_kept else None
        of_examples.append((1 / len(rates), influence))
    rate = fmean(rates.values())
    return with_interval("rate_average", rate, uncertainty(rate, moved, of_examples))


def variance_of_mean(terms: Sequence[tuple[float, np.ndarray]]) -> float:
    """That of a sum of c times a mean over examples, where examples are drawn.

    If all languages have as many examples, these are drawn together: they are translations of each other, or
    independent, which the covariance shows. Otherwise every language has a draw of its own.

    Args:
        terms: coefficient c, and N numbers.
    """
    if len({len(numbers) for _, numbers in terms}) == 1:
        terms = [(1.0, sum(c * numbers for c, numbers in terms))]
    return sum(
        c * c * float(numbers.var(ddof=1)) / len(numbers) if len(numbers) > 1 else 0.0 for c, numbers in terms
    )


def uncertainty(
    effect: float, terms: list[tuple[float, np.ndarray]], examples: list[tuple[float, np.ndarray | None]]
) -> Difference | None:
    """How sure a number is: over trainings if all have several, and over examples if they were kept; None
    without either.

    Args:
        terms: coefficient, and the numbers of several trainings.
        examples: coefficient, and how much single examples move the number; None where this is not known.
    """
    has_seeds = min(len(values) for _, values in terms) > 1
    has_examples = all(numbers is not None for _, numbers in examples)
    if not (has_seeds or has_examples):
        return None
    of_seeds = difference(terms) if has_seeds else Difference(0.0, 0.0, math.inf)
    variance = of_seeds.error**2 + (variance_of_mean(examples) if has_examples else 0.0)
    # Satterthwaite's: examples are so many that their variance is known
    freedom = of_seeds.freedom * (variance / of_seeds.error**2) ** 2 if of_seeds.error else math.inf
    return Difference(float(effect), math.sqrt(variance), freedom)


def with_interval(measure: str, effect: float, estimate: Difference | None) -> dict[str, float]:
    """The measure, and the ends of its interval, if that is known."""
    values = {measure: float(effect)}
    if estimate:
        values[low(measure)], values[high(measure)] = estimate.interval(LEVEL)
    return values
