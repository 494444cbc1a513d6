"""`eval translate --input`: any text, from a file, a pipe or a prompt, in one or several directions."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError, check_file
from command_line.lines import read_lines, read_stream
from command_line.option_classes import option, switch
from command_line.outputs import atomic_path
from data_prep.formats.directions import Direction, format_direction, parse_directions
from eval.translation.evaluated_model import SETS, EvaluatedModel
from eval.translation.long_lines import CHOICES, CUT
from eval.translation.raw_text_model import RawTextModel
from eval.translation.search_options import LARGEST_BEAM
from eval.translation.translation_options import TranslationOptions
from eval.translation.translator import Candidate, Translator, TranslatorOptions

STDIN = Path("-")
LINES = 2000  # translated at a time, so that a stream may be endless


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Which text is translated, and how that is shown."""

    input: Path | None = option(
        "translate this raw text, a sentence per line; - reads standard input (default: a test set)",
        metavar="FILE",
    )
    n_best: int | None = option(
        "of a text: the N best of every line, as line number, score, translation, separated by tabs",
        type=types.whole_number(1, LARGEST_BEAM),
        metavar="N",
    )
    scores: bool = switch(
        "of a text: score (log-probability / length^lenpen) and tab in front of every translation"
    )
    long_lines: str | None = option(
        "of a text: lines longer than the model reads are cut, with a warning, or split into sentences"
        " (default: cut)",
        choices=CHOICES,
    )


def translate_text(
    model: EvaluatedModel | RawTextModel,
    text: TextOptions,
    directions: str,
    output: Path | None,
    how: TranslationOptions,
) -> None:
    """Translate to the end of the input.

    Args:
        output: folder for SRC-TGT.txt; None for standard output.

    Raises:
        InputError: as `Translator`; a direction that is none; several without a folder; a line that is not
            UTF-8, named by file and number.
    """
    if text.input != STDIN:
        check_file(text.input, "a text, or - for standard input")
    elif sys.stdin is None:
        raise InputError("--input -: standard input is closed, expected a text")
    if output is None and sys.stdout is None:
        raise InputError("--output: is missing, and standard output is closed; expected one of them")
    is_prompt = text.input == STDIN and sys.stdin.isatty() and output is None
    parsed = _parsed(directions)
    if len(parsed) > 1 and output is None and not is_prompt:
        raise InputError("--output: is missing; several directions are written to a folder, SRC-TGT.txt each")
    translator = model.translator(
        TranslatorOptions(**vars(how), n_best=text.n_best or 1, long_lines=text.long_lines or CUT)
    )
    for direction in parsed:
        translator.check(*direction)
    show, with_scores = shown_as(text), bool(text.n_best or text.scores)
    if is_prompt:
        prompt(translator, parsed, show)
        return
    lines = read_stream(sys.stdin.buffer, "standard input") if text.input == STDIN else read_lines(text.input)
    with contextlib.ExitStack() as stack:
        outputs = [_output(stack, output, direction) for direction in parsed]
        first = 1
        while block := list(itertools.islice(lines, LINES)):
            for direction, stream in zip(parsed, outputs, strict=True):
                by_line = translator.candidates(block, *direction, first, with_scores)
                stream.writelines(show(number, of_line) for number, of_line in enumerate(by_line, first))
                stream.flush()
            first += len(block)


def _parsed(directions: str) -> list[Direction]:
    """The directions, each given by name: a text has one language."""
    if directions in SETS:
        raise InputError(
            f"--direction {directions}: with --input, expected one such as de-fr, or a list of them"
        )
    parsed = parse_directions(directions, "--direction")
    sources = sorted({source for source, _ in parsed})
    if len(sources) > 1:
        raise InputError(
            f"--direction {directions}: a text has one language, expected directions from"
            f" {sources[0]} or from {sources[1]}"
        )
    return parsed


Shown = Callable[[int, Sequence[Candidate]], str]


def shown_as(text: TextOptions) -> Shown:
    """How the candidates of a line with its number are written; fields are separated by tabs."""

    def best(number: int, candidates: Sequence[Candidate]) -> str:
        return f"{candidates[0].text if candidates else ''}\n"

    def scored(number: int, candidates: Sequence[Candidate]) -> str:
        return f"{candidates[0].score:.4f}\t{candidates[0].text}\n" if candidates else "\t\n"

    def listed(number: int, candidates: Sequence[Candidate]) -> str:
        rows = [f"{number}\t{candidate.score:.4f}\t{candidate.text}\n" for candidate in candidates]
        return "".join(rows or [f"{number}\t\t\n"])

    if text.n_best:
        return listed
    return scored if text.scores else best


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
            (candidates,) = translator.candidates([line], *direction, number)
            label = f"{direction[1]}: " if len(directions) > 1 else ""
            print(f"{label}{show(number, candidates)}", end="", flush=True)


def _output(stack: contextlib.ExitStack, folder: Path | None, direction: Direction):
    """A file that appears when it is whole, or standard output."""
    if folder is None:
        return sys.stdout
    path = stack.enter_context(atomic_path(folder / f"{format_direction(direction)}.txt"))
    return stack.enter_context(open(path, "w", encoding="utf-8"))
