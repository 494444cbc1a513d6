"""Commands that stand still where a test wants it, in sessions that show which processes are left.

A command is forked from the process of the test, and runs the entry point that users run. Functions, and
programs that stand in for real ones, say who they are and then never return.
"""

import importlib
import multiprocessing
import os
import select
import signal
import sys
import time
from pathlib import Path

from tests import hanging

_FIFO = "STALLED_COMMAND_FIFO"


def stall(*_args, **_options) -> None:
    """Say which process this is, and wait for a signal that ends it."""
    with open(os.environ[_FIFO], "w", encoding="ascii") as fifo:
        fifo.write(f"{os.getpid()}\n")
    while True:
        signal.pause()


def write_stalling_program(path: Path, first: str = "", last: str = "exec sleep 1000") -> Path:
    """A shell script that does something `first` and then stands still, or waits for what comes `last`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{first}\necho $$ > "${_FIFO}"\n{last}\n')
    path.chmod(0o755)
    return path


def _run(folder: Path, changes: dict, module: str, argv: list[str]) -> None:
    os.setsid()
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), descriptor)
        setattr(sys, f"std{name}", open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    os.environ[_FIFO] = str(folder / "fifo")
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for name, value in changes.items():
        owner, _, attribute = name.rpartition(".")
        setattr(_find(owner), attribute, value)
    from command_line.dispatch import run

    main = importlib.import_module(f"{module}.__main__")
    sys.exit(run(module, "", getattr(main, "STEPS", None) or main.COMMANDS, argv))


def _find(name: str):
    """A module, or a class in one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        owner, _, attribute = name.rpartition(".")
        return getattr(_find(owner), attribute)


class StalledCommand:
    """`python -m module argv…`.

    Args:
        folder: for its output; programs in `folder/bin` come first on its PATH.
        changes: dotted name -> what takes its place in the command.
    """

    def __init__(self, folder: Path, module: str, *argv, changes: dict):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        os.mkfifo(folder / "fifo")
        self._fifo = os.open(folder / "fifo", os.O_RDWR)  # both, so that it never ends
        self._process = multiprocessing.get_context("fork").Process(
            target=_run, args=(folder, changes, module, [str(word) for word in argv])
        )
        self._process.start()

    def __enter__(self) -> "StalledCommand":
        return self

    def __exit__(self, *error) -> None:
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        self._process.join()
        os.close(self._fifo)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stalled(self) -> int:
        """Wait for one more process that stands still; returns its number."""
        ready, _, _ = select.select([self._fifo, self._process.sentinel], [], [], hanging.SECONDS)
        assert self._fifo in ready, f"nothing stands still: {self.errors()}"
        number = b""
        while not number.endswith(b"\n"):
            number += os.read(self._fifo, 1)
        return int(number)

    def status(self) -> int:
        """Wait for the end of the command; returns its exit status."""
        self._process.join(hanging.SECONDS)
        assert self._process.exitcode is not None, f"hangs: {self.errors()}"
        return self._process.exitcode

    def errors(self) -> str:
        return (self._folder / "err").read_text(encoding="utf-8") if (self._folder / "err").exists() else ""

    def processes(self) -> list[int]:
        """The processes of the session that live."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                except (FileNotFoundError, ProcessLookupError):  # it has just ended
                    continue
                if int(session) == self.pid and state not in "ZX":
                    found.append(int(entry.name))
        return found

    def left(self) -> list[int]:
        """The processes that live although the command has ended, given time to end."""
        deadline = time.monotonic() + hanging.SECONDS
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.processes()
