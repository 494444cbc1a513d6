"""Starting a translation model from a checkpoint: `--pretrained-checkpoint` (thesis 4.4.6).

Encoder, decoder and embeddings are taken over; of embeddings the rows of all symbols and language tags that
both dictionaries have. With the same dictionary those are its words, and further tokens of pre-training (mask
and tasks) are dropped; with `--pretrained-dictionary` the checkpoint's is another one, to be extended or
replaced. Rows that the checkpoint does not have begin as `--new-rows` says. An optimizer's state is not
taken over.
"""

from collections.abc import Sequence
from pathlib import Path

from fairseq.distributed.utils import get_global_rank
from torch import Tensor

from command_line.errors import InputError
from data_prep.formats.dictionary import dictionary_fingerprint, load_dictionary
from fairseq_ext.checkpoints.origin import origin_of
from fairseq_ext.checkpoints.progress import LAST
from fairseq_ext.checkpoints.reading import EMBEDDINGS, read_checkpoint
from fairseq_ext.checkpoints.tasks import has_tags, languages_of
from fairseq_ext.checkpoints.vocabulary_rows import NewRows, RowPlan
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
NEVER_OTHERS = (  # of them, also where fairseq takes the weights over
    "encoder_attention_heads",
    "decoder_attention_heads",
    "activation_fn",
    "no_scale_embedding",
)
OPTION, DICTIONARY_OPTION = "--pretrained-checkpoint", "--pretrained-dictionary"
FINETUNING_OPTION = "--finetune-from-model"


def initialize(model, options, task, path) -> dict:
    """Replace the weights of `model` by those of the checkpoint; returns what is to be said of that
    (`origin_of`).

    Args:
        model: as `task.build_model` made it of the options.
        task: a task of ours, which knows its dictionary and tags.
        path: a checkpoint of `linguistic_pretraining` or `multilingual_nmt`, or, if its dictionary is given,
            of stock fairseq.

    Raises:
        InputError: no such checkpoint; it has another dictionary or another architecture.
    """
    state = read_checkpoint(path)
    theirs = symbols_of(state, task, path)
    _check_computation(options, state["cfg"]["model"], COMPUTATION, f"{OPTION} {path}")
    how = NewRows.parse(task.cfg.new_rows)
    plan = RowPlan.of(task.dictionary.symbols, theirs, how)
    own = model.state_dict()
    weights = dict(state["model"])
    for name in EMBEDDINGS:
        if name in weights and name in own:
            _check_width(own[name], weights[name], path)
            weights[name] = plan.table(own[name], weights[name])
    plan.log(len(state["model"][EMBEDDINGS[0]]))
    try:
        model.load_state_dict(weights, strict=True, model_cfg=options)
    except RuntimeError as error:
        reason = " ".join(str(error).splitlines()[1:2]).strip()[:200]
        raise InputError(f"{OPTION} {path}: is of another architecture: {reason}") from None
    return origin_of(path, state) | ({"new_rows": task.cfg.new_rows} if plan.new and how.is_unusual else {})


def finetuned_from(options) -> dict | None:
    """What is to be said of a training with these options of fairseq's: `--finetune-from-model`, or
    `--restore-file` without the optimizer's state, if any.

    In a distributed training the first process saves, and knows it alone.

    Raises:
        InputError: there is no such file, unless the training goes on from its own checkpoint; it is a
            folder, with which fairseq would begin from nothing and not say so; or of another number of heads
            or activation, from whose weights something else would be computed.
    """
    option, path = FINETUNING_OPTION, getattr(options, "finetune_from_model", None)
    if not path and getattr(options, "reset_optimizer", False):
        option, path = "--restore-file", getattr(options, "restore_file", LAST)
    if not path or path == LAST:
        return {}
    if Path(path).is_dir():
        raise InputError(
            f"{option} {path}: is a folder, expected a checkpoint, such as the model.pt of a packaged system"
        )
    is_file, last = Path(path).is_file(), Path(getattr(options, "save_dir", "")) / LAST
    if option == FINETUNING_OPTION and not (is_file or last.is_file()):
        raise InputError(f"{option} {path}: no such file, expected a checkpoint")
    if get_global_rank() != 0 or not is_file:  # goes on without the file it began with
        return None
    state = read_checkpoint(path)
    pretrained = state["cfg"]["model"]
    _check_computation(options, pretrained, _shared(options, pretrained), f"{option} {path}")
    return origin_of(path, state)


def symbols_of(state: dict, task, path) -> list[str]:
    """What the rows of a checkpoint's embeddings are of, as far as that is known: the symbols of its
    dictionary, which is the task's or that of `--pretrained-dictionary`, and its language tags. Further
    tokens of its task follow.

    Raises:
        InputError: it is not known, not that of the checkpoint, or larger than its embeddings.
    """
    fingerprint = (state.get("task_state") or {}).get("dictionary_sha256")
    file = task.cfg.pretrained_dictionary
    if file:
        dictionary = load_dictionary(Path(file))
        symbols, own = dictionary.symbols, dictionary_fingerprint(dictionary)
        if fingerprint not in (None, own):
            raise InputError(f"{DICTIONARY_OPTION} {file}: is not the dictionary of {path}")
    else:
        symbols, own = task.dictionary.symbols[: task.base_vocabulary_size], task.fingerprint
        if fingerprint is None:
            raise InputError(
                f"{OPTION} {path}: says nothing about its dictionary; give it with {DICTIONARY_OPTION}, the"
                " dict.LANG.txt of its data"
            )
        if fingerprint != own:
            raise InputError(
                f"{OPTION} {path}: was trained with another dictionary than dict.*.txt; give that one with"
                f" {DICTIONARY_OPTION}, or prepare the data with `python -m data_prep subword"
                " --dictionary-from` the folder of its subwords"
            )
    languages = languages_of(state, path)
    tags = map(tag_token, languages["languages"] if has_tags(state) else ())
    symbols = list(dict.fromkeys([*symbols, *tags]))  # a tag may be a word of the dictionary
    rows = len(state["model"].get(EMBEDDINGS[0], ()))
    if len(symbols) > rows:
        raise InputError(
            f"{OPTION} {path}: has {rows} embeddings, fewer than the {len(symbols)} symbols of"
            f" {file or 'dict.*.txt'} and its tags; give the dictionary of its training with"
            f" {DICTIONARY_OPTION}"
        )
    return symbols


def _shared(options, pretrained) -> list[str]:
    """Those of NEVER_OTHERS that both models have, of which one may be an encoder alone."""
    encodes_only = not all(getattr(model, "decoder_layers", 0) for model in (options, pretrained))
    declared = [name for name in NEVER_OTHERS if getattr(pretrained, name, None) is not None]
    return [name for name in declared if not (encodes_only and name.startswith("decoder"))]


def _check_width(own: Tensor, pretrained: Tensor, path) -> None:
    if own.size(1) != pretrained.size(1):
        raise InputError(
            f"{OPTION} {path}: is of another architecture: embeddings of width {pretrained.size(1)},"
            f" expected {own.size(1)}"
        )


def _check_computation(options, pretrained, names: Sequence[str], where: str) -> None:
    for name in names:
        ours, theirs = (getattr(model, name, None) or None for model in (options, pretrained))
        if name == "norm_placement":  # fairseq's own models know normalize_before only
            ours, theirs = placement_of(options), placement_of(pretrained)
        if ours != theirs:
            option = name.replace("_", "-")
            raise InputError(f"{where}: is of another architecture: --{option} {theirs}, here {ours}")
