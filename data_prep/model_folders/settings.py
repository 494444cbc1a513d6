"""The JSON of models and tokenizers: which settings a library gets to read.

Fields that name code, files or other models are refused. What only tells where a model came from
(`_name_or_path`) is left out.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.options import shown
from command_line.records import check
from data_prep.model_folders.allowed import (
    ATTENTIONS,
    CODE_FIELDS,
    GENERATION_TOKENS,
    MODEL_TYPES,
    TOKENIZER_FILES,
    TOKENIZERS,
)
from data_prep.model_folders.folder import ModelFolder

CONFIGURATION, TOKENIZER = "config.json", "tokenizer_config.json"
GENERATION = "generation_config.json"
SPECIAL_TOKENS, ADDED_TOKENS = "special_tokens_map.json", "added_tokens.json"
VERSION = re.compile(r"\d+(\.\w+)*")
ATTENTION_FIELDS = ("attn_implementation", "attention_implementation")
SIZES = ("vocab_size", "max_position_embeddings")
LABELS = ("id2label", "label2id")  # whose texts are nobody's paths
ORIGIN = (
    "name_or_path",
    "special_tokens_map_file",
    "processor_class",
    "chat_template",
)  # read by nobody here
LANGUAGES = ("src_lang", "tgt_lang", "source_lang", "target_lang")
TEXTS = (  # of tokenizers, beside their tokens
    "padding_side", "truncation_side", "model_input_names", *LANGUAGES, "language_codes", "errors",
    "wordpieces_prefix", "never_split", "tokenizer_class",
)  # fmt: skip


class Content(TypedDict):
    """A token with what else is said of it."""

    content: str


Token = str | Content
Sizes = TypedDict("Sizes", dict.fromkeys(SIZES, int | None), total=False)


class TokenizerSettings(TypedDict, total=False):
    tokenizer_class: str | None
    model_max_length: float | None


def take_configuration(folder: ModelFolder, place: str = "") -> Mapping | None:
    """Check config.json, and let it be read.

    Args:
        place: the folder of a module in it, with "/" at its end.

    Raises:
        InputError: it is of a type that is not known here, or asks for more than a model of text needs.
    """
    path, content = folder.path / place / CONFIGURATION, folder.read(place + CONFIGURATION, Sizes)
    if content is None:
        return None
    refuse_code(content, path)
    kind = content.get("model_type")
    if not isinstance(kind, str) or kind not in MODEL_TYPES:
        raise InputError(
            f"{path}: field 'model_type' is {shown(kind):.80}; expected a text model that is known here, such"
            " as bert, xlm-roberta, marian or llama (docs/security.md lists them)"
        )
    for name, value in content.items():
        if isinstance(value, dict) and any("model_type" in each for each in _objects(value)):
            raise InputError(
                f"{path}: field {name!r:.80} is a model in a model; expected a model of one type"
            )
        if name.removeprefix("_") in ATTENTION_FIELDS and value not in (None, *ATTENTIONS):
            raise InputError(
                f"{path}: field {name!r} is {shown(value):.80}; expected {' or '.join(ATTENTIONS)}"
            )
    kept = {name: value for name, value in content.items() if not name.startswith("_")}
    refuse_paths({name: value for name, value in kept.items() if name not in LABELS}, path)
    version = kept.get("transformers_version")
    if version is not None and not (isinstance(version, str) and VERSION.fullmatch(version)):
        raise InputError(
            f"{path}: field 'transformers_version' is {shown(version):.80}; expected such as 4.57.0"
        )
    folder.show(place + CONFIGURATION, kept)
    return kept


def take_generation(folder: ModelFolder) -> None:
    """Let a library read which tokens begin and end what a model writes, and when its search ends.

    All else, such as a temperature, is not shown: our options say how a model searches. The beam size is, as
    the library saves no `early_stopping` without one.

    Raises:
        InputError: it asks for code, or names tokens by something else than their ids.
    """
    path, content = folder.path / GENERATION, folder.read(GENERATION)
    if content is None:
        return
    refuse_code(content, path)
    fields = {
        "num_beams": int | None,
        "early_stopping": Literal["never"] | bool | None,
        **dict.fromkeys(GENERATION_TOKENS, list[list[int]] | list[int] | int | None),
    }
    shown_fields = {name: value for name, value in content.items() if name in fields}
    for name, value in shown_fields.items():
        check(value, fields[name], path, name)
    folder.show(GENERATION, shown_fields)


def take_tokenizer_settings(folder: ModelFolder, place: str = "") -> Mapping:
    """Check the settings of a tokenizer, and let them be read.

    Returns:
        the settings in tokenizer_config.json, empty without such a file.

    Raises:
        InputError: a class that is not known here, a file that a record names, or a damaged record.
    """
    _take_special_tokens(folder, place)
    if (added := folder.read(place + ADDED_TOKENS, dict[str, int])) is not None:
        folder.show(place + ADDED_TOKENS, added)
    path, content = folder.path / place / TOKENIZER, folder.read(place + TOKENIZER, TokenizerSettings)
    if content is None:
        return {}
    refuse_code(content, path)
    kept = {name: value for name, value in content.items() if name not in ORIGIN}
    _check_class(kept.get("tokenizer_class"), path)
    longest = kept.get("model_max_length")
    if longest is not None and longest < 1:
        raise InputError(
            f"{path}: field 'model_max_length' is {longest}; expected a number of tokens, at least 1"
        )
    for name, value in kept.items():
        _check_tokenizer_field(name, value, path)
    kept = {name: value for name, value in kept.items() if _is_read(name, value)}
    folder.show(place + TOKENIZER, kept)
    return kept


def _check_class(name: str | None, path) -> None:
    if name is not None and name.removesuffix("Fast").removesuffix("Tokenizer") not in TOKENIZERS:
        raise InputError(
            f"{path}: field 'tokenizer_class' is {shown(name):.80}; expected one that is known here, such as"
            " BertTokenizer, XLMRobertaTokenizer or PreTrainedTokenizerFast (docs/security.md lists them)"
        )


def _check_tokenizer_field(name: str, value, path) -> None:
    """Refuse what names files, and damaged tokens."""
    if name in TOKENIZER_FILES and value not in (None, [], {}):
        raise InputError(
            f"{path}: field {name!r} is {shown(value):.80}; expected no file there, as files of vocabularies"
            " are found by their names"
        )
    if name == "sp_model_kwargs":
        check(value, dict[str, bool | float] | None, path, name)
    elif name == "added_tokens_decoder":
        check(value, dict[str, Content], path, name)
    elif name == "extra_special_tokens":
        check(value, list[Token] | dict[str, Token] | None, path, name)
    elif name == "additional_special_tokens":
        check(value, list[Token] | None, path, name)
    elif name.endswith("_token"):
        check(value, bool | Token | None, path, name)  # add_bos_token is true or false
    elif name == "model_input_names":
        check(value, list[str], path, name)
    elif name in ("padding_side", "truncation_side", *LANGUAGES):
        check(value, str | None, path, name)


def _is_read(name: str, value) -> bool:
    """May the tokenizer read a field? Numbers, tokens, and the texts that are known; never others."""
    is_plain = value is None or isinstance(value, bool | int | float)
    is_token = name.endswith(("_token", "special_tokens"))
    return is_plain or is_token or name in (*TEXTS, "added_tokens_decoder", "sp_model_kwargs")


def _take_special_tokens(folder: ModelFolder, place: str) -> None:
    """Every field becomes an argument of the tokenizer's class: only tokens may be there."""
    content = folder.read(place + SPECIAL_TOKENS, dict[str, list[Token] | Token | None])
    if content is None:
        return
    for name in content:
        if not name.endswith(("_token", "special_tokens")):
            path = folder.path / place / SPECIAL_TOKENS
            raise InputError(f"{path}: field {name!r:.80}; expected special tokens alone, such as pad_token")
    folder.show(place + SPECIAL_TOKENS, content)


def refuse_code(content: Mapping, path) -> None:
    """Refuse a record that asks for code, other models, or ways to load them, at any depth."""
    for each in _objects(content):
        asked = [name for name in CODE_FIELDS if each.get(name)]
        if asked:
            raise InputError(
                f"{path}: field {asked[0]!r} asks for code or another model, which is never loaded"
            )


def refuse_paths(content: Mapping, path) -> None:
    """Refuse a record with a text that leads to another place."""
    for name, value in content.items():
        for text in _texts(value):
            parts = PurePosixPath(text).parts
            if text.startswith(("/", "~")) or ".." in parts or "://" in text:
                raise InputError(
                    f"{path}: field {name!r:.80} is {shown(text):.80}; expected no path to another place"
                )


def _objects(value: Any) -> Iterator[Mapping]:
    """All objects in a record."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _objects(each)


def _texts(value: Any) -> Iterator[str]:
    """All texts among the values of a record."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)
