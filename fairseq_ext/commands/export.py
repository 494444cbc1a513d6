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
from importlib.util import find_spec
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import checksum, scratch_folder
from data_prep.formats.package import is_package, single_checkpoint
from fairseq_ext.export.job import ExportJob

NAME = "export"  # of the command, and of its record
RECORD = f"{NAME}.json"


def add_arguments(parser) -> None:
    parser.add_argument(
        "checkpoint", type=options.path, metavar="CHECKPOINT", help="or a folder of fairseq_ext package"
    )
    parser.add_argument("output", type=options.output_folder, metavar="OUT", help="folder to write")
    parser.add_argument("--to", required=True, choices=list(FORMATS), help="format of the folder")
    parser.add_argument(
        "--data",
        type=options.path,
        help="binarized folder of its training (data_prep binarize; default: the packaged folder)",
    )
    parser.add_argument(
        "--precision",
        choices=sorted({precision for form in FORMATS.values() for precision in form.precisions}),
        default="float32",
        help="of products with weights (onnx), or of stored weights (ctranslate2)",
    )
    parser.add_argument(
        "--pretokenized",
        action="store_true",
        help="encoders of data whose text was split into words: the folder expects text that has been split"
        " already",
    )
    parser.add_argument(
        "--check-text",
        nargs="+",
        type=options.path,
        default=[],
        metavar="FILE",
        help="encoders: lines to compare, a language per file, which ends its name (default: evaluation"
        " sets of DATA)",
    )
    parser.add_argument(
        "--check-lines",
        type=options.natural,
        help="lines of a file, or sentences of a direction; 0: no comparison (default: 40 and 100)",
    )
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def main(args) -> None:
    FORMATS[args.to].check(args.to, args.precision)
    job = of_package(from_arguments(ExportJob, args))
    make(job, args.force)
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


@dataclass(frozen=True)
class Format:
    """A format of folders.

    Attributes:
        module: of `fairseq_ext.export`, whose function `to_NAME` writes the files of a job into a folder.
        extra: of our installation, with the libraries.
        libraries: that must be installed.
        precisions: that it has, the default first.
    """

    module: str
    extra: str
    libraries: tuple[str, ...]
    precisions: tuple[str, ...] = ("float32",)

    def check(self, name: str, precision: str) -> None:
        """Refuse what is not installed, and a precision that the format lacks."""
        for library in self.libraries:
            if find_spec(library) is None:
                raise InputError(f"--to {name}: {library} is not installed: pip install '.[{self.extra}]'")
        if precision not in self.precisions:
            others = " and ".join(
                f"--to {other}" for other, form in FORMATS.items() if precision in form.precisions
            )
            precisions = ", ".join(self.precisions)
            raise InputError(f"--precision {precision}: needs {others}; --to {name} has {precisions}")


ENCODERS, TRANSLATION = "encoder_formats", "translation_formats"
FORMATS = {
    "fairseq": Format(TRANSLATION, "", ()),
    "sentence-transformers": Format(ENCODERS, "embed", ("sentence_transformers",)),
    "transformers": Format(TRANSLATION, "embed", ("transformers",)),
    "onnx": Format(ENCODERS, "embed,onnx", ("onnx", "onnxruntime", "transformers"), ("float32", "int8")),
    "ctranslate2": Format(
        TRANSLATION, "ctranslate2", ("ctranslate2",), ("float32", "int8", "int16", "float16", "bfloat16")
    ),
}
