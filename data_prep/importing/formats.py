"""The formats that `import` reads, and how files become tables."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError, check_file
from command_line.lines import uncompressed_name
from data_prep.importing.delimited import open_csv, open_tsv
from data_prep.importing.json_lines import open_jsonl
from data_prep.importing.names import languages_in_name, side_in_name, split_in_name
from data_prep.importing.parquet import open_parquet
from data_prep.importing.plain import open_sgm, open_text
from data_prep.importing.tables import Choice, Table
from data_prep.importing.tmx import open_tmx
from data_prep.importing.wmt import open_wmt_xml
from data_prep.importing.xliff import open_xliff


class Format(NamedTuple):
    """A format whose files have all languages of a text.

    Attributes:
        open: function (path, choice of columns) -> table.
        endings: of names.
    """

    open: Callable[[Path, Choice], Table]
    endings: tuple[str, ...]


class SideFormat(NamedTuple):
    """A format whose files have one language each.

    Attributes:
        open: function (language -> path) -> table.
        endings: of names; none: any other.
    """

    open: Callable[[dict[str, Path]], Table]
    endings: tuple[str, ...] = ()


FORMATS = {
    "tsv": Format(open_tsv, (".tsv", ".tab")),
    "csv": Format(open_csv, (".csv",)),
    "jsonl": Format(open_jsonl, (".jsonl", ".ndjson")),
    "parquet": Format(open_parquet, (".parquet",)),
    "tmx": Format(open_tmx, (".tmx",)),
    "xliff": Format(open_xliff, (".xlf", ".xliff")),
    "wmt-xml": Format(open_wmt_xml, (".xml",)),
}
TEXT = "text"
SIDE_FORMATS = {"sgm": SideFormat(open_sgm, (".sgm", ".sgml")), TEXT: SideFormat(open_text)}


class Source(NamedTuple):
    """A table, its split (None: its name says none), and its files."""

    table: Table
    split: str | None
    paths: tuple[Path, ...]


def format_of(path: Path) -> str:
    """The format that the ending of a name says."""
    ending = Path(uncompressed_name(path)).suffix.lower()
    every = FORMATS | SIDE_FORMATS
    return next((name for name, each in every.items() if ending in each.endings), TEXT)


def files_of(inputs: Iterable[Path]) -> list[Path]:
    """The files, and those of the folders."""
    paths: list[Path] = []
    for given in inputs:
        if given.is_dir():
            paths += sorted(path for path in given.iterdir() if path.is_file() and path.name[0] != ".")
        else:
            check_file(given, "a file or folder of text")
            paths.append(given)
    return paths


def find_sources(
    inputs: list[Path], name: str | None, langs: tuple[str, ...], columns: dict[str, str]
) -> list[Source]:
    """The tables of files and folders; says which files of a folder are skipped, as they name no language.

    Args:
        name: of the format of all files; None: by their endings.
        langs: languages of files or columns, in their order; empty: as they say themselves.
        columns: as of `Choice`.

    Raises:
        InputError: there is none, or a file that was given says no language.
    """
    paths = files_of(inputs)
    kinds = {path: name or format_of(path) for path in paths}
    sides = [path for path in paths if kinds[path] in SIDE_FORMATS]
    sources = [_whole(path, kinds[path], langs, columns) for path in paths if kinds[path] in FORMATS]
    if len(sides) == len(paths) == len(langs) and not _names_say(paths, langs):
        opened = SIDE_FORMATS[kinds[paths[0]]].open(dict(zip(langs, paths, strict=True)))
        sources.append(Source(opened, split_in_name(paths[0]), tuple(paths)))
    else:
        sources += _of_sides(sides, kinds, set(inputs), langs)
    if not sources:
        raise InputError(f"{inputs[0]}: no text; `import --help` lists formats and names that are read")
    return sources


def _whole(path: Path, kind: str, langs: tuple[str, ...], columns: dict[str, str]) -> Source:
    choice = Choice(columns, langs or languages_in_name(path))
    return Source(FORMATS[kind].open(path, choice), split_in_name(path), (path,))


def _names_say(paths: list[Path], langs: tuple[str, ...]) -> bool:
    languages = [side.language for side in map(side_in_name, paths) if side]
    return sorted(languages) == sorted(langs)


def _of_sides(
    paths: list[Path], kinds: dict[Path, str], given: set[Path], langs: tuple[str, ...]
) -> list[Source]:
    """Tables of the files whose names have a group in common."""
    groups: dict[tuple, dict[str, Path]] = {}
    for path in paths:
        side = side_in_name(path)
        if side is None:
            _skip(path, path in given)
        elif not langs or side.language in langs:
            group = groups.setdefault((path.parent, side.group, kinds[path]), {})
            if side.language in group:
                raise InputError(f"{path}: the same side as {group[side.language].name}; keep one of them")
            group[side.language] = path
    for (folder, group, _), sides in groups.items():
        _check_pair(folder / group, sides, langs)
    return [
        Source(SIDE_FORMATS[kind].open(sides), split_in_name(next(iter(sides.values()))), (*sides.values(),))
        for (_, _, kind), sides in groups.items()
    ]


def _check_pair(group: Path, sides: dict[str, Path], langs: tuple[str, ...]) -> None:
    """Refuse one side alone of a pair that the names of files say, unless the user wants just that."""
    pair = languages_in_name(group)
    for language in pair if sides.keys() <= set(pair) else ():
        if language not in sides and (not langs or language in langs):
            raise InputError(
                f"{next(iter(sides.values()))}: its other side, {group.name}.{language}, is not there; give"
                f" both files, or --langs {','.join(sides)} for this one alone"
            )


def _skip(path: Path, was_given: bool) -> None:
    message = f"{path}: its name says no language"
    if was_given:
        raise InputError(f"{message}; give all files of a text and their languages: --langs de,en")
    print(f"{message}; skipped", file=sys.stderr)
