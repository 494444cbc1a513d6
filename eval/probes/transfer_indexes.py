"""How well an encoder that learned from one language does in others: transfer gap and transfer rate.

"Is Cross-lingual Evaluation Only About Cross-lingual?", 2.1 and 4.5. Scores are in per cent, and means over
seeds; averages over languages leave the source language out.
"""

from collections.abc import Iterable, Mapping
from statistics import fmean

import numpy as np

from eval.results.fine_tuned import FineTuned
from eval.results.systems import MeanStd
from eval.scoring.estimates import difference

LEVEL = 0.05
ALL, EACH = "all", "each"  # languages are learned in one training, or in one each
Scores = Mapping[str, np.ndarray]  # of every language, one of each training


def transfer(one: FineTuned, tuned: list[FineTuned], retrieval: Mapping[str, float]) -> dict:
    """Scores and indexes of an encoder that learned from one language.

    Args:
        tuned: all; among them those of the same encoder that learned from the languages themselves.
        retrieval: P@1 in per cent of every language with the source language, where it is known.
    """
    (source,) = one.taught
    others = [language for language in one.tested if language != source]
    zero, (how, train) = scores_of(one, others), translate_train(one, tuned, others)
    rates = rates_of(zero, train)
    entries = {
        language: {
            "zero_shot": _mean(zero[language]),
            "translate_train": _mean(train[language]) if language in train else None,
            "rate": rates.get(language),
            "retrieval": retrieval.get(language),
        }
        for language in others
    }
    return {
        "dataset": one.dataset,
        "task": one.task,
        "measure": one.measure,
        "encoder": one.encoder,
        "source": source,
        "seeds": {"zero_shot": len(one.system.runs), "translate_train": _seeds(how, train)},
        "translate_train": how,
        "source_score": _mean(scores_of(one, [source])[source]) if source in one.tested else None,
        "languages": entries,
        "average": {
            "zero_shot": _mean(average(zero)),
            "translate_train": _average_of_training(how, train) if set(train) == set(others) else None,
            **{name: _mean_of(entries, name) for name in ("rate", "retrieval")},
        },
        "gap": gap(scores_of(one, one.tested), source) if source in one.tested else None,
        "rate": transfer_rate(zero, how, train),
    }


def scores_of(one: FineTuned, languages: Iterable[str]) -> dict[str, np.ndarray]:
    return {
        language: np.array(one.system.values("languages", language, one.measure), dtype=float)
        for language in languages
    }


def translate_train(
    one: FineTuned, tuned: list[FineTuned], languages: list[str]
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


def gap(scores: Scores, source: str) -> dict:
    """The score in the source language less the mean of the others (2.1)."""
    others = {language: values for language, values in scores.items() if language != source}
    return _estimate([(1.0, scores[source] - average(others))])


def transfer_rate(zero: Scores, how: str | None, train: Scores) -> dict | None:
    """The mean of the rates of all languages, with an interval; None where a language has no rate.

    The rate is linear in scores, but for terms of second order: a training of zero-shot transfer moves it by
    the mean of z / T over languages, one of translate-train by that of -Z t / T^2, where Z and T are means
    over seeds.
    """
    rates = rates_of(zero, train)
    if set(rates) != set(zero):
        return None
    slopes = {language: 100 / train[language].mean() for language in zero}
    learned = {language: rates[language] * values / values.mean() for language, values in train.items()}
    moved = [(1.0, average({language: values * slopes[language] for language, values in zero.items()}))]
    if how == ALL:
        moved.append((-1.0, average(learned)))
    else:
        moved += [(-1 / len(learned), values) for values in learned.values()]
    return _estimate(moved, fmean(rates.values()))


def _estimate(terms: list[tuple[float, np.ndarray]], effect: float | None = None) -> dict:
    """ "effect", "low" and "high"; no interval of single trainings.

    Args:
        effect: where it is another number than that of the terms, which then say how sure it is.
    """
    found = sum(c * values.mean() for c, values in terms)
    shift = 0.0 if effect is None else effect - found
    low = high = None
    if min(len(values) for _, values in terms) > 1:
        low, high = (float(end + shift) for end in difference(terms).interval(LEVEL))
    return {"effect": float(found + shift), "low": low, "high": high}


def _seeds(how: str | None, train: Scores) -> list[int] | None:
    """Of the one training, or of each."""
    counts = [len(values) for values in train.values()]
    return counts[:1] if how == ALL else counts or None


def _mean(values: np.ndarray) -> dict:
    found = MeanStd.of(values.tolist())
    return {"mean": found.mean, "std": found.std}


def _average_of_training(how: str | None, train: Scores) -> dict:
    """Trainings on one language each have no common deviation."""
    if how == ALL:
        return _mean(average(train))
    return {"mean": fmean(float(values.mean()) for values in train.values()), "std": None}


def _mean_of(entries: Mapping[str, dict], name: str) -> float | None:
    values = [entry[name] for entry in entries.values()]
    return None if None in values else fmean(values)
