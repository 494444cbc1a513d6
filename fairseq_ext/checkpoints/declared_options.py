"""What fairseq and this toolkit declare about the options that a checkpoint may hold: name -> type.

An option is declared by a field of a configuration or by an argument of a parser. The type of either is
written as Python writes types: `int`, `Optional[float]`, `List[int]`, an enumeration, `Literal`, or `Any`
for what a parser makes of a text by a function of its own.
"""

from argparse import Action, ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from typing import Any, List, Literal, Union

OWN_PACKAGE = "fairseq_ext"
MODELS = ("transformer", "transformer_align", "bart")  # fairseq's standard encoder-decoder Transformers
TASKS = (  # that train those
    "translation",
    "translation_multi_simple_epoch",
    "translation_from_pretrained_bart",
    "denoising",
    "multilingual_denoising",
)
CRITERIA = (
    "cross_entropy",
    "label_smoothed_cross_entropy",
    "label_smoothed_cross_entropy_with_alignment",
    "adaptive_loss",
)
NAMES = {  # what a section is called by, other than "_name"
    "model": "arch",
    **{name: name for name in ("task", "criterion", "optimizer", "lr_scheduler")},
    **{name: name for name in ("scoring", "bpe", "tokenizer")},
}
UNDECLARED = {  # read by fairseq's layers, declared nowhere
    **dict.fromkeys(("scale_attn", "scale_heads", "scale_fc", "scale_resids"), bool),
}
WIDER = {  # what fairseq stores instead of the declared type, and reads back
    "data": List[str],
    "lang_pairs": List[str],
    "print_alignment": bool,
}
OF_OLD_VERSIONS = {  # what fairseq itself translates when it reads an old checkpoint
    "max_positions": int,
    "raw_text": bool,
    "lazy_load": bool,
    "remove_bpe": str,
    "min_lr": float,
}
Declared = Mapping[str, Any]


def sections() -> list[str]:
    """The parts of fairseq's configuration that hold options."""
    from fairseq.dataclass.configs import FairseqConfig

    declared = FairseqConfig.__dataclass_fields__
    return [name for name, field in declared.items() if name in NAMES or is_dataclass(field.type)]


@cache
def known_names(section: str) -> list[str]:
    """What a section may be of: ours and fairseq's standard models, tasks and criteria; any optimizer, …."""
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY

    if section == "model":
        families = ARCH_MODEL_NAME_REGISTRY
        return sorted(
            arch for arch, model in ARCH_MODEL_REGISTRY.items() if families[arch] in MODELS or _is_ours(model)
        )
    listed = {"task": TASKS, "criterion": CRITERIA}.get(section)
    registered = classes(section)
    return sorted(
        name for name in registered if listed is None or name in listed or _is_ours(registered[name])
    )


def _is_ours(registered: type) -> bool:
    return registered.__module__.split(".")[0] == OWN_PACKAGE


def classes(section: str) -> Mapping[str, type]:
    """What is registered with fairseq for a section: name -> class."""
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.registry import REGISTRIES
    from fairseq.tasks import TASK_REGISTRY

    if section in REGISTRIES:
        return REGISTRIES[section]["registry"]
    return {"model": ARCH_MODEL_REGISTRY, "task": TASK_REGISTRY}[section]


@cache
def of_section(section: str, name: str | None = None) -> Declared:
    """The options of a section of fairseq's configuration.

    Args:
        section: "common", …, "model", "task", "criterion", …
        name: the architecture, task, criterion, … for a section that depends on it.
    """
    from fairseq.dataclass.configs import FairseqConfig

    if section not in NAMES:
        return _widened(_of_configuration(FairseqConfig.__dataclass_fields__[section].type))
    named = {"_name": str, NAMES[section]: str}
    return _widened({**named, **_of_class(classes(section)[name])})


def _widened(declared: dict[str, Any]) -> dict[str, Any]:
    return {name: Union[kind, WIDER[name]] if name in WIDER else kind for name, kind in declared.items()}


@cache
def of_namespace(names: tuple[tuple[str, str], ...]) -> Declared:
    """The options of a whole training, as `argparse` has them: all sections in one name space.

    Args:
        names: (section, name) of the sections that have one.
    """
    declared: dict[str, Any] = {"_name": str, **dict.fromkeys(NAMES.values(), str)}
    for section, name in [*names, *((section, None) for section in sections() if section not in NAMES)]:
        declared = {**of_section(section, name), **declared}
    return {**OF_OLD_VERSIONS, **declared}


def _of_class(registered: type) -> dict[str, Any]:
    from fairseq.models import BaseFairseqModel
    from fairseq.models.transformer import TransformerConfig

    configuration = getattr(registered, "__dataclass", None)
    declared = dict(UNDECLARED) if issubclass(registered, BaseFairseqModel) else {}
    if configuration is None and issubclass(registered, BaseFairseqModel):
        configuration = getattr(registered, "Config", TransformerConfig)
    if configuration is not None:
        declared |= _of_configuration(configuration)
    return {action.dest: _type_of(action) for action in arguments_of(registered)} | declared


def _of_configuration(configuration: type) -> dict[str, Any]:
    return {name: field.type for name, field in fields_of(configuration)}


def fields_of(configuration: type, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Options of a configuration; those of a configuration in it have its name in front, as on the command
    line.
    """
    for field in fields(configuration):
        if is_dataclass(field.type):
            yield from fields_of(field.type, f"{prefix}{field.name}_")
        else:
            yield prefix + field.name, field


def arguments_of(registered: type) -> list[Action]:
    """The arguments that a registered class adds to a parser."""
    parser = ArgumentParser(add_help=False, conflict_handler="resolve")
    if hasattr(registered, "add_args"):
        registered.add_args(parser)
    return parser._actions


def _type_of(action: Action) -> Any:
    if action.choices is not None:
        return Literal[tuple(action.choices)]
    if isinstance(action.const, bool) and action.nargs == 0:
        return bool
    kind = action.type if action.type in (int, float) else str if action.type in (str, None) else Any
    return List[kind] if action.nargs in ("+", "*") else kind
