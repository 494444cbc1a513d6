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
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from command_line.measurements import Measured, numbers
from command_line.option_classes import option
from command_line.progress import progress
from data_prep.formats.alignments import AlignedSpans, alignment_files, choose_aligner
from data_prep.formats.vectors import normalized
from embeddings.precision import both_ways
from eval.probes.parallel import (
    OUTPUT,
    StoreOptions,
    encoder_layers,
    index_files,
    layerwise,
    parallel_pairs,
)
from eval.probes.precision import batches_of, word_retrieval
from eval.probes.store import StateStore
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
    inputs = index_files(options.states)
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
        found = word_retrieval(pair, layer, spans, batches)
        rows += numbers(found, kind=pair.kind, direction=pair.name, layer=OUTPUT)
    return rows


def longer(pair) -> np.ndarray:
    """Tokens of every line in the language that has more, with tags and `</s>`."""
    return np.maximum(*(np.diff(part.offsets) for part in pair.parts))
