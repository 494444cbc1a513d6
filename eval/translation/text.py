"""`eval translate --input`: any text, from a file, a pipe or a prompt, in one or several directions."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from command_line.errors import InputError, check_file
from command_line.lines import read_lines, read_stream
from command_line.outputs import atomic_path
from data_prep.formats.directions import Direction, format_direction, parse_directions
from eval.translation.evaluated_model import SETS
from eval.translation.long_lines import CUT
from eval.translation.translation_options import TranslationOptions
from eval.translation.translator import Candidate, Translator, TranslatorOptions

STDIN = Path("-")
LINES = 2000  # translated at a time, so that a stream may be endless


@dataclass(frozen=True)
class TextJob:
    """Which text is translated, and how that is shown.

    Attributes:
        input: a text, or STDIN for standard input.
        directions: a list such as "de-fr,de-en".
        output: folder for SRC-TGT.txt; None for standard output.
        n_best: so many candidates of every line, each with the line's number and its score; None: the best.
        scores: the score in front of every translation.
        long_lines: see `TranslatorOptions`.
    """

    input: Path
    directions: str
    output: Path | None
    how: TranslationOptions
    n_best: int | None
    scores: bool
    long_lines: str | None


def translate_text(model, job: TextJob) -> None:
    """Translate to the end of the input.

    Args:
        model: an `EvaluatedModel` or a `RawTextModel`.

    Raises:
        InputError: as `Translator`; a direction that is none; several without a folder; a line that is not
            UTF-8, named by file and number.
    """
    if job.input != STDIN:
        check_file(job.input, "a text, or - for standard input")
    elif sys.stdin is None:
        raise InputError("--input -: standard input is closed, expected a text")
    if job.output is None and sys.stdout is None:
        raise InputError("--output: is missing, and standard output is closed; expected one of them")
    directions = directions_of(job)
    is_prompt = job.input == STDIN and sys.stdin.isatty() and job.output is None
    translator = model.translator(_options(job))
    for direction in directions:
        translator.check(*direction)
    show, with_scores = shown_as(job), bool(job.n_best or job.scores)
    if is_prompt:
        prompt(translator, directions, show)
        return
    lines = read_stream(sys.stdin.buffer, "standard input") if job.input == STDIN else read_lines(job.input)
    with contextlib.ExitStack() as stack:
        outputs = [_output(stack, job.output, direction) for direction in directions]
        first = 1
        while block := list(itertools.islice(lines, LINES)):
            for direction, stream in zip(directions, outputs, strict=True):
                found = translator.candidates(block, *direction, first, with_scores)
                stream.writelines(show(first + number, one) for number, one in enumerate(found))
                stream.flush()
            first += len(block)


def directions_of(job: TextJob) -> list[Direction]:
    """The directions, each given by name: a text has one language."""
    directions = [] if job.directions in SETS else parse_directions(job.directions, "--direction")
    if not directions:
        raise InputError(
            f"--direction {job.directions}: with --input, expected one such as de-fr, or a list of them"
        )
    sources = sorted({source for source, _ in directions})
    if len(sources) > 1:
        raise InputError(
            f"--direction {job.directions}: a text has one language, expected directions from"
            f" {sources[0]} or from {sources[1]}"
        )
    if len(directions) > 1 and job.output is None and not (job.input == STDIN and sys.stdin.isatty()):
        raise InputError("--output: is missing; several directions are written to a folder, SRC-TGT.txt each")
    return directions


def _options(job: TextJob) -> TranslatorOptions:
    how = {one.name: getattr(job.how, one.name) for one in fields(job.how)}
    return TranslatorOptions(**how, n_best=job.n_best or 1, long_lines=job.long_lines or CUT)


Shown = Callable[[int, Sequence[Candidate]], str]


def shown_as(job: TextJob) -> Shown:
    """How the candidates of a line with its number are written; fields are separated by tabs."""

    def best(number: int, candidates: Sequence[Candidate]) -> str:
        return f"{candidates[0].text if candidates else ''}\n"

    def scored(number: int, candidates: Sequence[Candidate]) -> str:
        return f"{candidates[0].score:.4f}\t{candidates[0].text}\n" if candidates else "\t\n"

    def listed(number: int, candidates: Sequence[Candidate]) -> str:
        rows = [f"{number}\t{one.score:.4f}\t{one.text}\n" for one in candidates]
        return "".join(rows or [f"{number}\t\t\n"])

    if job.n_best:
        return listed
    return scored if job.scores else best


def prompt(translator: Translator, directions: Sequence[Direction], show: Shown) -> None:
    """Ask for a line and show its translations, until the end of input (Ctrl-D)."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (lines can be edited)
    for number in itertools.count(1):
        try:
            line = input(f"{directions[0][0]}> ")
        except EOFError:
            print()
            return
        for direction in directions:
            (found,) = translator.candidates([line], *direction, number)
            label = f"{direction[1]}: " if len(directions) > 1 else ""
            print(f"{label}{show(number, found)}", end="", flush=True)


def _output(stack: contextlib.ExitStack, folder: Path | None, direction: Direction):
    """A file that appears when it is whole, or standard output."""
    if folder is None:
        return sys.stdout
    path = stack.enter_context(atomic_path(folder / f"{format_direction(direction)}.txt"))
    return stack.enter_context(open(path, "w", encoding="utf-8"))
