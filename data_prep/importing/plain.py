"""Line-parallel files, one per language: plain text, and SGM of WMT."""

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

from command_line.errors import InputError
from data_prep.blocks import Block, read_blocks
from data_prep.importing.tables import Columns, Row, Table, columns_of, in_blocks, lines_of
from data_prep.importing.wmt import sgm_segments


def open_text(sides: dict[str, Path]) -> Table:
    """A table of plain text."""
    return Table(tuple(sides), partial(read_blocks, *sides.values()), _columns, False, _source(sides))


def open_sgm(sides: dict[str, Path]) -> Table:
    """A table of SGM files; arguments as of `open_text`."""
    return Table(tuple(sides), partial(_sgm_rows, tuple(sides.values())), columns_of, True, _source(sides))


def _source(sides: dict[str, Path]) -> str:
    return ", ".join(f"{path} is {language}" for language, path in sides.items())


def _columns(block: Block) -> Columns:
    return [lines_of(block, side) for side in range(len(block.paths))]


def _sgm_rows(paths: tuple[Path, ...]) -> Iterator[list[Row]]:
    return in_blocks(_parallel(paths))


def _parallel(paths: tuple[Path, ...]) -> Iterator[Row]:
    sides = [sgm_segments(path) for path in paths]
    for number, segments in enumerate(zip_longest(*sides)):
        if None in segments:
            short = paths[segments.index(None)]
            raise InputError(f"{short}: ends after {number} segments; parallel files need equally many")
        yield (*(text for text, _ in segments), segments[0][1])
