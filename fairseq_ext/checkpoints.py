"""Reading fairseq checkpoints, safely, ours and those of stock fairseq.

torch reads a checkpoint with `weights_only=True`: an unpickler that calls nothing but what is allow-listed.
fairseq writes its options as an `argparse.Namespace`, which is harmless; nothing else is needed, and
nothing else is allowed.
"""

import pickle
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from command_line.errors import InputError

torch.serialization.add_safe_globals([Namespace])

STOCK_MULTILINGUAL, STOCK_BILINGUAL, OURS, PRETRAINING = (
    "translation_multi_simple_epoch",
    "translation",
    "multilingual_nmt",
    "linguistic_pretraining",
)


@dataclass
class LoadedModel:
    """A model ready for inference with the task that knows its dictionary, languages and tags."""

    model: Any
    task: Any
    state: dict  # the checkpoint without the weights


def read_checkpoint(path) -> dict:
    """The contents of a checkpoint, on the CPU, with fairseq's options as a configuration under "cfg".

    Raises:
        InputError: the file is missing, damaged, not a fairseq checkpoint, or asks for code to be run.
    """
    from fairseq import checkpoint_utils

    state = _read(path, checkpoint_utils.load_checkpoint_to_cpu)
    if not isinstance(state, dict) or state.get("cfg") is None or "model" not in state:
        raise InputError(f"{path}: not a fairseq checkpoint (no options or no weights in it)")
    return state


def read_weights(path) -> dict:
    """A checkpoint of any version of fairseq as it is in the file, on the CPU; its options may be of tasks
    and models that this version does not know.

    Raises:
        InputError: as `read_checkpoint`.
    """
    state = _read(path, lambda name: torch.load(name, map_location="cpu", weights_only=True))
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise InputError(f"{path}: not a fairseq checkpoint (no weights in it)")
    return state


def _read(path, load):
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; expected a fairseq checkpoint")
    try:
        return load(str(path))
    except pickle.UnpicklingError as error:
        reason = str(error).split("Please file")[0].replace("\n", " ")[:200]
        raise InputError(
            f"{path}: refused, it is no plain checkpoint of weights and options: {reason}"
        ) from None
    except (OSError, RuntimeError, EOFError, KeyError, AttributeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InputError(f"{path}: damaged, or not a fairseq checkpoint: {reason}") from None


def load_for_inference(path, data, **task_options) -> LoadedModel:
    """Load a model of `multilingual_nmt`, or of fairseq's `translation_multi_simple_epoch` or `translation`.

    Args:
        path: the checkpoint.
        data: the binarized folder with the dictionary of its training.
        task_options: further fields of `MultilingualNmtConfig`, for example `autocast_bf16`.

    Raises:
        InputError: the dictionary is not the checkpoint's, or the checkpoint is of another kind.
    """
    from fairseq_ext.data.binarized import load_shared_dictionary
    from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask

    state = read_checkpoint(path)
    found = sorted(file.name.split(".")[1] for file in Path(data).glob("dict.*.txt"))
    if not found:
        raise InputError(
            f"{data}: no dict.LANG.txt in it; expected the output of `python -m data_prep binarize`"
        )
    tags = _tags_of(state, path)
    saved = _task_options(state)
    options = {name: saved.get(name) for name in ("max_source_positions", "max_target_positions")}
    cfg = MultilingualNmtConfig(data=str(data), **{**options, **task_options})
    task = MultilingualNmtTask(cfg, load_shared_dictionary(data, found))
    task.load_state_dict({"dictionary_sha256": task.fingerprint, **tags})
    model = task.build_model(state["cfg"]["model"], from_checkpoint=True)
    _check_sides(model, path)
    _check_embeddings(model, state["model"], path, data)
    model.load_state_dict(state["model"], strict=True, model_cfg=state["cfg"]["model"])
    state.pop("model")
    return LoadedModel(model.eval(), task, state)


def _task_options(state: dict):
    """The options of the task, a mapping; fairseq's older tasks save a Namespace."""
    options = state["cfg"]["task"]
    return vars(options) if isinstance(options, Namespace) else options


def _tags_of(state: dict, path) -> dict:
    """What `MultilingualNmtTask.state_dict` would have saved for this checkpoint."""
    options = _task_options(state)
    name = options.get("_name") or options.get("task")
    if name == OURS:
        return state["task_state"]
    if name == STOCK_MULTILINGUAL:
        return _tags_of_stock_multilingual(options, path)
    if name == STOCK_BILINGUAL:
        pair = [options["source_lang"], options["target_lang"]]
        return {"languages": pair, "language_tags": "none", "lang_pairs": ["-".join(pair)]}
    if name == PRETRAINING:
        raise InputError(
            f"{path}: is pre-trained only and cannot translate; fine-tune it first: fairseq-train --task"
            f" {OURS} --pretrained-checkpoint"
        )
    raise InputError(
        f"{path}: of the task {name!r}; expected {OURS}, {STOCK_MULTILINGUAL} or {STOCK_BILINGUAL}"
    )


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


def _check_embeddings(model, weights: dict, path, data) -> None:
    expected = len(model.encoder.embed_tokens.weight)
    found = len(weights["encoder.embed_tokens.weight"])
    if expected != found:
        raise InputError(
            f"{data}/dict.*.txt: {expected} symbols with language tags, but {path} has embeddings for"
            f" {found}; use the folder that the model was trained on"
        )
