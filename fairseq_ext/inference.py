"""A trained model with the task that it needs for inference: ours, and those of stock fairseq."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from command_line.errors import InputError
from command_line.names_in_records import plain_name
from data_prep.formats.dictionary import (
    dictionary_path,
    languages_with_dictionary,
    load_dictionary,
    load_shared_dictionary,
)
from fairseq_ext.axes.record import describe
from fairseq_ext.checkpoints import origin
from fairseq_ext.checkpoints.averaging import averaged_from
from fairseq_ext.checkpoints.finite import check_weights
from fairseq_ext.checkpoints.reading import as_one_line, read_checkpoint
from fairseq_ext.checkpoints.tasks import (
    OURS,
    SENTENCES,
    STOCK_BILINGUAL,
    STOCK_MULTILINGUAL,
    name_of_task,
    options_of_task,
    tags_of,
)
from fairseq_ext.modules.ensemble import Ensemble


@dataclass
class LoadedModel:
    """A model ready for inference with the task that knows its dictionary, languages and tags."""

    model: Any
    task: Any
    state: dict  # the checkpoint without the weights
    averaged: int = 1  # so many checkpoints are in the mean
    ensemble: int = 1  # so many models are in the ensemble
    teacher: str | None = None  # name of the encoder that it learned from

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
            self.teacher,
        )
        return record | ({"name": name} if name else {})

    def untrained(self, seed: int) -> "LoadedModel":
        """The model with weights as before its training, drawn anew."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = self.task.build_model(self.state["cfg"]["model"], from_checkpoint=True)
        return replace(self, model=model.eval())


def load_for_inference(
    path, data, translates: bool = True, separate_dictionaries: bool = False, **task_options
) -> LoadedModel:
    """Load a model of `multilingual_nmt`, or of fairseq's `translation_multi_simple_epoch` or `translation`;
    where nothing is to be translated, also one of `sentence_embedding`.

    Args:
        data: the binarized folder with the dictionary of its training.
        translates: must the model translate? Otherwise an encoder will do.
        separate_dictionaries: may source and target of fairseq's `translation` have a dictionary each?
        task_options: further fields of the task's configuration, for example `autocast_bf16`.

    Raises:
        InputError: the dictionary is not the checkpoint's, the checkpoint is of another kind, or it has
            weights that are NaN or infinite.
    """
    state = read_checkpoint(path)
    with as_one_line(path):
        tags = tags_of(state, path, data)
        for name in (*tags["languages"], *tags["lang_pairs"]):
            plain_name(name, f"{path}: a language")
        saved = options_of_task(state)
        options = {name: saved.get(name) for name in ("max_source_positions", "max_target_positions")}
        config, task_class = _task_of(saved, path, translates)
        cfg = config(data=str(data), **{**options, **task_options})
        if separate_dictionaries and name_of_task(saved) == STOCK_BILINGUAL:
            task = _separate_dictionaries(cfg, data, tags["languages"])
        else:
            task = task_class(cfg, load_shared_dictionary(data, languages_with_dictionary(data)))
        initialized_from = origin.initialized_from(state, path)
        task_state = {"dictionary_sha256": task.fingerprint, origin.FIELD: initialized_from}
        task.load_state_dict({**task_state, **tags})
        model = task.build_model(state["cfg"]["model"], from_checkpoint=True)
        if translates:
            _check_sides(model, path)
        _check_embeddings(model, state["model"], path, data, task.tags.exist)
        model.load_state_dict(state["model"], strict=True, model_cfg=state["cfg"]["model"])
        averaged = len(averaged_from(state, path)) or 1
        teacher = origin.teacher_of(state, path)
    check_weights(model, path)
    state.pop("model")
    state["last_optimizer_state"] = None  # twice as large
    return LoadedModel(model.eval(), task, state, averaged, teacher=teacher)


def load_ensemble(paths, data, **task_options) -> LoadedModel:
    """One model, or several as an `Ensemble`, which translate with the task of the first.

    Raises:
        InputError: as `load_for_inference`; the models differ in languages or in the placement of tags.
    """
    first, *others = [load_for_inference(path, data, **task_options) for path in paths]
    if not others:
        return first
    tags = first.task.tags
    for other, path in zip(others, paths[1:], strict=True):
        others_tags = other.task.tags
        for what, own, expected in (
            ("languages", others_tags.languages, tags.languages),
            ("placement of language tags", others_tags.placement_name, tags.placement_name),
            ("target behind the source (LCS)", others_tags.announces_target, tags.announces_target),
        ):
            if own != expected:
                raise InputError(
                    f"{path}: its {what}: {own}, and {expected} in {paths[0]}; models of an ensemble read the"
                    " same input"
                )
    model = Ensemble([own.model for own in (first, *others)])
    return LoadedModel(model.eval(), first.task, first.state, first.averaged, ensemble=len(paths))


def _task_of(options, path, translates: bool) -> tuple[type, type]:
    """Configuration and class of the task that a checkpoint with these options of its task is used with."""
    from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
    from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask

    if name_of_task(options) != SENTENCES:
        return MultilingualNmtConfig, MultilingualNmtTask
    if translates:
        raise InputError(
            f"{path}: has the task {SENTENCES!r}: a sentence encoder, which does not translate; expected a "
            f"model of {OURS}, {STOCK_MULTILINGUAL} or {STOCK_BILINGUAL}"
        )
    return SentenceEmbeddingConfig, SentenceEmbeddingTask


def _separate_dictionaries(cfg, data, languages):
    """The task of a direction, whose dictionaries may be the same."""
    from fairseq_ext.tasks.separate_dictionaries import SeparateDictionariesTask

    return SeparateDictionariesTask(
        cfg, *(load_dictionary(dictionary_path(data, each)) for each in languages)
    )


def _check_sides(model, path) -> None:
    for side in ("encoder", "decoder"):
        if not hasattr(model, side):
            raise InputError(f"{path}: its model has no {side}; expected an encoder-decoder model")


def _check_embeddings(model, weights: dict, path, data, with_tags: bool) -> None:
    expected = len(model.encoder.embed_tokens.weight)
    rows = len(weights["encoder.embed_tokens.weight"])
    if expected != rows:
        tags = " with language tags" if with_tags else ""
        raise InputError(
            f"{data}/dict.*.txt: {expected} symbols{tags}, but {path} has embeddings for"
            f" {rows}; use the folder that the model was trained on"
        )
