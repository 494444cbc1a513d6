"""What a checkpoint says of its task, languages, tags and data: ours, and those of stock fairseq."""

from argparse import Namespace
from typing import Literal

from typing_extensions import NotRequired, TypedDict

from command_line.errors import InputError
from command_line.records import check
from data_prep.formats.sentences import binarized_pairs
from fairseq_ext.data.language_tags import PLACEMENTS, placement_of_fairseq_options

STOCK_MULTILINGUAL, STOCK_BILINGUAL, OURS, PRETRAINING, SENTENCES = (
    "translation_multi_simple_epoch",
    "translation",
    "multilingual_nmt",
    "linguistic_pretraining",
    "sentence_embedding",
)


class StateOfAnyTask(TypedDict, total=False):
    """What the task of a checkpoint says, of which stock fairseq's says a part."""

    dictionary_sha256: str | None
    languages: list[str] | None
    language_tags: Literal[*PLACEMENTS] | None
    tags_exist: bool | None
    lang_pairs: list[str] | None


class TaskState(TypedDict):
    """What our tasks say."""

    dictionary_sha256: str
    languages: list[str]
    language_tags: Literal[*PLACEMENTS]
    tags_exist: NotRequired[bool | None]
    lang_pairs: list[str]


def with_languages(state: dict, path, data) -> dict:
    """The state of a checkpoint that says its direction, also if fairseq took it from names of files.

    Args:
        state: through the gate.
        data: the binarized folder of its training.
    """
    options = (state.get("cfg") or {}).get("task") or state.get("args")
    named = _mapping(options)
    if name_of_task(named) == STOCK_BILINGUAL and not (named.get("source_lang") and named.get("target_lang")):
        named["source_lang"], named["target_lang"] = _only_pair(path, data)
    return state


def options_of_task(state: dict):
    """The options of the task, a mapping; fairseq's older tasks save a Namespace."""
    return _mapping(state["cfg"]["task"])


def _mapping(options):
    return vars(options) if isinstance(options, Namespace) else options


def name_of_task(options) -> str | None:
    return options.get("_name") or options.get("task")


def tags_of(state: dict, path, data) -> dict:
    """What the `state_dict` of our task would have saved for this checkpoint."""
    options = options_of_task(state)
    name = name_of_task(options)
    if name in (OURS, SENTENCES):
        check(state.get("task_state"), TaskState, path, "task_state")
        return state["task_state"]
    if name == STOCK_MULTILINGUAL:
        return _tags_of_stock_multilingual(options, path)
    if name == STOCK_BILINGUAL:
        pair = [options.get("source_lang"), options.get("target_lang")]
        pair = pair if all(pair) else _only_pair(path, data)
        directions = ["-".join(pair)]
        return {"languages": pair, "language_tags": "none", "tags_exist": False, "lang_pairs": directions}
    if name == PRETRAINING:
        raise InputError(
            f"{path}: is pre-trained only and cannot translate; fine-tune it first: fairseq-train --task"
            f" {OURS} --pretrained-checkpoint"
        )
    raise InputError(
        f"{path}: has the task {name!r}; expected {OURS}, {STOCK_MULTILINGUAL} or {STOCK_BILINGUAL}"
    )


def has_tags(state: dict) -> bool:
    """Has the dictionary of a checkpoint's model a tag for each of its languages?"""
    saved = state.get("task_state") or {}
    return name_of_task(options_of_task(state)) != STOCK_BILINGUAL and saved.get("tags_exist") is not False


def languages_of(state: dict, path) -> dict:
    """What a checkpoint of any task says of its languages and data: "languages", "directions",
    "language_tags" (a placement, None in pre-training) and "data".
    """
    options, saved = options_of_task(state), state.get("task_state") or {}
    if name_of_task(options) == STOCK_MULTILINGUAL:
        saved = _tags_of_stock_multilingual(options, path)
    elif name_of_task(options) == STOCK_BILINGUAL:
        pair = [language for language in (options.get("source_lang"), options.get("target_lang")) if language]
        saved = {"languages": pair, "language_tags": "none", "lang_pairs": ["-".join(pair)] if pair else []}
    check(saved, StateOfAnyTask, path, "task_state")
    return {
        "languages": saved.get("languages") or [],
        "directions": saved.get("lang_pairs") or [],
        "language_tags": saved.get("language_tags"),
        "data": {
            "path": _shown_path(options.get("data")),
            "dictionary_sha256": saved.get("dictionary_sha256"),
        },
    }


def _shown_path(data) -> str | None:
    """The folder, or folders, of a training's data; fairseq stores a text or a list."""
    return data if data is None or isinstance(data, str) else ":".join(data)


def _only_pair(path, data) -> list[str]:
    """The direction of a model that was trained without `-s` and `-t`: fairseq takes it from the names of the
    files, `train.de-en.de.idx`, and does not save it.
    """
    names = binarized_pairs(data)
    if len(names) != 1:
        pairs = ", ".join(sorted(names)) or "none"
        raise InputError(
            f"{path}: trained without -s and -t, it does not say its languages; expected files of one pair in"
            f" {data}, found {pairs}; use the folder that the model was trained on"
        )
    return names.pop().split("-")


def _tags_of_stock_multilingual(options: dict, path) -> dict:
    if options.get("lang_tok_style") not in (None, "multilingual") or options.get(
        "lang_tok_replacing_bos_eos"
    ):
        raise InputError(
            f"{path}: its language tokens replace others or are spelled as in mBART, which is not supported"
        )
    pairs = options["lang_pairs"]
    pairs = pairs.split(",") if isinstance(pairs, str) else list(pairs)
    languages = options.get("langs") or sorted({language for pair in pairs for language in pair.split("-")})
    languages = languages.split(",") if isinstance(languages, str) else list(languages)
    placement = placement_of_fairseq_options(options.get("encoder_langtok"), options.get("decoder_langtok"))
    return {"languages": languages, "language_tags": placement, "lang_pairs": pairs}
