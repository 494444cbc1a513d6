"""Vectors that `python -m embeddings encode` has stored, looked up by their sentences."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.outputs import checksum
from data_prep.formats.vectors import VectorsFile
from data_prep.languages import subtag
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder


class StoredVectors(SentenceEncoder):
    """All vectors of a folder.

    Args:
        files: of one encoder.
    """

    def __init__(self, folder: Path, files: list[VectorsFile]):
        self.folder, self.files = folder, files
        self.encoder = files[0].record["encoder"]
        self.name, self.width = self.encoder["name"], files[0].width

    @cached_property
    def places(self) -> dict[tuple[str | None, str], tuple[int, int]]:
        """Language (None for any) and sentence -> number of the file, and row. Made when it is needed."""
        places: dict[tuple[str | None, str], tuple[int, int]] = {}
        for number, file in enumerate(self.files):
            language = file.record.get("language")
            language = language and subtag(language)
            for row, line in enumerate(read_lines(file.record["text"]["path"])):
                places.setdefault((language, line), (number, row))
                places.setdefault((None, line), (number, row))
        return places

    @cached_property
    def spoken(self) -> set[str | None]:
        return {language for language, _ in self.places}

    @classmethod
    def load(cls, options: EncoderOptions) -> "StoredVectors":
        """The vectors in the folder `options.model`.

        Raises:
            InputError: the folder has no vectors, or of several encoders, or a text has changed since.
        """
        paths = sorted(Path(options.model).glob("*.npy.json"))
        if not paths:
            raise InputError(
                f"--model {options.model}: no vectors in it; expected NAME.npy and NAME.npy.json"
            )
        files = [VectorsFile.open(path.with_suffix("")) for path in paths]
        for file in files:
            if file.record["encoder"] != files[0].record["encoder"]:
                raise InputError(f"{file.path}: of another encoder than {files[0].path}; expected one")
            text = file.record["text"]
            if not Path(text["path"]).is_file() or checksum(text["path"]) != text["sha256"]:
                raise InputError(f"{text['path']}: is gone, or has changed since {file.path} was made of it")
        return cls(Path(options.model), files)

    def encode(self, sentences: Sequence[str], language: str | None = None) -> np.ndarray:
        """The vectors of sentences in texts of this language; without one, and of a language that none of the
        texts is in, whatever text they are in.

        Raises:
            InputError: a sentence has no vector.
        """
        key = language and subtag(language)
        key = key if key in self.spoken else None
        found = np.empty((len(sentences), self.width), dtype=np.float32)
        for place, line in enumerate(sentences):
            where = self.places.get((key, line))
            if where is None:
                of = f" of {key}" if key else ""
                raise InputError(f"{self.folder}: no stored vector of the sentence {line!r:.80}{of}")
            number, row = where
            found[place] = self.files[number].read(row, row + 1)[0]
        return found

    def encode_lines(self, path, rows, sentences, language=None):
        """The file of this text, by memory map; without one, as `encode`."""
        text = checksum(path)
        for file in self.files:
            if file.record["text"]["sha256"] == text:
                return file.only(rows)
        return self.encode(sentences, language)

    def record(self) -> dict:
        return self.encoder | {"stored": str(self.folder)}
