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
from pathlib import Path

import numpy as np

from command_line import options
from eval.probes.precision import batches_of, both_ways, normalized

KIND = "retrieval"
BATCH_TOKENS = 512  # C.3


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments
    from eval.probes.parallel import add_store_arguments

    add_store_arguments(parser)
    parser.add_argument(
        "--words",
        type=options.path,
        metavar="DATA",
        help="also word retrieval, with the alignments of this binarized folder (data_prep align)",
    )
    parser.add_argument(
        "--batch-tokens",
        type=options.positive,
        default=BATCH_TOKENS,
        help="tokens of a batch to retrieve from (C.3)",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from data_prep.formats.alignments import SUFFIX
    from eval.probes.findings import publish
    from eval.probes.parallel import index_files
    from eval.reporting.sections import retrieval

    inputs = index_files(args.states)
    if args.words:
        inputs += sorted(Path(args.words).glob(f"{args.split}.*{SUFFIX}"))
    publish(args, KIND, inputs, retrieval.section, lambda: {"runs": [run(one, args) for one in args.states]})


def run(folder, args) -> dict:
    """The findings in one store."""
    from command_line.progress import progress
    from eval.probes.aligned_words import word_retrieval
    from eval.probes.parallel import OUTPUT, averages, encoder_layers, layerwise, parallel_pairs
    from eval.probes.store import StateStore

    compare = functools.partial(sentence_retrieval, batch_tokens=args.batch_tokens)
    found = layerwise(folder, args, normalized, compare, "sentence retrieval")
    if args.words:
        store = StateStore.open(folder)
        pairs, layer = parallel_pairs(store, args.split), encoder_layers(store)[OUTPUT]
        for pair in progress(pairs, len(pairs), "word retrieval", "pair"):
            batches = batches_of(longer(pair), args.batch_tokens)
            found["pairs"][pair.name] |= word_retrieval(pair, layer, args.words, args.split, batches)
        found["averages"] = averages(found["pairs"])
    return found


def sentence_retrieval(pair, first: np.ndarray, second: np.ndarray, batch_tokens: int) -> dict[str, float]:
    """P@1 from all sentences, and from those of the same batch.

    Args:
        first, second: normalized sentences, n x C.
    """
    batches = batches_of(longer(pair), batch_tokens)
    return {
        "sentence": both_ways([(first, second)]),
        "sentence_in_batch": both_ways([(first[batch], second[batch]) for batch in batches]),
    }


def longer(pair) -> np.ndarray:
    """Tokens of every line in the language that has more, with tags and `</s>`."""
    return np.maximum(*(np.diff(part.offsets) for part in pair.parts))
