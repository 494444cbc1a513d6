"""A trained system as one folder: weights, options, dictionary, tags, subword model, names of tokenizers.

    package.json        how it was made, and which files; it appears last
    model.pt            a checkpoint without optimizer; of an ensemble model1.pt, model2.pt, …
    dict.LANG.txt, preparation.json, subword.*       as in the binarized folder of the training
    SPLIT.*, text/      evaluation sets, if they were asked for

It is a binarized folder without training data, and can be moved: nothing in it names a place outside, and a
link that leads out of it is refused. Importing this module imports no large library.
"""

from dataclasses import dataclass
from pathlib import Path

from typing_extensions import TypedDict

from command_line.completion import check_unchanged, read_settings
from command_line.errors import InputError
from command_line.names_in_records import path_inside
from command_line.records import check
from data_prep.formats.preparation import FILE_NAME, Preparation

NAME = "package"  # of the command, and of its record
RECORD = f"{NAME}.json"
NAMELESS = ("data", "data-bin", "binarized")  # folders that are called so


class PackageSettings(TypedDict):
    models: list[str]
    dataset: str


@dataclass(frozen=True)
class Package:
    """A packaged system.

    Attributes:
        checkpoints: one, or those of an ensemble.
        dataset: name of the binarized folder of its training.
    """

    folder: Path
    checkpoints: list[Path]
    dataset: str

    @classmethod
    def load(cls, folder) -> "Package":
        """Read the record, and compare the files with it.

        Raises:
            InputError: it is no package, or not complete; one of its files is another one, or a link to
                somewhere else.
        """
        folder = Path(folder)
        settings = read_settings(folder, NAME)
        if settings is None:
            raise InputError(
                f"{folder}: no {RECORD} in it; expected a folder of `python -m fairseq_ext package`"
            )
        path = folder / RECORD
        check(settings, PackageSettings, path)
        if not settings["models"]:
            raise InputError(f"{path}: field 'models' is empty, expected names of checkpoints")
        _check_links(folder)
        checkpoints = [path_inside(folder, name, f"{path}: field models") for name in settings["models"]]
        check_unchanged(folder, NAME)
        return cls(folder, checkpoints, settings["dataset"])


def is_package(path) -> bool:
    """Whether a path is a folder that `package` wrote, or began to write."""
    return Path(path).is_dir() and any(
        (Path(path) / name).exists() for name in (RECORD, f".{NAME}.unfinished")
    )


def checkpoints_of(path) -> list[Path]:
    """The checkpoints of a package; any other path is one itself."""
    return Package.load(path).checkpoints if is_package(path) else [Path(path)]


def single_checkpoint(path) -> Path:
    """The only checkpoint of a package; any other path is one itself."""
    checkpoints = checkpoints_of(path)
    if len(checkpoints) > 1:
        raise InputError(
            f"{path}: an ensemble of {len(checkpoints)} models, expected one; give one of them, such as"
            f" {checkpoints[0]}"
        )
    return checkpoints[0]


def dataset_of(data) -> str:
    """What a folder with evaluation sets is called in tables, wherever a packaged one lies: by its own name;
    one that is just called "data", by its corpus.
    """
    if is_package(data):
        return Package.load(data).dataset
    folder = Path(data).resolve()
    has_no_name = folder.name in NAMELESS and (folder / FILE_NAME).is_file()
    return (has_no_name and Preparation.load(folder).corpus) or folder.name


def _check_links(folder: Path) -> None:
    """A package is passed on; a link in one of a stranger would show files of the reader."""
    inside = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise InputError(f"{path}: a link to {path.resolve()}; expected files in {folder} itself")
