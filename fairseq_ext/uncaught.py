"""Bad input in fairseq's own commands: one line and exit status 2, as in ours.

fairseq-train, -generate, -interactive and -validate let exceptions out of `main`. Importing the user-dir in
one of them replaces `sys.excepthook`, which the interpreter calls last: an `InputError` is printed as one
line, every other exception goes to the hook that was there before. `PYTHONDEVMODE=1` keeps the traceback.
"""

import sys
from pathlib import Path

from command_line.errors import InputError
from command_line.invocation import as_typed

BAD_INPUT = 2
_RAISED = f"{InputError.__module__}.{InputError.__qualname__}: "


def report_input_errors() -> None:
    """Replace `sys.excepthook` if this is one of fairseq's commands; anybody else's is left alone."""
    if not _is_fairseq_command() or sys.flags.dev_mode:
        return
    hook_before = sys.excepthook

    def hook(kind, error, traceback) -> None:
        message = message_of(error)
        if message is None:
            hook_before(kind, error, traceback)
            return
        print(f"error: {as_typed(message)}", file=sys.stderr)
        raise SystemExit(BAD_INPUT)

    sys.excepthook = hook


def _is_fairseq_command() -> bool:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    script = Path(getattr(main, "__file__", None) or "").name
    return script.startswith("fairseq-") or (spec is not None and spec.name.startswith("fairseq_cli."))


def message_of(error: BaseException) -> str | None:
    """The one line of an `InputError`, also of one that was raised in another process; None for others.

    Workers of a data loader raise an error of the same class whose text holds their traceback; training
    processes that fairseq spawns raise torch's `ProcessRaisedException` with theirs.
    """
    if not isinstance(error, InputError) and type(error).__name__ != "ProcessRaisedException":
        return None
    lines = str(error).strip().splitlines() or [""]
    if len(lines) == 1 and isinstance(error, InputError):
        return lines[0]
    return next((line.removeprefix(_RAISED) for line in reversed(lines) if line.startswith(_RAISED)), None)
