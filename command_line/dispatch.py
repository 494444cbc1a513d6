"""`python -m PACKAGE STEP …`: one parser per step, imported only when the step is asked for.

A step is a module with a docstring (shown by `--help`) and `main(options)`, whose annotation is the dataclass
that declares its options (`command_line.option_classes`). Heavy libraries are imported inside `main`, so that
every `--help` answers in well under a second. A package with a docstring and steps of its own in `COMMANDS`
is a step too: `python -m PACKAGE STEP STEP …`.
"""

import argparse
import contextlib
import importlib
import inspect
import logging
import os
import sys
from collections.abc import Mapping, Sequence

from command_line import open_files, streams
from command_line.errors import InputError
from command_line.help_text import HelpFormatter, columns, fill
from command_line.invocation import as_typed
from command_line.missing_packages import explain_missing
from command_line.option_classes import add_options, from_arguments
from command_line.options import shown
from command_line.os_errors import explain, explain_memory, explain_unwritten
from command_line.stopping import Stopped, stoppable

BAD_INPUT = 2  # exit status, as argparse's own
BROKEN_PIPE = 141  # what shells say of a program that SIGPIPE ends


class CommandParser(argparse.ArgumentParser):
    """Refuses a command line as every other bad input: one line that names the option, status 2."""

    def error(self, message: str):
        raise InputError(f"{message.removeprefix('argument ')} ({self.prog} --help explains the options)")

    def parse_known_args(self, args=None, namespace=None):
        words = sys.argv[1:] if args is None else list(args)
        for word in words:
            if word.startswith("--") and word.endswith("=--"):  # argparse gives the option an empty list
                self.error(f"{word.removesuffix('=--')}: found '--', expected a value")
        return super().parse_known_args(words, namespace)


def step_parser(prog: str, module) -> CommandParser:
    """The argument parser of one step, with `--debug` added."""
    parser = CommandParser(
        prog=as_typed(prog), description=as_typed(module.__doc__), formatter_class=HelpFormatter
    )
    add_options(parser, _options_class(module))
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _options_class(module) -> type:
    """What `main` of a step takes."""
    (parameter,) = inspect.signature(module.main).parameters.values()
    return parameter.annotation


def overview(package: str, description: str, steps: Mapping[str, tuple[str, str]]) -> str:
    width = max(map(len, steps))
    lines = [f"usage: python -m {package} STEP [options]", "", description.strip(), "", "steps:"]
    lines += [f"  {name:<{width}}  {summary}" for name, (_, summary) in steps.items()]
    lines += ["", f"python -m {package} STEP --help explains a step and its options."]
    return fill(as_typed("\n".join(lines)), columns())


def run(
    package: str,
    description: str,
    steps: Mapping[str, tuple[str, str]],
    argv: Sequence[str] | None = None,
) -> int:
    """Run one step of `package` and return the exit status.

    Args:
        package: the name that the user types after `python -m`.
        steps: step name -> (module that implements it, one-line summary).
        argv: arguments after the package's name; the process's own by default.

    Returns:
        0 when the step succeeded, 2 for bad input (an `InputError`, an unknown step), 130 after Ctrl-C, 141
        when the reader of its output has gone, 143 after SIGTERM.
    """
    streams.reopen_closed()
    streams.speak_utf8()
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ("-h", "--help"):
        return _printed(0 if argv else BAD_INPUT, overview(package, description, steps) + "\n")
    if argv[0] not in steps:
        _say(f"error: unknown step {shown(argv[0])}; expected one of: {', '.join(steps)}")
        return BAD_INPUT
    module = importlib.import_module(steps[argv[0]][0])
    if hasattr(module, "COMMANDS"):
        return run(f"{package} {argv[0]}", module.__doc__, module.COMMANDS, argv[1:])
    return run_step(f"python -m {package} {argv[0]}", module, argv[1:])


def run_script() -> int:
    """Run the module of `python -m MODULE` as a step; returns the exit status."""
    streams.reopen_closed()
    streams.speak_utf8()
    module = sys.modules["__main__"]
    return run_step(f"python -m {module.__spec__.name}", module, sys.argv[1:])


def call_step(prog: str, module, argv: Sequence[str], args: argparse.Namespace | None = None) -> None:
    """Do what one step does; its errors are raised.

    Args:
        args: filled with the options.
    """
    args = step_parser(prog, module).parse_args(argv, args)
    module.main(from_arguments(_options_class(module), args))


def run_step(prog: str, module, argv: Sequence[str]) -> int:
    """Run one step with its arguments and return the exit status."""
    # before fairseq is imported, which would show everything that any library logs for debugging
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    open_files.allow_many()
    with streams.showing_controls():
        return _run_step(prog, module, argv)


def _run_step(prog: str, module, argv: Sequence[str]) -> int:
    args = argparse.Namespace()
    try:
        with stoppable():
            call_step(prog, module, argv, args)
    except SystemExit as end:  # argparse has shown the help
        end.code = _printed(end.code)
        raise
    except Stopped as stopped:
        _say(f"{stopped}; run the same command again to continue")
        return stopped.status
    except BrokenPipeError:
        _write_nowhere()
        return BROKEN_PIPE
    except Exception as error:
        message = in_one_line(error, args)
        if message is None or "--debug" in argv:
            raise
        _say(f"error: {as_typed(message)}")
        return BAD_INPUT
    return _printed(0)


def _printed(status: int, text: str = "") -> int:
    """The exit status of a command that prints a last text; another one if it cannot be printed."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        _write_nowhere()
        return BROKEN_PIPE
    except OSError as error:
        _say(f"error: {explain(error) or f'standard output: {error.strerror}'}")
        _write_nowhere()
        return BAD_INPUT
    return status


def _say(message: str) -> None:
    """A line on standard error, if that takes it."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        _write_nowhere()


def _write_nowhere() -> None:
    """The reader of our output (head, less) has gone: no error to speak of, but what is left to do is not
    done. What is still to be written would be an error once more when Python ends.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # none, or one without a file
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def in_one_line(error: Exception, args=None) -> str | None:
    """What to tell a user about an error; None for one that is a fault of the program."""
    outputs = [path for path in (getattr(args, "output", None),) if path]
    if isinstance(error, InputError):
        message = str(error)
    elif isinstance(error, OSError):
        message = explain(error, outputs)
    else:
        message = explain_missing(error) or explain_memory(error) or explain_unwritten(error, outputs)
    return message and " ".join(message.splitlines())
