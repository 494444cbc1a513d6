"""`--engine`: what computes the search. Nothing heavy is imported here."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.option_classes import option

PYTORCH, CTRANSLATE2 = "pytorch", "ctranslate2"
DEFAULT_PRECISION = "float32"
PRECISIONS = ("float32", "int8", "int16", "float16", "bfloat16", "int8_float16", "int8_bfloat16")


@dataclass(frozen=True)
class EngineOptions:
    """What computes the search; what is None is as usual."""

    engine: str | None = option(
        f"decoding engine; {CTRANSLATE2}: faster, of plain PreNorm and PostNorm models (default: {PYTORCH})",
        choices=(PYTORCH, CTRANSLATE2),
    )
    precision: str | None = option(
        f"of products with weights, with --engine {CTRANSLATE2} (default: {DEFAULT_PRECISION})",
        choices=PRECISIONS,
    )
    engine_folder: Path | None = option(
        f"of fairseq_ext export --to {CTRANSLATE2} (default: CHECKPOINT with the suffix .{CTRANSLATE2},"
        " which is written if it is not there)",
        compare=False,
        type=options.output_folder,
        metavar="FOLDER",
    )

    @property
    def label(self) -> str:
        """The engine in records: "pytorch", or the engine and its precision."""
        return f"{self.engine} {self.precision or DEFAULT_PRECISION}" if self.is_ctranslate2 else PYTORCH

    @property
    def is_ctranslate2(self) -> bool:
        return self.engine == CTRANSLATE2
