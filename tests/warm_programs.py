"""Programs that start at once: `python -m` of ours and of fairseq, `fairseq-train`, `fairseq-generate`.

What is put on the PATH asks a server, which has imported what commands import (`tests.preloaded`), to fork
the program with the caller's arguments, folder, environment and files: it shares nothing with other
programs, and is three to ten seconds of a processor faster. Any other call of `python` is a fresh
interpreter.
"""

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

PACKAGES = ("benchmarks", "data_prep", "embeddings", "eval", "fairseq_cli", "fairseq_ext", "llm")
FAIRSEQ = {f"fairseq-{name}": f"fairseq_cli.{name}" for name in ("train", "generate")}
_PROGRAM = """#!{python} -IS
import json, os, socket, sys
module, arguments = {module!r}, sys.argv[1:]
if module is None and (arguments[:1] != ["-m"] or arguments[1].partition(".")[0] not in {packages!r}):
    os.execv({python!r}, [{python!r}, *arguments])
call = [module, sys.argv[0], arguments, os.getcwd(), dict(os.environ)]
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"x"], [0, 1, 2])
    server.sendall(json.dumps(call).encode())
    server.shutdown(socket.SHUT_WR)
    sys.exit(int(server.recv(8) or b"1"))
"""


@contextlib.contextmanager
def warm_programs(folder: Path) -> Iterator[None]:
    """Put the programs into a folder, for the PATH. Its own path must be short: a socket's has 107 bytes."""
    address = str(folder / "socket")
    for name, module in {"python": None, **FAIRSEQ}.items():
        text = _PROGRAM.format(python=sys.executable, module=module, packages=PACKAGES, address=address)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, "-c", "from tests.warm_programs import serve; serve()", address],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    try:
        assert server.stdout.readline() == b"ready\n"
        yield
    finally:
        server.stdin.close()  # at which it ends, as it does when the tests are killed
        server.wait()
        server.stdout.close()


def serve() -> None:
    """Fork a program for every caller, until standard input ends."""
    importlib.import_module("tests.preloaded")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(16)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print("ready", flush=True)
        while sys.stdin not in (ready := select.select([sys.stdin, listener], [], [])[0]):
            if listener not in ready:
                continue
            with listener.accept()[0] as caller:
                if os.fork() == 0:
                    listener.close()
                    _answer(caller)


def _answer(caller: socket.socket) -> NoReturn:
    """Fork one program and tell its caller how it ended. A caller that is killed takes its program along."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(caller, 1, 3)
    with caller.makefile("rb") as stream:
        call = json.load(stream)
    child = os.fork()
    if child == 0:
        caller.close()
        _end(_status(lambda: _become(descriptors, *call)))
    for descriptor in descriptors:  # a pipe ends with the program
        os.close(descriptor)
    process, events = os.pidfd_open(child), select.poll()
    events.register(process, select.POLLIN)
    events.register(caller, 0)  # 0: hanging up is always told
    if process not in dict(events.poll()):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):
        caller.sendall(b"%d" % (os.waitstatus_to_exitcode(status) % 256))
    os._exit(0)  # an orderly end would touch all of torch's memory


def _status(program: Callable[[], None]) -> int:
    """Run a program; the exit status that an interpreter would have."""
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """What an interpreter does in the end. It frees no objects: that would touch all of torch's memory."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status % 256)


def _become(descriptors, module: str | None, program: str, arguments, folder: str, variables: dict) -> None:
    """Go on as the program that was called."""
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.chdir(folder)
    ours = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ.clear()
    os.environ.update(variables)
    first = [folder] if module is None and not variables.get("PYTHONSAFEPATH") else []
    given = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [*first, *given, *(path for path in sys.path if path and path not in ours)]
    # fairseq compares the path of --user-dir, which may lead through a link of the caller's
    importlib.import_module("fairseq_ext").__path__.append(os.path.join(folder, "fairseq_ext"))
    sys.argv = [program, *arguments]
    if module is not None:
        importlib.import_module(module).cli_main()
    else:
        sys.executable, sys.orig_argv = program, list(sys.argv)  # what it starts in turn
        del sys.argv[1:3]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
