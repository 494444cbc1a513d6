"""Split the lines of a corpus into words, per language.

The papers (7.3.1, 8.2.1): jieba for Chinese, Moses for other languages. Defaults: zh jieba, ja mecab,
otherwise moses. `--tokenizer zh=jieba ja=jumanpp` chooses per language, `--tokenizer none` for all;
`--lowercase` writes words in lower case (2.3.2). Every file comes out with as many lines as it had, in the
same order.
"""

from __future__ import annotations

import functools
from pathlib import Path

from command_line import options
from command_line.progress import progress
from command_line.workers import Workers, add_workers_argument
from data_prep.blocks import Block, encode, read_blocks
from data_prep.formats.texts import (
    check_parallel,
    find_texts,
    is_corpus_file,
    languages_of,
    open_outputs,
    paths_of,
)
from data_prep.step_folder import StepFolder, is_normalized
from data_prep.tokenizers import TOKENIZERS, choose_tokenizers, make_tokenizer


def add_arguments(parser) -> None:
    parser.add_argument(
        "--input", required=True, type=options.path, help="folder of SPLIT.SRC-TGT.LANG and SPLIT.LANG files"
    )
    parser.add_argument(
        "--output", required=True, type=options.output_folder, help="folder for the tokenized files"
    )
    parser.add_argument(
        "--tokenizer",
        nargs="+",
        type=options.text,
        default=[],
        metavar="[LANG=]NAME",
        help=f"NAME is one of {', '.join(TOKENIZERS)}; for one language or, without LANG=, for all; none:"
        " words are separated by spaces; raw: the line with its spaces, for tokenizers of transformers",
    )
    parser.add_argument("--lowercase", action="store_true", help="words in lower case (2.3.2)")
    add_workers_argument(parser)
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def tokenize_block(names: tuple[str, str], block: Block) -> tuple[bytes, int]:
    """One block of one file; `names` are tokenizer and language. Returns the text and its number of lines."""
    tokenizer = make_tokenizer(*names)
    lines = [tokenizer.tokenize(line) for line in block.decode()]
    if len(lines) != block.lines or any("\n" in line for line in lines):
        raise AssertionError(
            f"{block.paths[0]}:{block.first_line}: tokenizer {names[0]} changed the number of lines"
        )
    return encode(lines), block.lines


def tokenize_file(path: Path, output: Path, names: tuple[str, str], workers: Workers) -> None:
    """Tokenize one file; the output has its lines, in order."""
    blocks = workers.map(functools.partial(tokenize_block, names), read_blocks(path))
    with open_outputs([output]) as (stream,):
        for text, _ in progress(blocks, None, f"tokenize {output.name}", "line", size=lambda item: item[1]):
            stream.write(text)


def main(args) -> None:
    texts = find_texts(args.input)
    names = choose_tokenizers(languages_of(texts), args.tokenizer, args.lowercase)
    step = StepFolder(
        args.output,
        "tokenize",
        {"tokenizers": names, "normalized": is_normalized(args.input)},
        reads=paths_of(texts),
        inputs=(args.input,),
    )
    if step.is_complete(args.force):
        return
    for language, name in names.items():
        make_tokenizer(name, language)  # what is not installed fails now, not after an hour
    check_parallel(texts)
    step.begin(is_corpus_file)
    with Workers(args.workers) as workers:
        for text in texts:
            for path, output, language in zip(
                text.paths, text.outputs(args.output), text.languages, strict=True
            ):
                tokenize_file(path, output, (names[language], language), workers)
    step.finish()
