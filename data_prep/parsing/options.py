"""The options that `bunsetsu` and `phrases` share, in a module that imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.workers import add_dask_argument, add_workers_argument
from data_prep.formats.texts import LANGUAGE


@dataclass(frozen=True)
class ParsingJob:
    """Which text is parsed, with what, and where the structures go: the options of both steps.

    Attributes:
        input: folder of tokenized text.
        text: folder of the same files before tokenization, or None.
        output: folder for the structures.
        lang: language of the files.
        parser: key of `parsers.PARSERS` or `parse_files.SUFFIXES`.
        model: for the parser; None takes its own.
        dask: address of a scheduler whose workers parse, instead of `workers` processes.
    """

    input: Path
    text: Path | None
    output: Path
    lang: str
    parser: str
    model: str | None
    workers: int
    dask: str | None
    force: bool


def add_arguments(parser, language: str) -> None:
    """The options of both steps."""
    parser.add_argument(
        "--input", required=True, type=options.path, help="folder of tokenized text, SPLIT.….LANG files"
    )
    parser.add_argument(
        "--output", required=True, type=options.output_folder, help="folder for the structures"
    )
    parser.add_argument("--lang", type=LANGUAGE, default=language, help="language of the files to parse")
    parser.add_argument(
        "--text",
        type=options.path,
        help="folder of the same files before tokenization, for the parser to read instead of joined words",
    )
    add_workers_argument(parser)
    add_dask_argument(parser)
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")
