"""The configuration of an encoder of `transformers`, as a checkpoint keeps it: an object of plain values.

What a stranger's checkpoint says is a text model's configuration, of plain numbers and texts, and lists of
them: it names no code, no file and no other model.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from command_line.errors import InputError
from data_prep.model_folders.libraries import reading
from data_prep.model_folders.loading import load_configuration
from data_prep.model_folders.models import KIND

OPTION = "--pretrained-encoder"
NOT_KEPT = (  # what would name code or other models, and what has no part in the states of tokens
    "auto_map",
    "quantization_config",
    "attn_implementation",
    "torch_dtype",
    "dtype",
    "architectures",
    "id2label",
    "label2id",
    "task_specific_params",
)
MODEL = "model_type"
LARGEST = 1 << 16  # of numbers in it, as most are sizes of weights; absurd ones would fill the memory
LONGEST = 1 << 10  # of lists in it
WITHOUT_MEMORY = (
    "vocab_size",
    "bos_token_id",
    "eos_token_id",
    "cls_token_id",
    "sep_token_id",
    "mask_token_id",
)
SIZES = {  # fairseq's options: what configurations call them
    "encoder_embed_dim": ("hidden_size",),
    "encoder_layers": ("num_hidden_layers",),
    "encoder_attention_heads": ("num_attention_heads",),
    "encoder_ffn_embed_dim": ("intermediate_size", "hidden_dim"),  # the second is distilbert's
}


def read_config(folder: Path) -> str:
    """The configuration of a folder's encoder, as a checkpoint keeps it: all numbers and texts, and of lists
    and objects those that the library does not have by itself.

    Raises:
        InputError: the folder has no encoder of text.
    """
    config = load_configuration(folder, OPTION)
    own = config.to_diff_dict()
    plain = {
        name: value
        for name, value in config.to_dict().items()
        if (isinstance(value, bool | int | float | str) or name in own) and _is_kept(name)
    }
    text = json.dumps(plain, sort_keys=True)
    config_of(text, f"{OPTION} {folder}")
    return text


def config_of(text: str, where: str = "token_encoder"):
    """A configuration of `transformers`.

    Args:
        text: JSON: an object of plain values, and lists and objects of them.

    Raises:
        InputError: it is not the configuration of an encoder of text.
    """
    with reading(Path(where), KIND, "configuration"):
        from transformers import CONFIG_MAPPING
        from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

        plain = json.loads(text)
        kind = plain.pop(MODEL, None) if isinstance(plain, dict) else None
    if not isinstance(kind, str) or kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise InputError(
            f"{where}: is of the kind {str(kind)[:80]!r}; expected an encoder of text: bert, xlm-roberta, …"
        )
    for name, value in plain.items():
        _check_field(name, value, where)
    with reading(Path(where), KIND, "configuration"):
        config = CONFIG_MAPPING[kind].from_dict(plain)
    if config.is_encoder_decoder:
        raise InputError(f"{where}: {kind} is no encoder alone; expected one such as bert or xlm-roberta")
    missing = [names[0] for names in SIZES.values() if _size(config, names) is None]
    if missing:
        raise InputError(
            f"{where}: configurations of the kind {kind} do not say {missing[0]}; expected an encoder such as"
            " bert, xlm-roberta, deberta-v2 or distilbert"
        )
    return config


def sizes_of(config) -> dict[str, int]:
    """fairseq's options (SIZES), as a configuration has them."""
    return {option: _size(config, names) for option, names in SIZES.items()}


def _size(config, names: tuple[str, ...]) -> int | None:
    sizes = (getattr(config, name, None) for name in names)
    return next((size for size in sizes if isinstance(size, int)), None)


def _is_kept(name: str) -> bool:
    return name not in NOT_KEPT and not name.startswith("_")


def _check_field(name: str, value, where: str) -> None:
    """Refuse what is no plain value, nor a list or an object of them, and absurd sizes."""
    if not _is_kept(name) or not _is_plain(value):
        raise InputError(f"{where}: field {name!r:.80} is not expected in a configuration of plain values")
    for each in _leaves(value):
        if isinstance(each, int) and abs(each) > LARGEST and name not in WITHOUT_MEMORY:
            raise InputError(f"{where}: field {name!r:.80} is {each}; expected at most {LARGEST}")


def _is_plain(value) -> bool:
    if isinstance(value, dict):
        return MODEL not in value and all(map(_is_kept, value)) and _is_plain(list(value.values()))
    if isinstance(value, list):
        return len(value) <= LONGEST and all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _leaves(value) -> Iterator:
    if not isinstance(value, dict | list):
        yield value
        return
    for each in value.values() if isinstance(value, dict) else value:
        yield from _leaves(each)


def kind_of_config(text: str) -> str:
    """The kind of an encoder, for names: `xlm-roberta`."""
    return config_of(text).model_type
