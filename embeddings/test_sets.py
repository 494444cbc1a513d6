"""Test sets for retrieval: line-parallel texts of pairs of languages, in the layouts in which they are given.

- LASER's Tatoeba (112 languages): `tatoeba.XXX-eng.XXX` and `tatoeba.XXX-eng.eng`, a pair of files per pair.
- The United Nations Parallel Corpus, fully aligned (Ziemski et al. 2016): `UNv1.0.6way.en`, …, 11 million
  lines, which are not read into memory; a pair of sentences that occurs twice counts once.
- Flores-200 and the like: `SPLIT/CODE.SPLIT` (`devtest/deu_Latn.devtest`), one file per language.
- Files of one's own, one per language, all parallel: `test.de test.en test.fr.gz`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import uncompressed_name
from data_prep.formats.texts import LANGUAGE_CODE
from embeddings.search.texts import LazyLines, first_of_equal_pairs, open_lines

UN = "UNv1.0.6way."
UN_LANGUAGES = ("ar", "en", "es", "fr", "ru", "zh")  # beside them there is a file of identifiers
_TATOEBA = re.compile(r"tatoeba\.(?P<pair>[a-z]{3}-[a-z]{3})\.(?P<language>[a-z]{3})")


@dataclass(frozen=True)
class ParallelFiles:
    """A line-parallel text of two languages.

    Attributes:
        languages: codes, as the set has them.
        paths: the files, in that order.
        are_distinct: pairs of equal lines count once; lines are looked up in the files.
    """

    languages: tuple[str, str]
    paths: tuple[Path, Path]
    are_distinct: bool = False

    @property
    def name(self) -> str:
        """`deu-eng`."""
        return "-".join(self.languages)


def read_sides(pair: ParallelFiles) -> tuple[Sequence[str], Sequence[str]]:
    """The sentences of both files; of large ones they are looked up there.

    Raises:
        InputError: a file is missing, empty or not UTF-8, or they have unequal numbers of lines.
    """
    first, second = map(LazyLines.open if pair.are_distinct else open_lines, pair.paths)
    if not first:
        raise InputError(f"{pair.paths[0]}: is empty, expected a sentence per line")
    if len(first) != len(second):
        raise InputError(
            f"{pair.paths[1]}: {len(second)} lines, but {pair.paths[0]} has {len(first)}; expected as many,"
            " line by line"
        )
    if pair.are_distinct:
        places = first_of_equal_pairs(first, second)
        return first.only(places), second.only(places)
    return first, second


def tatoeba(folder: Path) -> list[ParallelFiles]:
    """The pairs of a folder in LASER's layout, by name.

    Raises:
        InputError: no such files, or one without its other.
    """
    files_of_pairs: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("tatoeba.*")):
        if match := _TATOEBA.fullmatch(path.name):
            files_of_pairs.setdefault(match["pair"], {})[match["language"]] = path
    if not files_of_pairs:
        raise InputError(f"{folder}: no files tatoeba.XXX-eng.XXX; expected the folder v1 of LASER's Tatoeba")
    for pair, files in files_of_pairs.items():
        for language in pair.split("-"):
            if language not in files:
                raise InputError(
                    f"{folder}/tatoeba.{pair}.{language}: no such file, but its other side is there"
                )
    return [
        ParallelFiles((first, second), (files[first], files[second]))
        for pair, files in files_of_pairs.items()
        for first, second in [pair.split("-")]
    ]


def united_nations(folder: Path) -> list[ParallelFiles]:
    """Every other language of the fully aligned corpus with English.

    Raises:
        InputError: no such files.
    """
    files = {path.name.removeprefix(UN): path for path in sorted(folder.glob(f"{UN}*"))}
    files = {language: path for language, path in files.items() if language in UN_LANGUAGES}
    if "en" not in files or len(files) < 2:
        raise InputError(
            f"{folder}: no files {UN}en and {UN}LANG; expected those of the fully aligned UN Parallel Corpus,"
            " decompressed"
        )
    return [
        ParallelFiles(("en", language), (files["en"], path), are_distinct=True)
        for language, path in files.items()
        if language != "en"
    ]


def flores(folder: Path, split: str) -> dict[str, Path]:
    """Language code -> file of a folder in the layout of Flores-200.

    Raises:
        InputError: no such files.
    """
    files = {
        path.name.removesuffix(f".{split}"): path for path in sorted((folder / split).glob(f"*.{split}"))
    }
    if not files:
        raise InputError(f"{folder / split}: no files CODE.{split}; expected the folder of Flores-200")
    return files


def by_language(paths: Iterable[Path]) -> dict[str, Path]:
    """Language code -> file, from the last part of the names: `test.de.gz`.

    Raises:
        InputError: a name without language code, or two files of one language.
    """
    files: dict[str, Path] = {}
    for path in paths:
        language = uncompressed_name(path).rpartition(".")[2]
        if not LANGUAGE_CODE.fullmatch(language):
            raise InputError(f"{path}: no language in its name; expected NAME.LANG, for example test.de")
        if language in files:
            raise InputError(
                f"{path}: a second file of {language}, besides {files[language]}; expected one each"
            )
        files[language] = path
    return files


def all_pairs(files: dict[str, Path], pivot: str | None = None) -> list[ParallelFiles]:
    """Every two languages of a multi-parallel set; with a pivot, every language with that one.

    Raises:
        InputError: fewer than two languages, or none that is the pivot.
    """
    if len(files) < 2:
        raise InputError(f"{next(iter(files.values()), 'no file')}: expected files of at least two languages")
    if pivot is not None and pivot not in files:
        raise InputError(f"--pivot {pivot}: no file of that language; there are {', '.join(files)}")
    return [
        ParallelFiles((first, second), (files[first], files[second]))
        for first, second in combinations(files, 2)
        if pivot in (None, first, second)
    ]
