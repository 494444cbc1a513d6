"""The raw sets that a model is evaluated on which reads text: DATA/text/SPLIT.A-B.LANG."""

from pathlib import Path

from data_prep.formats.directions import Direction
from data_prep.formats.texts import check_parallel, find_bitexts


def source_files(text: Path, split: str) -> dict[Direction, Path]:
    """Direction -> the file of its sources, both directions of every pair; none if there is no such set."""
    bitexts = [candidate for candidate in find_bitexts(text) if candidate.split == split]
    check_parallel(bitexts)
    return {
        direction: path
        for bitext in bitexts
        for direction, path in zip((bitext.languages, bitext.languages[::-1]), bitext.paths, strict=True)
    }
