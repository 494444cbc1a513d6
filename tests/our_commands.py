"""Commands of ours, `python -m PACKAGE NAME OPTION...`, parsed as they would be run."""

import importlib
from argparse import Namespace

from command_line.dispatch import step_parser


def parse_command(words: list[str]) -> Namespace:
    """
    Args:
        words: beginning with `python -m`; SystemExit if the command does not understand them.
    """
    assert words[:2] == ["python", "-m"]
    package, name, *options = words[2:]
    if (package, name) == ("eval", "probe"):
        package, name, options = "eval.probes", options[0], options[1:]
        main = importlib.import_module(package)
    else:
        main = importlib.import_module(f"{package}.__main__")
    steps = getattr(main, "STEPS", None) or main.COMMANDS
    return step_parser(package, name, importlib.import_module(steps[name][0])).parse_args(options)
