"""Kill a command at every point where it changes the file system.

A forked child dies (no `finally`, no `atexit`) just before its n-th change, as a killed process does. Python
reports these changes as audit events, so nothing in the command knows of it. Copying a file is a change, too,
of which Python reports nothing: the child dies in the middle of it.
"""

import contextlib
import mmap
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

KILLED = 9
COUNT = struct.Struct("<Q")
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"}


def _is_change(event: str, arguments: tuple, root: str) -> bool:
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return False
    elif event not in CHANGES:
        return False
    path = arguments[0]
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    path = os.fsdecode(path)
    return not os.path.isabs(path) or path.startswith(root)


def run_forked(command: Callable[[], int], root: Path, point: int | None = None) -> tuple[int, int]:
    """Run a command in a forked child, which dies before its change number `point` (from 1) below `root`.

    Returns:
        Exit status, and the number of changes.
    """
    with mmap.mmap(-1, COUNT.size) as counter:  # shared with the child
        child = os.fork()
        if not child:
            _be_child(command, str(root), point, counter)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that it had started
        return status, COUNT.unpack_from(counter)[0]


def _be_child(command, root: str, point: int | None, counter: mmap.mmap) -> None:
    os.setsid()
    count, status = 0, 70
    log = os.open(f"{root}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout = sys.stderr = open(log, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115

    def change(before_death: Callable[[], object] = lambda: None) -> None:
        nonlocal count
        count += 1
        if count == point:
            before_death()
            os._exit(KILLED)
        COUNT.pack_into(counter, 0, count)

    def watch(event: str, arguments: tuple) -> None:
        if _is_change(event, arguments, root):
            change()

    send = os.sendfile

    def copy(target: int, source: int, offset: int, size: int) -> int:
        rest = os.fstat(source).st_size - offset
        if rest > 0:
            change(lambda: send(target, source, offset, rest // 2))
        return send(target, source, offset, size)

    try:
        os.sendfile = copy  # of this process alone
        sys.addaudithook(watch)
        status = command()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def sample(count: int, most: int) -> list[int]:
    """At most `most` of the points 1 … count, evenly, and always the last five, where a step finishes."""
    last = range(max(1, count - 4), count + 1)
    spread = range(1, count + 1, max(1, -(-count // max(1, most - 5))))
    return sorted({*last, *spread})


def contents(folders: Iterable[Path]) -> dict[str, bytes | None]:
    """Everything in some folders, hidden files too: path -> bytes; None for a folder."""
    return {
        str(path): None if path.is_dir() else path.read_bytes()
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
    }


def visible(found: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """What is not hidden."""
    return {name: content for name, content in found.items() if "/." not in name}


def sweep(
    command: Callable[[], int],
    folders: list[Path],
    reset: Callable[[], None],
    read: Callable[[], object],
    refusal: type[Exception],
    most: int = 11,
    comparable: Callable[[dict], dict] = dict,
) -> None:
    """Kill a command at its changes and run it again: what it writes must be that of an undisturbed run.

    Args:
        command: returns the exit status.
        folders: that it writes, below one root; their parent's other contents are not watched.
        reset: makes them as they were before.
        read: reads what the command writes, as the next command does.
        refusal: what `read` raises when it is not complete.
        most: points to try.
        comparable: takes from the contents what two runs need not share.
    """
    root = Path(os.path.commonpath(folders))
    reset()
    status, count = run_forked(command, root)
    assert status == 0, Path(f"{root}.log").read_text()
    expected = comparable(contents(folders))
    assert read() is not None
    for point in sample(count, most):
        reset()
        assert run_forked(command, root, point)[0] == KILLED, point
        try:
            read()
            found = comparable(contents(folders))
            assert visible(found) == visible(expected), f"read though killed at {point} of {count}"
        except refusal:
            pass
        status, _ = run_forked(command, root)
        assert status == 0, f"killed at {point} of {count}: " + Path(f"{root}.log").read_text()
        found = comparable(contents(folders))
        assert sorted(found) == sorted(expected), f"killed at {point} of {count}"
        different = [name for name in expected if found[name] != expected[name]]
        assert not different, f"killed at {point} of {count}"
        assert read() is not None
