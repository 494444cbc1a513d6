"""An aligner in a process of its own: both directions work at the same time, and one that dies is noticed."""

import contextlib
import multiprocessing
import os
import traceback

from command_line.errors import InputError
from data_prep.alignment.aligners import AlignerChoice


class AlignerProcess:
    """Trains and aligns on request: `ask` begins, `answer` waits.

    Args:
        choice, options: what is made in the process.
        swapped: whether it reads B as its first side; its links are turned round again.
    """

    def __init__(self, choice: AlignerChoice, options: dict, swapped: bool = False):
        self._swapped = swapped
        context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, choice, options), daemon=True)
        self._process.start()
        self._asked = None
        other.close()

    def __enter__(self) -> "AlignerProcess":
        return self

    def __exit__(self, *error) -> None:
        if any(error):
            self._process.terminate()
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._process.join()
        self._connection.close()

    def ask(self, request: str, a, b) -> None:
        """Begin `train` or `align` once the earlier request is done; `a` and `b` are its two sides.

        Raises:
            InputError: as `answer`, for what was asked before.
        """
        if self._asked:
            self.answer()
        first, second = (b, a) if self._swapped else (a, b)
        self._asked = request, len(a) if request == "align" else 0
        try:
            self._connection.send((request, first, second))
        except OSError:
            self._died()

    def answer(self):
        """What the aligner returned for the request.

        Raises:
            InputError: the aligner's own; or it died, or it returned other than one result per line.
        """
        try:
            status, result = self._connection.recv()
        except (EOFError, OSError):
            self._died()
        if status == "input error":
            raise InputError(result)
        if status == "error":
            raise RuntimeError(f"the aligner failed:\n{result}")
        (request, lines), self._asked = self._asked, None
        if request == "train":
            return None
        counts, links = result
        if len(counts) != lines or counts.sum() != len(links):
            raise InputError(
                f"the aligner was given {lines} sentence pairs and aligned {len(counts)}, "
                "expected all of them; its output is not used"
            )
        return (counts, links[:, ::-1]) if self._swapped else (counts, links)

    def _died(self):
        self._process.join()
        raise InputError(
            f"the aligner's process ended with status {self._process.exitcode} (out of memory?); "
            "try a smaller --train-sample"
        )


def _serve(connection, choice: AlignerChoice, options: dict) -> None:
    aligner = None
    while True:
        try:
            asked = connection.recv()
        except EOFError:
            return
        if asked is None:
            return
        request, first, second = asked
        try:
            aligner = aligner or choice.make(options)
            connection.send(("done", getattr(aligner, request)(first, second)))
        except InputError as error:
            connection.send(("input error", str(error)))
        except Exception:
            connection.send(("error", traceback.format_exc()))
