"""Run a training with the options that only the machine that trains knows: precision, rank, place to meet.

The words after -- are the command. The precision is the fastest that the devices have in hardware.
GPUs: bfloat16 from compute capability 8.0 (A100), float16 with loss scaling from 7.0 (V100), else float32.
Processors: bfloat16 where products in it are faster than in float32: with AMX, and with AVX512-BF16 of AMD,
else float32. Intel's AVX512-BF16 without AMX (virtual machines hide AMX) multiplies more slowly in bfloat16
than in float32. Flags decide, and no measurement, so that all seeds of a system have one precision
(docs/performance.md). A training that goes on keeps the precision of its beginning, which is noted in its
folder: fairseq's optimizers of float16 and of other precisions do not read each other.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import option, positional, switch
from command_line.outputs import atomic_path
from command_line.processes import run_program
from fairseq_ext.launching import OPTIONS, WORD
from fairseq_ext.processor import processor_flags

NOTE = "precision.txt"


@dataclass(frozen=True, kw_only=True)
class OnDevice:
    """A command, and what it is told about the machine."""

    precision: Path | None = option(
        "folder of the training: add the option of its precision, which is noted there",
        type=options.output_folder,
        metavar="FOLDER",
    )
    cpu: bool = switch("the precision of the processor, not of the GPUs")
    rank: bool = switch("add the number of this process, from torchrun")
    rendezvous: list[int] | None = option(
        "port, and GPUs of a node: add the first node of this step of Slurm, and the number of this node's"
        " first GPU",
        nargs=2,
        type=options.positive,
        metavar=("PORT", "GPUS"),
    )
    words: list[str] = positional("of the command, after --", nargs="+", type=WORD, metavar="WORD")


def main(job: OnDevice) -> None:
    words = list(job.words)
    if job.precision is not None and (precision := OPTIONS[noted(job.precision, job.cpu)]):
        words.append(precision)
    if job.rank:
        words += ["--distributed-rank", os.environ["RANK"]]
    if job.rendezvous is not None:
        port, gpus = job.rendezvous
        words += ["--distributed-init-method", f"tcp://{_first_node()}:{port}"]
        words += ["--distributed-rank", str(int(os.environ["SLURM_PROCID"]) * gpus)]
    os.execvp(words[0], words)


def _first_node() -> str:
    """The first node of this step of Slurm."""
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ["SLURM_JOB_NODELIST"]
    names = run_program(["scontrol", "show", "hostnames", nodes], stdout=PIPE, text=True)
    return names.stdout.split()[0]


def noted(training: Path, on_cpu: bool) -> str:
    """The precision of a training: what its folder says, or from now on says.

    Raises:
        InputError: the note is of no precision, or of one that fairseq does not have on a processor.
    """
    path = training / NOTE
    if not path.exists():
        training.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            temporary.write_text(fastest(on_cpu) + "\n", encoding="utf-8")
    name = path.read_text(encoding="utf-8").strip()
    if name not in OPTIONS:
        raise InputError(f"{path}: found {name!r}, expected one of {', '.join(OPTIONS)}")
    if name == "fp16" and on_cpu:
        raise InputError(f"{path}: the training began in fp16, which needs a GPU; choose another --launcher")
    return name


def note_given(training: Path, name: str) -> None:
    """Note the precision that a training was asked for.

    Raises:
        InputError: it began with another one.
    """
    path = training / NOTE
    began = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    if not began:  # nothing was written, or a full disk left it empty
        training.mkdir(parents=True, exist_ok=True)
        path.write_text(name + "\n", encoding="utf-8")
    elif began != name:
        raise InputError(
            f"{training}: began with --precision {began}, found {name}; "
            "give that or auto, or choose another --output"
        )


def fastest(on_cpu: bool) -> str:
    """A name of `OPTIONS`.

    Raises:
        InputError: there is no GPU.
    """
    return of_processor() if on_cpu else of_gpus()


def of_processor() -> str:
    flags = processor_flags()
    return "bf16" if "amx_bf16" in flags or {"avx512_bf16", "AuthenticAMD"} <= flags else "float32"


def of_gpus() -> str:
    """What all visible GPUs have: one training may use any of them."""
    import torch

    count = torch.cuda.device_count()
    if count == 0:
        raise InputError("--precision auto: this machine has no usable GPU; expected one, or --launcher cpu")
    lowest = min(torch.cuda.get_device_capability(number) for number in range(count))
    if lowest >= (8, 0):
        return "bf16"
    return "fp16" if lowest >= (7, 0) else "float32"
