"""Precision at 1 of nearest neighbours by cosine: of aligned words, and within batches (thesis C.2, C.3)."""

import sys
from collections.abc import Iterator

import numpy as np

from command_line.errors import InputError
from data_prep.formats.alignments import AlignedSpans
from data_prep.formats.vectors import normalized
from embeddings.precision import both_ways
from eval.probes.parallel import ParallelPair
from eval.probes.store import StatePart


def batches_of(sizes: np.ndarray, most: int) -> list[slice]:
    """Consecutive lines with at most `most` tokens together; a longer line is a batch of its own.

    Args:
        sizes: tokens of each line.
    """
    batches, start, total = [], 0, 0
    for line, size in enumerate(sizes):
        if line > start and total + size > most:
            batches.append(slice(start, line))
            start, total = line, 0
        total += size
    return [*batches, slice(start, len(sizes))]


# --- words that are aligned with each other


def word_retrieval(pair: ParallelPair, layer: str, spans: AlignedSpans, batches: list[slice]) -> dict:
    """How often the nearest word of the other language is an aligned one (thesis C.2, C.3).

    Args:
        layer: name in the store.
        spans: alignments of the sentences of this pair.
        batches: of lines, to retrieve from.

    Returns:
        "word": P@1, average of both directions; "words": aligned words of both sides together.

    Raises:
        InputError: no words are aligned, or those of other sentences.
    """
    aligned = usable_spans(pair, spans)
    if not any(map(len, aligned)):
        raise InputError(f"{spans.path}: no aligned words of {pair.name}, expected some")
    counts = []

    def vectors() -> Iterator[tuple[np.ndarray, ...]]:
        for batch in batches:
            rows = [(line, *span) for line in range(batch.start, batch.stop) for span in aligned[line]]
            if rows:
                first, second, gold = distinct_words(np.array(rows))
                counts.append(len(first) + len(second))
                sides = word_vectors(pair.parts[0], layer, first), word_vectors(pair.parts[1], layer, second)
                yield *map(normalized, sides), gold

    return {"word": both_ways(vectors()), "words": sum(counts)}


def usable_spans(pair: ParallelPair, spans: AlignedSpans) -> list[np.ndarray]:
    """Aligned spans of every sentence, n x 4 each, without those beyond the end of a sentence that was cut to
    the length that the model reads.
    """
    if len(spans) < len(pair):
        raise InputError(
            f"{spans.path}: {len(spans)} lines, but the states are of {len(pair)}; expected the alignments of"
            " the data that the states were extracted from"
        )
    sizes = np.stack([words_of(part) for part in pair.parts], axis=1)
    aligned, cut = [], 0
    for line in range(len(pair)):
        found = spans[line]
        inside = (found[:, [1, 3]] <= sizes[line]).all(axis=1)
        cut += int((~inside).sum())
        aligned.append(found[inside])
    if cut:
        print(
            f"warning: {spans.path}: {cut} aligned pairs end beyond their sentence, which the model reads in"
            " part, and are left out",
            file=sys.stderr,
        )
    return aligned


def words_of(part: StatePart) -> np.ndarray:
    """Subwords of every sentence, without tags and `</s>`."""
    return np.add.reduceat(part.is_word.astype(np.int64), part.offsets[:-1])


def distinct_words(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words of both sides that occur in aligned pairs, each once, and which are aligned.

    Args:
        rows: line, start and end in the first, start and end in the second language.

    Returns:
        Two arrays of (line, start, end), n x 3 and m x 3, and an n x m array of truth values.
    """
    first, first_index = np.unique(rows[:, [0, 1, 2]], axis=0, return_inverse=True)
    second, second_index = np.unique(rows[:, [0, 3, 4]], axis=0, return_inverse=True)
    gold = np.zeros((len(first), len(second)), dtype=bool)
    gold[first_index.ravel(), second_index.ravel()] = True
    return first, second, gold


def word_vectors(part: StatePart, layer: str, words: np.ndarray) -> np.ndarray:
    """Mean state of the subwords of every word, n x C.

    Args:
        words: n x 3, (line, start, end) with half-open spans that do not count tags, by line.
    """
    lines = slice(int(words[0, 0]), int(words[-1, 0]) + 1)
    begin, end = part.offsets[lines.start], part.offsets[lines.stop]
    sums = np.cumsum(part.read(begin, end, layer), axis=0, dtype=np.float64)
    sums = np.concatenate([np.zeros((1, sums.shape[1])), sums])
    offsets = part.offsets[lines.start : lines.stop] - begin
    places = np.where(part.is_tag[begin:end], end - begin, np.arange(end - begin))
    base = np.minimum.reduceat(places, offsets)[words[:, 0] - lines.start]  # behind the tags in front
    spans = words[:, 1:] + base[:, None]
    return (sums[spans[:, 1]] - sums[spans[:, 0]]) / (spans[:, 1] - spans[:, 0])[:, None]
