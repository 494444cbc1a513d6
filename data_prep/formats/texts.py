"""A corpus in a folder: `SPLIT.SRC-TGT.LANG` files, one pair of files for both directions.

fairseq's naming: `train.de-en.de` and `train.de-en.en`. The two codes come in alphabetical order in what this
package writes; text folders that name a pair the other way round (`train.en-de.…`) are read too. Files may
end in `.gz` or `.xz`.
"""

import contextlib
import re
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.lines import count_lines
from command_line.options import OptionType, items, matched, require
from command_line.outputs import atomic_path

TRAIN, VALID, TEST = "train", "valid", "test"
SPLITS = (TRAIN, VALID, TEST)
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z0-9]{2,8})*")  # de, deu, zho_Hans, en_XX, es_419


def _language(text: str) -> str:
    if "-" in text and LANGUAGE_CODE.fullmatch(text.replace("-", "_")):
        raise ArgumentTypeError(f"found {text!r}, expected {text.replace('-', '_')}: '-' separates languages")
    return matched(LANGUAGE_CODE, text)


LANGUAGE = OptionType("a language code such as en or zho_Hans", _language)
_FILE_NAME = re.compile(r"(?P<split>[^.]+)\.(?P<pair>[^.]+-[^.]+)\.(?P<language>[^.]+)(?P<suffix>\.gz|\.xz)?")


def _languages(text: str) -> list[str]:
    codes = items(LANGUAGE)(text)
    require(len(codes) > 1)
    return sorted(codes)


LANGUAGES = OptionType("at least two language codes, separated by commas: en,de,fr", _languages)


@dataclass(frozen=True, order=True)
class Bitext:
    """Two line-parallel files of one split.

    Attributes:
        split: "train", "valid" or "test".
        pair: "de-en", in alphabetical order.
        paths: the files, in the order of `languages`.
    """

    split: str
    pair: str
    paths: tuple[Path, Path]

    @property
    def languages(self) -> tuple[str, str]:
        return tuple(self.pair.split("-"))

    def names(self) -> tuple[str, str]:
        """Names of the files as this package writes them, uncompressed."""
        return tuple(f"{self.split}.{self.pair}.{language}" for language in self.languages)

    def outputs(self, folder) -> tuple[Path, Path]:
        return tuple(Path(folder) / name for name in self.names())


def pair_name(first: str, second: str) -> str:
    return "-".join(sorted((first, second)))


def all_pairs(languages: Iterable[str]) -> list[str]:
    return [pair_name(*pair) for pair in combinations(sorted(languages), 2)]


def find_bitexts(folder) -> list[Bitext]:
    """The bitexts of a folder, in the order train, valid, test and by pair.

    Raises:
        InputError: the folder is missing or has none, or the step that writes it did not finish; a file lacks
            its other side; two files are the same side; a language does not belong to the pair in its file's
            name.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    check_finished(folder)
    sides: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        match = _FILE_NAME.fullmatch(path.name)
        if not match or match["split"] not in SPLITS:
            continue
        codes, language = match["pair"].split("-"), match["language"]
        if len(codes) != 2 or len(set(codes)) != 2 or language not in codes:
            raise InputError(
                f"{path}: language {language!r} is not one of the two of the pair {match['pair']!r}"
            )
        known = sides.setdefault((match["split"], pair_name(*codes)), {})
        if language in known:
            raise InputError(f"{path}: the same side as {known[language].name}; keep one of them")
        known[language] = path
    for (split, pair), known in sides.items():
        for language in set(pair.split("-")) - set(known):
            (path,) = known.values()
            raise InputError(f"{folder}: {path.name} has no other side, expected {split}.{pair}.{language}")
    if not sides:
        raise InputError(f"{folder}: no files named SPLIT.SRC-TGT.LANG with SPLIT one of {', '.join(SPLITS)}")
    order = sorted(sides, key=lambda key: (SPLITS.index(key[0]), key[1]))
    return [Bitext(*key, tuple(sides[key][language] for language in key[1].split("-"))) for key in order]


def languages_of(bitexts: Iterable[Bitext]) -> list[str]:
    return sorted({language for bitext in bitexts for language in bitext.languages})


def check_parallel(bitexts: Iterable[Bitext]) -> None:
    """Compare line counts before a long step starts.

    Raises:
        InputError: a file is empty or unreadable, or has fewer lines than its other side; names it.
    """
    for bitext in bitexts:
        first, second = map(count_lines, bitext.paths)
        if not first or not second:
            raise InputError(f"{bitext.paths[1 if first else 0]}: is empty, expected lines of text")
        if first != second:
            short, longer = bitext.paths if first < second else reversed(bitext.paths)
            raise InputError(
                f"{short}: has {min(first, second)} lines but {longer} has {max(first, second)}; "
                "parallel files need equally many lines"
            )


def is_corpus_file(path: Path) -> bool:
    """Whether a file is named as this package names text: SPLIT.SRC-TGT.LANG."""
    match = _FILE_NAME.fullmatch(path.name)
    return bool(match) and match["split"] in SPLITS


def paths_of(bitexts: Iterable[Bitext]) -> list[Path]:
    return [path for bitext in bitexts for path in bitext.paths]


def centric_language(languages: list[str], centric: str) -> str:
    """The language that every training pair has (the papers: English).

    Raises:
        InputError: it is not among the languages.
    """
    if centric not in languages:
        raise InputError(f"--centric: {centric!r} is not one of the languages {', '.join(languages)}")
    return centric


@contextlib.contextmanager
def open_outputs(paths: Iterable[Path]) -> Iterator[list]:
    """Binary streams that appear under their names together, when everything has been written."""
    with contextlib.ExitStack() as stack:
        temporary = [stack.enter_context(atomic_path(path)) for path in paths]
        with contextlib.ExitStack() as files:
            yield [files.enter_context(open(path, "wb", buffering=1 << 20)) for path in temporary]
