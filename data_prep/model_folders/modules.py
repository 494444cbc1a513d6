"""Folders of `sentence-transformers` (LaBSE, multilingual E5, …): a model and what it makes of its states."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.names_in_records import plain_name
from command_line.options import shown
from command_line.records import check
from data_prep.model_folders.allowed import ACTIVATIONS, MODULES
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.models import CONFIGURATION, take_tokenizer, take_weights
from data_prep.model_folders.settings import refuse_code, take_configuration

KIND = "sentence-transformers"
MODULES_LIST = "modules.json"  # of sentence-transformers: its modules, and the folder of each
WHOLE = "config_sentence_transformers.json"
TRANSFORMER, POOLING, WEIGHTED = "Transformer", "Pooling", "WeightedLayerPooling"
WITH_WEIGHTS = (WEIGHTED, "Dense", "LayerNorm")
CLASS = re.compile(
    r"sentence_transformers\.(models|sentence_transformer\.modules|base\.modules)(\.[a-z_]+)?\.(?P<name>\w+)"
)
OF_TRANSFORMER = tuple(  # the file of its settings, by the model that older versions saved
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
VECTOR, STATES = "sentence_embedding", "token_embeddings"
MODALITY = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}


class TextModel(TypedDict, total=False):
    """What Transformer may be told of a model of text."""

    max_seq_length: int | None
    do_lower_case: bool | None
    unpad_inputs: bool | None
    transformer_task: Literal["feature-extraction"] | None
    module_output_name: Literal[STATES] | None


class WholeModel(TypedDict, total=False):
    """What a model says of itself."""

    prompts: dict[str, str] | None
    default_prompt_name: str | None
    similarity_fn_name: str | None
    model_type: Literal["SentenceTransformer"] | None


class Module(TypedDict):
    """One of the list."""

    type: str
    path: str


def check_modules(path: Path, option: str = "--model") -> ModelFolder:
    """What is allowed of a folder of sentence-transformers.

    Raises:
        InputError: no such folder or no list of modules in it, a module or an activation that is not known
            here, modules that make no vector of a sentence, weights that are missing or pickled, or what
            could run code or lead elsewhere.
    """
    folder = ModelFolder(path, option)
    modules = listed_modules(folder)
    _check_order([kind for kind, _ in modules], path / MODULES_LIST)
    for kind, place in modules:
        if place and (path / place).is_dir():
            folder.refuse_code(path / place)
        if kind == TRANSFORMER:
            _take_transformer(folder, place)
        else:
            _take_module(folder, kind, place)
    _take_whole(folder)
    return folder


def listed_modules(folder: ModelFolder) -> list[tuple[str, str]]:
    """The class of every module, and its folder with "/" at the end, "" for the whole folder."""
    path, content = folder.path / MODULES_LIST, folder.read(MODULES_LIST, list[Module])
    if content is None:
        raise InputError(f"{path}: no such file; expected a model of {KIND}")
    modules, shown_to_library = [], []
    for number, module in enumerate(content):
        named = CLASS.fullmatch(module["type"])
        if not named or named["name"] not in MODULES:
            raise InputError(
                f"{path}: a module of type {module['type']!r:.80}, expected only {', '.join(MODULES)}"
            )
        if module.get("kwargs"):
            raise InputError(
                f"{path}: field '[{number}].kwargs' is {shown(module['kwargs']):.80}; expected none"
            )
        place = module["path"]
        if place:
            plain_name(place, f"{path}: field '[{number}].path'")
        modules.append((named["name"], f"{place}/" if place else ""))
        shown_to_library.append({"idx": number, "name": str(number), "path": place, "type": module["type"]})
    folder.show(MODULES_LIST, shown_to_library)
    return modules


def transformer_place(path: Path) -> Path:
    """Where the model of transformers is in a folder of sentence-transformers."""
    for kind, place in listed_modules(ModelFolder(path, "--model")):
        if kind == TRANSFORMER:
            return path / place
    raise InputError(f"{path / MODULES_LIST}: has no module {TRANSFORMER}; expected one to fine-tune")


def _check_order(kinds: list[str], path: Path) -> None:
    """A model of states, perhaps a mixture of its layers, a pooling, and what changes its vectors."""
    before = kinds[: kinds.index(POOLING)] if POOLING in kinds else kinds
    behind = kinds[len(before) + 1 :]
    if POOLING not in kinds:
        expected = f"a module {POOLING}, which makes one vector of the states of a sentence"
    elif before not in ([TRANSFORMER], [TRANSFORMER, WEIGHTED]):
        expected = f"{TRANSFORMER} in front of {POOLING}, and {WEIGHTED} between them if layers are mixed"
    elif {TRANSFORMER, WEIGHTED, POOLING} & set(behind):
        expected = f"one {TRANSFORMER} and one {POOLING}"
    else:
        return
    raise InputError(f"{path}: has the modules {', '.join(kinds) or '(none)'}; expected {expected}")


def _take_transformer(folder: ModelFolder, place: str) -> None:
    take_weights(folder, place)
    if take_configuration(folder, place) is None:
        raise InputError(f"{folder.path / place / CONFIGURATION}: no such file; expected that of the model")
    take_tokenizer(folder, place)
    name = next((name for name in OF_TRANSFORMER if folder.find(place + name)), None)
    if name is None:
        return
    path, content = folder.path / place / name, folder.read(place + name, TextModel)
    refuse_code(content, path)
    longest = content.get("max_seq_length")
    if longest is not None and longest < 1:
        raise InputError(
            f"{path}: field 'max_seq_length' is {longest}; expected a number of tokens, at least 1"
        )
    if content.get("modality_config") not in (None, MODALITY):
        raise InputError(f"{path}: field 'modality_config' is of more than text; expected {MODALITY}")
    allowed = {*TextModel.__annotations__, "modality_config"}
    for field, value in content.items():
        if field not in allowed and value:
            raise InputError(
                f"{path}: field {field!r:.80} is {shown(value):.80}; expected only {', '.join(allowed)}"
            )
    folder.show(place + name, {field: value for field, value in content.items() if field in allowed})


def _take_module(folder: ModelFolder, kind: str, place: str) -> None:
    """The settings of one module, numbers and names of built-in choices, and its weights."""
    path = folder.path / place / CONFIGURATION
    content = folder.read(place + CONFIGURATION) if place else None
    if content is None:
        if kind != "Normalize":
            raise InputError(f"{path}: no such file; expected the settings of the module {kind}")
        return
    _check_fields(kind, content, path)
    folder.show(place + CONFIGURATION, content)
    if kind in WITH_WEIGHTS:
        take_weights(folder, place)


def _check_fields(kind: str, content: Mapping, path: Path) -> None:
    for name, value in content.items():
        if name == "activation_function" and kind == "Dense":
            if not isinstance(value, str) or value not in ACTIVATIONS:
                raise InputError(
                    f"{path}: activation_function {value!r:.80}, expected one of torch.nn without arguments,"
                    " such as torch.nn.modules.activation.Tanh"
                )
        elif name in ("module_input_name", "module_output_name"):
            check(value, Literal[VECTOR] | None, path, name)
        elif name == "pooling_mode" and kind == POOLING:
            texts = value if isinstance(value, list) else [value]
            check(texts, list[str], path, name)
        elif not (value is None or isinstance(value, bool | int | float)):
            raise InputError(f"{path}: field {name!r:.80} is {shown(value):.80}; expected a number")


def _take_whole(folder: ModelFolder) -> None:
    """What the model puts in front of sentences, and by what they are compared."""
    path, content = folder.path / WHOLE, folder.read(WHOLE, WholeModel)
    if content is None:
        return
    kept = {name: content[name] for name in WholeModel.__annotations__ if content.get(name) is not None}
    default = kept.get("default_prompt_name")
    if default is not None and default not in kept.get("prompts", {}):
        raise InputError(
            f"{path}: field 'default_prompt_name' is {default!r:.80}, which is not among its prompts"
        )
    folder.show(WHOLE, kept)
