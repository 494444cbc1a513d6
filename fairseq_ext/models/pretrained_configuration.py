"""The configuration of an encoder of `transformers`, as a checkpoint keeps it: an object of plain values.

What a stranger's checkpoint says is a text model's configuration, of plain numbers and texts: it names no
code, no file and no other model.
"""

import json
from pathlib import Path

from command_line.errors import InputError
from data_prep.huggingface import check_folder, reading
from data_prep.transformers_tokenizer import KIND

OPTION = "--pretrained-encoder"
NOT_KEPT = ("auto_map", "quantization_config", "attn_implementation", "torch_dtype", "dtype")
LARGEST = 1 << 16  # of numbers in it, as most are sizes of weights; absurd ones would fill the memory
WITHOUT_MEMORY = (
    "vocab_size",
    "bos_token_id",
    "eos_token_id",
    "cls_token_id",
    "sep_token_id",
    "mask_token_id",
)
SIZES = {  # of the configuration, as fairseq's options have them
    "hidden_size": "encoder_embed_dim",
    "num_hidden_layers": "encoder_layers",
    "num_attention_heads": "encoder_attention_heads",
    "intermediate_size": "encoder_ffn_embed_dim",
}


def read_config(folder: Path) -> str:
    """The configuration of a folder's encoder, as a checkpoint keeps it.

    Raises:
        InputError: the folder has no encoder of text.
    """
    check_folder(folder, OPTION)
    with reading(folder, KIND, OPTION):
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    plain = {
        name: value
        for name, value in config.to_dict().items()
        if isinstance(value, bool | int | float | str) and name not in NOT_KEPT and not name.startswith("_")
    }
    text = json.dumps(plain, sort_keys=True)
    config_of(text, f"{OPTION} {folder}")
    return text


def config_of(text: str, where: str = "token_encoder"):
    """A configuration of `transformers`.

    Args:
        text: JSON: an object of plain values.

    Raises:
        InputError: it is not the configuration of an encoder of text.
    """
    with reading(Path(where), KIND, "configuration"):
        from transformers import AutoConfig
        from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

        plain = json.loads(text)
        kind = plain.pop("model_type", None) if isinstance(plain, dict) else None
    if kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise InputError(
            f"{where}: of the kind {str(kind)[:80]!r}; expected an encoder of text: bert, xlm-roberta, …"
        )
    for name, value in plain.items():
        if name in NOT_KEPT or not isinstance(value, bool | int | float | str):
            raise InputError(
                f"{where}: field {name!r:.80} is not expected in a configuration of plain values"
            )
        if isinstance(value, int) and abs(value) > LARGEST and name not in WITHOUT_MEMORY:
            raise InputError(f"{where}: field {name!r:.80} is {value}; expected at most {LARGEST}")
    with reading(Path(where), KIND, "configuration"):
        config = AutoConfig.for_model(kind, **plain)
    if config.is_encoder_decoder or not all(isinstance(getattr(config, name, None), int) for name in SIZES):
        raise InputError(f"{where}: {kind} is no encoder alone; expected one such as bert or xlm-roberta")
    return config


def kind_of_config(text: str) -> str:
    """The kind of an encoder, for names: `xlm-roberta`."""
    return config_of(text).model_type
