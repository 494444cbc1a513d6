"""Write a trained model in the format of another library, with equal results.

Sentence encoders: `--to sentence-transformers`, a folder that `SentenceTransformer(FOLDER).encode` reads
without our code, of stock modules, a tokenizer and a model card; `--to transformers`, a folder of that
library, of an encoder that was trained from one (`--pretrained-encoder`); `--to onnx`, for processors without
PyTorch. `python -m embeddings` reads all.

Translation models: `--to ctranslate2`, which translates faster (`eval translate --engine
ctranslate2`); `--to fairseq`, a checkpoint that stock fairseq reads without `--user-dir`;
`--to transformers`, a stock model of that library with equal logits.

Evaluation sets of DATA are run through the checkpoint and through the folder; if results differ, nothing is
written. What the other library cannot express is refused with the reason.
"""

import dataclasses
import importlib
import os
from dataclasses import dataclass
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import force_switch
from command_line.outputs import checksum, scratch_folder
from data_prep.formats.package import is_package, single_checkpoint
from fairseq_ext.export.formats import FORMATS
from fairseq_ext.export.job import ExportJob

NAME = "export"  # of the command, and of its record
RECORD = f"{NAME}.json"


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What is exported, and how that is checked."""

    job: ExportJob
    force: bool = force_switch()


def main(options: ExportOptions) -> None:
    job = options.job
    FORMATS[job.to].check(job.to, job.precision)
    job = of_package(job)
    make(job, options.force)
    print(job.output)


def make(job: ExportJob, force: bool = False) -> None:
    """Write the folder, unless it is there.

    Raises:
        InputError: as `export`; the folder has files of somebody else, such as the packaged system.
    """
    settings = {
        "to": job.to,
        "checkpoint_sha256": checksum(job.checkpoint) if job.checkpoint.is_file() else None,
        "precision": job.precision,
        "pretokenized": job.pretokenized,
        "check_lines": job.check_lines,
    }
    inputs = [job.checkpoint, *sorted(job.data.glob("subword.*")), *sorted(job.data.glob("dict.*.txt"))]
    inputs += [path for path in (job.data / "preparation.json", *job.check_text) if path.is_file()]
    stamp = Stamp(job.output / RECORD, NAME, settings, [path for path in inputs if path.is_file()])
    if stamp.is_current(force):
        return
    if not stamp.was_begun() and any(job.output.glob("[!.]*")):
        raise InputError(f"{job.output}: is not empty, and not from `{NAME}`; choose an empty folder")
    stamp.begin()
    with scratch_folder(job.output) as folder:
        export(job, folder)
        written = move_into(folder, job.output)
    stamp.finish(written)


def of_package(job: ExportJob) -> ExportJob:
    """The job with the checkpoint and the data of a packaged folder in its place.

    Raises:
        InputError: there is no data; the package is an ensemble.
    """
    if job.data is None and not is_package(job.checkpoint):
        raise InputError(f"--data: is missing; expected the binarized folder of {job.checkpoint}")
    checkpoint = single_checkpoint(job.checkpoint)
    return dataclasses.replace(job, checkpoint=checkpoint, data=job.data or job.checkpoint)


def export(job: ExportJob, folder: Path) -> None:
    """Write the files of the format into an empty folder, and compare.

    Raises:
        InputError: as `load_for_inference`; the format cannot express the model; results differ.
    """
    from fairseq_ext.set_up import set_up_process

    set_up_process()
    formats = importlib.import_module(f"fairseq_ext.export.{FORMATS[job.to].module}")
    getattr(formats, f"to_{job.to.replace('-', '_')}")(job, folder)


def move_into(folder: Path, output: Path) -> list[Path]:
    """Move all files to the same places below `output`."""
    written, mode = [], (folder / "README.md").stat().st_mode
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        target = output / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
        target.chmod(mode)  # some libraries let nobody but the owner read their files
        written.append(target)
    return written
