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
5.1), and DATA/SPLIT.A-B.ALIGNER.alignment (subwords).
"""

import argparse
import contextlib
import sys
from pathlib import Path

from command_line import options
from command_line.completion import check_finished, unfinished_mark
from command_line.errors import InputError
from command_line.outputs import scratch_folder, write_json, write_text
from command_line.workers import Workers, add_workers_argument
from data_prep.alignment.aligners import ALIGNERS
from data_prep.alignment.links import SYMMETRIZATIONS
from data_prep.formats.texts import TRAIN, Text, check_parallel, find_bitexts, paths_of
from data_prep.step_folder import StepFolder, read_record

TEXT_SUFFIX = ".align"
COLUMNS = (
    "split",
    "pair",
    "sentence_pairs",
    "aligned_pairs",
    "per_sentence",
    "unaligned",
    "empty_or_too_long",
)


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
        default="grow-diag-final-and",
        help="how two directions are joined",
    )
    parser.add_argument(
        "--one-to-one",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep only links whose words have no other, as the paper does (5.1.1)",
    )
    parser.add_argument(
        "--translations",
        type=options.positive,
        default=5,
        help="word2word: best translations of a word that count",
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
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def check_options(args) -> None:
    if bool(args.subword) != bool(args.data):
        raise InputError("--subword and --data: found one of them, expected both or none")
    if args.aligner == "systran-align" and args.symmetrization != "grow-diag-final-and":
        raise InputError(
            f"--symmetrization {args.symmetrization}: systran-align gives grow-diag-final-and only; "
            "--aligner fast_align gives both directions"
        )


def training_bitexts(bitexts: list[Text], out_of_domain: list[Text], pair: str) -> list[Text]:
    """What the aligner of a pair is trained on."""
    of_pair = [bitext for bitext in bitexts if bitext.pair == pair]
    training = [bitext for bitext in of_pair if bitext.split == TRAIN]
    others = [bitext for bitext in out_of_domain if bitext.pair == pair and bitext.split == TRAIN]
    if not training and not others:
        print(f"align {pair}: no training lines, the aligner learns from what it aligns", file=sys.stderr)
    return (training or ([] if others else of_pair)) + others


def as_markdown(rows: list[dict]) -> str:
    names = [name.replace("_", " ") for name in COLUMNS]
    lines = ["| " + " | ".join(names) + " |", "| --- | --- |" + " ---: |" * (len(COLUMNS) - 2)]
    for row in rows:
        cells = (f"{row[name]:,}" if isinstance(row[name], int) else str(row[name]) for name in COLUMNS)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def text_path(output: Path, bitext: Text) -> Path:
    return output / f"{bitext.split}.{bitext.pair}{TEXT_SUFFIX}"


def align_words(args, bitexts: list[Text], workers: Workers) -> None:
    """Write the alignments in words of all bitexts, and the counts; skips when that is done."""
    out_of_domain = [bitext for folder in args.out_of_domain for bitext in find_bitexts(folder)]
    settings = {name: getattr(args, name) for name in ("aligner", "train_sample", "max_length", "seed")}
    if args.aligner == "word2word":
        settings["translations"] = args.translations
    else:
        settings |= {"symmetrization": args.symmetrization, "one_to_one": args.one_to_one}
    inputs = filter(None, (args.input, args.subword, args.data, *args.out_of_domain))
    reads = paths_of([*bitexts, *out_of_domain])
    step = StepFolder(args.output, "align", settings, reads=reads, inputs=inputs)
    if step.is_complete(args.force):
        return
    ALIGNERS[args.aligner].make(_aligner_options(args))  # what is not installed fails now
    check_parallel(bitexts)
    step.begin(lambda path: path.suffix == TEXT_SUFFIX or path.name in ("alignments.json", "alignments.md"))
    rows = []
    for pair in sorted({bitext.pair for bitext in bitexts}):
        rows += align_pair(args, bitexts, out_of_domain, pair, workers)
    write_json(
        args.output / "alignments.json",
        {"format": 1, "kind": "alignments", "settings": settings, "rows": rows},
    )
    write_text(args.output / "alignments.md", as_markdown(rows))
    step.finish()


def _aligner_options(args) -> dict:
    return {"translations": args.translations} if args.aligner == "word2word" else {}


def align_pair(args, bitexts, out_of_domain, pair: str, workers: Workers) -> list[dict]:
    """Train the aligner of a pair and align its files; returns their rows of the table."""
    from data_prep.alignment.aligners import AlignerProcess
    from data_prep.alignment.bitext_alignment import align_bitext, write_training_text

    choice, rows = ALIGNERS[args.aligner], []
    directed = choice.directed
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder(args.output))
        options = _aligner_options(args)
        processes = [
            stack.enter_context(AlignerProcess(choice, options, swapped))
            for swapped in ((False, True) if directed else (False,))
        ]
        training = training_bitexts(bitexts, out_of_domain, pair)
        texts = write_training_text(training, folder, args.train_sample, args.seed, args.max_length)
        for process in processes:
            process.ask("train", *texts)
        for bitext in bitexts:
            if bitext.pair == pair:
                counts = align_bitext(
                    bitext,
                    text_path(args.output, bitext),
                    processes,
                    workers,
                    choice.shard_lines,
                    args.max_length,
                    args.symmetrization if directed else None,
                    args.one_to_one,
                )
                rows.append({"split": bitext.split, "pair": pair} | counts.row())
    return rows


def store_subword_spans(args, bitexts: list[Text], workers: Workers) -> None:
    """Write the aligned subword spans of all bitexts into the binarized folder; skips when that is done."""
    from data_prep.alignment.subword_alignment import write_subword_spans
    from data_prep.formats.alignments import is_alignment_file
    from data_prep.formats.preparation import Preparation
    from data_prep.formats.sentences import index_path

    subwords = {(bitext.split, bitext.pair): bitext for bitext in find_bitexts(args.subword)}
    for bitext in bitexts:
        if (bitext.split, bitext.pair) not in subwords:
            raise InputError(
                f"{args.subword}: no {bitext.names()[0]}, expected the subwords of {bitext.paths[0]}"
            )
    record = read_record(args.subword, "subword")
    if record is None:
        raise InputError(
            f"{args.subword}: no subword.json, expected the output of `python -m data_prep subword`"
        )
    Preparation.load(args.data)
    check_finished(args.output, "align")
    alignments = [text_path(args.output, bitext) for bitext in bitexts]
    indexes = [index_path(args.data / name) for bitext in bitexts for name in bitext.names()]
    texts = paths_of([*bitexts, *(subwords[bitext.split, bitext.pair] for bitext in bitexts)])
    step = StepFolder(
        args.data,
        f"align.{args.aligner}",  # alignments of others stay beside these
        {"type": record["type"]},
        reads=[*alignments, *texts, *filter(Path.exists, indexes)],
        inputs=(args.input, args.subword),
    )
    if step.is_complete(args.force):
        return
    step.begin(lambda path: is_alignment_file(path, args.aligner))
    _remove_unfinished_unnamed(args.data)
    for bitext, alignment in zip(bitexts, alignments, strict=True):
        other = subwords[bitext.split, bitext.pair]
        write_subword_spans(bitext, other, alignment, args.data, args.aligner, record["type"], workers)
    step.finish()


def _remove_unfinished_unnamed(data: Path) -> None:
    """What version 0.1, whose files do not name their aligner, began and did not end: nobody can end it."""
    from data_prep.formats.alignments import UNNAMED, is_alignment_file

    mark = unfinished_mark(data, "align")
    if mark.exists():
        for path in filter(lambda path: is_alignment_file(path, UNNAMED), sorted(data.iterdir())):
            path.unlink()
        mark.unlink()


def main(args) -> None:
    check_options(args)
    bitexts = find_bitexts(args.input)
    with Workers(args.workers) as workers:
        align_words(args, bitexts, workers)
        print((args.output / "alignments.md").read_text(encoding="utf-8"), end="")
        if args.data:
            store_subword_spans(args, bitexts, workers)
