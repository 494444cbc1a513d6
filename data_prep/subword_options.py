"""The options of the step `subword`."""

from dataclasses import dataclass, replace
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.workers import add_dask_argument, add_workers_argument
from data_prep.formats.dictionary import DICTIONARY
from data_prep.subword_learning import CHARACTER_COVERAGE, NORMALIZATION, NORMALIZATIONS

PRETRAINED_MODEL = "sentence.bpe.model"
OF_TYPES = {
    "bpe": ("merges",),
    "sentencepiece": (
        "vocabulary_size", "model_type", "character_coverage", "normalization", "sample_lines", "seed",
    ),
}  # fmt: skip
DEFAULTS = {
    "type": "bpe",
    "merges": 50_000,
    "vocabulary_size": 50_000,
    "model_type": "unigram",
    "character_coverage": CHARACTER_COVERAGE,
    "normalization": NORMALIZATION,
    "sample_lines": 5_000_000,
    "min_count": 1,
    "seed": 1,
}
TYPES = {"bpe": "subword-nmt", "sentencepiece": "sentencepiece", "none": "none"}


@dataclass(frozen=True)
class SubwordJob:
    """Which text is split, and by which model: the options of the step.

    Attributes:
        input: folder of tokenized text.
        output: folder of subword text, model and dictionary.
        type: key of `TYPES`; None where a model is given.
        merges: of bpe.
        vocabulary_size, model_type, character_coverage, normalization, sample_lines, seed: of sentencepiece.
        min_count: of a unit in the training text, to be in the dictionary; None where that is given.
        dictionary_from: the folder of an earlier run whose model and dictionary are applied, or None.
        pretrained: mBART's folder, whose model is applied and whose dictionary is trimmed, or None.
        tokenizer: a folder with a tokenizer of transformers, which is applied, or None.
        only_used: the dictionary has those of its ids that are in the training text.
    """

    input: Path
    output: Path
    type: str | None
    merges: int | None
    vocabulary_size: int | None
    model_type: str | None
    character_coverage: float | None
    normalization: str | None
    sample_lines: int | None
    min_count: int | None
    seed: int | None
    dictionary_from: Path | None
    pretrained: Path | None
    tokenizer: Path | None
    only_used: bool


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
    parser.add_argument(
        "--type", choices=TYPES, help=f"kind of subwords to learn (default: {DEFAULTS['type']})"
    )
    parser.add_argument(
        "--merges",
        type=options.positive,
        help=f"merge operations of bpe (default: {DEFAULTS['merges']}; 8.2.1: 50k, 40k, 50k)",
    )
    parser.add_argument(
        "--vocabulary-size",
        type=options.positive,
        help="symbols of sentencepiece's dictionary, fairseq's four included"
        f" (default: {DEFAULTS['vocabulary_size']})",
    )
    parser.add_argument(
        "--model-type",
        choices=("unigram", "bpe"),
        help=f"kind of sentencepiece (default: {DEFAULTS['model_type']})",
    )
    parser.add_argument(
        "--character-coverage",
        type=options.number(0, 1, above=True),
        help="share of the text's characters that sentencepiece has pieces for; the others are <unk>"
        f" (default: {DEFAULTS['character_coverage']})",
    )
    parser.add_argument(
        "--normalization",
        choices=NORMALIZATIONS,
        help="rule by which sentencepiece changes text before it is split, here and in exported tokenizers"
        f" (default: {DEFAULTS['normalization']}: none)",
    )
    parser.add_argument(
        "--sample-lines",
        type=options.positive,
        help=f"lines that sentencepiece learns from (default: {DEFAULTS['sample_lines']})",
    )
    parser.add_argument(
        "--min-count",
        type=options.positive,
        help=f"rarer units are left out of the dictionary (default: {DEFAULTS['min_count']}; of"
        " sentencepiece, all pieces are in it)",
    )
    parser.add_argument(
        "--seed", type=options.seed, help=f"for sentencepiece's sample (default: {DEFAULTS['seed']})"
    )
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
    given.add_argument(
        "--tokenizer",
        type=options.path,
        metavar="DIR",
        help="apply the tokenizer of transformers in DIR to raw text; its vocabulary is the dictionary",
    )
    parser.add_argument(
        "--only-used",
        action="store_true",
        help="--tokenizer: what the training text has less than --min-count times is left out",
    )
    add_workers_argument(parser)
    add_dask_argument(parser)
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def completed(job: SubwordJob) -> SubwordJob:
    """The job with defaults where nothing was given.

    Raises:
        InputError: an option would do nothing.
    """
    _check_options(job)
    _check_options_of_dictionary(job)
    defaults = dict(DEFAULTS)
    if job.type == "sentencepiece":
        defaults["min_count"] = 0
    return replace(job, **{name: value for name, value in defaults.items() if getattr(job, name) is None})


def _check_options(job: SubwordJob) -> None:
    given = {
        "--dictionary-from": job.dictionary_from, "--pretrained": job.pretrained, "--tokenizer": job.tokenizer
    }  # fmt: skip
    applied = next((option for option, path in given.items() if path), None)
    if applied and job.type:
        raise InputError(f"--type: of learning, but {applied} has a model; leave it out")
    chosen = job.type or DEFAULTS["type"]
    for kind, names in OF_TYPES.items():
        for name in names:
            option = f"--{name.replace('_', '-')}"
            if getattr(job, name) is not None and (applied or kind != chosen):
                found = f"{applied} has a model" if applied else f"--type is {chosen}"
                raise InputError(f"{option}: of learning with --type {kind}, but {found}; leave it out")


def _check_options_of_dictionary(job: SubwordJob) -> None:
    if job.only_used and not job.tokenizer:
        raise InputError("--only-used: of the vocabulary of --tokenizer, which is not given")
    if job.dictionary_from and job.min_count:
        raise InputError(
            f"--min-count {job.min_count}: of making a dictionary, but --dictionary-from has one;"
            " leave it out"
        )
    if job.tokenizer and (job.min_count or 1) > 1 and not job.only_used:
        raise InputError(
            f"--min-count {job.min_count}: with --tokenizer all ids are in the dictionary; --only-used leaves"
            " out the rare ones"
        )
