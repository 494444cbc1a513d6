"""Which directions of a test set a model is asked to translate."""

from collections.abc import Callable, Iterable
from itertools import permutations
from pathlib import Path

from command_line.errors import InputError
from data_prep.formats.directions import Direction, parse_directions
from data_prep.formats.sentences import file_prefix, with_data
from eval.translation.evaluated_model import SETS


def choose_directions(task, data, split: str, wanted: str, pivot: str | None = None) -> list[Direction]:
    """The directions to translate, in alphabetical order. A model without language tags has one.

    Args:
        wanted: "all", "supervised", "zero-shot", or a list.
        pivot: with a pivot language, only zero-shot directions are left, and none from or to the pivot.

    Raises:
        InputError: an unknown language, a direction without data, one whose data is gone; or none is left.
    """
    pairs = permutations(task.tags.languages, 2) if task.tags.exist else task.supervised
    available = with_data(data, split, pairs) if wanted in SETS else ()

    def check(direction: Direction) -> None:
        for language in direction:
            task.tags.id_of(language)  # raises for a language without a tag
        file_prefix(data, split, direction, direction[0])

    if pivot:
        task.tags.id_of(pivot)
    directions = chosen(wanted, available, lambda direction: direction in task.supervised, check, pivot)
    if not directions and pivot and wanted not in SETS:
        raise InputError(
            f"--pivot {pivot}: {wanted} has no zero-shot direction between other languages, expected some"
        )
    if not directions:
        languages = ", ".join(task.tags.languages)
        raise InputError(
            f"{Path(data)}: no {split} set for {wanted} directions between the languages of the model"
            f" ({languages})"
        )
    return directions


def chosen(
    wanted: str,
    available: Iterable[Direction],
    is_supervised: Callable[[Direction], bool],
    check: Callable[[Direction], None],
    pivot: str | None,
) -> list[Direction]:
    """The directions that are asked for, in alphabetical order; there may be none.

    Args:
        wanted: one of SETS, chosen from those available; or a list, whose directions are checked.
        pivot: with a pivot language, only zero-shot directions between other languages.
    """
    if wanted in SETS:
        wants_supervised = wanted == SETS[1]
        directions = [
            direction
            for direction in available
            if wanted == SETS[0] or is_supervised(direction) == wants_supervised
        ]
    else:
        directions = parse_directions(wanted, "--directions")
        for direction in directions:
            check(direction)
    if pivot:
        directions = [
            direction for direction in directions if not is_supervised(direction) and pivot not in direction
        ]
    return sorted(directions)
