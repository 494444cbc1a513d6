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

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.journal import JournaledStep
from command_line.option_classes import add_options, from_arguments
from command_line.provenance import path_in_record
from data_prep.formats.preparation import Preparation
from eval.translation.evaluated_model import Directions, EvaluatedModel, settings_of
from eval.translation.long_lines import CHOICES
from eval.translation.model_options import ModelOptions, RawTextOptions, model_of
from eval.translation.raw_text_model import RawTextModel
from eval.translation.search_options import LARGEST_BEAM
from eval.translation.translated_folder import SetsJob, decoding_cost, write_translations
from eval.translation.translation_options import TranslationOptions

SPLIT = "test"


@dataclass(frozen=True)
class TranslationJob(SetsJob):
    """What is translated with a model that reads binarized sets."""

    model: EvaluatedModel


def add_arguments(parser) -> None:
    add_options(parser, EvaluatedModel)
    parser.add_argument(
        "--output",
        type=options.output_folder,
        help="folder for SRC-TGT.txt, and translate.json of a test set; a text without it: standard output",
    )
    parser.add_argument("--split", type=options.split, default=SPLIT, help="which set to translate")
    add_options(parser, Directions)
    parser.add_argument(
        "--pivot", type=options.text, help="translate zero-shot directions through this language"
    )
    add_text_arguments(parser)
    add_options(parser, TranslationOptions)
    add_options(parser, RawTextOptions)
    parser.add_argument("--force", action="store_true", help="translate again even if it is done")


def add_text_arguments(parser) -> None:
    """What belongs to a text alone."""
    parser.add_argument(
        "--input",
        type=options.path,
        metavar="FILE",
        help="translate this raw text, a sentence per line; - reads standard input (default: a test set)",
    )
    parser.add_argument(
        "--n-best",
        type=options.whole_number(1, LARGEST_BEAM),
        metavar="N",
        help="of a text: the N best of every line, as line number, score, translation, separated by tabs",
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="of a text: score (log-probability / length^lenpen) and tab in front of every translation",
    )
    parser.add_argument(
        "--long-lines",
        choices=CHOICES,
        help="of a text: lines longer than the model reads are cut, with a warning, or split into sentences"
        " (default: cut)",
    )


def main(args) -> None:
    model = model_of(from_arguments(ModelOptions, args))
    if args.input is not None:
        from eval.translation.text import TextJob, translate_text

        if args.pivot:
            raise InputError("--pivot: needs a test set, found --input; translate the text twice")
        for name, usual in (("split", SPLIT), ("name", None), ("dataset", None), ("force", False)):
            if getattr(args, name) != usual:
                raise InputError(f"--{name}: needs a test set, found --input; leave it out")
        translate_text(model, from_arguments(TextJob, args))
        return
    for name in ("n_best", "scores", "long_lines"):
        if getattr(args, name):
            raise InputError(f"--{name.replace('_', '-')}: needs --input; give both, or leave it out")
    if args.output is None:
        raise InputError("--output: is missing, expected a folder for the translations (or --input FILE)")
    if isinstance(model, RawTextModel):
        from eval.translation.raw_sets import translate_raw_sets

        translate_raw_sets(model, from_arguments(SetsJob, args), args.output, args.force)
        return
    job = from_arguments(TranslationJob, args)
    job.how.check()
    files = [*job.model.data_files([job.split]), *job.how.rescoring.files]
    stamp = Stamp(args.output / ".translate.done", "translate", settings_of(job), files)
    step = JournaledStep(stamp, args.force)
    if not step.is_complete():
        translate(job, args.output, step)


def translate(job: TranslationJob, output: Path, step: JournaledStep) -> None:
    """Load, choose directions, search, write."""
    from eval.translation.decoding import load_sources, search_all, text_of
    from eval.translation.directions import choose_directions
    from eval.translation.pivot import through_pivot

    started = time.monotonic()
    data = job.model.data
    loaded = job.model.load_translating(autocast_bf16=job.how.bf16)
    directions = choose_directions(loaded.task, data, job.split, job.directions, job.pivot)
    decoder = job.how.decoder(job.model, loaded)
    with step.journal() as journal:
        if job.pivot:
            hypotheses = through_pivot(decoder, journal, data, job.split, job.pivot, directions)
        else:
            parts = [load_sources(decoder.task, data, job.split, direction) for direction in directions]
            hypotheses = search_all(decoder, journal, parts, "translate")
        cost = decoding_cost(journal)
    preparation = Preparation.load(data)
    texts = {
        direction: [
            text_of(preparation, loaded.task.dictionary, direction[1], tokens) for tokens in sentences
        ]
        for direction, sentences in zip(directions, hypotheses, strict=True)
    }
    origin = job.model.provenance(loaded)
    origin["data"]["path"] = path_in_record(data, output)
    step.finish(write_translations(output, job, origin, texts, loaded.task.supervised, cost, started))
