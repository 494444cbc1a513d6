"""Sentence and word retrieval P@1 inside the encoder (thesis 5.3.2 to 5.3.4, C.2 and C.3).

Sentence retrieval: which sentence of the other language is nearest, by the cosine of mean-pooled encoder
states, in every layer; over the whole set, and within batches of --batch-tokens (Figure 5.1 gives the
average precision within batches). Word retrieval, with --words: the same with aligned words in place of
sentences, on top of the encoder and within batches; a word is the mean of its subwords' states. Both are
averages of the two directions. The thesis uses the validation sets.

Equally near neighbours share a hit, and of a word that is aligned with several, any is right. Batches are
consecutive lines with at most so many tokens in the longer of both languages.
"""

import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import option
from command_line.progress import progress
from data_prep.formats.alignments import AlignedSpans, alignment_files, choose_aligner
from data_prep.formats.vectors import normalized
from embeddings.precision import both_ways
from eval.probes.parallel import (
    OUTPUT,
    ParallelPair,
    StoreOptions,
    encoder_layers,
    index_files,
    layerwise,
    parallel_pairs,
)
from eval.probes.store import StatePart, StateStore
from eval.reporting.result_file import Written, publish

KIND = "retrieval"
BATCH_TOKENS = 512  # C.3
LEXICON = "word2word"


@dataclass(frozen=True, kw_only=True)
class Options(StoreOptions):
    """Options of the command."""

    words: Path | None = option(
        "also word retrieval, with the alignments of this binarized folder (data_prep align)", metavar="DATA"
    )
    alignments: str | None = option(
        f"with --words: which (default: {LEXICON} as in C.3 if it is there, or the only one)", metavar="NAME"
    )
    batch_tokens: int = option("tokens of a batch to retrieve from (thesis C.3)", BATCH_TOKENS)
    written: Written


def main(options: Options) -> None:
    inputs = index_files(options.states, [options.split], options.written.allow_unlike)
    if options.words:
        chosen = choose_aligner(options.words, options.alignments, "--alignments", LEXICON)
        options = replace(options, alignments=chosen)
        inputs += alignment_files(options.words, options.split, chosen)
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """One run per store."""
    measured = Measured()
    for folder in options.states:
        compare = functools.partial(sentence_retrieval, batch_tokens=options.batch_tokens)
        run, rows = layerwise(folder, options, normalized, compare, "sentence retrieval")
        run["batch_tokens"] = options.batch_tokens
        if options.words:
            run["alignments"] = options.alignments
            rows += words(folder, options)
        measured.add(run, rows)
    return measured


def sentence_retrieval(pair, first: np.ndarray, second: np.ndarray, batch_tokens: int) -> list[dict]:
    """P@1 from all sentences, and from those of the same batch.

    Args:
        first, second: normalized sentences, n x C.
    """
    batches = batches_of(longer(pair), batch_tokens)
    return numbers(
        {
            "sentence": both_ways([(first, second)]),
            "sentence_in_batch": both_ways([(first[batch], second[batch]) for batch in batches]),
        }
    )


def words(folder, options: Options) -> list[dict]:
    """P@1 of aligned words from those of the same batch, and their number, of every pair of languages."""
    store = StateStore.open(folder)
    pairs, layer, rows = parallel_pairs(store, options.split), encoder_layers(store)[OUTPUT], []
    for pair in progress(pairs, len(pairs), "word retrieval", "pair"):
        batches = batches_of(longer(pair), options.batch_tokens)
        languages = pair.first, pair.second
        spans = AlignedSpans.open(options.words, options.split, languages, options.alignments)
        precision = word_retrieval(pair, layer, spans, batches)
        rows += numbers(precision, kind=pair.kind, direction=pair.name, layer=OUTPUT)
    return rows


def longer(pair) -> np.ndarray:
    """Tokens of every line in the language that has more, with tags and `</s>`."""
    return np.maximum(*(np.diff(part.offsets) for part in pair.parts))


def batches_of(sizes: np.ndarray, most: int) -> list[slice]:
    """Consecutive lines with at most `most` tokens together; a longer line is a batch of its own."""
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
        spans_of_line = spans[line]
        inside = (spans_of_line[:, [1, 3]] <= sizes[line]).all(axis=1)
        cut += int((~inside).sum())
        aligned.append(spans_of_line[inside])
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
    """Words of both sides that occur in aligned pairs, each once, as (line, start, end), n x 3 and m x 3; and
    which are aligned, n x m. Rows are a line, and start and end in the first and in the second language.
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
