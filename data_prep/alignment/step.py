"""Align the words of every bitext, and store the aligned subwords beside the binarized data (thesis 5.1.1).

`--input` is a folder of words, the output of `tokenize`; `--subword` and `--data` are the outputs of
`subword` and `binarize`. Words and subwords must spell the same text, but need not come from one
tokenization: with sentencepiece on raw text, let `tokenize` make words of the same text in another folder.

The aligner of a pair is trained on its training lines (on its valid and test lines if it has none), with
`--out-of-domain` text of the same pair joined in for training only (5.2.1), or on a sample of all these.
Then every file is aligned shard by shard with the same parameters, so memory grows with the sample and not
with the corpus.

The paper: fast_align's 1-to-1 links, or pairs from a word2word lexicon combined to phrases. Writes
OUTPUT/SPLIT.A-B.align (words; `i-j` and `i:k-j:l`), OUTPUT/alignments.json and .md (counts as in Table
5.1), and DATA/SPLIT.A-B.NAME.alignment (subwords).
"""

import argparse

from command_line import options
from command_line.option_classes import from_arguments
from command_line.workers import add_dask_argument, add_workers_argument, make_workers
from data_prep.alignment.aligners import ALIGNERS
from data_prep.alignment.job import USUAL_LINKS, USUAL_TRANSLATIONS, AlignmentJob
from data_prep.alignment.links import SYMMETRIZATIONS
from data_prep.formats.texts import find_bitexts


def add_arguments(parser) -> None:
    parser.add_argument(
        "--input", required=True, type=options.path, help="folder of words, the output of `tokenize`"
    )
    parser.add_argument(
        "--subword", type=options.path, help="folder of the same text in subwords, the output of `subword`"
    )
    parser.add_argument(
        "--data", type=options.path, help="the folder that `binarize` wrote; alignments are stored in it"
    )
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        help="folder for alignments in words and counts",
    )
    summaries = "; ".join(f"{name}: {choice.summary}" for name, choice in ALIGNERS.items())
    parser.add_argument("--aligner", choices=ALIGNERS, default="fast_align", help=summaries)
    parser.add_argument(
        "--symmetrization",
        choices=SYMMETRIZATIONS,
        default=USUAL_LINKS[0],
        help="how two directions are joined",
    )
    parser.add_argument(
        "--one-to-one",
        action=argparse.BooleanOptionalAction,
        default=USUAL_LINKS[1],
        help="keep only links whose words have no other, as the paper does (5.1.1)",
    )
    parser.add_argument(
        "--name",
        type=options.part_of_a_file_name,
        help="of the alignments in --data, by which `--alignments` of fairseq-train and of probes chooses "
        "(default: that of the aligner)",
    )
    parser.add_argument(
        "--translations",
        type=options.positive,
        help=f"word2word: best translations of a word that count (default: {USUAL_TRANSLATIONS})",
    )
    parser.add_argument(
        "--out-of-domain",
        nargs="+",
        type=options.path,
        default=[],
        metavar="DIR",
        help="folders of words whose training files the aligner is trained on too (5.2.1)",
    )
    parser.add_argument(
        "--train-sample",
        type=options.natural,
        default=1_000_000,
        help="sentence pairs to train on; 0 takes all",
    )
    parser.add_argument(
        "--max-length", type=options.positive, default=512, help="words; longer lines stay unaligned"
    )
    parser.add_argument("--seed", type=options.seed, default=1, help="of the sample")
    add_workers_argument(parser)
    add_dask_argument(parser)
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def main(args) -> None:
    from data_prep.alignment.subword_alignment import store_subword_spans
    from data_prep.alignment.word_alignment import align_words
    from data_prep.subword_spans import type_of_spelled

    job = from_arguments(AlignmentJob, args)
    bitexts = find_bitexts(job.input)
    if job.data:
        type_of_spelled(job.subword)  # what will not do is refused before hours of alignment
    with make_workers(args.workers, args.dask) as workers:
        align_words(job, bitexts, workers)
        print((job.output / "alignments.md").read_text(encoding="utf-8"), end="")
        if job.data:
            store_subword_spans(job, bitexts, workers)
