"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly. Shares of words by script show output that mixes
languages inside a line.
"""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.measurements import Measured
from command_line.option_classes import option
from command_line.progress import progress
from data_prep.language_identification import identifier_of
from eval.probes.identified_languages import Identified
from eval.probes.word_scripts import script_rows
from eval.reporting.result_file import Written, publish
from eval.result_files import split_direction
from eval.scored import Translation
from eval.scoring.off_target import IDENTIFIER, check_identifier, labels_of_languages
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, paths_of

KIND = "off-target"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    folders: TranslatedFolders
    identifier: Path | None = option(IDENTIFIER, metavar="FILE")
    worst: int = option("lines to list per direction; 0: none", 5, type=types.natural)
    written: Written


def main(options: Options) -> None:
    translated = options.folders.files()
    inputs = [*paths_of(translated), *([options.identifier] if options.identifier else [])]
    for translation, _ in translated:
        check_identifier(options.identifier, translation.languages)
    publish(KIND, options, inputs, lambda: measure(options, translated), options.written)


def measure(options: Options, translated: list[tuple[Translation, list[DirectionFiles]]]) -> Measured:
    """One run per folder, with the worst lines as examples."""
    measured = Measured()
    for translation, files in translated:
        measured.add(*of_folder(translation, files, options))
    return measured


def of_folder(
    translation: Translation, files: list[DirectionFiles], options: Options
) -> tuple[dict, list[dict], list[dict]]:
    """The run of one folder, its rows and its examples."""
    identifier = identifier_of(options.identifier)
    labels = labels_of_languages(identifier, translation.languages)
    rows, examples, notes = [], [], set()
    for one in progress(files, len(files), "identify", "direction"):
        place = {"kind": translation.directions[one.direction]["kind"], "direction": one.direction}
        found = Identified.of(one, identifier, labels)
        hypotheses, _, references = found.texts
        of_scripts = script_rows(hypotheses, references, split_direction(one.direction)[1])
        rows += [place | row for row in (*found.rows, *of_scripts)]
        examples += [place | example for example in found.worst_lines[: options.worst]]
        if found.goal.note:
            notes.add(f"Into {split_direction(one.direction)[1]}: {found.goal.note}.")
    about = {"identifier": identifier.name, "identifier_labels": labels, "notes": sorted(notes)}
    return translation.described() | about, rows, examples
