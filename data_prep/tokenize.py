"""Split the lines of a corpus into words, per language.

The defaults are jieba for zh, mecab for ja, and otherwise unicode, from whose words every line can be
restored. The papers have jieba for Chinese and Moses for other languages (thesis 7.3.1, 8.2.1): `--tokenizer
moses zh=jieba`. `--tokenizer ja=jumanpp` chooses for one language, `--tokenizer none` for all. `--lowercase`
writes words in lower case (thesis 2.3.2). Files keep their lines and their order. A table shows how many
lines can be restored from their words.
"""

import functools
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from command_line.option_classes import force_switch, option, output_folder, switch
from command_line.progress import progress
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.blocks import Block, encode, read_blocks
from data_prep.formats.texts import (
    check_parallel,
    find_texts,
    is_corpus_file,
    languages_of,
    open_outputs,
    paths_of,
)
from data_prep.round_trips import RoundTrips
from data_prep.step_folder import StepFolder, is_normalized
from data_prep.tokenizers import LOWERCASE, TOKENIZERS, choose_tokenizers, default_tokenizer, make_tokenizer

CHECKED_LINES = 1_000  # of every block, whether they come back: Moses' detokenizer is slow
EXPECTED_PERCENTAGE = 99  # of lines that come back; below it there is a warning


@dataclass(frozen=True, kw_only=True)
class TokenizeJob:
    """What is tokenized, and how."""

    input: Path = option("folder of SPLIT.SRC-TGT.LANG and SPLIT.LANG files", required=True)
    output: Path = output_folder("the tokenized files")
    tokenizer: list[str] = option(
        f"NAME is one of {', '.join(TOKENIZERS)}; for one language or, without LANG=, for all; none:"
        " words are separated by spaces; raw: the line with its spaces, for tokenizers of transformers",
        [],
        metavar="[LANG=]NAME",
    )
    lowercase: bool = switch("words in lower case (thesis 2.3.2)")
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


class TokenizedBlock(NamedTuple):
    """The tokenized text of a block, its number of lines, and how many of the first ones come back."""

    text: bytes
    lines: int
    trips: RoundTrips


def tokenize_block(names: tuple[str, str], block: Block) -> TokenizedBlock:
    """Tokenize one block of one file; `names` are tokenizer and language."""
    tokenizer = make_tokenizer(*names)
    raw = block.decode()
    lines = [tokenizer.tokenize(line) for line in raw]
    checked = raw[:CHECKED_LINES]
    if names[0].endswith(LOWERCASE):
        checked = [line.lower() for line in checked]
    backs = map(tokenizer.detokenize, lines)
    trips = RoundTrips.of(zip(checked, backs, strict=False), block.paths[0], block.first_line)
    return TokenizedBlock(encode(lines), block.lines, trips)


def tokenize_file(path: Path, output: Path, names: tuple[str, str], workers: Workers) -> RoundTrips:
    """Tokenize one file; the output has its lines, in order."""
    trips = RoundTrips()
    blocks = workers.map(functools.partial(tokenize_block, names), read_blocks(path))
    with open_outputs([output]) as (stream,):
        for block in progress(blocks, None, f"tokenize {output.name}", "line", size=lambda item: item.lines):
            stream.write(block.text)
            trips.add(block.trips)
    return trips


def show_round_trips(trips: dict[str, RoundTrips], names: dict[str, str]) -> None:
    """Print the table of all languages, and warn of those that lose lines."""
    rows = [("language", "tokenizer", "lines checked", "come back", "first that does not")]
    for language, of_language in sorted(trips.items()):
        row = (language, names[language], f"{of_language.lines:,}", of_language.shown_percentage)
        rows.append((*row, of_language.first_change))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
    for language, of_language in sorted(trips.items()):
        if of_language.percentage < EXPECTED_PERCENTAGE:
            print(
                f"warning: {language}: {of_language.shown_percentage} of the lines come back from tokenizer"
                f" {names[language]}, so that a perfect translation cannot score 100; --tokenizer"
                f" {language}={default_tokenizer(language)} keeps the text",
                file=sys.stderr,
            )


def main(job: TokenizeJob) -> None:
    texts = find_texts(job.input)
    names = choose_tokenizers(languages_of(texts), job.tokenizer, job.lowercase)
    step = StepFolder(
        job.output,
        "tokenize",
        {"tokenizers": names, "normalized": is_normalized(job.input)},
        reads=paths_of(texts),
        inputs=(job.input,),
    )
    if step.is_complete(job.force):
        return
    for language, name in names.items():
        make_tokenizer(name, language)  # what is not installed fails now, not after an hour
    check_parallel(texts)
    trips: dict[str, RoundTrips] = defaultdict(RoundTrips)
    with make_workers(job.workers, job.dask) as workers, step.writing(is_corpus_file):
        for text in texts:
            for path, output, language in zip(
                text.paths, text.outputs(job.output), text.languages, strict=True
            ):
                of_file = tokenize_file(path, output, (names[language], language), workers)
                trips[language].add(of_file)
    show_round_trips(trips, names)
