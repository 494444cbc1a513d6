"""Folders of `sentence-transformers` (LaBSE, multilingual E5, …): a model and what it makes of its states."""

from pathlib import Path

from command_line.errors import InputError
from command_line.records import Optional, check, read_json
from data_prep.huggingface import MODULES_LIST, check_folder, reading

KIND = "sentence-transformers"
MODULES = (  # that a text encoder consists of; any other class of a folder is code of a stranger's choice
    "Transformer",
    "Pooling",
    "Dense",
    "Normalize",
    "LayerNorm",
    "Dropout",
    "WeightedLayerPooling",
)
ACTIVATIONS = ("torch.nn.modules.activation.", "torch.nn.modules.linear.Identity")


def load_modules(folder: Path, option: str = "--model"):
    """The `SentenceTransformer` in a folder, on the processor.

    Args:
        option: that named the folder.

    Raises:
        InputError: no such folder, no model of sentence-transformers, pickled weights, code of its own.
    """
    check_folder(folder, option)
    check_modules(folder)
    with reading(folder, KIND, option):
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        if not hasattr(model.tokenizer, "pad"):
            raise ValueError("it has no tokenizer of text")
    return model


def prompt_of(model) -> str:
    """What the model's own configuration puts in front of every sentence; "" for nothing."""
    return model.prompts.get(model.default_prompt_name or "") or ""


def check_modules(folder: Path) -> None:
    """The library imports whatever class the folder names, also from Python files in it.

    Raises:
        InputError: the folder names one that is not among MODULES and ACTIVATIONS, or its list is damaged.
    """
    path = folder / MODULES_LIST
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a model of sentence-transformers")
    modules = read_json(path)
    check(modules, [{"type": str, "path": str}], path)
    for module in modules:
        name = module["type"]
        if not name.startswith("sentence_transformers.") or name.rpartition(".")[2] not in MODULES:
            raise InputError(f"{path}: a module of type {name!r:.80}, expected only {', '.join(MODULES)}")
        config = folder / module["path"] / "config.json"
        if module["path"] and config.is_file():
            content = read_json(config)
            check(content, {"activation_function": Optional(str)}, config)
            activation = content.get("activation_function")
            if activation is not None and not activation.startswith(ACTIVATIONS):
                raise InputError(
                    f"{config}: activation_function {activation!r:.80}, expected one of torch.nn"
                )
