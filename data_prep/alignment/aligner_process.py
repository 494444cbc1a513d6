"""An aligner in a process of its own: both directions work at the same time, and one that dies is noticed."""

import traceback

from command_line.errors import InputError
from command_line.processes import ProcessGroup, wait
from data_prep.alignment.aligners import AlignerChoice

DIED = "the aligner's process {}; try a smaller --train-sample"


class AlignerProcess:
    """Trains and aligns on request: `ask` begins, `answer` or `answers` of several waits.

    Args:
        choice, options: what is made in the process.
        swapped: whether it reads B as its first side; its links are turned round again.
    """

    def __init__(self, choice: AlignerChoice, options: dict, swapped: bool = False):
        self._swapped = swapped
        self._group = ProcessGroup()
        self.process = self._group.fork(_serve, choice, options, message=DIED)
        self.asked = None

    def __enter__(self) -> "AlignerProcess":
        return self

    def __exit__(self, *error) -> None:
        self.process.close()  # it ends at the end of its requests
        self._group.__exit__(*error)

    def ask(self, request: str, a, b) -> None:
        """Begin `train` or `align`; `a` and `b` are its two sides. What was asked before must be answered."""
        first, second = (b, a) if self._swapped else (a, b)
        self.asked = request, len(a) if request == "align" else 0
        self.process.send((request, first, second))

    def answer(self):
        """What the aligner returned for the request.

        Raises:
            InputError: the aligner's own; or it died, or it returned other than one result per line.
        """
        status, result = self.process.receive()
        if status == "input error":
            raise InputError(result)
        if status == "error":
            raise RuntimeError(f"the aligner failed:\n{result}")
        (request, lines), self.asked = self.asked, None
        if request == "train":
            return None
        counts, links = result
        if len(counts) != lines or counts.sum() != len(links):
            raise InputError(
                f"the aligner was given {lines} sentence pairs and aligned {len(counts)}, "
                "expected all of them; its output is not used"
            )
        return (counts, links[:, ::-1]) if self._swapped else (counts, links)


def answers(processes: list[AlignerProcess]) -> list:
    """The answer of every aligner, None of one that was not asked.

    Raises:
        InputError: as `answer`, of the first one that fails, or a worker died: nobody waits for the others.
    """
    waiting = {process.process: process for process in processes if process.asked}
    found = {}
    while waiting:
        for child in wait(list(waiting)):
            process = waiting.pop(child)
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
