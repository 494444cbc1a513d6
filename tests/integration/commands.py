"""Ways to run the commands that users type.

`run_script` starts a fresh interpreter, as a shell does. `run_forked` runs the same entry point in a process
forked from a server that has imported what commands import (`tests.preloaded`): as killable, and three to ten
seconds faster.
"""

import functools
import importlib
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import hanging

REPOSITORY = Path(__file__).parents[2]
USER_DIR = ("--user-dir", REPOSITORY / "fairseq_ext")
FAIRSEQ = {
    name: f"fairseq_cli.{name}" for name in ("train", "validate", "generate", "interactive", "preprocess")
}

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["tests.preloaded"])


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def last_error(self) -> str:
        """The last line on standard error: the message of an exception or of a refused command."""
        return self.err.strip().splitlines()[-1]


def command_line(name: str, arguments) -> list[str]:
    return [name, *map(str, arguments)]


def run_script(module: str, *arguments, cwd=REPOSITORY, stdin: str | None = None, env=None) -> Result:
    """`python -m module arguments…` in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", *command_line(module, arguments)],
        cwd=cwd, input=stdin, capture_output=True, text=True, timeout=hanging.SECONDS, check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **(env or {})},
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def _die_after(function: str, calls: int) -> None:
    """Have this process killed at the end of a function's call number `calls`; "module:function"."""
    path, _, name = function.partition(":")
    *within, name = name.split(".")
    owner = functools.reduce(getattr, within, importlib.import_module(path))
    real, left = getattr(owner, name), itertools.count(calls - 1, -1)

    @functools.wraps(real)
    def last(*arguments, **options):
        found = real(*arguments, **options)
        if not next(left):
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, last)


def _child(
    module: str, argv: list[str], out: Path, cwd, stdin: Path | None, env: dict, dies_after: tuple | None
) -> None:
    os.chdir(cwd)
    os.environ.update(env)
    # as on a command line, where the workers of a killed training notice that it is gone
    multiprocessing.set_start_method(None, force=True)
    for descriptor, path in ((1, out.with_suffix(".out")), (2, out.with_suffix(".err"))):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    os.dup2(os.open(stdin or os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (until the process ends)
    sys.argv = argv
    import torch

    torch.set_num_threads(1)
    if dies_after:
        _die_after(*dies_after)
    if module in FAIRSEQ.values():
        importlib.import_module(module).cli_main()
    else:
        import runpy

        runpy.run_module(module, run_name="__main__", alter_sys=True)


class Forked:
    """A running command; `wait` for it, or `kill` it.

    Args:
        dies_after: "module:function", and the number of the call of it at whose end the command is killed.
    """

    def __init__(
        self,
        log: Path,
        module: str,
        *arguments,
        cwd=REPOSITORY,
        stdin: str | None = None,
        env=None,
        dies_after: tuple[str, int] | None = None,
    ):
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        stdin_file = None
        if stdin is not None:
            stdin_file = log.with_suffix(".in")
            stdin_file.write_text(stdin, encoding="utf-8")
        argv = command_line(module, arguments)
        self.process = _server.Process(
            target=_child, args=(module, argv, log, cwd, stdin_file, env or {}, dies_after)
        )
        self.process.start()

    def read(self, suffix: str) -> str:
        path = self.log.with_suffix(suffix)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def wait(self) -> Result:
        self.process.join(hanging.SECONDS)
        if self.process.is_alive():
            self.kill()
            raise AssertionError(f"hangs: {self.read('.err')[-2000:]}")
        return Result(self.process.exitcode, self.read(".out"), self.read(".err"))


def run_forked(folder: Path, module: str, *arguments, **options) -> Result:
    """Run an entry point to its end; its output is kept in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"log-{os.getpid()}-{len(list(folder.glob('log-*.out')))}"  # workers may share a folder
    return Forked(log, FAIRSEQ.get(module, module), *arguments, **options).wait()


def train_in_processes(folder: Path, processes: int, arguments: list) -> Result:
    """fairseq-train in so many processes that meet by gloo, logs in `folder`; the result of rank 0."""
    folder.mkdir(parents=True, exist_ok=True)
    distributed = (
        "--distributed-world-size", processes, "--distributed-backend", "gloo", "--distributed-no-spawn",
        "--distributed-init-method", f"file://{folder}/rendezvous", "--ddp-backend", "legacy_ddp",
    )  # fmt: skip
    ranks = [
        Forked(
            folder / f"rank{rank}", FAIRSEQ["train"], *arguments,
            *((*distributed, "--distributed-rank", rank) if processes > 1 else ()),
        )
        for rank in range(processes)
    ]  # fmt: skip
    results = [rank.wait() for rank in ranks]
    failures = [result.text[-3000:] for result in results if result.status != 0]
    assert failures == []
    return results[0]
