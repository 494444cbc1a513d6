"""An aligner in a process of its own: both directions work at the same time, and one that dies is noticed."""

import traceback
from multiprocessing.connection import wait

from command_line.errors import InputError
from command_line.processes import ProcessGroup, how_it_ended
from data_prep.alignment.aligners import AlignerChoice


class AlignerProcess:
    """Trains and aligns on request: `ask` begins, `answer` or `answers` of several waits.

    Args:
        choice, options: what is made in the process.
        swapped: whether it reads B as its first side; its links are turned round again.
    """

    def __init__(self, choice: AlignerChoice, options: dict, swapped: bool = False):
        self._swapped = swapped
        self._group = ProcessGroup()
        self._process = self._group.fork(_serve, choice, options)
        self._connection = self._process.connection
        self._asked = None

    def __enter__(self) -> "AlignerProcess":
        return self

    def __exit__(self, *error) -> None:
        self._connection.close()  # it ends at the end of its requests
        self._group.__exit__(*error)

    def ask(self, request: str, a, b) -> None:
        """Begin `train` or `align`; `a` and `b` are its two sides. What was asked before must be answered."""
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
        raise InputError(
            f"the aligner's process {how_it_ended(self._process.wait())}; try a smaller --train-sample"
        )


def answers(processes: list[AlignerProcess]) -> list:
    """The answer of every aligner, None of one that was not asked.

    Raises:
        InputError: as `answer`, of the first one that fails: nobody waits for the others.
    """
    waiting = {process._connection: process for process in processes if process._asked}
    found = {}
    while waiting:
        for connection in wait(list(waiting)):
            process = waiting.pop(connection)
            found[process] = process.answer()
    return [found.get(process) for process in processes]


def _serve(connection, choice: AlignerChoice, options: dict) -> None:
    aligner = None
    while True:
        try:
            request, first, second = connection.recv()
        except (EOFError, ConnectionError):
            return
        try:
            aligner = aligner or choice.make(options)
            connection.send(("done", getattr(aligner, request)(first, second)))
        except InputError as error:
            connection.send(("input error", str(error)))
        except Exception:
            connection.send(("error", traceback.format_exc()))
