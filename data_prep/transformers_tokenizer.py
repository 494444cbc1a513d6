"""Vocabularies of `transformers` (LaBSE's, XLM-R's, mBERT's): raw text <-> the ids of a tokenizer.

A unit of the subword text, and with it a symbol of the dictionary, is the tokenizer's id in decimal. Pieces
may contain Unicode spaces, at which fairseq splits, or be spelled like fairseq's own symbols; numbers are
neither, so that a line has exactly the ids that the tokenizer gives it. The four symbols that fairseq puts
first stand for the tokenizer's own: `<s>` for [CLS] or `<s>`, `</s>` for [SEP] or `</s>`, `<pad>`, `<unk>`.
"""

import functools
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.outputs import scratch_folder, write_json, write_text
from command_line.records import read_json, read_record
from data_prep.model_folders.libraries import as_one_line, reading
from data_prep.model_folders.loading import load_tokenizer
from data_prep.model_folders.models import KIND, check_tokenizer

OPTION = "--tokenizer"
FORMAT = 1
MASK = "mask"
UNKNOWN = "<unk>"
ROLES = {  # fairseq's symbol: what a tokenizer calls its own, the first that it has; an id has one symbol
    "</s>": ("sep_token_id", "eos_token_id"),
    "<s>": ("cls_token_id", "bos_token_id"),
    UNKNOWN: ("unk_token_id",),
    "<pad>": ("pad_token_id",),
}


class StoredTokenizer(TypedDict):
    """The file."""

    format: Literal[FORMAT]
    special: TypedDict("Special", dict.fromkeys((*ROLES, MASK), int | None), total=False)
    tokenizer: dict
    config: dict


class TransformersTokenizer:
    """A stored tokenizer as a subword model.

    Attributes:
        special: fairseq's four symbols and "mask" -> the tokenizer's id, None where it has none.
    """

    def __init__(self, path):
        self._path, self._stored = Path(path), read_record(path, StoredTokenizer)
        self.special = self._stored["special"]
        with as_one_line(str(self._path), "tokenizers"):
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_str(json.dumps(self._stored["tokenizer"]))
        self._ids = sorted(self._tokenizer.get_vocab(with_added_tokens=True).values())
        self._symbols = {number: str(number) for number in self._ids}
        for symbol in ROLES:
            if (number := self.special[symbol]) is not None:
                self._check_id(symbol, number)
                self._symbols[number] = symbol
        added = self._tokenizer.get_added_tokens_decoder()
        self._controls = {number for number, token in added.items() if token.special}
        self._controls |= {number for number in self.special.values() if number is not None}
        self._controls.discard(self.special[UNKNOWN])

    def _check_id(self, symbol: str, number: int) -> None:
        if number not in self._symbols:
            raise InputError(
                f"{self._path}: field 'special.{symbol}' is {number}, expected an id of the tokenizer"
            )
        if self._symbols[number] != str(number):
            raise InputError(
                f"{self._path}: field 'special.{symbol}' is {number}, as that of {self._symbols[number]};"
                " expected another id"
            )

    def ids(self, line: str) -> list[int]:
        """The ids that the tokenizer gives a raw line, without the special ones that it puts around it.

        A special token that is spelled in the text (`</s>`, `[PAD]`) is an unknown one here: text must not
        end or pad a sentence.
        """
        ids = self._tokenizer.encode(line, add_special_tokens=False).ids
        if self._controls.isdisjoint(ids):
            return ids
        unknown = self.special[UNKNOWN]
        allowed = [unknown if number in self._controls else number for number in ids]
        return [number for number in allowed if number is not None]

    def segment(self, line: str) -> str:
        return " ".join(map(self._symbols.__getitem__, self.ids(line)))

    def join(self, line: str) -> str:
        """Raw text of units; what is no unit of the tokenizer (a language tag) is left out."""
        ids = [self._id_of(unit) for unit in line.split()]
        return self._tokenizer.decode([i for i in ids if i is not None], skip_special_tokens=False)

    @functools.cached_property
    def checksum(self) -> str:
        """The checksum of what it does to text, whatever its file."""
        content = json.dumps([self.special, self._stored["tokenizer"]], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in self._symbols.items()}

    def _id_of(self, symbol: str) -> int | None:
        return self._numbers.get(symbol)

    def tokenizer_ids(self, dictionary):
        """The bijection: the tokenizer's id of every id of fairseq's, int64, as long as the dictionary.

        It is -1 for language tags and symbols that pad the dictionary.
        """
        ids = map(self._id_of, dictionary.symbols)
        return np.array([-1 if number is None else number for number in ids], dtype=np.int64)

    def mask_in(self, dictionary) -> int | None:
        """The id of fairseq's that stands for the mask; None without one."""
        number = self.special[MASK]
        return None if number is None else dictionary.index(self._symbols[number])

    def dictionary_symbols(self, counts: Counter, min_count: int = 0) -> list[str]:
        """The dictionary's symbols in the tokenizer's order, so that it depends on no corpus.

        Args:
            counts: of symbols in the training text.
            min_count: rarer ones are left out, all but the mask.
        """
        mask = self.special[MASK]
        symbols = [
            self._symbols[number]
            for number in self._ids
            if number == mask or counts[self._symbols[number]] >= min_count
        ]
        return [symbol for symbol in symbols if symbol not in ROLES]

    def save_pretrained(self, folder) -> None:
        """Write the files from which `transformers.AutoTokenizer` makes this tokenizer."""
        write_text(Path(folder) / "tokenizer.json", json.dumps(self._stored["tokenizer"], ensure_ascii=False))
        write_json(Path(folder) / "tokenizer_config.json", self._stored["config"])


def tokenizer_files(folder: Path) -> list[Path]:
    """The files that a folder's tokenizer may depend on."""
    return check_tokenizer(folder, OPTION).paths()


def store_tokenizer(folder: Path, path: Path) -> None:
    """Write the tokenizer of a folder of `transformers` into one file, in the form of its library of
    tokenizers, without limits of length.
    """
    tokenizer = load_tokenizer(folder, OPTION)
    if not tokenizer.is_fast:
        raise InputError(
            f"{OPTION} {folder}: {type(tokenizer).__name__} cannot be written as tokenizer.json; expected"
            " a tokenizer of the library tokenizers"
        )
    with reading(folder, KIND, OPTION):
        from tokenizers import Tokenizer

        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        backend.no_truncation()
        backend.no_padding()
        config = config_of(tokenizer, path.parent)
    write_json(
        path,
        {
            "format": FORMAT,
            "special": special_ids(tokenizer),
            "tokenizer": json.loads(backend.to_str()),
            "config": config,
        },
    )


def config_of(tokenizer, parent: Path) -> dict:
    """What `save_pretrained` writes beside tokenizer.json: its class and special tokens."""
    with scratch_folder(parent) as scratch:
        tokenizer.save_pretrained(scratch)
        return read_json(scratch / "tokenizer_config.json")


def special_ids(tokenizer) -> dict[str, int | None]:
    """The ids that fairseq's symbols and the mask stand for; an id that serves for two has one symbol."""
    id_of: dict[str, int | None] = {}
    for symbol, names in ROLES.items():
        ids = [getattr(tokenizer, name, None) for name in names]
        first = next((number for number in ids if number is not None), None)
        id_of[symbol] = None if first in id_of.values() else first
    return id_of | {MASK: getattr(tokenizer, "mask_token_id", None)}
