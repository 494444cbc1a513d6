"""The options that `bunsetsu` and `phrases` share, in a module that imports nothing heavy."""

from pathlib import Path

from data_prep.blocks import add_workers_argument


def add_arguments(parser, language: str) -> None:
    """The options of both steps."""
    parser.add_argument(
        "--input", required=True, type=Path, help="folder of tokenized text, SPLIT.….LANG files"
    )
    parser.add_argument("--output", required=True, type=Path, help="folder for the analyses")
    parser.add_argument("--lang", default=language, help="language of the files to analyse")
    parser.add_argument(
        "--text",
        type=Path,
        help="folder of the same files before tokenization, for the parser to read instead of joined words",
    )
    add_workers_argument(parser)
    parser.add_argument(
        "--dask",
        metavar="SCHEDULER",
        help="address of a dask scheduler whose workers do it (instead of --workers)",
    )
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")
