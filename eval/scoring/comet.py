"""COMET (Rei et al., 2020) in a process of its own, so that it may live in another environment.

COMET needs numpy below 2, which Python 3.13 cannot have: there it lives in a second environment.
`eval/scoring/comet_worker.py` runs in COMET's environment, loads the model once and scores one direction
per request.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.processes import ProcessGroup, how_it_ended
from command_line.records import check, parse_json

BATCH_SIZE = 16  # COMET's default
WORKER = Path(__file__).with_name("comet_worker.py")


class Loaded(TypedDict):
    """What a worker says of its model."""

    ready: bool
    package: NotRequired[str | None]
    sha256: NotRequired[str | None]
    reference_free: bool


class Scored(TypedDict):
    scores: list[float]


class Failure(TypedDict):
    error: str


class Comet:
    """A COMET model; loaded at the first request. Without a model, there are no scores (None).

    Args:
        model: path of a checkpoint (`…/checkpoints/model.ckpt`, or the folder that holds `checkpoints/`) or a
            name that COMET itself downloads (`Unbabel/wmt22-comet-da`).
        python: interpreter of the environment that has unbabel-comet; this one by default.
        batch_size: lines at a time.

    Attributes:
        details: what `scores.json` says of it beside its name, once it is loaded: package and version, path
            of a local checkpoint, checksum, whether it leaves references unread, batch size.
    """

    def __init__(self, model: str | None, python: str | None = None, batch_size: int = BATCH_SIZE):
        self.model = model
        self.python = python or sys.executable
        self.batch_size = batch_size
        self.details: dict = {}
        self._group = None
        self._process = None
        self._log = None

    def __enter__(self) -> "Comet":
        return self

    @cached_property
    def identity(self) -> str | dict | None:
        """What tells the model from others before it is loaded."""
        path = local_checkpoint(self.model)
        return self.model if path is None else {"model": self.model, "sha256": checksum(path)}

    def __exit__(self, *error) -> None:
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):  # a dead worker left a request in the buffer
                self._process.stdin.close()  # the worker ends at the end of its input
            self._group.__exit__(*error)
            self._process.stdout.close()
            self._log.close()
            self._process = None

    def scores(
        self, hypotheses: Sequence[str], sources: Sequence[str], references: Sequence[str]
    ) -> list[float] | None:
        """One score per line, whose mean is the system score. Around 0 to 1; larger is better.

        Raises:
            InputError: the environment has no COMET, or the model does not load; one line.
        """
        if self.model is None:
            return None
        self.start()
        request = {"mt": list(hypotheses), "src": list(sources), "ref": list(references)}
        scores = self._ask(request, Scored)["scores"]
        if len(scores) != len(hypotheses):
            raise InputError(f"COMET ({self.python}): {len(scores)} scores for {len(hypotheses)} lines")
        return scores

    def start(self) -> None:
        """Load the model, if there is one and it is not loaded yet: its errors come before long work."""
        if self.model is None or self._process is not None:
            return
        self._log = tempfile.TemporaryFile(  # noqa: SIM115 - lives as long as the worker
            "w+",
            encoding="utf-8",
            errors="replace",  # who writes is another program
        )
        self._group = ProcessGroup()
        try:
            self._process = self._group.start(
                [self.python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            self._group.kill()
            self._log.close()
            raise InputError(f"--comet-python {self.python}: cannot be run: {error.strerror}") from None
        print(f"COMET: loading {self.model} with {self.python}", file=sys.stderr)
        request = {"model": self.model, "batch_size": self.batch_size}
        loaded = self._ask(request, Loaded)
        path = local_checkpoint(self.model)
        self.details = {
            "package": loaded.get("package"),
            "reference_free": loaded["reference_free"],
            "checkpoint": path and str(path),
            "sha256": loaded.get("sha256"),
            "batch_size": self.batch_size,
        }

    def _ask(self, request: dict, kind: type) -> dict:
        """Send one line of JSON and return the answer, which is an error or of the kind."""
        where = f"COMET ({self.python})"
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            ended = how_it_ended(self._process.wait())
            self._log.seek(0)
            said = [line.strip() for line in self._log if line.strip()] or ["no message"]
            raise InputError(f"{where} {ended}: {said[-1]}")
        answer = parse_json(answer.encode("utf-8"), where)
        if isinstance(answer, dict) and "error" in answer:
            check(answer, Failure, where)
            raise InputError(f"{where}: {answer['error']}")
        check(answer, kind, where)
        return answer


def local_checkpoint(model: str | None) -> Path | None:
    """The file of a model that is given by a path; None for a name, or what does not exist.

    Raises:
        InputError: a folder that is no COMET model.
    """
    path = Path(model or "")
    if model and path.is_dir():
        path = path / "checkpoints" / "model.ckpt"
        if not path.is_file():
            raise InputError(
                f"--comet-model {model}: no checkpoints/model.ckpt in it, expected a COMET model"
            )
    return path if model and path.is_file() else None
