"""Which directions of a test set a model is asked to translate."""

from itertools import permutations
from pathlib import Path

from command_line.errors import InputError
from data_prep.formats.directions import Direction, parse_directions
from data_prep.formats.sentences import file_prefix, with_data
from eval.translation.evaluated_model import SETS


def choose_directions(task, data, split: str, wanted: str, pivot: str | None = None) -> list[Direction]:
    """The directions to translate, in alphabetical order. A model without language tags has one.

    Args:
        task: knows the languages of the model and which directions it was trained on.
        data: binarized folder.
        wanted: "all", "supervised", "zero-shot", or a list.
        pivot: with a pivot language, only zero-shot directions are left, and none from or to the pivot.

    Raises:
        InputError: an unknown language, a direction without data, one whose data is gone; or none is left.
    """
    if wanted in SETS:
        known = permutations(task.tags.languages, 2) if task.tags.exist else task.supervised
        directions = with_data(data, split, known)
        if wanted != "all":
            directions = [
                pair for pair in directions if (pair in task.supervised) == (wanted == "supervised")
            ]
    else:
        directions = parse_directions(wanted, "--directions")
        for source, target in directions:
            task.tags.id_of(source), task.tags.id_of(target)  # raises for a language without a tag
            file_prefix(data, split, (source, target), source)
    if pivot:
        task.tags.id_of(pivot)
        through = [pair for pair in directions if pair not in task.supervised and pivot not in pair]
        if wanted not in SETS and not through:
            raise InputError(
                f"--pivot {pivot}: {wanted} has no zero-shot direction between other languages, expected some"
            )
        directions = through
    if not directions:
        languages = ", ".join(task.tags.languages)
        raise InputError(
            f"{Path(data)}: no {split} set for {wanted} directions between the languages of the model"
            f" ({languages})"
        )
    return sorted(directions)
