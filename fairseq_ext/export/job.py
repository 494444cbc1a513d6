"""What `fairseq_ext export` is asked for."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.option_classes import option, positional, switch
from fairseq_ext.export.formats import FORMATS

PRECISIONS = sorted({precision for form in FORMATS.values() for precision in form.precisions})


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """What is exported, and how that is checked."""

    checkpoint: Path = positional("or a folder of fairseq_ext package", metavar="CHECKPOINT")
    output: Path = positional("folder to write", type=types.output_folder, metavar="OUT")
    to: str = option("format of the folder", required=True, choices=list(FORMATS))
    data: Path | None = option(
        "binarized folder of its training (data_prep binarize; default: the packaged folder)"
    )
    precision: str = option(
        "of products with weights (onnx), or of stored weights (ctranslate2)", "float32", choices=PRECISIONS
    )
    pretokenized: bool = switch(
        "encoders of data whose text was split into words: the folder expects text that has been split"
        " already"
    )
    check_text: list[Path] = option(
        "encoders: lines to compare, a language per file, which ends its name (default: evaluation sets of"
        " DATA)",
        [],
        metavar="FILE",
    )
    check_lines: int | None = option(
        "lines of a file, or sentences of a direction; 0: no comparison (default: 40 and 100)",
        type=types.natural,
    )
