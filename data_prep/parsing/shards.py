"""What a worker process does: parse lines of tokenized text into structures."""

from collections import Counter
from itertools import compress
from operator import ne
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError, at
from data_prep.blocks import Block
from data_prep.formats.structures import MOST_UNITS, encode
from data_prep.languages import is_unspaced
from data_prep.parsing.bunsetsu_order import reversed_bunsetsu
from data_prep.parsing.parse_files import SUFFIXES, Parse, read_parse
from data_prep.parsing.parsers import BUNSETSU_PARSERS, ParserChoice, make_parser
from data_prep.parsing.tokens_to_words import (
    ends_of,
    is_punctuation,
    is_separator,
    lift_edges,
    tree_over_words,
)
from data_prep.parsing.trees import head_final_order
from data_prep.spacing import spelled
from data_prep.tokenizers import UnspacedText

LINES_TO_JUDGE = 20  # a parser that fails on fewer may be right


class Shard(NamedTuple):
    """Consecutive lines to parse, and all that is needed for it.

    Attributes:
        block: the tokenized lines, and, if there is a second file, the same lines before tokenization.
        parses: the parses of its lines that are not empty, from `parses_path`; empty if a parser makes them.
    """

    number: int
    block: Block
    parses: tuple[Parse, ...] = ()
    parses_path: Path = Path()


class Result(NamedTuple):
    """The structures of the lines of a shard.

    Attributes:
        values: of every line, as `structures.encode` makes them; empty for a line without a structure.
        counts: `lines`; `empty`, `unparsed` (the parser failed), `unmapped` (what was parsed is not the
            text), `too-long`, `analysed`; over the parsed lines `words`, `moved` (words whose position the
            reordering changes) and `inside-words` (boundaries of bunsetsu inside a word, left out).
    """

    number: int
    values: list[list[int]]
    counts: Counter


def structures_of_shard(choice: ParserChoice, shard: Shard) -> Result:
    """Analyse the lines of a shard.

    Raises:
        InputError: a line is not UTF-8, a parse is malformed, the parses are obviously not of these lines, or
            the parser fails on all of them.
    """
    tokenized = [line.split() for line in shard.block.decode()]
    lines = [[spelled(word) for word in words] for words in tokenized]
    raw = shard.block.decode(1) if len(shard.block.texts) > 1 else [None] * len(lines)
    unspaced = is_unspaced(choice.language)
    filled = [place for place, words in enumerate(lines) if words]
    parses = shard.parses
    if max(map(len, lines)) > MOST_UNITS:
        fits = [len(lines[place]) <= MOST_UNITS for place in filled]
        parses = tuple(compress(parses, fits))
        filled = list(compress(filled, fits))
    texts = [plain_text(lines[place], raw[place], unspaced) for place in filled]
    values: list[list[int]] = [[] for _ in lines]
    counts = Counter(lines=len(lines), empty=sum(not words for words in lines))
    counts["too-long"] = len(lines) - counts["empty"] - len(filled)
    structure_of = _bunsetsu_of_line if choice.name in BUNSETSU_PARSERS else _phrases_of_line
    unmapped, failure = [], None
    if choice.name in SUFFIXES:
        results = (read_parse(parse, choice.name, shard.parses_path) for parse in parses)
    else:
        results = make_parser(choice).parse(texts)
    for place, text, parsed in zip(filled, texts, results, strict=True):
        if parsed is None or isinstance(parsed, Exception):
            counts["unparsed"] += 1
            failure = parsed or failure
            continue
        structure = structure_of(lines[place], "".join(text.split()), parsed, counts)
        if structure is None:
            unmapped.append(place)
        else:
            values[place] = structure
    counts["unmapped"] = len(unmapped)
    counts["analysed"] = sum(map(bool, values))
    if counts["unparsed"] == len(filled) >= LINES_TO_JUDGE:
        raise _failed(choice, shard.block, failure)
    if len(filled) >= LINES_TO_JUDGE and len(unmapped) > len(filled) / 2:
        line = at(shard.block.paths[0], shard.block.first_line + unmapped[0])
        raise InputError(
            f"{line}: the parse is of another text, as are {len(unmapped)} of {len(filled)} from "
            f"line {shard.block.first_line} on; expected line-parallel files"
        )
    return Result(shard.number, values, counts)


def _failed(choice: ParserChoice, block: Block, failure: Exception | None) -> InputError:
    """The error of a parser that fails on every line, which no text explains."""
    reason = f": {type(failure).__name__}: {' '.join(str(failure).split())[:300]}" if failure else ""
    first = at(block.paths[0], block.first_line)
    return InputError(f"{first}: --parser {choice.name} fails on every line{reason}; mend one or the other")


def plain_text(words: list[str], raw: str | None, unspaced: bool) -> str:
    """What the parser reads: the line before tokenization if it is known, otherwise the words together."""
    if raw is not None:
        return " ".join(raw.split())
    text = " ".join(words)
    return UnspacedText().detokenize(text) if unspaced else text


def _bunsetsu_of_line(words: list[str], characters: str, ends: list[int], counts: Counter):
    """Values of a line; None if the bunsetsu are of another text."""
    word_ends = ends_of(words)
    if "".join(words) != characters or not ends or ends[-1] != word_ends[-1]:
        return None
    places = {end: number for number, end in enumerate(word_ends, start=1)}
    inside = [places[end] for end in ends if end in places]
    counts["inside-words"] += len(ends) - len(inside)
    order = reversed_bunsetsu(words, inside)
    values = encode(inside[:-1], order)
    _count_moved(order, counts)
    return values


def _phrases_of_line(words: list[str], characters: str, parsed, counts: Counter):
    """Values of a line; None if the tree is of another text."""
    word_ends = ends_of(words)
    if "".join(words) != (characters if parsed.characters is None else parsed.characters):
        return None
    if parsed.ends[-1] != word_ends[-1]:
        return None
    marks = [is_punctuation(word) for word in words]
    tree = lift_edges(tree_over_words(parsed.tree, parsed.ends, word_ends), marks)
    order = head_final_order(tree, marks, [is_separator(word) for word in words])
    values = encode(tree.splits, order)
    _count_moved(order, counts)
    return values


def _count_moved(order: list[int], counts: Counter) -> None:
    counts["words"] += len(order)
    counts["moved"] += sum(map(ne, order, range(len(order))))
