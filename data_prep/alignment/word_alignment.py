"""Align the words of every bitext, pair by pair, and count the links (thesis 5.1.1, Table 5.1)."""

import contextlib
import sys

from command_line.outputs import scratch_folder, write_json, write_text
from command_line.workers import Workers
from data_prep.alignment.aligners import ALIGNERS, AlignerProcess
from data_prep.alignment.bitext_alignment import align_bitext, write_training_text
from data_prep.alignment.job import TEXT_SUFFIX, AlignmentJob
from data_prep.formats.texts import TRAIN, Text, check_parallel, find_bitexts, paths_of
from data_prep.markdown import as_markdown
from data_prep.step_folder import StepFolder

COLUMNS = (
    "split",
    "pair",
    "sentence_pairs",
    "aligned_pairs",
    "per_sentence",
    "unaligned",
    "empty_or_too_long",
)


def align_words(job: AlignmentJob, bitexts: list[Text], workers: Workers) -> None:
    """Write the alignments in words of all bitexts, and the counts; skips when that is done."""
    out_of_domain = [bitext for folder in job.out_of_domain for bitext in find_bitexts(folder)]
    settings = job.settings()
    inputs = filter(None, (job.input, job.subword, job.data, *job.out_of_domain))
    reads = paths_of([*bitexts, *out_of_domain])
    step = StepFolder(job.output, "align", settings, reads=reads, inputs=inputs)
    if step.is_complete(job.force):
        return
    ALIGNERS[job.aligner].make(job.aligner_options())  # what is not installed fails now
    check_parallel(bitexts)
    with step.writing(
        lambda path: path.suffix == TEXT_SUFFIX or path.name in ("alignments.json", "alignments.md")
    ):
        rows = []
        for pair in sorted({bitext.pair for bitext in bitexts}):
            rows += align_pair(job, bitexts, out_of_domain, pair, workers)
        write_json(
            job.output / "alignments.json",
            {"format": 1, "kind": "alignments", "settings": settings, "rows": rows},
        )
        table = [{name.replace("_", " "): row[name] for name in COLUMNS} for row in rows]
        write_text(job.output / "alignments.md", as_markdown(table))


def align_pair(
    job: AlignmentJob, bitexts: list[Text], out_of_domain: list[Text], pair: str, workers: Workers
) -> list[dict]:
    """Train the aligner of a pair and align its files; returns their rows of the table."""
    choice, rows = ALIGNERS[job.aligner], []
    directed = choice.directed
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder(job.output))
        options = job.aligner_options()
        processes = [
            stack.enter_context(AlignerProcess(choice, options, swapped))
            for swapped in ((False, True) if directed else (False,))
        ]
        training = training_bitexts(bitexts, out_of_domain, pair)
        texts = write_training_text(training, folder, job.train_sample, job.seed, job.max_length)
        for process in processes:
            process.ask("train", *texts)
        for bitext in bitexts:
            if bitext.pair == pair:
                counts = align_bitext(
                    bitext,
                    job.text_path(bitext),
                    processes,
                    workers,
                    choice.shard_lines,
                    job.max_length,
                    job.symmetrization if directed else None,
                    job.one_to_one,
                )
                rows.append({"split": bitext.split, "pair": pair} | counts.row())
    return rows


def training_bitexts(bitexts: list[Text], out_of_domain: list[Text], pair: str) -> list[Text]:
    """What the aligner of a pair is trained on."""
    of_pair = [bitext for bitext in bitexts if bitext.pair == pair]
    training = [bitext for bitext in of_pair if bitext.split == TRAIN]
    others = [bitext for bitext in out_of_domain if bitext.pair == pair and bitext.split == TRAIN]
    if not training and not others:
        print(f"align {pair}: no training lines, the aligner learns from what it aligns", file=sys.stderr)
    return (training or ([] if others else of_pair)) + others
