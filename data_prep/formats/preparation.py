"""The record of how a binarized folder was made: `DATA/preparation.json`.

Training, evaluation and one's own scripts read it to segment raw text as the training data was, and to turn a
model's output back into raw text. Importing this module imports no large library.
"""

import dataclasses
import functools
import os
from pathlib import Path
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.names_in_records import path_inside, plain_name
from command_line.outputs import write_json
from command_line.records import check, read_json
from data_prep.normalization import normalize
from data_prep.step_folder import SubwordModel
from data_prep.subword_models import load_subwords
from data_prep.tokenizers import make_tokenizer

FORMAT = 1
FILE_NAME = "preparation.json"


class PreparationRecord(TypedDict):
    """What `preparation.json` holds, beside its format."""

    languages: list[str]
    tokenizers: dict[str, str]
    subword: SubwordModel
    pairs: dict[str, dict[str, int]]
    dictionary_sha256: str
    text_sha256: dict[str, str]
    monolingual: dict[str, dict[str, int]]
    normalized: bool
    corpus: NotRequired[str | None]


def raw_text_path(folder, split: str, pair: str, language: str) -> Path:
    """Raw text of one side of an evaluation set in a binarized folder; `pair` in alphabetical order."""
    return Path(folder) / "text" / f"{split}.{pair}.{language}"


@dataclasses.dataclass
class Preparation:
    """What `python -m data_prep binarize` did.

    Attributes:
        folder: the binarized folder; the subword model lies in it, raw valid and test text in `folder/text`.
        tokenizers: language -> name of its tokenizer ("moses", "jieba", …, "none", "raw").
        subword: {"type": one of `data_prep.subword_models.TYPES`, "model": file name in `folder` or None,
            "normalization": rule of a sentencepiece model that was learned here}.
        pairs: split -> {"de-en": number of lines}; the two codes in alphabetical order.
        dictionary_sha256: checksum of the joint dictionary file.
        text_sha256: "test.de-en.de" -> checksum of that raw text file.
        monolingual: split -> {"ja": number of lines} of monolingual text.
        normalized: `clean` or `phrasebook` normalized the text before it was tokenized.
        corpus: the name of the corpus that it was made from; None of text of one's own.
    """

    folder: Path
    languages: list[str]
    tokenizers: dict[str, str]
    subword: dict
    pairs: dict[str, dict[str, int]]
    dictionary_sha256: str
    text_sha256: dict[str, str] = dataclasses.field(default_factory=dict)
    monolingual: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    normalized: bool = False
    corpus: str | None = None

    @classmethod
    def load(cls, folder) -> "Preparation":
        """Read the record of a binarized folder.

        Raises:
            InputError: there is none, or it is not of this format, or `binarize` did not finish; names the
                file.
        """
        check_finished(folder, "binarize")
        path = Path(folder) / FILE_NAME
        if not os.path.lexists(path):
            raise InputError(
                f"{path}: no such file; `python -m data_prep binarize` writes it when it is done"
            )
        content = read_json(path)
        version = content.pop("format", None) if isinstance(content, dict) else None
        check(version, Literal[FORMAT], path, "format")
        check(content, PreparationRecord, path)
        if unknown := content.keys() - PreparationRecord.__annotations__:
            raise InputError(f"{path}: unknown fields: {', '.join(sorted(unknown))}")
        preparation = cls(folder=Path(folder), **content)
        preparation._check_names(path)
        return preparation

    def _check_names(self, path: Path) -> None:
        """Names in the record become names of files in the folder, and of outputs."""
        if model := self.subword["model"]:
            path_inside(self.folder, model, f"{path}: field subword.model")
        for language in self.languages:
            plain_name(language, f"{path}: a language")
        for split, pairs in self.pairs.items():
            for name in (split, *pairs):
                plain_name(name, f"{path}: a name in pairs")

    def save(self) -> None:
        """Write the record; it comes last, its presence says that the folder is complete."""
        content = {"format": FORMAT, **dataclasses.asdict(self)}
        del content["folder"]
        write_json(self.folder / FILE_NAME, content)

    def text_path(self, split: str, pair: str, language: str) -> Path:
        """Raw text of one side of an evaluation set; `pair` in alphabetical order ("de-fr")."""
        return raw_text_path(self.folder, split, pair, language)

    def segment(self, language: str, line: str) -> str:
        """Raw text -> what the model reads, subwords separated by spaces."""
        return self.segment_by(self._tokenizer(language), line)

    def segment_by(self, tokenizer, line: str) -> str:
        """Raw text -> what the model reads, by a tokenizer of `data_prep.tokenizers`."""
        return self.subwords.segment(tokenizer.tokenize(self.as_normalized(line)))

    def as_normalized(self, line: str) -> str:
        """Raw text as `tokenize` was given that of the folder: normalized, or as it is."""
        return normalize(line) if self.normalized else line

    def detokenize(self, language: str, line: str) -> str:
        """What the model writes -> raw text: subwords joined, then detokenized."""
        return self._tokenizer(language).detokenize(self.subwords.join(line))

    @functools.cached_property
    def subwords(self):
        model = self.subword["model"]
        return load_subwords(self.subword["type"], model and self.folder / model)

    def _tokenizer(self, language: str):
        if language not in self.tokenizers:
            languages = ", ".join(self.languages)
            raise InputError(
                f"{self.folder / FILE_NAME}: no language {language!r}; the folder has {languages}"
            )
        return make_tokenizer(self.tokenizers[language], language)
