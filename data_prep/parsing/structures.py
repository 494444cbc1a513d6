"""Carry bunsetsu and phrases from words to the subwords of binarized text, for the pre-training task.

For every file of structures in --input, of SPLIT.….LANG in --tokenized, writes
DATA/SPLIT.….LANG.bunsetsu or .phrases. --subword holds the same lines as --data, as text. Words that share a
subword (a sentencepiece unit over a word boundary) become one unit.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError, at
from command_line.option_classes import force_switch, option
from command_line.progress import progress
from command_line.workers import dask_option, make_workers, workers_option
from data_prep.blocks import Block, read_blocks
from data_prep.formats.ragged_array import RaggedWriter
from data_prep.formats.sentences import index_path
from data_prep.formats.structures import (
    BUNSETSU,
    KINDS,
    Structures,
    encode,
    is_structure_file,
    structure_files,
)
from data_prep.formats.texts import text_file
from data_prep.parsing.trees import KEEP, Tree, keep_tokens
from data_prep.step_folder import StepFolder
from data_prep.subword_models import units_of
from data_prep.subword_spans import type_of_spelled, word_boundaries


@dataclass(frozen=True, kw_only=True)
class StructuresJob:
    """Which structures are carried to which text."""

    input: Path = option("folder of structures", required=True)
    tokenized: Path = option("folder of the text that was parsed", required=True)
    subword: Path = option("folder of the same text in subwords", required=True)
    data: Path = option("folder of the same text, binarized", required=True)
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


def main(job: StructuresJob) -> None:
    files = structure_files(job.input)
    for folder in (job.input, job.tokenized, job.subword):
        check_finished(folder)
    check_finished(job.data, "binarize")
    subword_type = type_of_spelled(job.subword)
    rows = []
    for path in files:
        name = path.name.rpartition(".")[0]
        index = index_path(job.data / name)
        if not index.is_file():
            raise InputError(f"{index}: no such file, expected the binarized text of {path}")
        rows.append((path, *(text_file(folder / name, path) for folder in (job.tokenized, job.subword))))
    indexes = [index_path(job.data / path.with_suffix("").name) for path in files]
    step = StepFolder(
        job.data,
        "structures",
        {"type": subword_type},
        reads=[*(path for row in rows for path in row), *indexes],
        inputs=(job.input, job.tokenized, job.subword),
    )
    if step.is_complete(job.force):
        return
    with make_workers(job.workers, job.dask) as workers, step.writing(is_structure_file):
        for over_words, words, units in rows:
            carry_file(over_words, words, units, job.data / over_words.name, subword_type, workers)


def carry_file(over_words: Path, words: Path, units: Path, output: Path, subword_type: str, workers) -> None:
    """Write the structures of one file in subwords."""
    kind = over_words.suffix[1:]
    expected = len(Structures(over_words, kind))
    carry = functools.partial(carry_block, over_words.absolute(), kind, subword_type)
    blocks = workers.map(carry, read_blocks(words, units))
    with RaggedWriter(output, KINDS[kind]) as writer:
        for values in progress(blocks, expected, f"carry {output.name}", "line", size=len):
            for line in values:
                writer.append(line)
        if writer.lines != expected:
            raise InputError(
                f"{over_words}: {expected} lines, but {words} has {writer.lines}; parse the text again"
            )


def carry_block(over_words: Path, kind: str, subword_type: str, block: Block) -> list[list[int]]:
    """The values of a block of lines; `block` has words and subwords."""
    structures = Structures(over_words, kind)
    values = []
    for number, (line, text) in enumerate(
        zip(block.decode(0), block.decode(1), strict=True), block.first_line
    ):
        structure = structures[number - 1] if number <= len(structures) else None
        if structure is None:
            values.append([])
            continue
        words, units = line.split(), units_of(text)
        if len(words) != len(structure.order):
            raise InputError(
                f"{at(block.paths[0], number)}: {len(words)} words, but {over_words} has the structure "
                f"of {len(structure.order)}; parse the text again"
            )
        boundaries = word_boundaries(words, units, subword_type, block.paths[0], number)
        values.append(carry(structure, kind, boundaries, len(units)))
    return values


def carry(structure, kind: str, boundaries: tuple[list[int], list[int]], length: int) -> list[int]:
    """The values of a line over units of whole subwords; empty if subwords are too many.

    Args:
        structure: over words.
        boundaries: where every word begins and ends in subwords (`subword_spans.word_boundaries`).
        length: number of subwords.
    """
    starts, ends = boundaries
    first_words = [0]  # of the units
    for word in range(1, len(starts)):
        if starts[word] >= ends[word - 1] and starts[first_words[-1]] < starts[word] < ends[word]:
            first_words.append(word)
    split, order = structure.boundaries.tolist(), structure.order.tolist()
    if len(first_words) < len(starts):
        unit_of = {word: unit for unit, word in enumerate(first_words)}
        if kind == BUNSETSU:
            split = [unit_of[word] for word in split if word in unit_of]
        else:
            kept = [word in unit_of for word in range(len(starts))]
            split = keep_tokens(Tree(split, [KEEP] * len(split)), kept).splits
        order = [unit_of[word] for word in order if word in unit_of]
    try:
        return encode(split, order, [0, *(starts[word] for word in first_words[1:]), length])
    except ValueError:
        return []
