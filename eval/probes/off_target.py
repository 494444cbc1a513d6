"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly.
"""

import sys
from collections import Counter
from collections.abc import Iterable

from command_line import options
from command_line.errors import at
from eval.results.files import TRANSLATION, Translation, result_file, split_direction
from eval.scoring.off_target import RULES
from eval.scoring.test_sets import DirectionFiles, direction_files

KIND = "off-target"
PLACES = ("source", "english", "empty", "other", "no_letters")


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments

    parser.add_argument(
        "out",
        nargs="+",
        type=options.path,
        metavar="OUT",
        help="folder written by `python -m eval translate`",
    )
    parser.add_argument(
        "--data",
        type=options.path,
        help="binarized folder with text/, if it is not where translate.json says",
    )
    parser.add_argument(
        "--worst", type=options.natural, default=5, help="lines to list per direction; 0: none"
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from eval.probes.findings import publish
    from eval.reporting.sections import confusion

    translations = [Translation.load(result_file(out, TRANSLATION)) for out in args.out]
    todo = [(one, direction_files(one, args.data)) for one in translations]
    inputs = [one.path for one in translations]
    inputs += sorted({path for _, files in todo for one in files for path in one.paths})
    publish(
        args,
        KIND,
        inputs,
        confusion.section,
        lambda: {"runs": [run(*one, args.worst) for one in todo]},
        version=RULES,
    )


def run(translation: Translation, files: list[DirectionFiles], worst: int) -> dict:
    """The findings of one folder."""
    from command_line.progress import progress

    languages = {language for direction in translation.directions for language in split_direction(direction)}
    directions = {}
    for one in progress(files, len(files), "identify", "direction"):
        entry = {"kind": translation.directions[one.direction]["kind"]}
        directions[one.direction] = entry | confusion_of(one, languages, worst)
    return {
        "system": translation.system | {"name": translation.name},
        "dataset": translation.dataset,
        "split": translation.record["split"],
        "directions": directions,
    }


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
    from eval.scoring.language_identification import EMPTY, default_identifier
    from eval.scoring.off_target import by_number, identifier_label, intended

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
    from eval.scoring.language_identification import EMPTY, NO_LETTERS

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
    from eval.scoring.language_identification import EMPTY, NO_LETTERS

    names = {"en": "english", EMPTY: "empty", NO_LETTERS: "no_letters", source: "source"}
    places = dict.fromkeys(PLACES, 0)
    for label in missed:
        places[names.get(label, "other")] += 1
    return places
