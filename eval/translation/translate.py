"""Translate a test set in all directions, or any text, with one checkpoint, ours or one of stock fairseq,
with a folder of `fairseq_ext package`, or with an encoder-decoder of `transformers`.

The model is loaded once; sentences of all directions share batches by length. Every hypothesis file has
exactly one detokenized line per input line, in order. A killed run continues where it was. Beam search gives
the results of fairseq's, with the options of `fairseq-generate` (beam 5: thesis 8.2.2).

Directions: those that were trained are supervised, all others between the languages of the model that DATA
has a test set for are zero-shot. With `--pivot en`, zero-shot directions are translated into English and
from there (row 0 of Table 8.2).

A checkpoint of stock fairseq may have a folder of `fairseq-preprocess`, also with a dictionary per language,
if options say how its text was split (`--bpe-codes`, …). A folder of `transformers` (M2M-100, NLLB-200,
mBART-50, OPUS-MT, MADLAD-400, T5) calls languages in its own way; codes are matched by what they mean. Both
read the raw test sets in DATA/text, SPLIT.A-B.LANG.

With `--input FILE --direction de-fr` raw text is translated, to standard output or, in one or several
directions, to files in `--output`; `--input -` reads standard input, and asks for lines on a terminal.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.journal import JournaledStep
from command_line.option_classes import force_switch, option
from command_line.provenance import path_in_record
from data_prep.formats.preparation import Preparation
from eval.translation.evaluated_model import EvaluatedModel, NamedModel, settings_of
from eval.translation.model_options import RawTextOptions, model_of
from eval.translation.raw_sets import SPLIT, SetOptions, translate_raw_sets
from eval.translation.raw_text_model import RawTextModel
from eval.translation.text import TextOptions, translate_text
from eval.translation.translated_folder import decoding_cost, write_translations
from eval.translation.translation_options import TranslationOptions


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """What is translated with what, and where it goes."""

    model: NamedModel
    output: Path | None = option(
        "folder for SRC-TGT.txt, and translate.json of a test set; a text without it: standard output",
        type=types.output_folder,
    )
    sets: SetOptions
    text: TextOptions
    how: TranslationOptions
    raw_text: RawTextOptions
    force: bool = force_switch("translate again even if it is done")


@dataclass(frozen=True)
class TranslationJob:
    """A test set that is translated with a checkpoint."""

    model: EvaluatedModel
    sets: SetOptions
    how: TranslationOptions


def main(options: TranslateOptions) -> None:
    model = model_of(options.model, options.raw_text)
    if options.text.input is not None:
        check_text_alone(options)
        translate_text(model, options.text, options.sets.directions, options.output, options.how)
        return
    for name in ("n_best", "scores", "long_lines"):
        if getattr(options.text, name):
            raise InputError(f"--{name.replace('_', '-')}: needs --input; give both, or leave it out")
    if options.output is None:
        raise InputError("--output: is missing, expected a folder for the translations (or --input FILE)")
    if isinstance(model, RawTextModel):
        translate_raw_sets(model, options.sets, options.how, options.output, options.force)
        return
    job = TranslationJob(model, options.sets, options.how)
    job.how.check()
    settings = settings_of(job)  # first of all, whether there is such a checkpoint
    files = [*job.model.data_files([job.sets.split]), *job.how.rescoring.files]
    stamp = Stamp(options.output / ".translate.done", "translate", settings, files)
    step = JournaledStep(stamp, options.force)
    if not step.is_complete():
        translate(job, options.output, step)


def check_text_alone(options: TranslateOptions) -> None:
    """Refuse what only test sets have.

    Raises:
        InputError: names the option.
    """
    if options.sets.pivot:
        raise InputError("--pivot: needs a test set, found --input; translate the text twice")
    given = {
        "split": options.sets.split != SPLIT,
        "name": options.model.name,
        "dataset": options.model.dataset,
        "force": options.force,
    }
    for name in filter(given.get, given):
        raise InputError(f"--{name}: needs a test set, found --input; leave it out")


def translate(job: TranslationJob, output: Path, step: JournaledStep) -> None:
    """Load, choose directions, search, write."""
    from eval.translation.decoding import load_sources, search_all, text_of
    from eval.translation.directions import choose_directions
    from eval.translation.pivot import through_pivot

    started = time.monotonic()
    data, sets = job.model.data, job.sets
    loaded = job.model.load_translating(autocast_bf16=job.how.bf16)
    directions = choose_directions(loaded.task, data, sets.split, sets.directions, sets.pivot)
    decoder = job.how.decoder(job.model, loaded)
    with step.journal() as journal:
        if sets.pivot:
            hypotheses = through_pivot(decoder, journal, data, sets.split, sets.pivot, directions)
        else:
            parts = [load_sources(decoder.task, data, sets.split, direction) for direction in directions]
            hypotheses = search_all(decoder, journal, parts, "translate")
        cost = decoding_cost(journal)
    preparation, dictionary = Preparation.load(data), loaded.task.dictionary
    translations = {
        direction: [text_of(preparation, dictionary, direction[1], tokens) for tokens in sentences]
        for direction, sentences in zip(directions, hypotheses, strict=True)
    }
    described = job.model.provenance(loaded)
    described["data"]["path"] = path_in_record(data, output)
    described |= {"split": sets.split, **job.how.record(), "pivot": sets.pivot}
    step.finish(write_translations(output, described, translations, loaded.task.supervised, started, cost))
