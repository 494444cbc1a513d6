"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly.
"""

from dataclasses import dataclass

from command_line import options as types
from command_line.measurements import Measured
from command_line.option_classes import option
from command_line.progress import progress
from eval.probes.identified_languages import Identified
from eval.reporting.result_file import Written, publish
from eval.results.files import split_direction
from eval.results.scores import Translation
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, paths_of

KIND = "off-target"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    folders: TranslatedFolders
    worst: int = option("lines to list per direction; 0: none", 5, type=types.natural)
    written: Written


def main(options: Options) -> None:
    translated = options.folders.files()
    inputs = paths_of(translated)
    publish(KIND, options, inputs, lambda: measure(options, translated), options.written)


def measure(options: Options, translated: list[tuple[Translation, list[DirectionFiles]]]) -> Measured:
    """One run per folder, with the worst lines as examples."""
    measured = Measured()
    for translation, files in translated:
        measured.add(*of_folder(translation, files, options.worst))
    return measured


def of_folder(
    translation: Translation, files: list[DirectionFiles], worst: int
) -> tuple[dict, list[dict], list[dict]]:
    """The run of one folder, its rows and its examples."""
    languages = {language for direction in translation.directions for language in split_direction(direction)}
    rows, examples, notes = [], [], set()
    for one in progress(files, len(files), "identify", "direction"):
        place = {"kind": translation.directions[one.direction]["kind"], "direction": one.direction}
        found = Identified.of(one, languages)
        rows += [place | row for row in found.rows]
        examples += [place | example for example in found.worst_lines[:worst]]
        if found.goal.note:
            notes.add(f"Into {split_direction(one.direction)[1]}: {found.goal.note}.")
    return translation.described() | {"notes": sorted(notes)}, rows, examples
