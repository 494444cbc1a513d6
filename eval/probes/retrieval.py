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

from command_line import options as types
from command_line.option_classes import from_arguments
from command_line.progress import progress
from data_prep.formats.alignments import AlignedSpans, alignment_files, choose_aligner
from data_prep.formats.vectors import normalized
from embeddings.precision import both_ways
from eval.probes.layer_curves import KINDS, curves
from eval.probes.parallel import (
    OUTPUT,
    StoreOptions,
    add_store_arguments,
    averages,
    encoder_layers,
    index_files,
    layerwise,
    parallel_pairs,
)
from eval.probes.precision import batches_of, word_retrieval
from eval.probes.store import StateStore
from eval.reporting.exhibits import Figure, Section, Table, cells, mean_cell, slug, tidy
from eval.reporting.plots import dots
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset

KIND = "retrieval"
BATCH_TOKENS = 512  # C.3
LEXICON = "word2word"
NOTES = [
    "P@1: how often the nearest sentence (or word) of the other language, by the cosine of encoder states, is"
    " the translation (or an aligned word); average of both directions. A sentence is the mean of its tokens."
]
SENTENCES = {
    "sentence": ("P@1", "Sentence retrieval from the whole set, P@1 per encoder layer."),
    "sentence_in_batch": ("P@1 in batches", "Sentence retrieval within batches, P@1 per encoder layer."),
}
TOP = {
    "sentence": "Sentence retrieval P@1 on top of the encoder",
    "sentence_in_batch": "Sentence retrieval P@1 within batches on top of the encoder",
    "word": "Word retrieval P@1 within batches on top of the encoder",
}


@dataclass(frozen=True)
class Options(StoreOptions):
    """Options of the probe; those of the states are inherited.

    Attributes:
        words: binarized folder with alignments, for word retrieval; None for sentences only.
        alignments: whose alignments.
        batch_tokens: tokens of a batch to retrieve from.
    """

    words: Path | None = None
    alignments: str | None = None
    batch_tokens: int = BATCH_TOKENS


def add_arguments(parser) -> None:
    add_store_arguments(parser)
    parser.add_argument(
        "--words",
        type=types.path,
        metavar="DATA",
        help="also word retrieval, with the alignments of this binarized folder (data_prep align)",
    )
    parser.add_argument(
        "--alignments",
        type=types.text,
        metavar="NAME",
        help=f"with --words: which (default: {LEXICON} as in C.3 if it is there, or the only one)",
    )
    parser.add_argument(
        "--batch-tokens",
        type=types.positive,
        default=BATCH_TOKENS,
        help="tokens of a batch to retrieve from (C.3)",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    inputs = index_files(options.states)
    if options.words:
        chosen = choose_aligner(options.words, options.alignments, "--alignments", LEXICON)
        options = replace(options, alignments=chosen)
        inputs += alignment_files(options.words, options.split, chosen)
    publish(KIND, options, inputs, lambda: measure(options), args)


def measure(options: Options) -> dict:
    """One run per store."""
    return {"runs": [run(folder, options) for folder in options.states]}


def run(folder, options: Options) -> dict:
    """The run of one store."""
    compare = functools.partial(sentence_retrieval, batch_tokens=options.batch_tokens)
    found = layerwise(folder, options, normalized, compare, "sentence retrieval")
    found["batch_tokens"] = options.batch_tokens
    if options.words:
        found["alignments"] = options.alignments
        store = StateStore.open(folder)
        pairs, layer = parallel_pairs(store, options.split), encoder_layers(store)[OUTPUT]
        for pair in progress(pairs, len(pairs), "word retrieval", "pair"):
            batches = batches_of(longer(pair), options.batch_tokens)
            languages = pair.first, pair.second
            spans = AlignedSpans.open(options.words, options.split, languages, options.alignments)
            found["pairs"][pair.name] |= word_retrieval(pair, layer, spans, batches)
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


# --- the section of the report


def section(results: ResultSet) -> Section:
    exhibits = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        exhibits += [
            curves(KIND, systems, dataset, measure, *titles) for measure, titles in SENTENCES.items()
        ]
        for measure, title in TOP.items():
            with_measure = [
                system
                for system in systems
                if all(measure in entry for run in system.records for entry in run["pairs"].values())
            ]
            if with_measure:
                exhibits.append(per_pair(with_measure, dataset, measure, title))
    return Section("Retrieval in the encoder", exhibits, NOTES)


def per_pair(systems: list[System], dataset: str, measure: str, title: str) -> Figure:
    """Rows: pairs of languages and their averages; columns: systems, in percent."""
    pairs = {
        name: entry["kind"]
        for system in systems
        for run in system.records
        for name, entry in run["pairs"].items()
    }
    ordered = sorted(pairs, key=lambda name: (list(KINDS).index(pairs[name]), name))
    values = {
        system.name: [at_the_top(system, "pairs", name, measure) for name in ordered] for system in systems
    }
    rule = sum(kind == "supervised" for kind in pairs.values())
    rows = [
        [*cells(name, pairs[name]), *(mean_cell(means[i], 1) for means in values.values())]
        for i, name in enumerate(ordered)
    ]
    rules = {rule} if 0 < rule < len(ordered) else set()
    for kind in KINDS:
        if kind in pairs.values():
            rules |= {len(rows)}
            means = [at_the_top(system, "averages", kind, measure) for system in systems]
            rows.append([*cells("Avg.", kind), *(mean_cell(mean, 1) for mean in means)])
    caption = (
        f"{title}, on {dataset}, in percent; mean over seeds, error bars: standard deviation over seeds."
    )
    name = slug("retrieval", measure, dataset)
    png = dots(ordered, values, "P@1 in %", [rule] if 0 < rule < len(ordered) else [])
    data = [
        [dataset, system.name, seed, entry["kind"], pair, top_of(entry[measure])]
        for system in systems
        for seed, run in system.labelled()
        for pair, entry in run["pairs"].items()
    ]
    header = [cells("Pair", "Kind", *values)]
    titles = ["dataset", "system", "seed", "kind", "pair", measure]
    return Figure(
        name, caption, png, Table(name, caption, header, rows, frozenset(rules), tidy(titles, data))
    )


def at_the_top(system: System, *keys: str) -> MeanStd | None:
    """What the records hold under these keys, on top of the encoder: mean over seeds, in percent; None where
    a run lacks it.
    """
    return MeanStd.of(None if value is None else 100 * top_of(value) for value in system.values(*keys))


def top_of(value: float | list[float]) -> float:
    """Of one number per layer the last, which is the encoder's output."""
    return value[-1] if isinstance(value, list) else value
