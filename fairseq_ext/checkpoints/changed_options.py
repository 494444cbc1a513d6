"""Which options of a checkpoint differ from the defaults of their section, task, architecture, ….

What a named architecture sets is a default of it; options that follow from others that are given are none.
"""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from fairseq_ext.axes.options import default_of, given_to_architecture, option, plain
from fairseq_ext.checkpoints.declared_options import NAMES, arguments_of, classes, fields_of
from fairseq_ext.checkpoints.options_gate import FILES_OF_THE_TRAINING, INTERPOLATION


def changed_options(cfg: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Section -> option -> value.

    Args:
        cfg: the options of a checkpoint, as `read_checkpoint` gives them.
    """
    by_section = {}
    for section, options in cfg.items():
        if options is not None and (changed := _changed(section, options)):
            by_section[section] = changed
    return by_section


def name_in(section: str, options: Any) -> str | None:
    """Which architecture, task, criterion, … a section is of."""
    return option(options, NAMES[section]) or option(options, "_name")


def _changed(section: str, options: Any) -> dict[str, Any]:
    defaults, given = {}, {}
    if section not in NAMES:
        defaults = _of_section(section)
    elif (name := name_in(section, options)) in classes(section):
        defaults = _of_class(classes(section)[name])
        if section == "model":
            set_by_name = _of_architecture(name)
            defaults = {key: value for key, value in defaults.items() if key not in set_by_name}
            given = given_to_architecture(name, options, FILES_OF_THE_TRAINING)
    for name, default in defaults.items():
        value = plain(option(options, name, default))
        if name in FILES_OF_THE_TRAINING or value is None or INTERPOLATION in str(default):
            continue
        if value != plain(default):
            given[name] = value
    return {name: value for name, value in given.items() if name not in ("_name", NAMES.get(section))}


def _of_section(section: str) -> dict[str, Any]:
    from fairseq.dataclass.configs import FairseqConfig

    return _of_configuration(FairseqConfig.__dataclass_fields__[section].type)


def _of_architecture(name: str) -> set[str]:
    """The options that a named architecture sets."""
    from fairseq.models import ARCH_CONFIG_REGISTRY

    options = Namespace()
    ARCH_CONFIG_REGISTRY.get(name, lambda args: None)(options)
    return set(vars(options))


def _of_class(registered: type) -> dict[str, Any]:
    """Defaults that a registered class declares by a configuration or by arguments of a parser."""
    configuration = getattr(registered, "__dataclass", None) or getattr(registered, "Config", None)
    if configuration:
        return _of_configuration(configuration)
    return {action.dest: action.default for action in arguments_of(registered)}


def _of_configuration(configuration: type) -> dict[str, Any]:
    return {
        name: default_of(field)
        for name, field in fields_of(configuration)
        if field.default is not MISSING or field.default_factory is not MISSING
    }
