"""`--engine`: what computes the search. Nothing heavy is imported here."""

from dataclasses import dataclass, field
from pathlib import Path

from command_line import options

PYTORCH, CTRANSLATE2 = "pytorch", "ctranslate2"
DEFAULT_PRECISION = "float32"
PRECISIONS = ("float32", "int8", "int16", "float16", "bfloat16", "int8_float16", "int8_bfloat16")


@dataclass(frozen=True)
class EngineOptions:
    """What computes the search.

    Attributes:
        engine: CTRANSLATE2; PYTORCH, or None, is the search of this project.
        precision: of products with weights, one of PRECISIONS; None: DEFAULT_PRECISION.
        engine_folder: a folder of `export --to ctranslate2`; None: beside the checkpoint.
    """

    engine: str | None = None
    precision: str | None = None
    engine_folder: Path | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """In records: "pytorch", or the engine and its precision."""
        return f"{self.engine} {self.precision or DEFAULT_PRECISION}" if self.is_ctranslate2 else PYTORCH

    @property
    def is_ctranslate2(self) -> bool:
        return self.engine == CTRANSLATE2


def add_engine_arguments(parser) -> None:
    """Of `EngineOptions`."""
    parser.add_argument(
        "--engine",
        choices=(PYTORCH, CTRANSLATE2),
        help=f"decoding engine; {CTRANSLATE2}: faster, of plain PreNorm and PostNorm models"
        f" (default: {PYTORCH})",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help=f"of products with weights, with --engine {CTRANSLATE2} (default: {DEFAULT_PRECISION})",
    )
    parser.add_argument(
        "--engine-folder",
        type=options.output_folder,
        metavar="FOLDER",
        help=f"of fairseq_ext export --to {CTRANSLATE2} (default: CHECKPOINT with the suffix .{CTRANSLATE2},"
        " which is written if it is not there)",
    )
