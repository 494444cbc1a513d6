"""Translating through a pivot language (thesis 7.3.3): into it, and its hypotheses onward."""

from pathlib import Path

import numpy as np

from command_line.journal import Journal
from data_prep.formats.directions import Direction
from eval.translation.decoding import Decoder, load_sources, search_all, sources_of


def through_pivot(
    decoder: Decoder, journal: Journal, data: Path, split: str, pivot: str, directions: list[Direction]
) -> list[list[list[int]]]:
    """Hypotheses (token ids) per direction and sentence.

    The same source sentence of several directions (multi-way test sets) is translated into the pivot once.
    """
    task = decoder.task
    parts = [load_sources(task, data, split, direction) for direction in directions]
    unique: dict[str, dict[tuple, int]] = {}  # language -> sentence -> its number
    for (source, _), part in zip(directions, parts, strict=True):
        number_of = unique.setdefault(source, {})
        for index in range(len(part)):
            number_of.setdefault(tuple(part.sources[index].tolist()), len(number_of))
    first = [_sources(task, (source, pivot), sentences) for source, sentences in unique.items()]
    pivots = dict(zip(unique, search_all(decoder, journal, first, f"to {pivot}"), strict=True))
    second = []
    for (source, target), part in zip(directions, parts, strict=True):
        numbers = [unique[source][tuple(part.sources[index].tolist())] for index in range(len(part))]
        onward = [[*pivots[source][number], task.dictionary.eos()] for number in numbers]
        second.append(_sources(task, (pivot, target), onward))
    return search_all(decoder, journal, second, f"from {pivot}")


def _sources(task, direction: Direction, sentences):
    rows = [np.array(sentence) for sentence in sentences]
    return sources_of(task, direction, rows, np.array([len(row) for row in rows]))
