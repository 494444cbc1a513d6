"""Commands of ours, `python -m PACKAGE NAME OPTION...`, parsed as they would be run."""

import importlib
from argparse import Namespace
from pathlib import Path

from command_line.dispatch import CommandParser, run, step_parser

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def parse_command(words: list[str]) -> Namespace:
    """
    Args:
        words: beginning with `python -m`; InputError if the command does not understand them.
    """
    assert words[:2] == ["python", "-m"]
    if words[2].startswith(("benchmarks.", "studies.")):
        return step_parser(" ".join(words[:3]), importlib.import_module(words[2])).parse_args(words[3:])
    package, name, *options = words[2:]
    if (package, name) == ("eval", "probe"):
        package, name, options = "eval probe", options[0], options[1:]
    steps = _steps(importlib.import_module("eval.probes" if "probe" in package else f"{package}.__main__"))
    return step_parser(f"python -m {package} {name}", importlib.import_module(steps[name][0])).parse_args(
        options
    )


def run_command(words: list[str]) -> int:
    """Run `PACKAGE NAME OPTION...` in this process, as `python -m` would; its exit status."""
    package, *rest = words
    main = importlib.import_module(f"{package}.__main__")
    return run(package, "", _steps(main), rest)


PACKAGES = ("data_prep", "eval", "fairseq_ext", "embeddings", "llm")


def parsers(packages: tuple[str, ...] = (*PACKAGES, BENCHMARKS.name)) -> dict[str, CommandParser]:
    """The parser of every command that users type, by what they type before the options."""
    found = {}
    for package in PACKAGES:
        if package in packages:
            _collect(found, f"python -m {package}", _steps(importlib.import_module(f"{package}.__main__")))
    for path in sorted(BENCHMARKS.glob("[a-z]*.py")) if BENCHMARKS.name in packages else ():
        words = f"python -m benchmarks.{path.stem}"
        found[words] = step_parser(words, importlib.import_module(f"benchmarks.{path.stem}"))
    return found


def _steps(module) -> dict:
    return getattr(module, "STEPS", None) or module.COMMANDS


def _collect(found: dict, prefix: str, steps) -> None:
    for name, (module_name, _) in steps.items():
        module = importlib.import_module(module_name)
        if hasattr(module, "COMMANDS"):
            _collect(found, f"{prefix} {name}", module.COMMANDS)
        else:
            found[f"{prefix} {name}"] = step_parser(f"{prefix} {name}", module)
