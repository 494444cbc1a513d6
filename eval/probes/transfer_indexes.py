"""How well an encoder that learned from one language does in others: transfer gap and transfer rate.

"Is Cross-lingual Evaluation Only About Cross-lingual?", 2.1 and 4.5. Scores are in per cent, and means over
seeds; averages over languages leave the source language out.

An index compares scores with one that says whether the task was learned: the gap with the source language's,
the rate with that of translate-train. If this score is not above every baseline (the most frequent class, the
chance of a class), there is no index: an encoder that gives one answer everywhere would transfer perfectly.
There is no rate either where the source language was not learned: there was nothing to transfer.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
Scores = Mapping[str, np.ndarray]  # of every language, one of each training
Examples = Mapping[str, np.ndarray]  # of every language, N of single examples, means over trainings


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
        baselines: name -> language -> what answers reach that look at no text.
        source_examples, zero_shot_examples, translate_train_examples: as far as they were kept.
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
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    source_examples: Examples = field(default_factory=dict)
    zero_shot_examples: Examples = field(default_factory=dict)
    translate_train_examples: Examples = field(default_factory=dict)

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
        return rates_of(self.zero_shot, self.learned)

    @cached_property
    def learned(self) -> Scores:
        """Translate-train of the languages that were learned; of none where the source language was not."""
        if self.source_scores is not None and not self.has_learned_source:
            return {}
        return {
            language: values
            for language, values in self.translate_train.items()
            if self.is_learned(language, values, self.translate_train_examples)
        }

    @property
    def has_learned_source(self) -> bool:
        """Whether it was tested in the source language, and has learned the task there."""
        scores = self.source_scores
        return scores is not None and self.is_learned(self.source, scores, self.source_examples)

    def is_learned(self, language: str, values: np.ndarray, examples: Examples) -> bool:
        """Whether scores are above all baselines; of kept examples, with the probability 1 - LEVEL / 2."""
        highest = max((of_name.get(language, 0.0) for of_name in self.baselines.values()), default=0.0)
        error = math.sqrt(variance_of_mean([(1.0, examples[language])])) if language in examples else 0.0
        return Difference(float(values.mean()), error, math.inf).interval(LEVEL)[0] > highest

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
        for name, by_language in self.baselines.items():
            for language, value in by_language.items():
                rows += numbers({name: value}, part=self.group, direction=language)
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
        for name, by_language in self.baselines.items():
            others = [by_language[language] for language in self.languages if language in by_language]
            indexes[f"{name}_average"] = fmean(others) if len(others) == len(self.languages) else None
        if self.has_learned_source:
            examples = {self.source: self.source_examples.get(self.source), **self.zero_shot_examples}
            indexes |= gap(self.zero_shot, self.source_scores, self.source, examples)
        rate = transfer_rate(
            self.zero_shot, self.how, self.learned, self.zero_shot_examples, self.translate_train_examples
        )
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
    how, trained = translate_train(one, tuned, others)
    baselines: dict[str, dict[str, float]] = {}
    for language in one.tested:
        for name, value in one.baselines(language).items():
            baselines.setdefault(name, {})[language] = value
    return Transfer(
        encoder=one.encoder,
        task=one.task,
        dataset=one.dataset,
        source=source,
        source_scores=scores_of(one, [source])[source] if source in one.tested else None,
        zero_shot=scores_of(one, others),
        how=how,
        translate_train={
            language: scores_of(encoder, [language])[language] for language, encoder in trained.items()
        },
        retrieval={language: retrieval[language] for language in others if language in retrieval},
        baselines=baselines,
        source_examples=examples_of({source: one} if source in one.tested else {}),
        zero_shot_examples=examples_of(dict.fromkeys(others, one)),
        translate_train_examples=examples_of(trained),
    )


def scores_of(one: "FineTuned", languages: Iterable[str]) -> dict[str, np.ndarray]:
    return {language: np.array(one.values(language, one.measure), dtype=float) for language in languages}


def examples_of(encoders: "Mapping[str, FineTuned]") -> Examples:
    """Language -> the scores of its examples by the encoder given for it, where they were kept."""
    scores = {language: encoder.by_example(language) for language, encoder in encoders.items()}
    return {language: values for language, values in scores.items() if values is not None}


def translate_train(
    one: "FineTuned", tuned: "list[FineTuned]", languages: list[str]
) -> "tuple[str | None, dict[str, FineTuned]]":
    """What the same encoder reaches in languages that it learned from: in several at once, or else in each
    alone. That of most of the languages is taken, of equal ones in several at once that on the fewest.

    Returns:
        ALL or EACH, None without any; and by language, of those that were learned and tested, the encoder.
    """
    same = [other for other in tuned if other.subject == one.subject]
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


def average(scores: Scores) -> np.ndarray:
    """Over languages, of every training."""
    return np.mean(list(scores.values()), axis=0)


def rates_of(zero: Scores, learned: Scores) -> dict[str, float]:
    """In per cent, of means over seeds; of languages that were learned."""
    return {
        language: 100 * float(zero[language].mean() / values.mean()) for language, values in learned.items()
    }


def gap(zero: Scores, source_scores: np.ndarray, source: str, examples: Examples) -> dict[str, float]:
    """The "gap": scores in the source language less the mean of the others (2.1); with its interval.

    Args:
        examples: of the source language and the others; None or missing where they were not kept.
    """
    weights = {source: 1.0, **dict.fromkeys(zero, -1 / len(zero))}
    of_examples = [(weight, examples.get(language)) for language, weight in weights.items()]
    gaps = source_scores - average(zero)
    return with_interval("gap", gaps.mean(), uncertainty(gaps.mean(), [(1.0, gaps)], of_examples))


def transfer_rate(
    zero: Scores,
    how: str | None,
    learned: Scores,
    zero_examples: Examples,
    learned_examples: Examples,
) -> dict[str, float]:
    """The "rate_average": the mean of the rates of all languages, with its interval; nothing where a language
    has no rate.

    The rate is linear in scores, but for terms of second order: a training, or an example, of zero-shot
    transfer moves it by the mean of z / T over languages, one of translate-train by that of -Z t / T^2, where
    Z and T are means over seeds.
    """
    rates = rates_of(zero, learned)
    if set(rates) != set(zero):
        return {}
    slopes = {language: 100 / learned[language].mean() for language in zero}
    moved = [(1.0, average({language: values * slopes[language] for language, values in zero.items()}))]
    shares = {language: rates[language] * values / values.mean() for language, values in learned.items()}
    if how == ALL:
        moved.append((-1.0, average(shares)))
    else:
        moved += [(-1 / len(shares), values) for values in shares.values()]
    of_examples = []
    for language in zero:
        z, t = zero_examples.get(language), learned_examples.get(language)
        is_kept = z is not None and t is not None and len(z) == len(t)  # both of the same examples
        influence = slopes[language] * (z - rates[language] / 100 * t) if is_kept else None
        of_examples.append((1 / len(zero), influence))
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
