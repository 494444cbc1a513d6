"""The options of the step `subword`."""

from dataclasses import dataclass, replace
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import Alternatives, force_switch, option, output_folder, switch
from command_line.workers import dask_option, workers_option
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


GIVEN = Alternatives("given models")


@dataclass(frozen=True, kw_only=True)
class SubwordJob:
    """Which text is split, and by which model: the options of the step."""

    input: Path = option("folder of tokenized SPLIT.SRC-TGT.LANG files", required=True)
    output: Path = output_folder("subword text, model and dictionary")
    type: str | None = option(f"kind of subwords to learn (default: {DEFAULTS['type']})", choices=TYPES)
    merges: int | None = option(
        f"merge operations of bpe (default: {DEFAULTS['merges']}; 8.2.1: 50k, 40k, 50k)"
    )
    vocabulary_size: int | None = option(
        "symbols of sentencepiece's dictionary, fairseq's four included"
        f" (default: {DEFAULTS['vocabulary_size']})"
    )
    model_type: str | None = option(
        f"kind of sentencepiece (default: {DEFAULTS['model_type']})", choices=("unigram", "bpe")
    )
    character_coverage: float | None = option(
        "share of the text's characters that sentencepiece has pieces for; the others are <unk>"
        f" (default: {DEFAULTS['character_coverage']})",
        type=options.number(0, 1, above=True),
    )
    normalization: str | None = option(
        "rule by which sentencepiece changes text before it is split, here and in exported tokenizers"
        f" (default: {DEFAULTS['normalization']}: none)",
        choices=NORMALIZATIONS,
    )
    sample_lines: int | None = option(
        f"lines that sentencepiece learns from (default: {DEFAULTS['sample_lines']})"
    )
    min_count: int | None = option(
        f"rarer units are left out of the dictionary (default: {DEFAULTS['min_count']}; of"
        " sentencepiece, all pieces are in it)"
    )
    seed: int | None = option(f"for sentencepiece's sample (default: {DEFAULTS['seed']})", type=options.seed)
    dictionary_from: Path | None = option("apply the model and dictionary of DIR", among=GIVEN, metavar="DIR")
    pretrained: Path | None = option(
        f"apply mBART's model, trim its dictionary (DIR/{PRETRAINED_MODEL}, DIR/{DICTIONARY})",
        among=GIVEN,
        metavar="DIR",
    )
    tokenizer: Path | None = option(
        "apply the tokenizer of transformers in DIR to raw text; its vocabulary is the dictionary",
        among=GIVEN,
        metavar="DIR",
    )
    only_used: bool = switch(
        "--tokenizer: what the training text has less than --min-count times is left out"
    )
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


def completed(job: SubwordJob) -> SubwordJob:
    """The job with defaults where nothing was given."""
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
        raise InputError(f"--type: {applied} has a model already; leave it out")
    chosen = job.type or DEFAULTS["type"]
    for kind, names in OF_TYPES.items():
        for name in names:
            option = f"--{name.replace('_', '-')}"
            if getattr(job, name) is not None and (applied or kind != chosen):
                reason = f"{applied} has a model" if applied else f"--type is {chosen}"
                raise InputError(f"{option}: needs --type {kind}, but {reason}; leave it out")


def _check_options_of_dictionary(job: SubwordJob) -> None:
    if job.only_used and not job.tokenizer:
        raise InputError("--only-used: needs --tokenizer; give both, or leave it out")
    if job.dictionary_from and job.min_count:
        raise InputError(
            f"--min-count {job.min_count}: --dictionary-from has a dictionary already; leave it out"
        )
    if job.tokenizer and (job.min_count or 1) > 1 and not job.only_used:
        raise InputError(
            f"--min-count {job.min_count}: with --tokenizer all ids are in the dictionary; --only-used leaves"
            " out the rare ones"
        )
