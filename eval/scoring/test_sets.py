"""Hypotheses, sources and references of one direction, from a translated folder and its data."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import option, positional
from command_line.outputs import checksum
from eval.result_files import result_file, split_direction
from eval.scored import TRANSLATION, Translation


@dataclass(frozen=True)
class DirectionFiles:
    """The three files of one direction; `read` checks that they belong together."""

    direction: str
    hypothesis: Path
    source: Path
    reference: Path

    @property
    def paths(self) -> tuple[Path, Path, Path]:
        return self.hypothesis, self.source, self.reference

    @property
    def target_language(self) -> str:
        return split_direction(self.direction)[1]

    def read(self) -> tuple[list[str], list[str], list[str]]:
        """Lines of hypotheses, sources, references: equally many, at least one."""
        texts = [list(read_lines(path)) for path in self.paths]
        for path, lines in zip(self.paths[1:], texts[1:], strict=True):
            if len(lines) != len(texts[0]):
                raise InputError(
                    f"{self.hypothesis}: {len(texts[0])} lines, expected {len(lines)} as in {path}"
                    f" (direction {self.direction})"
                )
        if not texts[0]:
            raise InputError(f"{self.hypothesis}: no lines, expected a test set")
        return tuple(texts)


def direction_files(translation: Translation, data=None) -> list[DirectionFiles]:
    """The files of all directions of a translated folder, checked for existence.

    Args:
        data: the binarized folder, if it is not where `translate` found it.

    Raises:
        InputError: a file is missing, or hypotheses have changed since they were written; names the file.
    """
    text = Path(data or translation.folder / translation.record["data"]["path"]) / "text"
    if not text.is_dir():
        raise InputError(
            f"{text}: no such folder, expected raw references; --data DATA if the data has moved"
        )
    files = []
    for direction, entry in translation.directions.items():
        source, target = split_direction(direction)
        stem = f"{translation.record['split']}.{'-'.join(sorted((source, target)))}"
        file = DirectionFiles(
            direction,
            translation.folder / f"{direction}.txt",
            text / f"{stem}.{source}",
            text / f"{stem}.{target}",
        )
        for path in file.paths:
            if not path.is_file():
                raise InputError(f"{path}: no such file, needed to score direction {direction}")
        if entry.get("sha256") not in (None, checksum(file.hypothesis)):
            raise InputError(
                f"{file.hypothesis}: changed since {translation.path.name} was written (SHA-256 differs);"
                " translate again, or remove the field sha256 of this direction"
            )
        files.append(file)
    return files


@dataclass(frozen=True)
class TranslatedFolders:
    """Folders of `eval translate` (or their translate.json), and the test set that they translate."""

    out: list[Path] = positional("folder written by `python -m eval translate`", nargs="+", metavar="OUT")
    data: Path | None = option("binarized folder with text/, if it is not where translate.json says")

    def files(self) -> list[tuple[Translation, list[DirectionFiles]]]:
        """Every folder with the files of its directions; an `InputError` if one is missing."""
        translations = [Translation.load(result_file(folder, TRANSLATION)) for folder in self.out]
        return [(translation, direction_files(translation, self.data)) for translation in translations]


def paths_of(translated: Iterable[tuple[Translation, list[DirectionFiles]]]) -> list[Path]:
    """All files that are read of translated folders, those of the test set once."""
    translated = list(translated)
    texts = {path for _, files in translated for file in files for path in file.paths}
    return [*(translation.path for translation, _ in translated), *sorted(texts)]
