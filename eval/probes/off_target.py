"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly.
"""

from dataclasses import dataclass

from command_line import options as types
from command_line.measurements import Measured
from command_line.option_classes import from_arguments
from command_line.progress import progress
from eval.probes.identified_languages import Identified
from eval.reporting.result_file import Written, add_output_arguments, publish
from eval.results.files import split_direction
from eval.results.scores import Translation
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, add_folder_arguments, paths_of

KIND = "off-target"


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        worst: lines to list per direction.
    """

    folders: TranslatedFolders
    worst: int = 5


def add_arguments(parser) -> None:
    add_folder_arguments(parser)
    parser.add_argument("--worst", type=types.natural, default=5, help="lines to list per direction; 0: none")
    add_output_arguments(parser)


def main(args) -> None:
    options = from_arguments(Options, args)
    translated = options.folders.files()
    inputs = paths_of(translated)
    publish(KIND, options, inputs, lambda: measure(options, translated), from_arguments(Written, args))


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
