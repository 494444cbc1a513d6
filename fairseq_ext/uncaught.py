"""Bad input, and a training that diverges, in fairseq's own commands: one line, as in ours.

fairseq-train, -generate, -interactive and -validate let exceptions out of `main`. Importing the user-dir in
one of them replaces `sys.excepthook`, which the interpreter calls last: an `InputError` is printed as one
line, and so are gradients that are NaN or infinite, each also where another exception has taken its place;
every other exception goes to the hook that was there before. `PYTHONDEVMODE=1` keeps the traceback.
"""

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from command_line.errors import InputError
from command_line.invocation import as_typed
from command_line.streams import visible

BAD_INPUT = 2
FAILED = 1  # as after any other exception: options and data may be as they should
_RAISED = f"{InputError.__module__}.{InputError.__qualname__}: "
_SPAWNED = "ProcessRaisedException"  # torch's, of a process that fairseq started
_ADVICE = (
    "go on from the last checkpoint with a lower --lr or with --clip-norm, or in float32 (without"
    " --autocast-bf16, --fp16); a recipe begins anew then, with another --output or --force"
)


def report_in_one_line() -> None:
    """Replace `sys.excepthook` if this is one of fairseq's commands; anybody else's is left alone."""
    if not _is_fairseq_command() or sys.flags.dev_mode:
        return
    hook_before = sys.excepthook

    def hook(kind, error, trace) -> None:
        for find, status in ((message_of, BAD_INPUT), (divergence_of, FAILED)):
            if (message := find(error)) is not None:
                print(f"error: {visible(as_typed(message))}", file=sys.stderr)
                raise SystemExit(status)
        hook_before(kind, error, trace)

    sys.excepthook = hook


def _is_fairseq_command() -> bool:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    script = Path(getattr(main, "__file__", None) or "").name
    return script.startswith("fairseq-") or (spec is not None and spec.name.startswith("fairseq_cli."))


def message_of(error: BaseException) -> str | None:
    """The one line of an `InputError`, also of one that was raised in another process or in whose place
    fairseq has raised another exception; None for others.

    Workers of a data loader raise an error of the same class whose text holds their traceback; training
    processes that fairseq spawns raise torch's `ProcessRaisedException` with theirs.
    """
    return next(filter(None, map(_input_error_of, _chain(error))), None)


def _input_error_of(error: BaseException) -> str | None:
    if not isinstance(error, InputError) and type(error).__name__ != _SPAWNED:
        return None
    lines = str(error).strip().splitlines() or [""]
    if len(lines) == 1 and isinstance(error, InputError):
        return lines[0]
    return next((line.removeprefix(_RAISED) for line in reversed(lines) if line.startswith(_RAISED)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that a traceback shows above it."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def divergence_of(error: BaseException) -> str | None:
    """One line about gradients that are NaN or infinite; None for other errors.

    fairseq's trainer raises `FloatingPointError`, catches it and runs the batch again to find the module
    where it begins: with hooks that fail at outputs such as an encoder's, so that another exception, which
    says nothing of gradients, is what gets out.
    """
    for cause in _chain(error):
        if isinstance(cause, FloatingPointError) and _is_divergence(str(cause)):
            return f"{_update_of(cause)}gradients are NaN or infinite; {_ADVICE}"
        _, raised, said = str(cause).partition(f"{FloatingPointError.__name__}: ")
        if type(cause).__name__ == _SPAWNED and raised and _is_divergence(said):
            return f"gradients are NaN or infinite; {_ADVICE}"
    return None


def _is_divergence(said: str) -> bool:
    """By what fairseq says; of several processes, which compare their norms first, it says that they differ:
    NaN does from itself.
    """
    if "gradients are inconsistent between workers" in said:
        return re.search(r"^rank +\d+ = -?(nan|inf)$", said, re.MULTILINE) is not None
    return said.startswith(("gradients are Nan/Inf", "Minimum loss scale reached"))


def _update_of(error: BaseException) -> str:
    """The update that fairseq's trainer was making, "update 7: "; empty if none was."""
    from fairseq.trainer import Trainer

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if isinstance(trainer := frame.f_locals.get("self"), Trainer):
            return f"update {trainer.get_num_updates() + 1}: "
    return ""
