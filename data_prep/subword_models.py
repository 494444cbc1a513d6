"""Subword models: how a tokenized line is split into units, and how units are joined again.

`segment` and `join` are inverse to each other on tokenized text whose words are separated by single spaces.
"""

import codecs
import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from command_line.errors import InputError
from data_prep.transformers_tokenizer import TransformersTokenizer

MODEL_FILES = {  # by type
    "subword-nmt": "subword.codes",
    "sentencepiece": "subword.model",
    "transformers": "subword.tokenizer.json",
    "none": None,
}
TYPES = tuple(MODEL_FILES)
SEPARATOR = "@@"  # ends every unit that is not the last of its word, as subword-nmt writes it
WORD_BEGINNING = "▁"  # sentencepiece's mark, in front of a word or alone
SPECIAL_SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")  # fairseq's own; as text they must not become those
CACHED_WORDS = 1_000_000


def units_of(line: str) -> list[str]:
    """The units of a line of subword text, which are as many as fairseq's binarizer finds: any white space
    separates two.
    """
    return line.split()


class NoSubwords:
    """Words are the units; one that is spelled as a special symbol has a word joiner in it."""

    _ESCAPED: ClassVar = {symbol: f"{symbol[0]}\u2060{symbol[1:]}" for symbol in SPECIAL_SYMBOLS}
    _PLAIN: ClassVar = {escaped: symbol for symbol, escaped in _ESCAPED.items()}

    def segment(self, line: str) -> str:
        return " ".join(self._ESCAPED.get(word, word) for word in line.split())

    def join(self, line: str) -> str:
        return " ".join(self.spelled(line.strip().split(" ")))

    @classmethod
    def spelled(cls, units: Sequence[str]) -> list[str]:
        """The words that units are."""
        return [cls._PLAIN.get(unit, unit) for unit in units]


class BytePairs:
    """Byte pair encoding (Sennrich et al., 2016) through subword-nmt."""

    def __init__(self, path):
        from subword_nmt.apply_bpe import BPE

        with codecs.open(str(path), encoding="utf-8") as codes:
            try:
                with contextlib.redirect_stderr(io.StringIO()) as printed:
                    self._bpe = BPE(io.StringIO(codes.read()), separator=SEPARATOR)
            except (SystemExit, ValueError) as error:  # subword-nmt exits on a broken file
                reason = " ".join(printed.getvalue().split()) or error
                raise InputError(f"{path}: not a file of subword-nmt merges: {reason}") from None

    def segment(self, line: str) -> str:
        if len(self._bpe.cache) > CACHED_WORDS:
            self._bpe.cache.clear()
        units = [unit for words in _groups(line.split()) for unit in self._units(words)]
        return " ".join(_without_special(units, SEPARATOR))

    def _units(self, words: list[str]) -> list[str]:
        """Units of words; the last one of a word that ends with the separator is its last character."""
        units = self._bpe.segment_tokens(words)
        if units[-1].endswith(SEPARATOR):
            units[-1:] = [units[-1][:-1] + SEPARATOR, units[-1][-1]]
        return units

    def join(self, line: str) -> str:
        joined = (line.strip() + " ").replace(SEPARATOR + " ", "")
        return joined.strip()


def _groups(words: list[str]) -> Iterator[list[str]]:
    """Words in their order, as many together as end with at most one that has the separator at its end."""
    first = 0
    for end, word in enumerate(words, 1):
        if end == len(words) or word.endswith(SEPARATOR):
            yield words[first:end]
            first = end


def text_of_pairs(units: Sequence[str]) -> str:
    """What the units of one word of byte pair encoding spell; the last one is as it stands."""
    return "".join(unit.removesuffix(SEPARATOR) for unit in units[:-1]) + units[-1]


def _without_special(units: list[str], separator: str) -> list[str]:
    """Units that are spelled as special symbols in two."""
    if not any(symbol in units for symbol in SPECIAL_SYMBOLS):
        return units
    parts = ((unit[0] + separator, unit[1:]) if unit in SPECIAL_SYMBOLS else (unit,) for unit in units)
    return [part for some in parts for part in some]


class SentencePieces:
    """A sentencepiece model, unigram or BPE (Kudo and Richardson, 2018)."""

    def __init__(self, path):
        import sentencepiece

        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            raise InputError(f"{path}: not a sentencepiece model: {error}") from None

    @property
    def pieces(self) -> list[str]:
        """What text is split into, in the model's order."""
        model = self._model
        numbers = (i for i in range(len(model)) if not (model.is_control(i) or model.is_unknown(i)))
        return [model.id_to_piece(i) for i in numbers]

    def segment(self, line: str) -> str:
        return " ".join(_without_special(self._model.encode(line, out_type=str), ""))

    def join(self, line: str) -> str:
        return line.replace(" ", "").replace(WORD_BEGINNING, " ").strip()


def load_subwords(type_name: str, path=None):
    """The model of a type; `path` is its file (none for "none")."""
    makers = {
        "subword-nmt": BytePairs,
        "sentencepiece": SentencePieces,
        "transformers": TransformersTokenizer,
    }
    if type_name == "none":
        return NoSubwords()
    if path is None or not Path(path).is_file():
        raise InputError(f"{path}: no such file, expected the subword model")
    return makers[type_name](path)
