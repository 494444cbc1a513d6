"""Vectors that `python -m embeddings encode` has stored, looked up by their sentences."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.outputs import checksum
from data_prep.formats.teacher_vectors import encoder_identity, encoder_title
from data_prep.formats.token_states import TokenStatesFile, paths_of
from data_prep.formats.vectors import VectorsFile
from data_prep.languages import subtag
from embeddings.encoders.options import RECORDS, EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder, TokenVectors
from embeddings.encoders.sizes import EncoderSize

NAMES = ("name", "system", "dtype")  # of a record: what an encoder's vectors do not depend on


# Language (None for any) and sentence -> number of the file, and row.
Places = dict[tuple[str | None, str], tuple[int, int]]


class StoredVectors(SentenceEncoder):
    """All vectors of a folder.

    Args:
        files: of one encoder, all in the same numbers.
    """

    def __init__(self, folder: Path, files: list[VectorsFile]):
        self.folder, self.files = folder, files
        self.encoder = files[0].record["encoder"]
        self.name, self.width, self.dtype = self.encoder["name"], files[0].width, files[0].numbers.dtype
        cut = [file.record.get("cut") for file in files]
        self.cut = None if None in cut else sum(cut)
        self.size = EncoderSize.of_record(files[0].record.get("size"))
        if not files[0].numbers.are_floats:
            self.name += f", {self.dtype}"  # another system than the encoder as it is
        self._states: dict[int, TokenStatesFile] = {}

    @cached_property
    def places(self) -> Places:
        """Where a sentence has a vector. Made when it is needed."""
        return self._places(range(len(self.files)))

    @cached_property
    def token_places(self) -> Places:
        """Where a sentence has states of tokens, and where it only has a vector if it has them nowhere."""
        without_states = [not paths_of(file.path)[-1].is_file() for file in self.files]
        return self._places(sorted(range(len(self.files)), key=without_states.__getitem__))

    def _places(self, order: Iterable[int]) -> Places:
        places: Places = {}
        for number in order:
            file = self.files[number]
            language = _language_of(file)
            for row, line in enumerate(read_lines(_text_of(file))):
                places.setdefault((language, line), (number, row))
                places.setdefault((None, line), (number, row))
        return places

    @cached_property
    def spoken(self) -> set[str | None]:
        return {language for language, _ in self.places}

    @classmethod
    def load(cls, options: EncoderOptions) -> "StoredVectors":
        return cls.of_folder(options.model)

    @classmethod
    def of_folder(cls, folder: Path, option: str = "--model") -> "StoredVectors":
        """The vectors in a folder.

        Raises:
            InputError: the folder has no vectors, or of several encoders, or a text has changed since.
        """
        paths = sorted(folder.glob(RECORDS))
        if not paths:
            raise InputError(f"{option} {folder}: no vectors in it; expected NAME.npy and NAME.npy.json")
        files = [VectorsFile.open(path.with_suffix("")) for path in paths]
        for file in files:
            if encoder_identity(file.record["encoder"]) != encoder_identity(files[0].record["encoder"]):
                raise InputError(f"{file.path}: has another encoder than {files[0].path}; expected one")
            if file.numbers != files[0].numbers and not file.numbers.are_floats & files[0].numbers.are_floats:
                raise InputError(
                    f"{file.path}: its numbers are {file.numbers.dtype}, those of {files[0].path}"
                    f" {files[0].numbers.dtype}; expected one folder for each"
                )
            text = _text_of(file)
            if not text.is_file() or checksum(text) != file.record["text"]["sha256"]:
                raise InputError(f"{text}: is gone, or has changed since {file.path} was made of it")
        return cls(folder, files)

    def encode(self, sentences: Sequence[str], language: str | None = None) -> np.ndarray:
        """The vectors of sentences in texts of this language; without one, and of a language that none of the
        texts is in, whatever text they are in.

        Raises:
            InputError: a sentence has no vector.
        """
        vectors = np.empty((len(sentences), self.width), dtype=np.float32)
        for place, (number, row) in enumerate(self._find(sentences, language, self.places)):
            vectors[place] = self.files[number].read(row, row + 1)[0]
        return vectors

    def _find(
        self, sentences: Sequence[str], language: str | None, places: Places
    ) -> Iterator[tuple[int, int]]:
        """Number of the file, and row, of every sentence."""
        key = language and subtag(language)
        key = key if key in self.spoken else None
        for line in sentences:
            where = places.get((key, line))
            if where is None:
                of = f" of {key}" if key else ""
                raise InputError(f"{self.folder}: no stored vector of the sentence {line!r:.80}{of}")
            yield where

    def encode_tokens(self, sentences: Sequence[str], language: str | None = None) -> TokenVectors:
        """States of the tokens of sentences, of texts as in `encode`.

        Raises:
            InputError: a sentence is not there, or states are of another encoder or text than vectors.
        """
        where = self._find(sentences, language, self.token_places)
        stored = [self._states_of(number).line(row) for number, row in where]
        return TokenVectors([states for states, _ in stored], [special for _, special in stored])

    def _states_of(self, number: int) -> TokenStatesFile:
        if number not in self._states:
            vectors = self.files[number]
            states = TokenStatesFile.open(vectors.path)
            of_states, of_vectors = _made_of(states.record), _made_of(vectors.record)
            for field in of_states:
                if of_states[field] != of_vectors[field]:
                    raise InputError(f"{states.path}: has another {field} than {vectors.path}; encode again")
            self._states[number] = states
        return self._states[number]

    def encode_lines(self, path, rows, sentences, language=None):
        """The file of this text, by memory map; without one, as `encode`. Of several with these lines the one
        in this language, or else the one at this place.
        """
        text, key, place = checksum(path), language and subtag(language), Path(path).resolve()
        same = [file for file in self.files if file.record["text"]["sha256"] == text]
        if not same:
            return self.encode(sentences, language)
        best = max(same, key=lambda file: (_language_of(file) == key, _text_of(file).resolve() == place))
        return best.only(rows)

    @property
    def system(self) -> dict:
        """That of the encoder that made them, if their record says it."""
        return {**self.encoder.get("system", {}), "name": self.name}

    def record(self) -> dict:
        return self.encoder | {"stored": str(self.folder), "dtype": self.dtype}

    def check_encoder(self, other: SentenceEncoder) -> None:
        """Whether the vectors are those of an encoder, by whatever name, wherever it lies.

        Raises:
            InputError: they are of another one; names both.
        """
        own, others = ({name: value for name, value in encoder_identity(record).items() if name not in NAMES}
                       for record in (self.encoder, other.record()))  # fmt: skip
        if own != others:
            raise InputError(
                f"{self.folder}: vectors of the encoder {encoder_title(self.encoder)}, but queries are of"
                f" {encoder_title(other.record())}; expected one encoder"
            )


def _text_of(file: VectorsFile) -> Path:
    """The text whose lines the vectors are of."""
    return file.path.parent / file.record["text"]["path"]


def _language_of(file: VectorsFile) -> str | None:
    """As `subtag` has it; None where the record does not say it."""
    language = file.record.get("language")
    return language and subtag(language)


def _made_of(record: dict) -> dict:
    """The encoder and the text, by whatever path it was read."""
    return {"encoder": encoder_identity(record["encoder"]), "text": record["text"]["sha256"]}
