"""Learn one subword model for all languages together, apply it, and write the joint dictionary.

The papers (7.3.1, 8.2.1): byte pair encoding with 50,000 (OPUS), 40,000 (IWSLT) and 50,000 (Europarl) merges
over the training text of all languages; every training file counts, so English counts once per pair.

`--type bpe` is subword-nmt's, `--type sentencepiece` a sentencepiece model (for raw text: tokenize with
`none` before), `--type none` keeps words. `--dictionary-from` applies the model and dictionary of an earlier
run to new text instead, for test sets that come later or for fine-tuning.

`--pretrained` applies the sentencepiece model of mBART and trims its dictionary to the corpus (5.2.1): of its
symbols, those stay that occur in the training text at least `--min-count` times. `python -m fairseq_ext
trim-mbart` then makes the checkpoint for this dictionary.
"""

import functools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import copy_file
from command_line.progress import progress
from command_line.workers import Workers, add_workers_argument
from data_prep.blocks import read_blocks
from data_prep.formats.dictionary import DICTIONARY
from data_prep.formats.texts import (
    TRAIN,
    Text,
    check_parallel,
    find_texts,
    is_corpus_file,
    languages_of,
    open_outputs,
    paths_of,
)
from data_prep.step_folder import StepFolder, read_record
from data_prep.subword_learning import count_tokens, learn_byte_pairs, learn_sentence_pieces, segment_block

PRETRAINED_MODEL = "sentence.bpe.model"
MODEL_FILES = {"subword-nmt": "subword.codes", "sentencepiece": "subword.model", "none": None}
TYPES = {"bpe": "subword-nmt", "sentencepiece": "sentencepiece", "none": "none"}


@dataclass(frozen=True)
class SubwordJob:
    """Which text is split, and by which model: the options of the step.

    Attributes:
        input: folder of tokenized text.
        type: key of `TYPES`; not looked at where a model is given.
        merges: of bpe.
        vocabulary_size, model_type, sample_lines, seed: of sentencepiece.
        min_count: of a unit in the training text, to be in the dictionary.
        dictionary_from: the folder of an earlier run whose model and dictionary are applied, or None.
        pretrained: mBART's folder, whose model is applied and whose dictionary is trimmed, or None.
    """

    input: Path
    type: str
    merges: int
    vocabulary_size: int
    model_type: str
    sample_lines: int
    min_count: int
    seed: int
    dictionary_from: Path | None
    pretrained: Path | None


def add_arguments(parser) -> None:
    parser.add_argument(
        "--input", required=True, type=options.path, help="folder of tokenized SPLIT.SRC-TGT.LANG files"
    )
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        help="folder for subword text, model and dictionary",
    )
    parser.add_argument("--type", choices=TYPES, default="bpe", help="kind of subwords")
    parser.add_argument(
        "--merges",
        type=options.positive,
        default=50_000,
        help="merge operations of bpe (8.2.1: 50k, 40k, 50k)",
    )
    parser.add_argument(
        "--vocabulary-size", type=options.positive, default=50_000, help="pieces of sentencepiece"
    )
    parser.add_argument(
        "--model-type", choices=("unigram", "bpe"), default="unigram", help="kind of sentencepiece"
    )
    parser.add_argument(
        "--sample-lines",
        type=options.positive,
        default=5_000_000,
        help="lines that sentencepiece learns from",
    )
    parser.add_argument(
        "--min-count", type=options.positive, default=1, help="rarer units are left out of the dictionary"
    )
    parser.add_argument("--seed", type=options.seed, default=1, help="for sentencepiece's sample")
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "--dictionary-from", type=options.path, metavar="DIR", help="apply the model and dictionary of DIR"
    )
    given.add_argument(
        "--pretrained",
        type=options.path,
        metavar="DIR",
        help=f"apply mBART's model, trim its dictionary (DIR/{PRETRAINED_MODEL}, DIR/{DICTIONARY})",
    )
    add_workers_argument(parser)
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def learning_settings(job: SubwordJob) -> dict:
    """What the model and dictionary depend on besides the text."""
    if job.dictionary_from:
        record = read_record(job.dictionary_from, "subword")
        if record is None:
            raise InputError(
                f"{job.dictionary_from}: no subword.json, expected the output of an earlier `subword`"
            )
        return {"type": record["type"]}
    settings = {"type": TYPES[job.type], "min_count": job.min_count}
    if job.pretrained:
        settings["type"] = "sentencepiece"
    elif job.type == "bpe":
        settings["merges"] = job.merges
    elif job.type == "sentencepiece":
        settings |= {
            name: getattr(job, name) for name in ("vocabulary_size", "model_type", "sample_lines", "seed")
        }
    return settings


def given_files(job: SubwordJob, model: str | None) -> list[Path]:
    """The files of the model and dictionary that are applied instead of learned ones.

    Raises:
        InputError: one is missing.
    """
    if job.pretrained:
        given, names = job.pretrained, (PRETRAINED_MODEL, DICTIONARY)
    else:
        given, names = job.dictionary_from, tuple(filter(None, (model, DICTIONARY)))
    files = [given / name for name in names] if given else []
    for path in files:
        if not path.is_file():
            expected = "that of mBART" if job.pretrained else "what an earlier `subword` wrote"
            raise InputError(f"{path}: no such file, expected {expected}")
    return files


def tokenizers_of(folder: Path, languages: list[str]) -> dict[str, str]:
    """What `tokenize` did to the input; "none" for text that somebody else has tokenized."""
    known = (read_record(folder, "tokenize") or {}).get("tokenizers", {})
    return {language: known.get(language, "none") for language in languages}


def learn(job: SubwordJob, texts: list[Text], model: Path | None, workers: Workers) -> None:
    """Make the model file, by learning or by copying."""
    if job.dictionary_from:
        if model:
            copy_file(job.dictionary_from / model.name, model)
        return
    training = paths_of(text for text in texts if text.split == TRAIN)
    if not training:
        raise InputError(f"{job.input}: no training files; --dictionary-from applies an existing model")
    if job.pretrained:
        copy_file(job.pretrained / PRETRAINED_MODEL, model)
    elif job.type == "bpe":
        learn_byte_pairs(training, job.merges, model, workers)
    elif job.type == "sentencepiece":
        learn_sentence_pieces(
            training, job.vocabulary_size, job.model_type, job.sample_lines, model, job.seed
        )


def apply(path: Path, output: Path, type_name: str, model: Path | None, workers: Workers) -> None:
    """Split one file; the output has its lines, in order."""
    blocks = workers.map(functools.partial(segment_block, type_name, model), read_blocks(path))
    with open_outputs([output]) as (stream,):
        for text, _ in progress(blocks, None, f"subword {output.name}", "line", size=lambda item: item[1]):
            stream.write(text)


def main(args) -> None:
    from data_prep.formats.dictionary import read_symbols, write_dictionary

    job = from_arguments(SubwordJob, args)
    texts = find_texts(job.input)
    languages = languages_of(texts)
    settings = learning_settings(job) | {"tokenizers": tokenizers_of(job.input, languages)}
    file_name = MODEL_FILES[settings["type"]]
    settings["model"] = file_name
    inputs = [folder for folder in (job.input, job.dictionary_from, job.pretrained) if folder]
    reads = [*paths_of(texts), *given_files(job, file_name)]
    step = StepFolder(args.output, "subword", settings, reads=reads, inputs=inputs)
    if step.is_complete(args.force):
        return
    check_parallel(texts)
    step.begin(lambda path: is_corpus_file(path) or path.name in (DICTIONARY, *MODEL_FILES.values()))
    model = args.output / file_name if file_name else None
    with Workers(args.workers) as workers:
        learn(job, texts, model, workers)
        for text in texts:
            for path, output in zip(text.paths, text.outputs(args.output), strict=True):
                apply(path, output, settings["type"], model, workers)
        if job.dictionary_from:
            copy_file(job.dictionary_from / DICTIONARY, args.output / DICTIONARY)
        else:
            training = [path for b in texts if b.split == TRAIN for path in b.outputs(args.output)]
            counts = count_tokens(training, workers, "count units")
            if job.pretrained:
                known = read_symbols(job.pretrained / DICTIONARY)
                counts = Counter({unit: count for unit, count in counts.items() if unit in known})
            write_dictionary(args.output / DICTIONARY, counts, job.min_count)
    step.finish()
