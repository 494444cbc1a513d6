"""The joint dictionary file: one token and its count per line, most frequent first, as fairseq reads it.

fairseq adds its four special symbols itself when it loads the file. As fairseq's own preprocessing does,
dummy symbols of count 0 make the size a multiple of 8 (with the special symbols), which GPUs like.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.numbers import natural
from command_line.outputs import atomic_path
from data_prep.subword_models import SPECIAL_SYMBOLS

PADDING_FACTOR = 8
DUMMY = "madeupword"  # begins symbols that only pad a dictionary
DICTIONARY = "dict.txt"  # in a folder of subwords; one per language beside binarized sentences


def dictionary_path(folder, language: str) -> Path:
    """The dictionary of a language in a binarized folder."""
    return Path(folder) / f"dict.{language}.txt"


def languages_with_dictionary(folder) -> list[str]:
    """The languages of a binarized folder, sorted."""
    return sorted(path.name.split(".")[1] for path in Path(folder).glob("dict.*.txt"))


def with_dictionary(folder, languages: list[str]) -> list[str]:
    """Those languages that have a dictionary file, or the first one, so that its absence is reported.

    A direction from or to a language that was never prepared is reported by the tags or the data, with a
    better message.
    """
    present = [language for language in languages if dictionary_path(folder, language).exists()]
    return present or languages[:1]


def dictionary_lines(counts: Counter, min_count: int = 1) -> Iterator[str]:
    """Lines of the dictionary file; ties go by code points, so that the file depends on counts alone."""
    tokens = [token for token, count in counts.items() if count >= min_count and token not in SPECIAL_SYMBOLS]
    yield from lines_in_order(sorted(tokens, key=lambda token: (-counts[token], token)), counts)


def lines_in_order(tokens: Sequence[str], counts: Counter) -> Iterator[str]:
    """Lines of a dictionary file whose order is given, and the dummies behind them."""
    for token in tokens:
        yield f"{token} {counts[token]}"
    dummies = (f"{DUMMY}{number:04d}" for number in itertools.count())
    free = (dummy for dummy in dummies if dummy not in counts)  # a text may have such a word
    for dummy in itertools.islice(free, -(len(tokens) + len(SPECIAL_SYMBOLS)) % PADDING_FACTOR):
        yield f"{dummy} 0"


def write_dictionary(path: Path, lines: Iterable[str]) -> int:
    """Write the file; returns its number of lines."""
    lines = list(lines)
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in lines)
    return len(lines)


def read_symbols(path: Path) -> list[str]:
    """The symbols of a dictionary file in its order, without fairseq's special ones.

    Raises:
        InputError: a line is not SYMBOL COUNT, or a symbol occurs twice; names file and line.
    """
    symbols: dict[str, int] = {}
    for number, line in enumerate(read_lines(path, nul=True), start=1):
        symbol, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not symbol or natural(count) is None:
            raise InputError(f"{at(path, number)}: {line[:60]!r}, expected SYMBOL COUNT")
        if symbol in symbols:
            raise InputError(f"{at(path, number)}: {symbol!r} is in line {symbols[symbol]} already")
        symbols[symbol] = number
    return list(symbols)


def token_ids(path: Path) -> dict[str, int]:
    """The ids that fairseq gives the symbols of a dictionary file, and its special ones, without fairseq."""
    symbols = read_symbols(path)
    if special := set(symbols) & set(SPECIAL_SYMBOLS):
        raise InputError(f"{path}: has {min(special)}, which fairseq adds itself; remove it")
    return {symbol: number for number, symbol in enumerate((*SPECIAL_SYMBOLS, *symbols))}


def required_dictionary(path: Path) -> Path:
    """The file, if it is there; an `InputError` otherwise."""
    if not path.is_file():
        raise InputError(f"{path}: no such file, expected the joint dictionary that `subword` writes")
    return path


def load_dictionary(path: Path | str):
    """fairseq's Dictionary."""
    from fairseq.data import Dictionary

    path = Path(path)
    required_dictionary(path)
    try:
        path.read_text(encoding="utf-8")  # fairseq's own complaint about it is of no particular kind
        return Dictionary.load(str(path))
    except (ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: not a fairseq dictionary (SYMBOL COUNT per line): {reason}") from None


def load_shared_dictionary(folder, languages):
    """The joint dictionary of a folder, without tags; every language's file must hold the same.

    Raises:
        InputError: there is no language, or a file is missing or malformed, or differs from the first one.
    """
    languages = list(languages)
    if not languages:
        raise InputError(
            f"{folder}: no dict.LANG.txt in it; expected the output of `python -m data_prep binarize`"
        )
    first, contents = None, None
    for language in languages:
        path = dictionary_path(folder, language)
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the joint dictionary of a binarized folder")
        if first is None:
            first, contents = path, path.read_bytes()
        elif path.read_bytes() != contents:
            raise InputError(
                f"{path}: differs from {first}; the model needs one joint dictionary for all languages"
            )
    return load_dictionary(first)


def dictionary_fingerprint(dictionary) -> str:
    """SHA-256 over the symbols in order: equal exactly when token ids mean the same."""
    return hashlib.sha256("\n".join(dictionary.symbols).encode()).hexdigest()
