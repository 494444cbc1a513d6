"""Child processes that end when this process ends, whatever ends it: an exception, Ctrl-C, kill -9.

The system tells nobody that a process was killed, but it closes its pipes. So children live in a process
group of their own together with a guard, a shell that waits for the end of a pipe whose other end only this
process holds, and then kills the group. That reaches children in the middle of C code, and programs that a
library starts, of which we hold no handle: they inherit the group. (Linux can signal a child when its parent
dies, but that ends neither such programs, nor children of other systems.) The terminal's Ctrl-C reaches this
process only, which then says one line and ends the group.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import connection, get_context
from multiprocessing.reduction import ForkingPickler

from command_line.errors import InputError

_GUARD = ("/bin/sh", "-c", "trap '' HUP INT TERM; read -r _; kill -KILL 0")
SECONDS_TO_END = 10  # for a child that has been told that there is no more work

_context = get_context("fork")  # children inherit what has been loaded
# This process's ends of pipes. A forked child that kept a copy would hide this process's death.
_own_ends: weakref.WeakSet = weakref.WeakSet()
_at_work: weakref.WeakSet = weakref.WeakSet()  # this process's forked children that may not end yet


def _close_inherited() -> None:
    for end in list(_own_ends):
        end.close()
    _own_ends.clear()
    _at_work.clear()


os.register_at_fork(after_in_child=_close_inherited)


class Child:
    """A forked process that runs `function(connection, *arguments)`, and the pipe to it.

    Args:
        message: of the error when it dies; `{}` is how it ended.
    """

    def __init__(self, group: "ProcessGroup", function: Callable, arguments: Sequence, message: str):
        self._group, self._message = group, message
        self.connection, other = _context.Pipe()
        _own_ends.add(self.connection)
        self._process = _context.Process(
            target=_run_child, args=(group.number, other, function, arguments), daemon=True
        )
        self._process.start()
        self.sentinel = self._process.sentinel
        _at_work.add(self)
        other.close()
        _join_group(self._process.pid, group.number)  # here too: `kill` may come before it runs

    def send(self, value) -> None:
        """Hand a value to the process.

        Raises:
            InputError: it has died.
        """
        request = ForkingPickler.dumps(value)  # what cannot be pickled fails before anything is sent
        try:
            self.connection.send_bytes(request)
        except OSError:
            raise self.died() from None

    def receive(self):
        """Wait for a value.

        Raises:
            InputError: it has died.
        """
        try:
            answer = self.connection.recv_bytes()
        except (EOFError, OSError):
            raise self.died() from None
        return pickle.loads(answer)

    def close(self) -> None:
        """Tell the child that there is no more to do: its end of the pipe ends."""
        _at_work.discard(self)
        self.connection.close()

    def died(self) -> InputError:
        """The error of its death; the rest of its group ends."""
        ended = how_it_ended(self.wait())
        self._group.kill()
        return InputError(self._message.format(ended))

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit status, negative for a signal; None if it still runs after `timeout` seconds."""
        self._process.join(timeout)
        return self._process.exitcode


def wait(children: Sequence[Child]) -> list[Child]:
    """Wait for values of children; returns those that have one.

    Raises:
        InputError: a child has died, one of these or any other of this process.
    """
    waiting = {child.connection: child for child in children}
    sentinels = {child.sentinel: child for child in _at_work}
    ready = connection.wait([*waiting, *sentinels])
    for handle in ready:
        if handle in sentinels:
            raise sentinels[handle].died()
    return [waiting[handle] for handle in ready]


def _join_group(process: int, group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the process, or the group, has ended
        os.setpgid(process, group)


def _run_child(group: int, end: connection.Connection, function: Callable, arguments: Sequence) -> None:
    _join_group(0, group)
    for number in (signal.SIGINT, signal.SIGTERM):  # this process's handlers are not for its children
        signal.signal(number, signal.SIG_DFL)
    function(end, *arguments)


class ProcessGroup:
    """Children that live and die together: forked processes and programs.

    Leaving the context waits for children that end by themselves, and kills them after an exception.

    Attributes:
        number: of the process group, which is that of the guard.
    """

    def __init__(self):
        self._guard = subprocess.Popen(
            _GUARD, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0,
            process_group=0,
        )  # fmt: skip
        self.number = self._guard.pid
        _own_ends.add(self._guard.stdin)
        self._children: list[Child | subprocess.Popen] = []

    def __enter__(self) -> "ProcessGroup":
        return self

    def __exit__(self, *error) -> None:
        if not any(error):
            for child in self._children:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(SECONDS_TO_END)
        self.kill()

    def fork(self, function: Callable, *arguments, message: str) -> Child:
        """Run `function(connection, *arguments)` in a child; `message` as of `Child`."""
        child = Child(self, function, arguments, message)
        self._children.append(child)
        return child

    def start(self, command: Sequence, **options) -> subprocess.Popen:
        """Start a program; `options` as of `subprocess.Popen`."""
        program = subprocess.Popen(command, process_group=self.number, **options)
        self._children.append(program)
        return program

    def kill(self) -> None:
        """End all of the group, and wait until they have."""
        if self._guard.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.number, signal.SIGKILL)  # its number is not free for others before `wait`
        self._guard.stdin.close()
        self._guard.wait()
        for child in self._children:
            child.wait()
            if isinstance(child, Child):
                child.close()


def run_program(command: Sequence, **options) -> subprocess.CompletedProcess:
    """As `subprocess.run`, of a program that ends when this process does."""
    text = options.pop("input", None)
    if text is not None:
        options["stdin"] = subprocess.PIPE
    with ProcessGroup() as group:
        program = group.start(command, **options)
        out, err = program.communicate(text)
    return subprocess.CompletedProcess(command, program.returncode, out, err)


def how_it_ended(status: int) -> str:
    """An exit status in words: "was killed (signal 9; out of memory?)"."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed (signal {-status}{'; out of memory?' if -status == signal.SIGKILL else ''})"
