"""Options that are not as usual, which make a system another one: in records and in names."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any


def option(options: Any, name: str, default: Any = None) -> Any:
    """The value of an option of a section of a checkpoint: a Namespace, a mapping, or nothing at all."""
    if isinstance(options, Mapping):
        return options.get(name, default)
    return getattr(options, name, default)


def plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, list | tuple) or type(value).__name__ == "ListConfig":
        return [plain(item) for item in value]
    return value


def default_of(field: Field) -> Any:
    return field.default_factory() if field.default is MISSING else field.default


def defaults_of(config: type, *names: str) -> dict[str, Any]:
    """Option -> default, of these fields of a dataclass; of all of them if none is named."""
    return {field.name: default_of(field) for field in fields(config) if not names or field.name in names}


def defaults_of_task(name: str, *options: str) -> dict[str, Any]:
    """The same of a registered task, which this package cannot import: tasks describe systems by it."""
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    return defaults_of(TASK_DATACLASS_REGISTRY[name], *options)


def unusual(options: Any, usual: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The options that are not as usual.

    Args:
        usual: option -> usual value; one that the section lacks has it.
        prefix: in front of their names in the section.
    """
    values = {name: plain(option(options, prefix + name, value)) for name, value in usual.items()}
    return {name: value for name, value in values.items() if value != usual[name]}


def given_to_architecture(
    architecture: str | None, options: Any, apart_from: Iterable[str]
) -> dict[str, Any]:
    """What has to be given to a named architecture so that it has these options.

    None that follows from others.

    Args:
        architecture: registered with fairseq; of any other nothing is known.
        apart_from: options that do not count.
    """
    from fairseq.models import ARCH_CONFIG_REGISTRY

    complete, given = ARCH_CONFIG_REGISTRY.get(architecture), {}
    while complete is not None:
        usual = Namespace(**given)
        complete(usual)
        differing = unusual(options, {k: v for k, v in vars(usual).items() if k not in {*given, *apart_from}})
        if not differing:
            break
        name, value = next(iter(differing.items()))
        given[name] = value
    return given


def shown(options: Mapping[str, Any], prefix: str = "") -> str:
    """Options in names of systems: " (temperature 0.1, full ffn)", or nothing.

    Args:
        prefix: of the options' names, which is not shown.
    """
    words = []
    for name, value in options.items():
        word = name.removeprefix(prefix).replace("_", " ")
        if isinstance(value, bool):
            words.append(word if value else f"no {word}")
        else:
            words.append(f"{word} {value:g}" if isinstance(value, float) else f"{word} {value}")
    return f" ({', '.join(words)})" if words else ""
