"""The alignment of one pair: the text that its aligner learns from, and its files, aligned shard by shard."""

import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import count_lines, read_parallel
from command_line.progress import progress
from command_line.workers import Workers
from data_prep.alignment.aligners import AlignerProcess, answers
from data_prep.alignment.links import SYMMETRIZATIONS, format_line, one_to_one
from data_prep.blocks import encode, read_blocks
from data_prep.formats.texts import Text, open_outputs


def is_usable(words_a: int, words_b: int, longest: int) -> bool:
    """Whether a sentence pair can be aligned: no side is empty or too long."""
    return 0 < words_a <= longest and 0 < words_b <= longest


def write_training_text(
    bitexts: list[Text], folder: Path, sample: int, seed: int, longest: int
) -> tuple[Path, Path]:
    """Write two line-parallel files of words.

    Args:
        bitexts: of one pair, joined.
        sample: lines, drawn without replacement and kept in order, if there are more; 0 takes all.
        longest: words; sentence pairs with a longer or an empty side are left out.
    """
    total = sum(count_lines(bitext.paths[0]) for bitext in bitexts)
    chosen = iter(
        sorted(random.Random(seed).sample(range(total), sample)) if 0 < sample < total else range(total)
    )
    paths = folder / "training.a", folder / "training.b"
    written, wanted = 0, next(chosen, None)
    lines = (row for bitext in bitexts for row in read_parallel(*bitext.paths))
    with open(paths[0], "w", encoding="utf-8") as a, open(paths[1], "w", encoding="utf-8") as b:
        for number, row in enumerate(progress(lines, total, f"read {bitexts[0].pair}", "line")):
            if number != wanted:
                continue
            wanted = next(chosen, None)
            words = [line.split() for line in row]
            if is_usable(len(words[0]), len(words[1]), longest):
                for stream, side in zip((a, b), words, strict=True):
                    stream.write(" ".join(side) + "\n")
                written += 1
    if not written:
        raise InputError(
            f"{bitexts[0].paths[0]}: no sentence pair to train an aligner on, all are empty or too long"
        )
    return paths


LINES_PER_TASK = 2_000


@dataclass
class Counts:
    """Counts of one file; `unaligned` are the sentence pairs without a link, for any reason."""

    sentence_pairs: int = 0
    aligned_pairs: int = 0
    unaligned: int = 0
    empty_or_too_long: int = 0

    def row(self) -> dict:
        per_sentence = self.aligned_pairs / max(self.sentence_pairs, 1)
        return {**vars(self), "per_sentence": round(per_sentence, 2)}


def align_bitext(
    bitext: Text,
    output: Path,
    processes: list[AlignerProcess],
    workers: Workers,
    shard_lines: int,
    longest: int,
    symmetrization: str | None,
    only_one_to_one: bool,
) -> Counts:
    """Write the alignment of one file, a line per sentence pair.

    Args:
        processes: one aligner, or one per direction.
        symmetrization: of two directions; None for one aligner.
    """
    counts = Counts()
    tasks = _tasks(_aligned_shards(bitext, processes, shard_lines, longest))
    finish = functools.partial(finish_lines, symmetrization, only_one_to_one)
    title = f"align {bitext.split}.{bitext.pair}"
    results = progress(workers.map(finish, tasks), None, title, "line", size=lambda result: len(result[0]))
    with open_outputs([output]) as (stream,):
        for lines, links, skipped in results:
            stream.write(encode(lines))
            counts.sentence_pairs += len(lines)
            counts.aligned_pairs += links
            counts.unaligned += sum(not line for line in lines)
            counts.empty_or_too_long += skipped
    return counts


def _aligned_shards(bitext, processes, shard_lines: int, longest: int) -> Iterator[tuple]:
    """(usable, results): which lines of a shard were aligned, and what each aligner returned for those.

    The next shard is read, and the last one finished by the caller, while the aligners work.
    """
    asked = None
    for a, b in _shards(bitext, shard_lines):
        usable = np.array(
            [is_usable(len(x.split()), len(y.split()), longest) for x, y in zip(a, b, strict=True)]
        )
        kept = [[line for line, good in zip(side, usable, strict=True) if good] for side in (a, b)]
        results = answers(processes)  # of the shard before this one; before the first, of the training
        for process in processes:
            process.ask("align", *kept)
        if asked is not None:
            yield asked, results
        asked = usable
    yield asked, answers(processes)


def _shards(bitext: Text, lines: int) -> Iterator[tuple[list[str], list[str]]]:
    a, b = [], []
    for block in read_blocks(*bitext.paths):
        a += block.decode(0)
        b += block.decode(1)
        while len(a) >= lines:
            yield a[:lines], b[:lines]
            del a[:lines], b[:lines]
    if a:
        yield a, b


def _tasks(shards: Iterator[tuple]) -> Iterator[tuple]:
    """Parts of shards that are small enough for several workers."""
    for usable, results in shards:
        edges = [np.append(0, np.cumsum(counts)) for counts, _ in results]
        done = 0
        for first in range(0, len(usable), LINES_PER_TASK):
            part = usable[first : first + LINES_PER_TASK]
            last = done + int(part.sum())
            yield (
                part,
                [
                    (counts[done:last], links[edge[done] : edge[last]])
                    for (counts, links), edge in zip(results, edges, strict=True)
                ],
            )
            done = last


def finish_lines(
    symmetrization: str | None, only_one_to_one: bool, task: tuple
) -> tuple[list[str], int, int]:
    """Symmetrize, filter and format.

    Returns:
        the lines, their number of links, and how many of the lines the aligners were not given.
    """
    usable, results = task
    sides = [_per_line(*result) for result in results]
    total = 0
    lines = []
    place = iter(zip(*sides, strict=True))
    for good in usable.tolist():
        if not good:
            lines.append("")
            continue
        row = next(place)
        rows = SYMMETRIZATIONS[symmetrization](*row) if symmetrization else row[0]
        if rows and len(rows[0]) == 4:
            line = format_line(rows)
        else:
            rows = one_to_one(rows) if only_one_to_one else rows
            line = " ".join([f"{i}-{j}" for i, j in rows])
        total += len(rows)
        lines.append(line)
    return lines, total, len(lines) - int(usable.sum())


def _per_line(counts: np.ndarray, links: np.ndarray) -> list[list[tuple]]:
    rows, begin, result = list(map(tuple, links.tolist())), 0, []
    for count in counts.tolist():
        result.append(rows[begin : begin + count])
        begin += count
    return result
