"""Alignments of words -> aligned subword spans beside the binarized data."""

import functools
from pathlib import Path

import numpy as np

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.progress import progress
from command_line.workers import Workers
from data_prep.alignment.job import AlignmentJob
from data_prep.alignment.links import check_range, parse_line
from data_prep.blocks import Block, read_blocks
from data_prep.formats.alignments import AlignedSpans, AlignedSpansWriter, is_alignment_file
from data_prep.formats.preparation import Preparation
from data_prep.formats.sentences import index_path, sentence_lengths
from data_prep.formats.texts import Text, find_bitexts, paths_of
from data_prep.step_folder import StepFolder
from data_prep.subword_models import units_of
from data_prep.subword_spans import subword_spans, type_of_spelled, word_boundaries


def store_subword_spans(job: AlignmentJob, bitexts: list[Text], workers: Workers) -> None:
    """Write the aligned subword spans of all bitexts into the binarized folder; skips when that is done."""
    subwords = {(bitext.split, bitext.pair): bitext for bitext in find_bitexts(job.subword)}
    for bitext in bitexts:
        if (bitext.split, bitext.pair) not in subwords:
            raise InputError(
                f"{job.subword}: no {bitext.names()[0]}, expected the subwords of {bitext.paths[0]}"
            )
    subword_type = type_of_spelled(job.subword)
    Preparation.load(job.data)
    check_finished(job.output, "align")
    alignments = [job.text_path(bitext) for bitext in bitexts]
    indexes = [index_path(job.data / name) for bitext in bitexts for name in bitext.names()]
    texts = paths_of([*bitexts, *(subwords[bitext.split, bitext.pair] for bitext in bitexts)])
    step = StepFolder(
        job.data,
        f"align.{job.stored_as}",  # alignments of other names stay beside these
        {"type": subword_type},
        reads=[*alignments, *texts, *filter(Path.exists, indexes)],
        inputs=(job.input, job.subword),
    )
    if step.is_complete(job.force):
        return
    with step.writing(lambda path: is_alignment_file(path, job.stored_as)):
        for bitext, alignment in zip(bitexts, alignments, strict=True):
            other = subwords[bitext.split, bitext.pair]
            write_subword_spans(bitext, other, alignment, job.data, job.stored_as, subword_type, workers)


def write_subword_spans(
    words: Text, subwords: Text, alignment: Path, data: Path, name: str, subword_type: str, workers: Workers
) -> int:
    """Write `DATA/SPLIT.A-B.NAME.alignment`; returns the number of aligned pairs.

    Args:
        words, subwords: the same bitext in words and in subwords.
        alignment: its alignment in words.
        data: the binarized folder, made of the subwords.
    """
    sides = [data / name for name in words.names()]
    lengths = tuple(map(sentence_lengths, sides))
    blocks = read_blocks(*words.paths, *subwords.paths, alignment)
    results = workers.map(functools.partial(map_block, subword_type), blocks)
    title = f"spans {words.split}.{words.pair}"
    with AlignedSpansWriter(data, words.split, words.languages, name) as writer:
        for spans, sizes in progress(results, None, title, "line", size=lambda result: len(result[0])):
            _check_sizes(sides, lengths, writer.lines, sizes)
            for row in spans:
                writer.append(row)
    if writer.lines != len(lengths[0]):
        raise InputError(
            f"{alignment}: {writer.lines} lines, but {index_path(sides[0])} has {len(lengths[0])} "
            "sentences, expected as many; binarize it again"
        )
    AlignedSpans(writer.path).check(*lengths)
    return writer.rows


def map_block(subword_type: str, block: Block) -> tuple[list[list[tuple]], np.ndarray]:
    """Aligned subword spans of every line, and the lengths in subwords, `2 x lines`."""
    sides = [block.decode(side) for side in range(5)]
    spans, sizes = [], np.zeros((2, block.lines), dtype=np.int64)
    for row, (a, b, units_a, units_b, links) in enumerate(zip(*sides, strict=True)):
        number = block.first_line + row
        pairs = parse_line(links, block.paths[4], number)
        texts = (a.split(), units_of(units_a)), (b.split(), units_of(units_b))
        sizes[:, row] = [len(units) for _, units in texts]
        if not pairs:
            spans.append([])
            continue
        check_range(pairs, len(texts[0][0]), len(texts[1][0]), block.paths[4], number)
        mapped = [
            subword_spans(
                [pair[2 * side : 2 * side + 2] for pair in pairs],
                word_boundaries(*texts[side], subword_type, block.paths[side], number),
            )
            for side in (0, 1)
        ]
        # a word that the subwords do not spell has no span
        spans.append([(*x, *y) for x, y in zip(*mapped, strict=True) if x[0] < x[1] and y[0] < y[1]])
    return spans, sizes


def _check_sizes(sides: list[Path], lengths, first: int, sizes: np.ndarray) -> None:
    for side, expected, counted in zip(sides, lengths, sizes, strict=True):
        part = expected[first : first + len(counted)]
        wrong = np.flatnonzero(part != counted[: len(part)])
        if len(wrong):
            raise InputError(
                f"{index_path(side)}: sentence {first + wrong[0] + 1} has {part[wrong[0]]} subwords, but the "
                f"subword text has {counted[wrong[0]]}; binarize it again"
            )
