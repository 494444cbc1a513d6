"""What `data_prep clean` does to the lines of a block: normalizes and removes, for counted reasons."""

from collections import Counter
from typing import NamedTuple

from data_prep.blocks import Block, encode
from data_prep.duplicates import key
from data_prep.normalization import measure_length, normalize

ANY = ""  # in place of a language: a line of any language
REASONS = ("empty", "too-long", "ratio", "in-evaluation", "duplicate")


class Limits(NamedTuple):
    max_length: int
    max_characters: int
    max_ratio: float


class Filtered(NamedTuple):
    """A block of training pairs after every filter but the one for duplicates."""

    texts: tuple[bytes, ...]  # one per side
    keys: bytes  # one per kept pair
    removed: Counter
    changed: int  # kept pairs that normalization altered
    lines: int  # before filtering


evaluation_lines: dict[
    str, set[str]
] = {}  # language, or ANY -> valid and test lines; worker processes inherit it


def reason_to_remove(sides: tuple[str, ...], lengths: tuple[float, ...], limits: Limits) -> str | None:
    """Why a normalized training pair, or monolingual line, goes; None if it stays (as far as it can tell).

    Args:
        lengths: of the sides, in words.
    """
    if not all(sides):
        return "empty"
    if max(lengths) > limits.max_length or max(map(len, sides)) > limits.max_characters:
        return "too-long"
    if max(lengths) > limits.max_ratio * min(lengths):  # never of one side
        return "ratio"
    return None


def ignore_case_of_evaluation() -> None:
    """Make the remembered lines what `filter_block` compares with where case does not matter."""
    for language, lines in evaluation_lines.items():
        evaluation_lines[language] = set(map(str.casefold, lines))


def filter_block(languages: tuple[str, ...], limits: Limits, ignore_case: bool, block: Block) -> Filtered:
    """Normalize and filter the pairs of a block.

    Args:
        ignore_case: in the comparison with the lines of evaluation sets, of which the case is folded.
    """
    known = [evaluation_lines.get(language, frozenset()) for language in languages]
    anywhere = evaluation_lines.get(ANY, frozenset())
    measures = [measure_length(language) for language in languages]
    kept: tuple[list[str], ...] = tuple([] for _ in languages)
    keys, removed, changed = [], Counter(), 0
    for raw in zip(*(block.decode(side, nul=True) for side in range(len(languages))), strict=True):
        sides = tuple(map(normalize, raw))
        lengths = tuple(measure(side) for measure, side in zip(measures, sides, strict=True))
        reason = reason_to_remove(sides, lengths, limits)
        compared = map(str.casefold, sides) if ignore_case else sides
        if reason is None and any(
            side in lines or side in anywhere for side, lines in zip(compared, known, strict=True)
        ):
            reason = "in-evaluation"
        if reason is not None:
            removed[reason] += 1
            continue
        changed += sides != raw
        for lines, side in zip(kept, sides, strict=True):
            lines.append(side)
        keys.append(key("\n".join(sides)))
    return Filtered(tuple(map(encode, kept)), b"".join(keys), removed, changed, block.lines)


def normalize_block(block: Block) -> tuple[tuple[list[str], ...], int]:
    """An evaluation block: the normalized lines of every side, and how many rows have an empty one."""
    decoded = (block.decode(side, nul=True) for side in range(len(block.paths)))
    sides = tuple([normalize(line) for line in lines] for lines in decoded)
    return sides, sum(not all(row) for row in zip(*sides, strict=True))


def evaluation_sentences(block: Block) -> list[str]:
    """The sentences of one file of an evaluation set, normalized: its lines, and of lines with tabs every
    field. BUCC's sentences stand behind their numbers, those of other sets beside each other.
    """
    lines = block.decode(0, nul=True)
    fields = [field for line in lines if "\t" in line for field in line.split("\t")]
    return [normalize(text) for text in (*lines, *fields)]
