"""Learn one subword model for all languages together, apply it, and write the joint dictionary.

The papers have byte pair encoding with 50,000 (OPUS), 40,000 (IWSLT) and 50,000 (Europarl) merges (thesis
7.3.1, 8.2.1). The model learns from every training file, so English counts once per pair.

`--type bpe` is subword-nmt's. `--type sentencepiece` is for raw text (`tokenize --tokenizer none` before).
`--type none` keeps words. `--dictionary-from` applies the model and dictionary of an earlier run to new text,
for later test sets or for fine-tuning.

`--pretrained` applies the sentencepiece model of mBART and trims its dictionary to the corpus (thesis 5.2.1):
symbols stay that occur in the training text at least `--min-count` times. `python -m fairseq_ext trim-mbart`
then makes the checkpoint for this dictionary.

`--tokenizer` applies a tokenizer of `transformers` to raw text (thesis 3.3.2: the 501k vocabulary of LaBSE).
Its ids are the units, and all of them are in the dictionary. `--only-used` keeps those that the training text
has at least `--min-count` times.
"""

import functools
from collections import Counter
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import copy_file
from command_line.progress import progress
from command_line.workers import Workers, make_workers
from data_prep.blocks import read_blocks
from data_prep.formats.dictionary import (
    DICTIONARY,
    PADDING_FACTOR,
    dictionary_lines,
    lines_in_order,
    read_symbols,
    write_dictionary,
)
from data_prep.formats.texts import (
    TRAIN,
    check_parallel,
    find_texts,
    is_corpus_file,
    languages_of,
    open_outputs,
    paths_of,
)
from data_prep.step_folder import StepFolder, is_normalized, read_record
from data_prep.subword_learning import (
    PieceTraining,
    count_tokens,
    learn_byte_pairs,
    learn_sentence_pieces,
    load_cached,
    segment_block,
)
from data_prep.subword_models import MODEL_FILES, SPECIAL_SYMBOLS
from data_prep.subword_options import OF_TYPES, PRETRAINED_MODEL, TYPES, SubwordJob, completed
from data_prep.tokenizers import DEFAULT, LOWERCASE, UNSPLIT
from data_prep.transformers_tokenizer import KIND as TRANSFORMERS
from data_prep.transformers_tokenizer import store_tokenizer, tokenizer_files

SPECIAL_SYMBOLS_OF_MODEL = 3  # of sentencepiece: <unk>, <s>, </s>


def learning_settings(job: SubwordJob) -> dict:
    """What the model and dictionary depend on besides the text."""
    if job.dictionary_from:
        record = read_record(job.dictionary_from, "subword")
        if record is None:
            raise InputError(
                f"{job.dictionary_from}: no subword.json, expected the output of an earlier `subword`"
            )
        return {name: record[name] for name in ("type", "normalization") if name in record}
    if job.tokenizer:
        return {"type": TRANSFORMERS} | ({"only_used": job.min_count} if job.only_used else {})
    settings = {"type": TYPES[job.type], "min_count": job.min_count}
    if job.pretrained:
        settings["type"] = "sentencepiece"
    elif job.type == "bpe":
        settings["merges"] = job.merges
    elif job.type == "sentencepiece":
        settings |= {name: getattr(job, name) for name in OF_TYPES["sentencepiece"]}
    return settings


def given_files(job: SubwordJob, model: str | None) -> list[Path]:
    """The files of the model and dictionary that are applied instead of learned ones."""
    if job.tokenizer:
        return tokenizer_files(job.tokenizer)
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


def tokenizers_of(folder: Path, languages: list[str], type_name: str) -> dict[str, str]:
    """What `tokenize` did to the input. Without it, that is "none", as somebody else may have tokenized the
    text, and "raw" for tokenizers of transformers.
    """
    recorded = (read_record(folder, "tokenize") or {}).get("tokenizers", {})
    raw = type_name == TRANSFORMERS
    names = {language: recorded.get(language, "raw" if raw else "none") for language in languages}
    for language, name in names.items() if raw else ():
        if name.removesuffix(LOWERCASE) not in UNSPLIT:
            raise InputError(
                f"{folder}: {language} is tokenized by {name}, but tokenizers of transformers read raw text;"
                " --input takes the folder from before `tokenize`"
            )
    return names


def check_tokenizers(job: SubwordJob, languages: list[str]) -> None:
    """Compare how the text is tokenized with that of the model that is applied; of text that is not from
    `tokenize` nothing is known.
    """
    tokenizers = (read_record(job.input, "tokenize") or {}).get("tokenizers", {})
    of_model = read_record(job.dictionary_from, "subword")["tokenizers"]
    expected = {language: of_model[language] for language in languages if language in of_model}
    for language, name in expected.items():
        if tokenizers.get(language, name) != name:
            choices = " ".join(f"{code}={each.removesuffix(LOWERCASE)}" for code, each in expected.items())
            case = f"with{'' if name.endswith(LOWERCASE) else 'out'} --lowercase"
            raise InputError(
                f"{job.input}: {language} is tokenized by {tokenizers[language]}, but that of"
                f" {job.dictionary_from} by {name}; run `tokenize` with --tokenizer {choices}, {case}"
            )


def check_marks(job: SubwordJob, tokenizers: dict[str, str]) -> None:
    """A model that was learned elsewhere does not know how the default tokenizer marks tokens that touch."""
    for language, name in tokenizers.items() if job.pretrained else ():
        if name.removesuffix(LOWERCASE) == DEFAULT:
            raise InputError(
                f"{job.input}: {language} is tokenized by {name}, whose marks are in no piece of"
                f" {job.pretrained}; run `tokenize` with --tokenizer none, or moses"
            )


def make_model(job: SubwordJob, training: list[Path], model: Path | None, workers: Workers) -> None:
    """Make the model file, by learning or by copying."""
    if job.dictionary_from:
        if model:
            copy_file(job.dictionary_from / model.name, model)
    elif job.tokenizer:
        store_tokenizer(job.tokenizer, model)
    elif job.pretrained:
        copy_file(job.pretrained / PRETRAINED_MODEL, model)
    elif job.type == "bpe":
        learn_byte_pairs(training, job.merges, model, workers)
    elif job.type == "sentencepiece":
        pieces = PieceTraining(
            # the dictionary has fairseq's special symbols in place of the model's own
            size=job.vocabulary_size - len(SPECIAL_SYMBOLS) + SPECIAL_SYMBOLS_OF_MODEL,
            model_type=job.model_type,
            sample_lines=job.sample_lines,
            seed=job.seed,
            character_coverage=job.character_coverage,
            normalization=job.normalization,
        )
        learn_sentence_pieces(training, pieces, model)


def make_dictionary(job: SubwordJob, training: list[Path], model: Path | None, workers: Workers) -> None:
    """Write the dictionary, from the units of the training text or by copying."""
    path = job.output / DICTIONARY
    if job.dictionary_from:
        copy_file(job.dictionary_from / DICTIONARY, path)
        return
    counts = count_tokens(training, workers, "count units")
    if job.tokenizer:
        least = job.min_count if job.only_used else 0
        symbols = load_cached(TRANSFORMERS, model).dictionary_symbols(counts, least)
        write_dictionary(path, lines_in_order(symbols, counts))
        return
    if job.pretrained:
        symbols = [unit for unit in read_symbols(job.pretrained / DICTIONARY) if counts[unit]]
    elif job.type == "sentencepiece":
        symbols = load_cached("sentencepiece", model).pieces
    else:
        symbols = list(counts)
    kept = Counter({unit: counts[unit] for unit in symbols if counts[unit] >= job.min_count})
    size = write_dictionary(path, dictionary_lines(kept, job.min_count)) + len(SPECIAL_SYMBOLS)
    share = sum(kept.values()) / max(1, sum(counts.values()))
    print(size_in_words(job, size, len(symbols), len(kept), share))


def size_in_words(job: SubwordJob, size: int, units: int, kept: int, share_of_known: float) -> str:
    """What to say of a dictionary.

    Args:
        size: its symbols, all of them.
        units: that it could have.
        kept: those that it has.
        share_of_known: the share of the training text's units that it has.
    """
    special = len(SPECIAL_SYMBOLS)
    kind = "units"
    if job.type == "sentencepiece" or job.pretrained:
        kind = "pieces"
    words = (
        f"dictionary: {size:,} symbols ({kept:,} of {units:,} {kind}, {special} special symbols,"
        f" {size - kept - special} for a multiple of {PADDING_FACTOR});"
        f" {100 * (1 - share_of_known):.2f}% of the training text's units are <unk>"
    )
    if job.type == "sentencepiece" and units < job.vocabulary_size - special:
        words += f"; the text has no more pieces for --vocabulary-size {job.vocabulary_size}"
    return words


def apply(path: Path, output: Path, type_name: str, model: Path | None, workers: Workers) -> None:
    """Split one file; the output has its lines, in order."""
    segment = functools.partial(segment_block, type_name, model and model.absolute())
    blocks = workers.map(segment, read_blocks(path))
    with open_outputs([output]) as (stream,):
        for text, _ in progress(blocks, None, f"subword {output.name}", "line", size=lambda item: item[1]):
            stream.write(text)


def main(options: SubwordJob) -> None:
    job = completed(options)
    texts = find_texts(job.input)
    languages = languages_of(texts)
    settings = learning_settings(job)
    settings["tokenizers"] = tokenizers_of(job.input, languages, settings["type"])
    check_marks(job, settings["tokenizers"])
    if job.dictionary_from:
        check_tokenizers(job, languages)
    file_name = MODEL_FILES[settings["type"]]
    settings["model"] = file_name
    given = [folder for folder in (job.dictionary_from, job.pretrained, job.tokenizer) if folder]
    reads = [*paths_of(texts), *given_files(job, file_name)]
    settings["normalized"] = is_normalized(job.input)
    step = StepFolder(job.output, "subword", settings, reads=reads, inputs=[job.input, *given])
    if step.is_complete(job.force):
        return
    check_parallel(texts)
    training = [text for text in texts if text.split == TRAIN]
    if not training and not (job.dictionary_from or (job.tokenizer and not job.only_used)):
        raise InputError(f"{job.input}: no training files; --dictionary-from applies an existing model")
    model = job.output / file_name if file_name else None
    with (
        make_workers(job.workers, job.dask) as workers,
        step.writing(lambda path: is_corpus_file(path) or path.name in (DICTIONARY, *MODEL_FILES.values())),
    ):
        make_model(job, paths_of(training), model, workers)
        for text in texts:
            for path, output in zip(text.paths, text.outputs(job.output), strict=True):
                apply(path, output, settings["type"], model, workers)
        units = [path for text in training for path in text.outputs(job.output)]
        make_dictionary(job, units, model, workers)
