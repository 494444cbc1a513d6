"""The options that `bunsetsu` and `phrases` share, in a module that imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path

from command_line.option_classes import force_switch, option, output_folder
from command_line.workers import dask_option, workers_option


@dataclass(frozen=True, kw_only=True)
class ParsingJob:
    """Which text is parsed, with what, and where the structures go."""

    parser: str
    model: str | None
    input: Path = option("folder of tokenized text, SPLIT.….LANG files", required=True)
    output: Path = output_folder("the structures")
    lang: str
    text: Path | None = option(
        "folder of the same files before tokenization, for the parser to read instead of joined words"
    )
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()
