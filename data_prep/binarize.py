"""Write the folder that fairseq-train reads: one flat folder, one joint dictionary, the bytes of
`fairseq-preprocess`.

`--text` is the folder of untokenized text from before `tokenize` (the output of `clean` or `phrasebook`): its
valid and test files are copied into DATA/text as references for scoring. DATA/preparation.json, written last,
records how the data was made.
"""

from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

from command_line import options
from command_line.errors import InputError
from command_line.lines import count_lines
from command_line.names_in_records import path_inside
from command_line.option_classes import force_switch, option
from command_line.outputs import checksum, copy_file
from command_line.progress import progress
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.blocks import Block, encode, read_blocks
from data_prep.formats.alignments import is_alignment_file
from data_prep.formats.dictionary import DICTIONARY, dictionary_path, required_dictionary, token_ids
from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.formats.sentences import is_sentence_file, written_sentences
from data_prep.formats.structures import is_structure_file
from data_prep.formats.teacher_vectors import is_stored_file
from data_prep.formats.texts import (
    TRAIN,
    Text,
    check_parallel,
    find_texts,
    languages_of,
    open_outputs,
    paths_of,
)
from data_prep.step_folder import StepFolder, SubwordModel, corpus_of, read_record
from data_prep.subword_models import MODEL_FILES

END_OF_LINE = "\0"  # no word: text has no NUL


@dataclass(frozen=True, kw_only=True)
class BinarizeJob:
    """Folders: of the subword text, of the same text before tokenization, and of the binarized data."""

    input: Path = option("folder of subword text, the output of `subword`", required=True)
    text: Path = option("folder of the same corpus as untokenized text", required=True)
    output: Path = option(
        "the folder DATA for fairseq-train",
        required=True,
        compare=False,
        type=options.output_folder,
        metavar="DIR",
    )
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


def is_of_sentences(path: Path) -> bool:
    """Whether other steps made a file of that name from the binarized sentences."""
    return is_alignment_file(path) or is_structure_file(path) or is_stored_file(path)


def is_data_file(path: Path) -> bool:
    return (
        is_sentence_file(path)
        or is_of_sentences(path)
        or path.name.startswith("dict.")
        or path.name in {FILE_NAME, *filter(None, MODEL_FILES.values())}
        or path.parent.name == "text"
    )


def copy_text(text: Text, raw: Text, folder: Path) -> dict[str, str]:
    """Copy the untokenized sides of an evaluation set; returns their checksums by file name."""
    sums = {}
    with open_outputs(folder / name for name in text.names()) as streams:
        for block in read_blocks(*raw.paths):
            for side, stream in enumerate(streams):
                stream.write(encode(block.decode(side)))
    for path, name in zip(text.paths, text.names(), strict=True):
        lines, expected = count_lines(folder / name), count_lines(path)
        if lines != expected:
            raise InputError(f"{raw.paths[0].parent / name}: {lines} lines, but {path} has {expected}")
        sums[name] = checksum(folder / name)
    return sums


def main(job: BinarizeJob) -> None:
    texts = find_texts(job.input)
    record = read_record(job.input, "subword")
    if record is None:
        raise InputError(
            f"{job.input}: no subword.json, expected the output of `python -m data_prep subword`"
        )
    if record["model"]:
        path_inside(job.input, record["model"], f"{job.input / 'subword.json'}: field model")
    raw = {(text.split, text.pair): text for text in find_texts(job.text)}
    evaluation = [text for text in texts if text.split != TRAIN]
    for text in evaluation:
        if (text.split, text.pair) not in raw:
            raise InputError(f"{job.text}: no {text.names()[0]}, expected the text behind {text.paths[0]}")
    evaluated = paths_of(raw[text.split, text.pair] for text in evaluation)
    settings = {name: record[name] for name in ("type", "model", "tokenizers", "normalized")}
    reads = [*paths_of(texts), *evaluated, required_dictionary(job.input / DICTIONARY)]
    if record["model"]:
        reads.append(job.input / record["model"])
    step = StepFolder(job.output, "binarize", settings, reads, inputs=(job.input, job.text))
    if step.is_complete(job.force):
        return
    ids = token_ids(job.input / DICTIONARY)
    check_parallel(texts)
    with make_workers(job.workers, job.dask) as workers, step.writing(is_data_file, subfolder="text"):
        for path in filter(is_of_sentences, job.output.iterdir()):
            path.unlink()  # of the sentences before; no record of ours lists it
        write_data(job, texts, raw, ids, record, workers)


def write_data(
    job: BinarizeJob, texts: list[Text], raw: dict, ids: dict[str, int], record: dict, workers: Workers
) -> None:
    """Everything that the binarized folder holds; the preparation record last.

    Args:
        raw: the untokenized text of the evaluation sets, by set and pair.
    """
    languages = languages_of(texts)
    for language in languages:
        copy_file(job.input / DICTIONARY, dictionary_path(job.output, language))
    pairs: dict[str, dict[str, int]] = {}
    monolingual: dict[str, dict[str, int]] = {}
    text_sha256: dict[str, str] = {}
    binarizer = BlockBinarizer(ids)
    for text in progress(texts, len(texts), "binarize", "text"):
        counts = [
            binarize_file(path, job.output / name, binarizer, len(ids), workers)
            for path, name in zip(text.paths, text.names(), strict=True)
        ]
        lines = pairs if text.is_bitext else monolingual
        lines.setdefault(text.split, {})[text.pair] = counts[0]
        if text.split != TRAIN:
            text_sha256 |= copy_text(text, raw[text.split, text.pair], job.output / "text")
    if model := record["model"]:
        copy_file(job.input / model, job.output / model)
    Preparation(
        folder=job.output,
        languages=languages,
        tokenizers=record["tokenizers"],
        subword={name: record[name] for name in SubwordModel.__annotations__ if name in record},
        pairs=pairs,
        dictionary_sha256=checksum(job.input / DICTIONARY),
        text_sha256=text_sha256,
        monolingual=monolingual,
        normalized=record["normalized"],
        corpus=corpus_of(job.text),
    ).save()


class BlockBinarizer:
    """Looks up the words of a block of lines; a worker process gets it once.

    Words are separated by whitespace, as fairseq has it. `</s>` ends every sentence.

    Args:
        ids: of the symbols of a dictionary and of fairseq's special ones.
    """

    def __init__(self, ids: dict[str, int]):
        self._end = len(ids)  # stands for `</s>` until the lengths are known
        self._ids = ids | {END_OF_LINE: self._end}
        self._unknown, self._eos = ids["<unk>"], ids["</s>"]

    def __call__(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of all lines, one after the other, and the tokens of every line."""
        words = block.text().replace("\n", f" {END_OF_LINE} ").split()
        ids = map(self._ids.get, words, repeat(self._unknown))
        tokens = np.fromiter(ids, dtype=np.uint32, count=len(words))
        ends = np.flatnonzero(tokens == self._end)
        tokens[ends] = self._eos
        return tokens, np.diff(ends, prepend=-1)


def binarize_file(path: Path, prefix: Path, binarizer: BlockBinarizer, symbols: int, workers: Workers) -> int:
    """Write the binarized sentences of a file, one per line; returns their number."""
    with written_sentences(prefix, symbols) as writer:
        for tokens, lengths in workers.map(binarizer, read_blocks(path)):
            writer.write(tokens, lengths)
    return writer.count
