"""Starting a translation model from a checkpoint: `--pretrained-checkpoint` (thesis 4.4.6).

Encoder, decoder and embeddings are taken over. Dictionaries of both begin with the same words; behind them
come the language tags, of which those that both have keep their rows, and further tokens of pre-training
(mask and tasks), which are dropped. Rows of tags that the checkpoint does not have stay as they were
initialized.
"""

from pathlib import Path

import torch
from fairseq.distributed.utils import get_global_rank
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.checkpoints.origin import origin_of
from fairseq_ext.checkpoints.reading import EMBEDDINGS, read_checkpoint
from fairseq_ext.data.language_tags import tag_token
from fairseq_ext.modules.residual_block import placement_of

COMPUTATION = (  # options that change what a model computes from the same weights
    "encoder_attention_heads",
    "decoder_attention_heads",
    "activation_fn",
    "norm_placement",
    "drop_residual_layers",
    "no_scale_embedding",
    "share_all_embeddings",  # tied weights would silently keep one of the untied ones
)
OPTION = "--pretrained-checkpoint"


def initialize(model, options, task, path) -> dict:
    """Replace the weights of `model` by those of the checkpoint; returns what is to be said of that
    (`origin_of`).

    Args:
        model: as `task.build_model` made it, of
        options: with these options.
        task: a task of ours, which knows its dictionary and tags.
        path: a checkpoint of `linguistic_pretraining` or `multilingual_nmt`.

    Raises:
        InputError: no such checkpoint; it has another dictionary or another architecture.
    """
    state = read_checkpoint(path)
    saved = state.get("task_state") or {}
    if "dictionary_sha256" not in saved or "languages" not in saved:
        raise InputError(
            f"{OPTION} {path}: says nothing about its dictionary; expected a checkpoint of"
            " linguistic_pretraining or multilingual_nmt"
        )
    if saved["dictionary_sha256"] != task.fingerprint:
        raise InputError(
            f"{OPTION} {path}: was trained with another dictionary than dict.*.txt; prepare the data with"
            " `python -m data_prep subword --dictionary-from` the folder of its subwords"
        )
    _check_computation(options, state["cfg"]["model"], path)
    rows = tag_rows(task.dictionary, task.base_vocabulary_size, saved["languages"], task.tags.languages)
    own = model.state_dict()
    weights = dict(state["model"])
    for name in EMBEDDINGS:
        if name in weights and name in own:
            weights[name] = with_rows(own[name], weights[name], task.base_vocabulary_size, rows, path)
    try:
        model.load_state_dict(weights, strict=True, model_cfg=options)
    except RuntimeError as error:
        reason = " ".join(str(error).splitlines()[1:2]).strip()[:200]
        raise InputError(f"{OPTION} {path}: is of another architecture: {reason}") from None
    return origin_of(path, state)


def finetuned_from(options) -> dict | None:
    """What is to be said of a training with these options of fairseq's: `--finetune-from-model`, if any.

    In a distributed training the first process saves, and knows it alone.
    """
    path = getattr(options, "finetune_from_model", None)
    if not path:
        return {}
    if get_global_rank() != 0 or not Path(path).is_file():  # goes on without the file it began with
        return None
    return origin_of(path, read_checkpoint(path))


def tag_rows(dictionary, words: int, theirs: list[str], ours: list[str]) -> list[tuple[int, int]]:
    """(our row, their row) of the tags that both have and that are no words of the dictionary.

    Args:
        words: entries before the tags, the same in both dictionaries.
        theirs: languages in the order in which the checkpoint's tags were appended.
    """
    tokens = [tag_token(language) for language in theirs]
    appended = [token for token in tokens if dictionary.indices.get(token, words) >= words]
    places = {token: words + number for number, token in enumerate(appended)}
    found = (tag_token(language) for language in ours)
    return [(dictionary.index(token), places[token]) for token in found if token in places]


def with_rows(own: Tensor, pretrained: Tensor, words: int, rows: list[tuple[int, int]], path) -> Tensor:
    """V x C embedding: words and known tags as in the V' x C of the checkpoint, other tags as in `own`.

    Raises:
        InputError: another width.
    """
    if own.size(1) != pretrained.size(1):
        raise InputError(
            f"{OPTION} {path}: is of another architecture: embeddings of width {pretrained.size(1)},"
            f" expected {own.size(1)}"
        )
    joined = own.clone()
    joined[:words] = pretrained[:words]
    if rows:
        here, there = torch.tensor(rows).T
        joined[here] = pretrained[there].to(joined)
    return joined


def _check_computation(options, pretrained, path) -> None:
    for name in COMPUTATION:
        ours, theirs = (getattr(one, name, None) or None for one in (options, pretrained))
        if name == "norm_placement":  # fairseq's own models know normalize_before only
            ours, theirs = placement_of(options), placement_of(pretrained)
        if ours != theirs:
            option = name.replace("_", "-")
            raise InputError(f"{OPTION} {path}: is of another architecture: --{option} {theirs}, here {ours}")
