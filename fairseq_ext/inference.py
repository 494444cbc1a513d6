"""A trained model with the task that it needs for inference: ours, and those of stock fairseq."""

from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from command_line.errors import InputError
from command_line.names_in_records import plain_name
from command_line.records import OneOf, Optional, check
from data_prep.formats.sentences import binarized_pairs
from fairseq_ext.axes.record import describe
from fairseq_ext.checkpoints import origin
from fairseq_ext.checkpoints.averaging import averaged_from
from fairseq_ext.checkpoints.finite import check_weights
from fairseq_ext.checkpoints.reading import as_one_line, read_checkpoint
from fairseq_ext.data.language_tags import PLACEMENTS
from fairseq_ext.modules.ensemble import Ensemble

STOCK_MULTILINGUAL, STOCK_BILINGUAL, OURS, PRETRAINING, SENTENCES = (
    "translation_multi_simple_epoch",
    "translation",
    "multilingual_nmt",
    "linguistic_pretraining",
    "sentence_embedding",
)

TASK_STATE = {  # of our checkpoints
    "dictionary_sha256": str,
    "languages": [str],
    "language_tags": OneOf(*PLACEMENTS),
    "tags_exist": Optional(bool),
    "lang_pairs": [str],
}


@dataclass
class LoadedModel:
    """A model ready for inference with the task that knows its dictionary, languages and tags."""

    model: Any
    task: Any
    state: dict  # the checkpoint without the weights
    averaged: int = 1  # so many checkpoints are in the mean
    ensemble: int = 1  # so many models are in the ensemble

    def system(self, name: str | None = None) -> dict:
        """The record of the system (`fairseq_ext.axes`).

        Args:
            name: of the user's; by default it is made from the choices on all axes.
        """
        record = describe(
            self.state["cfg"],
            self.task.tags.placement_name,
            self.task.initialized_from,
            self.averaged,
            self.ensemble,
        )
        return record | ({"name": name} if name else {})


def load_for_inference(path, data, translates: bool = True, **task_options) -> LoadedModel:
    """Load a model of `multilingual_nmt`, or of fairseq's `translation_multi_simple_epoch` or `translation`;
    where nothing is to be translated, also one of `sentence_embedding`.

    Args:
        path: the checkpoint.
        data: the binarized folder with the dictionary of its training.
        translates: must the model translate? Otherwise an encoder will do.
        task_options: further fields of the task's configuration, for example `autocast_bf16`.

    Raises:
        InputError: the dictionary is not the checkpoint's, the checkpoint is of another kind, or it has
            weights that are NaN or infinite.
    """
    from data_prep.formats.dictionary import languages_with_dictionary, load_shared_dictionary

    state = read_checkpoint(path)
    found = languages_with_dictionary(data)
    if not found:
        raise InputError(
            f"{data}: no dict.LANG.txt in it; expected the output of `python -m data_prep binarize`"
        )
    with as_one_line(path):
        tags = _tags_of(state, path, data)
        for name in (*tags["languages"], *tags["lang_pairs"]):
            plain_name(name, f"{path}: a language")
        saved = _task_options(state)
        options = {name: saved.get(name) for name in ("max_source_positions", "max_target_positions")}
        config, task_class = _task_of(saved, path, translates)
        cfg = config(data=str(data), **{**options, **task_options})
        task = task_class(cfg, load_shared_dictionary(data, found))
        initialized_from = origin.initialized_from(state, path)
        known = {"dictionary_sha256": task.fingerprint, origin.FIELD: initialized_from}
        task.load_state_dict({**known, **tags})
        model = task.build_model(state["cfg"]["model"], from_checkpoint=True)
        if translates:
            _check_sides(model, path)
        _check_embeddings(model, state["model"], path, data, task.tags.exist)
        model.load_state_dict(state["model"], strict=True, model_cfg=state["cfg"]["model"])
        averaged = len(averaged_from(state, path)) or 1
    check_weights(model, path)
    state.pop("model")
    return LoadedModel(model.eval(), task, state, averaged)


def load_ensemble(paths, data, **task_options) -> LoadedModel:
    """One model, or several as an `Ensemble`, which translate with the task of the first.

    Args:
        paths: of checkpoints.

    Raises:
        InputError: as `load_for_inference`; the models differ in languages or in the placement of tags.
    """
    first, *others = [load_for_inference(path, data, **task_options) for path in paths]
    if not others:
        return first
    tags = first.task.tags
    for other, path in zip(others, paths[1:], strict=True):
        found = other.task.tags
        for what, one, expected in (
            ("languages", found.languages, tags.languages),
            ("placement of language tags", found.placement_name, tags.placement_name),
        ):
            if one != expected:
                raise InputError(
                    f"{path}: its {what}: {one}, and {expected} in {paths[0]}; models of an ensemble read the"
                    " same input"
                )
    model = Ensemble([one.model for one in (first, *others)])
    return LoadedModel(model.eval(), first.task, first.state, first.averaged, ensemble=len(paths))


def with_languages(state: dict, path, data) -> dict:
    """The state of a checkpoint that says its direction, also if fairseq took it from names of files.

    Args:
        state: through the gate.
        path: of the checkpoint, for errors.
        data: the binarized folder of its training.
    """
    options = (state.get("cfg") or {}).get("task") or state.get("args")
    known = _mapping(options)
    if _name_of_task(known) == STOCK_BILINGUAL and not (
        known.get("source_lang") and known.get("target_lang")
    ):
        known["source_lang"], known["target_lang"] = _only_pair(path, data)
    return state


def _task_options(state: dict):
    """The options of the task, a mapping; fairseq's older tasks save a Namespace."""
    return _mapping(state["cfg"]["task"])


def _mapping(options):
    return vars(options) if isinstance(options, Namespace) else options


def _task_of(options, path, translates: bool) -> tuple[type, type]:
    """Configuration and class of the task that a checkpoint with these options of its task is used with."""
    from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
    from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask

    if _name_of_task(options) != SENTENCES:
        return MultilingualNmtConfig, MultilingualNmtTask
    if translates:
        raise InputError(
            f"{path}: of the task {SENTENCES!r}, a sentence encoder, which does not translate; expected a "
            f"model of {OURS}, {STOCK_MULTILINGUAL} or {STOCK_BILINGUAL}"
        )
    return SentenceEmbeddingConfig, SentenceEmbeddingTask


def _name_of_task(options) -> str | None:
    return options.get("_name") or options.get("task")


def _tags_of(state: dict, path, data) -> dict:
    """What the `state_dict` of our task would have saved for this checkpoint."""
    options = _task_options(state)
    name = _name_of_task(options)
    if name in (OURS, SENTENCES):
        check(state.get("task_state"), TASK_STATE, path, "task_state")
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
        f"{path}: of the task {name!r}; expected {OURS}, {STOCK_MULTILINGUAL} or {STOCK_BILINGUAL}"
    )


def languages_of(state: dict, path) -> dict:
    """What a checkpoint of any task says of its languages and data: "languages", "directions",
    "language_tags" (a placement, None in pre-training) and "data".
    """
    options, saved = _task_options(state), state.get("task_state") or {}
    if _name_of_task(options) == STOCK_MULTILINGUAL:
        saved = _tags_of_stock_multilingual(options, path)
    elif _name_of_task(options) == STOCK_BILINGUAL:
        pair = [language for language in (options.get("source_lang"), options.get("target_lang")) if language]
        saved = {"languages": pair, "language_tags": "none", "lang_pairs": ["-".join(pair)] if pair else []}
    optional = {name: Optional(schema) for name, schema in TASK_STATE.items()}
    check(saved, optional, path, "task_state")
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
        found = ", ".join(sorted(names)) or "none"
        raise InputError(
            f"{path}: trained without -s and -t, it does not say its languages; expected files of one pair in"
            f" {data}, found {found}; use the folder that the model was trained on"
        )
    return names.pop().split("-")


def _tags_of_stock_multilingual(options: dict, path) -> dict:
    from fairseq_ext.data.language_tags import placement_of_fairseq_options

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


def _check_sides(model, path) -> None:
    for side in ("encoder", "decoder"):
        if not hasattr(model, side):
            raise InputError(f"{path}: its model has no {side}; expected an encoder-decoder model")


def _check_embeddings(model, weights: dict, path, data, with_tags: bool) -> None:
    expected = len(model.encoder.embed_tokens.weight)
    found = len(weights["encoder.embed_tokens.weight"])
    if expected != found:
        tags = " with language tags" if with_tags else ""
        raise InputError(
            f"{data}/dict.*.txt: {expected} symbols{tags}, but {path} has embeddings for"
            f" {found}; use the folder that the model was trained on"
        )
