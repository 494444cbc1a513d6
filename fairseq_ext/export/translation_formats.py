"""Formats of translation models: what the exported model finds is what the checkpoint finds.

A model whose graph the format does not have is refused with the reason; sentences of evaluation sets are
scored and translated by both, and nothing is written if they differ.
"""

import dataclasses
import functools
import sys
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import scratch_folder, write_json
from data_prep.formats.preparation import Preparation
from fairseq_ext.checkpoints.reading import read_checkpoint
from fairseq_ext.checkpoints.tasks import SENTENCES, name_of_task, options_of_task
from fairseq_ext.export import encoder_formats, fairseq_checkpoint, transformers_translation
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.translation_graph import translation_graph_of
from fairseq_ext.export.translation_parity import (
    BEAM,
    LONGEST,
    check_translations,
    checked_sentences,
    equal_share,
)
from fairseq_ext.inference import LoadedModel, load_for_inference

LINES = 100  # of a direction that are compared
PARITY = "parity.json"


def to_ctranslate2(job: ExportJob, folder: Path) -> None:
    """Write a folder of CTranslate2.

    The model is compared in float32; of another precision, if this machine computes in it, the record also
    says how many hypotheses it shares with the checkpoint.

    Raises:
        InputError: as `load_for_inference`; the format cannot express the model; scores or hypotheses differ.
    """
    from fairseq_ext.export import ctranslate2_folder as form
    from fairseq_ext.export.ctranslate2_search import precisions

    loaded = load(job)
    graph = translation_graph_of(loaded, job.checkpoint)
    sentences = compared_sentences(job, loaded)
    symbols, positions = loaded.task.dictionary.symbols, len(graph.decoder.positions)
    with scratch_folder(folder.parent) as exact:
        form.write_folder(exact, graph, loaded, job.checkpoint, job.data)
        scores, translate = form.compared(exact, symbols, positions)
        parity = check_translations(sentences, scores, translate) if sentences else {}
    form.write_folder(folder, graph, loaded, job.checkpoint, job.data, job.precision)
    if sentences and job.precision != "float32":
        parity[f"equal_hypotheses_in_{job.precision}"] = None
        if job.precision in precisions(cuda=False):
            _, translate = form.compared(folder, symbols, positions, job.precision)
            parity[f"equal_hypotheses_in_{job.precision}"] = equal_share(sentences, translate(sentences))
        else:
            print(f"export: not compared in {job.precision}, which this processor has not", file=sys.stderr)
    finish(folder, parity)


def to_fairseq(job: ExportJob, folder: Path) -> None:
    """Write a checkpoint that fairseq reads without our code, and compare fairseq's own model of it."""
    loaded = load(job)
    graph = translation_graph_of(loaded, job.checkpoint)
    model = fairseq_checkpoint.write_folder(folder, graph, loaded, job.checkpoint)
    sentences = compared_sentences(job, loaded)
    parity = {}
    if sentences:
        translated = compared_sentences(job, dataclasses.replace(loaded, model=model))
        parity = check_translations(
            sentences,
            lambda _: [sentence.score for sentence in translated],
            lambda _: [sentence.hypothesis for sentence in translated],
        )
    finish(folder, parity)


def to_transformers(job: ExportJob, folder: Path) -> None:
    """Write a stock model of transformers with equal logits; of a sentence encoder, as
    `encoder_formats.to_transformers`.
    """
    if name_of_task(options_of_task(read_checkpoint(job.checkpoint))) == SENTENCES:
        encoder_formats.to_transformers(job, folder)
        return
    loaded = load(job)
    graph = translation_graph_of(loaded, job.checkpoint)
    model = transformers_translation.write_folder(folder, graph, loaded, job.checkpoint, job.data)
    sentences = compared_sentences(job, loaded)
    scores = functools.partial(transformers_translation.scores_of, model)
    finish(folder, check_translations(sentences, scores, None) if sentences else {})


def load(job: ExportJob) -> LoadedModel:
    """The translation model of the checkpoint.

    Raises:
        InputError: as `load_for_inference`; an option is none of translation models.
    """
    for name in ("pretokenized", "check_text"):
        if getattr(job, name):
            raise InputError(f"--{name.replace('_', '-')}: needs a sentence encoder, found --to {job.to}")
    return load_for_inference(job.checkpoint, job.data)


def compared_sentences(job: ExportJob, loaded: LoadedModel) -> list:
    """The sentences that both models translate; none with `--check-lines 0`."""
    lines = LINES if job.check_lines is None else job.check_lines
    return checked_sentences(loaded, Preparation.load(job.data), lines) if lines else []


def finish(folder: Path, parity: dict) -> None:
    """Record what was compared, and say it."""
    write_json(folder / PARITY, {"beam": BEAM, "longest": LONGEST, **parity})
    if parity:
        shared = [
            f"{value:.1%} {name.replace('_', ' ')}"
            for name, value in parity.items()
            if name.startswith("equal") and value is not None
        ]
        print(
            f"export: {parity['sentences']} sentences of {', '.join(parity['directions'])}: scores within"
            f" {parity['largest_difference']:.1e}{''.join(f', {part}' for part in shared)}",
            file=sys.stderr,  # translations may go to standard output
        )
