"""What `fairseq_ext export` is asked for."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExportJob:
    """What is exported, and how that is checked: options of the command.

    Attributes:
        checkpoint: of a sentence encoder or of a translation model.
        data: the binarized folder that it was trained on; None: a packaged one.
        to: a key of FORMATS.
        output: the folder to write.
        precision: of the products, or of stored weights.
        pretokenized: text is split into words before it comes to the exported tokenizer; encoders only.
        check_text: files whose lines are compared; empty for the evaluation sets in `data`; encoders only.
        check_lines: of a file or a direction; 0 compares nothing; None: as many as the format wants.
    """

    checkpoint: Path
    data: Path | None
    to: str
    output: Path
    precision: str
    pretokenized: bool = False
    check_text: tuple[Path, ...] | list[Path] = ()
    check_lines: int | None = None
