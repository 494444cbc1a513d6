"""The aligners by name, each in a process of its own. A new one is a module and a line in ALIGNERS.

An aligner has `train(path_a, path_b)`, line-parallel files of words without empty lines, and
`align(lines_a, lines_b)`, at least one line, which returns how many links each line has and all links in
order: `L x 2` words, or `L x 4` half-open spans of words. A directed one links every word of its second side
to at most one of the first and is made twice, once per direction; the two work at the same time and are
symmetrized.
"""

import importlib
import traceback
from dataclasses import dataclass

import numpy as np

from command_line.errors import InputError
from command_line.processes import ProcessGroup, wait


@dataclass(frozen=True)
class AlignerChoice:
    """An aligner that may be chosen: its class, which is imported when it is made."""

    module: str
    name: str
    directed: bool
    summary: str
    shard_lines: int = 20_000  # for programs that load their parameters for every shard: more

    def make(self, options: dict):
        """The aligner."""
        return getattr(importlib.import_module(self.module), self.name)(**options)


ALIGNERS = {
    "fast_align": AlignerChoice(
        "data_prep.alignment.fast_align",
        "DirectedAligner",
        True,
        "IBM model 2 near the diagonal, built in (thesis 5.1.1)",
    ),
    "word2word": AlignerChoice(
        "data_prep.alignment.word2word",
        "LexiconAligner",
        False,
        "lexicon of the bitext, few and precise, phrases (thesis 5.1.1)",
    ),
    "eflomal": AlignerChoice(
        "data_prep.alignment.external_aligners",
        "EflomalAligner",
        True,
        "Gibbs sampling, better and slower",
        100_000,
    ),
    "systran-align": AlignerChoice(
        "data_prep.alignment.external_aligners",
        "SystranAligner",
        False,
        "fast_align as a package, grow-diag-final-and only",
    ),
    "fast_align-program": AlignerChoice(
        "data_prep.alignment.external_aligners", "FastAlignProgram", True, "`fast_align` on the PATH", 100_000
    ),
}
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
    answers = {}
    while waiting:
        for child in wait(list(waiting)):
            process = waiting.pop(child)
            answers[process] = process.answer()
    return [answers.get(process) for process in processes]


def _serve(connection, choice: AlignerChoice, options: dict) -> None:
    aligner = None
    while True:
        try:
            request, first, second = connection.recv()
        except (EOFError, ConnectionError):
            return
        try:
            aligner = aligner or choice.make(options)
            if request == "align" and not first:  # a shard without a usable sentence pair
                result = np.zeros(0, dtype=int), np.zeros((0, 2), dtype=int)
            else:
                result = getattr(aligner, request)(first, second)
            connection.send(("done", result))
        except InputError as error:
            connection.send(("input error", str(error)))
        except Exception:
            connection.send(("error", traceback.format_exc()))
