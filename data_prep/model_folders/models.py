"""Folders of `transformers`: a model, a tokenizer, or both."""

import re
from pathlib import Path

from typing_extensions import TypedDict

from command_line.errors import InputError
from data_prep.model_folders.allowed import VOCABULARIES
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.settings import (
    CONFIGURATION,
    TOKENIZER,
    take_configuration,
    take_generation,
    take_tokenizer_settings,
)

KIND = "transformers"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARD = re.compile(r"[\w.-]+\.safetensors")
FORMATS = (None, "pt", "mlx")  # of a file of safetensors; others are read by other libraries
ADAPTER = "adapter_config.json"


class WeightsIndex(TypedDict):
    """Which file has which weights."""

    weight_map: dict[str, str]


def check_model(path: Path, option: str = "--model") -> ModelFolder:
    """What is allowed of the folder of a model and its tokenizer.

    Raises:
        InputError: there is no such folder, it has no configuration or no safetensors, or it could run
            code or lead elsewhere.
    """
    folder = ModelFolder(path, option)
    if folder.find(ADAPTER) and folder.find(CONFIGURATION):
        raise InputError(
            f"{path / ADAPTER}: an adapter in the folder of a model; give it in a folder of its own (--tuned)"
        )
    take_weights(folder)
    if take_configuration(folder) is None:
        raise InputError(f"{path / CONFIGURATION}: no such file; expected that of a model of {KIND}")
    take_generation(folder)
    take_tokenizer(folder)
    return folder


def check_tokenizer(path: Path, option: str) -> ModelFolder:
    """What is allowed of the folder of a tokenizer, in which a model may be, too.

    Raises:
        InputError: there is no such folder, it has no tokenizer or does not say which one, or it could
            run code or lead elsewhere.
    """
    if not path.is_dir():
        raise InputError(f"{option} {path}: no such folder; expected one with a tokenizer of {KIND}")
    folder = ModelFolder(path, option)
    configuration = take_configuration(folder)
    settings = take_tokenizer(folder)
    if not has_vocabulary(folder):
        raise InputError(
            f"{option} {path}: no tokenizer in it; expected tokenizer.json, or a vocabulary with {TOKENIZER}"
        )
    if configuration is None and not settings.get("tokenizer_class"):
        raise InputError(
            f"{option} {path}: nothing says which tokenizer this is; expected {TOKENIZER} with the field"
            f" 'tokenizer_class' (PreTrainedTokenizerFast for any tokenizer.json), or {CONFIGURATION} of its"
            " model"
        )
    return folder


def take_tokenizer(folder: ModelFolder, place: str = ""):
    """Let vocabularies be read, and the settings of the tokenizer, which are returned."""
    for name in VOCABULARIES:
        folder.take(place + name)
    return take_tokenizer_settings(folder, place)


def has_vocabulary(folder: ModelFolder) -> bool:
    return any(Path(name).name in VOCABULARIES for name in folder.files)


def take_weights(folder: ModelFolder, place: str = "") -> None:
    """Let weights of safetensors be read: one file, or those that an index names.

    Raises:
        InputError: there are none, or they are in another format, or lie elsewhere.
    """
    if target := folder.take(place + WEIGHTS):
        _check_format(target, folder.path / place / WEIGHTS)
        return
    path, index = folder.path / place / INDEX, folder.read(place + INDEX, WeightsIndex)
    if index is None:
        _refuse_lack(folder, place)
    if not index["weight_map"]:
        raise InputError(f"{path}: field 'weight_map' is {{}}, expected at least 1 fields in it")
    for name in sorted(set(index["weight_map"].values())):
        if not SHARD.fullmatch(name):
            raise InputError(f"{path}: names the file {name!r:.80}; expected *.safetensors in this folder")
        target = folder.take(place + name)
        if target is None:
            raise InputError(f"{folder.path / place / name}: no such file, but {path} names it")
        _check_format(target, folder.path / place / name)
    folder.show(place + INDEX, {"metadata": {}, "weight_map": index["weight_map"]})


def _refuse_lack(folder: ModelFolder, place: str) -> None:
    if pickled := folder.pickled(place):
        raise InputError(
            f"{pickled}: weights in a format that can run code, expected safetensors; convert them with"
            " save_pretrained of transformers, or of sentence-transformers where modules have some"
        )
    raise InputError(
        f"{folder.option} {folder.path}: no weights in {place or 'it'}, expected {WEIGHTS}, or {INDEX}"
        " with its files"
    )


def _check_format(target: Path, path: Path) -> None:
    """Refuse files whose header is damaged, or asks for another library."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(target, "numpy") as weights:
            weights_format = (weights.metadata() or {}).get("format")
    except SafetensorError as error:
        raise InputError(f"{path}: damaged weights: {str(error).splitlines()[0]:.200}") from None
    if weights_format not in FORMATS:
        raise InputError(
            f"{path}: weights of the format {weights_format!r:.80}; expected those of PyTorch, 'pt'"
        )
