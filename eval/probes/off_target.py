"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly.
"""

import sys
from collections import Counter

from command_line import options
from command_line.errors import at
from eval.results import TRANSLATION, Translation, result_file, split_direction
from eval.test_sets import DirectionFiles, direction_files

KIND = "off-target"
PLACES = ("source", "english", "empty", "other")


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
    from eval.report_sections import confusion

    translations = [Translation.load(result_file(out, TRANSLATION)) for out in args.out]
    todo = [(one, direction_files(one, args.data)) for one in translations]
    inputs = [one.path for one in translations]
    inputs += sorted({path for _, files in todo for one in files for path in one.paths})
    publish(args, KIND, inputs, confusion.section, lambda: {"runs": [run(*one, args.worst) for one in todo]})


def run(translation: Translation, files: list[DirectionFiles], worst: int) -> dict:
    """The findings of one folder."""
    from command_line.progress import progress

    directions = {}
    for one in progress(files, len(files), "identify", "direction"):
        entry = {"kind": translation.directions[one.direction]["kind"]}
        directions[one.direction] = entry | confusion_of(one, worst)
    return {
        "system": translation.system | {"name": translation.name},
        "dataset": translation.dataset,
        "split": translation.record["split"],
        "directions": directions,
    }


def confusion_of(files: DirectionFiles, worst: int) -> dict:
    """Languages of the hypotheses and of the references of one direction.

    Returns:
        "identified", "identified_references": lines per language; "off_target" and "identifier_error": the
        shares of them that are not in the intended language (None if the identifier does not know it);
        "off_target_as": off-target lines in the source language, in English, without text, in others;
        "worst": the worst lines.
    """
    from eval.language_identification import EMPTY, default_identifier, identifier_code

    identifier = default_identifier()
    texts = files.read()
    source, target = map(identifier_code, split_direction(files.direction))
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
    known = identifier.knows(files.target_language)
    return {
        "intended": target,
        "lines": len(found),
        "off_target": 1 - counts[target] / len(found) if known else None,
        "identifier_error": 1 - reference_counts[target] / len(found) if known else None,
        "identified": _by_number(counts),
        "identified_references": _by_number(reference_counts),
        "off_target_as": _places(counts, source, target, EMPTY) if known else None,
        "worst": worst_lines(texts, found, expected, target, EMPTY)[:worst] if known else [],
    }


def worst_lines(texts, found, expected: list[str], target: str, empty: str) -> list[dict]:
    """All off-target lines, the worst first, empty ones last.

    Args:
        texts: hypotheses, sources, references.
        found: language and confidence of the hypotheses.
        expected: languages of the references.
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
        if language != target
    ]

    def order(one: dict) -> tuple:
        return one["identified"] == empty, one["identified_reference"] != target, -one["confidence"]

    return sorted(lines, key=order)


def _places(counts: Counter, source: str, target: str, empty: str) -> dict[str, int]:
    """Off-target lines by where they are; English where it is the source counts as the source."""
    places = dict.fromkeys(PLACES, 0)
    for language, number in counts.items():
        if language != target:
            places[{"en": "english", empty: "empty", source: "source"}.get(language, "other")] += number
    return places


def _by_number(counts: Counter) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
