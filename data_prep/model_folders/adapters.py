"""Folders of `peft`: an adapter of low rank (LoRA), as `llm tune` writes it and as people pass it on."""

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.options import shown
from command_line.records import check
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.libraries import as_one_line
from data_prep.model_folders.settings import refuse_code

KIND = "adapters of peft"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
ADAPTER_CONFIGURATION = "adapter_config.json"
Names = str | list[str] | None  # of layers; one text is a regular expression
ORIGIN = (  # where an adapter came from: read by nobody here, and never followed
    "base_model_name_or_path",
    "revision",
    "auto_mapping",
    "peft_version",
    "megatron_core",
    "runtime_config",
)


class LoraConfiguration(TypedDict):
    """What a plain adapter says of itself."""

    peft_type: Literal["LORA"]
    task_type: NotRequired[Literal["CAUSAL_LM"] | None]
    r: int
    lora_alpha: NotRequired[float | None]
    lora_dropout: NotRequired[float | None]
    lora_bias: NotRequired[bool | None]
    bias: NotRequired[Literal["none", "all", "lora_only"] | None]
    fan_in_fan_out: NotRequired[bool | None]
    use_rslora: NotRequired[bool | None]
    use_dora: NotRequired[bool | None]
    init_lora_weights: NotRequired[bool | Literal["gaussian"] | None]  # others change the model itself
    target_modules: NotRequired[Names]
    exclude_modules: NotRequired[Names]
    modules_to_save: NotRequired[list[str] | None]
    layers_to_transform: NotRequired[int | list[int] | None]
    layers_pattern: NotRequired[Names]
    rank_pattern: NotRequired[dict[str, int] | None]
    alpha_pattern: NotRequired[dict[str, float] | None]
    inference_mode: NotRequired[bool | None]


LORA = LoraConfiguration.__annotations__.keys()


def check_adapter(path: Path, option: str = "--tuned") -> ModelFolder:
    """What is allowed of the folder of an adapter.

    Raises:
        InputError: a file is missing, the adapter is of another kind than LoRA, or it asks for code.
    """
    folder = ModelFolder(path, option)
    for name in (ADAPTER_CONFIGURATION, ADAPTER_WEIGHTS):
        if folder.find(name) is None:
            raise InputError(f"{path / name}: no such file; expected an adapter, the output of `llm tune`")
    folder.take(ADAPTER_WEIGHTS)
    where, content = path / ADAPTER_CONFIGURATION, folder.read(ADAPTER_CONFIGURATION)
    refuse_code(content, where)
    check(content, LoraConfiguration, where)
    defaults = _defaults(path, option)
    for name, value in content.items():
        if name not in (*LORA, *ORIGIN) and value and value != defaults.get(name):
            raise InputError(
                f"{where}: field {name!r:.80} is {shown(value):.80}; expected a plain LoRA adapter"
            )
    folder.show(ADAPTER_CONFIGURATION, {name: value for name, value in content.items() if name in LORA})
    return folder


def _defaults(path: Path, option: str) -> dict:
    """What peft's LoRA has where nothing is asked for."""
    with as_one_line(f"{option} {path}", KIND):
        from peft import LoraConfig
    return {field.name: field.default for field in fields(LoraConfig) if field.default is not MISSING}


def weights_of(adapted) -> list:
    """The names and weights of an adapter on a model."""
    from peft import get_peft_model_state_dict

    return list(get_peft_model_state_dict(adapted, save_embedding_layers=False).items())


def load_adapter(model, path: Path, is_trainable: bool):
    """The model with the adapter in a folder."""
    folder = check_adapter(path)
    with folder.opened(KIND) as private:
        from peft import PeftModel
        from safetensors import safe_open

        with safe_open(private / ADAPTER_WEIGHTS, "numpy") as file:
            stored = set(file.keys())
        adapted = PeftModel.from_pretrained(
            model, str(private), is_trainable=is_trainable, local_files_only=True
        )
        needed = {name for name, _ in weights_of(adapted)}
    for names, fault in (
        (needed - stored, "lacks weights"),
        (stored - needed, "has weights of another model"),
    ):
        if names:
            raise InputError(
                f"{path / ADAPTER_WEIGHTS}: {fault}: {len(names)} of {len(needed)}, the first is"
                f" {min(names)}; expected a complete adapter of --model"
            )
    return adapted
