"""The files of a stranger's folder: one is seen if it is asked for by name, and lies inside."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from command_line.errors import InputError
from command_line.records import check, read_json
from data_prep.model_folders.allowed import PICKLED
from data_prep.model_folders.libraries import reading

SENTENCEPIECE = (".model", ".spm")  # endings of vocabularies
CODE = "custom_generate"  # a folder whose generate.py transformers runs, whatever it is told


class ModelFolder:
    """What was checked of a folder, and can be shown to a library.

    Attributes:
        files: the file of every checked name.
        settings: what a library reads in place of some of them.

    Raises:
        InputError: there is no such folder, or there is code in it.
    """

    def __init__(self, path: Path, option: str):
        if not path.is_dir():
            raise InputError(f"{option} {path}: no such folder; expected one with a model in it")
        self.path, self.option = path, option
        self.files: dict[str, Path] = {}
        self.settings: dict[str, Any] = {}
        self._places = [path.resolve()]
        if (
            self._places[0].parent.name == "snapshots"
        ):  # of the cache of huggingface_hub, whose files are links
            self._places.append(self._places[0].parents[1] / "blobs")
        self.refuse_code(path)

    def refuse_code(self, folder: Path) -> None:
        """Refuse programs in a folder, though none would be run."""
        for name in sorted(os.listdir(folder)):
            if name == CODE or name.endswith(".py"):
                raise InputError(
                    f"{folder / name}: code in a folder of a model, which is never run; expected weights and"
                    " settings alone. Remove it if the model is to be read without it"
                )

    def find(self, name: str) -> Path | None:
        """A file of the folder; None if there is none of this name.

        Raises:
            InputError: it leads out of the folder, or is no regular file.
        """
        path = self.path / name
        if not os.path.lexists(path):
            return None
        target = path.resolve()
        if not any(target.is_relative_to(place) for place in self._places):
            raise InputError(f"{path}: a link to {target}; expected a file inside of {self.path}")
        if not target.is_file():
            raise InputError(f"{path}: is no regular file; expected one")
        return target

    def take(self, name: str) -> Path | None:
        """As `find`; the file is shown to the library as it is."""
        if target := self.find(name):
            self.files[name] = target
        return target

    def read(self, name: str, kind: Any = dict) -> Any:
        """The JSON in a file, of some type, of which the library gets a checked copy (`show`); None without
        such a file.
        """
        if self.find(name) is None:
            return None
        content = read_json(self.path / name)
        if content is None:
            raise InputError(f"{self.path / name}: found null, expected settings")
        check(content, kind, self.path / name)
        return content

    def show(self, name: str, content: Any) -> None:
        """Let the library read this in place of what is in a file."""
        self.files[name], self.settings[name] = self.find(name), content

    def pickled(self, place: str = "") -> Path | None:
        """A file of weights in a format that can run code, the first one."""
        names = sorted(os.listdir(self.path / place))
        return next((self.path / place / name for name in names if name.rpartition(".")[2] in PICKLED), None)

    @contextlib.contextmanager
    def opened(self, kind: str) -> Iterator[Path]:
        """A private folder with what was checked and nothing else, while a library reads it: links to files,
        and copies of settings.

        Args:
            kind: what the folder should hold a model of.
        """
        with self._private() as private:
            try:
                with reading(self.path, kind, self.option):
                    yield private
            except InputError as error:
                self._refuse_damaged()
                raise InputError(str(error).replace(str(private), str(self.path))) from None

    def _refuse_damaged(self) -> None:
        """Name the file that a library could not read, which does not name it."""
        for name in sorted(self.files.keys() - self.settings.keys()):
            path = self.path / name
            try:
                if name.endswith(".json"):
                    read_json(path)
                elif name.endswith(SENTENCEPIECE) and not _is_tiktoken(path):
                    from sentencepiece import SentencePieceProcessor

                    SentencePieceProcessor(model_file=str(path))
            except InputError as error:
                raise InputError(f"{error}; damaged, copy it again") from None
            except (OSError, RuntimeError):
                raise InputError(f"{path}: not a model of sentencepiece; damaged, copy it again") from None

    @contextlib.contextmanager
    def _private(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="checked-model-") as scratch:
            for name, target in self.files.items():
                path = Path(scratch, name)
                path.parent.mkdir(exist_ok=True)
                if name in self.settings:
                    path.write_text(json.dumps(self.settings[name]), encoding="utf-8")
                else:
                    path.symlink_to(target)
            yield Path(scratch)

    def paths(self) -> list[Path]:
        """The checked files, in the folder."""
        return sorted(self.path / name for name in self.files)


def _is_tiktoken(path: Path) -> bool:
    """Whether a vocabulary is one of tiktoken, as Llama 3's: lines of a token in base64 and its number."""
    with open(path, "rb") as stream:
        return re.fullmatch(rb"[A-Za-z0-9+/]+=* [0-9]+\s*", stream.readline(1000)) is not None
