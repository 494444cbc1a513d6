"""Languages that are identified in the output of one direction and in its references, and the worst lines."""

import sys
from collections import Counter
from collections.abc import Iterable

from command_line.errors import at
from data_prep.language_identification import EMPTY, NO_LETTERS, default_identifier, identifier_label
from eval.results.files import split_direction
from eval.scoring.off_target import by_number, intended
from eval.scoring.test_sets import DirectionFiles

PLACES = ("source", "english", "empty", "other", "no_letters")


def confusion_of(files: DirectionFiles, languages: Iterable[str], worst: int) -> dict:
    """Languages of the hypotheses and of the references of one direction.

    Args:
        languages: all of the test set.

    Returns:
        "identified", "identified_references": lines per language; "off_target" and "identifier_error": the
        shares of them that are not in the intended language (None if the identifier cannot tell: "note" says
        why); "off_target_as": off-target lines in the source language, in English, without text, without
        letters, in others; "worst": the worst lines.
    """
    identifier = default_identifier()
    texts = files.read()
    source, target = split_direction(files.direction)
    goal = intended((source, target), languages)
    found = identifier.identify_with_confidence(texts[0])
    expected = identifier.identify(texts[2])
    counts, reference_counts = Counter(language for language, _ in found), Counter(expected)
    if counts[EMPTY]:
        number = [language for language, _ in found].index(EMPTY) + 1
        print(
            f"warning: {at(files.hypothesis, number)}: empty, as are {counts[EMPTY]} of {len(found)} lines;"
            " they count as off-target",
            file=sys.stderr,
        )
    labels = [language for language, _ in found]
    known = goal.label is not None
    missed = [
        label for label, reference in zip(labels, expected, strict=True) if not goal.is_met(label, reference)
    ]
    return {
        "intended": target,
        "note": goal.note,
        "lines": len(found),
        "off_target": goal.rate(labels, expected),
        "identifier_error": goal.rate(expected, expected),
        "identified": by_number(counts),
        "identified_references": by_number(reference_counts),
        "off_target_as": _places(missed, identifier_label(source)) if known else None,
        "worst": worst_lines(texts, found, expected, goal)[:worst] if known else [],
    }


def worst_lines(texts, found, expected: list[str], goal) -> list[dict]:
    """All off-target lines, the worst first, those without letters and empty ones last.

    Args:
        texts: hypotheses, sources, references.
        found: language and confidence of the hypotheses.
        expected: languages of the references.
        goal: the `eval.scoring.off_target.Intended` of the direction.
    """
    lines = [
        {
            "line": number,
            "identified": language,
            "confidence": round(confidence, 4),
            "identified_reference": reference_language,
            "source": source,
            "reference": reference,
            "hypothesis": hypothesis,
        }
        for number, (hypothesis, source, reference), (language, confidence), reference_language in zip(
            range(1, len(found) + 1), zip(*texts, strict=True), found, expected, strict=True
        )
        if not goal.is_met(language, reference_language)
    ]
    without_language = {NO_LETTERS: 1, EMPTY: 2}

    def order(one: dict) -> tuple:
        reference_is_elsewhere = one["identified_reference"] != goal.label
        return without_language.get(one["identified"], 0), reference_is_elsewhere, -one["confidence"]

    return sorted(lines, key=order)


def _places(missed: list[str], source: str | None) -> dict[str, int]:
    """Off-target lines by where they are; English where it is the source counts as the source.

    Args:
        missed: the identifier's answers to the off-target lines.
        source: its label for the source language.
    """
    names = {"en": "english", EMPTY: "empty", NO_LETTERS: "no_letters", source: "source"}
    places = dict.fromkeys(PLACES, 0)
    for label in missed:
        places[names.get(label, "other")] += 1
    return places
