"""How a training of fairseq is started on a processor, on GPUs, by torchrun or by Slurm.

An update has the batches of the paper on any number of devices. The GPUs share its `--batches-per-update`
batches; each GPU accumulates the gradients of `--update-freq` of them.
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import DEVNULL

from command_line import options
from command_line.option_classes import option
from command_line.options import OptionType, is_one_line, require
from command_line.processes import run_program
from fairseq_ext.training_record import CURVES, parse_options

LONGEST_WORD = 4000  # characters; a list of directions is one word
LAUNCHERS = ("cpu", "gpu", "torchrun", "slurm")
OPTIONS = {"bf16": "--autocast-bf16", "fp16": "--fp16", "float32": ""}  # of precisions, as fairseq has them
_LOWEST_PORT, _PORTS = 20000, 20000
# glibc would hand the memory of large tensors back after every operation: an eighth of the time of an update
_MALLOC = ("MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=4294967296")


def _word(text: str) -> str:
    require(0 < len(text) <= LONGEST_WORD and is_one_line(text))
    return text


WORD = OptionType(f"a word of 1 to {LONGEST_WORD} characters on one line", _word)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The devices of a training."""

    launcher: str | None = option(
        "start the command in this way; without it, the command is started as it is", choices=LAUNCHERS
    )
    gpus: int = option("GPUs on each node; processes on a processor", 1)
    nodes: int = option("nodes, with slurm", 1)
    threads: int = option("threads of each process", 1, type=options.worker_count)
    cpus_per_task: int | None = option("cores on each node, with slurm", type=options.positive)
    precision: str = option(
        "that the command trains in; a training keeps the precision of its first start",
        "auto",
        choices=("auto", *OPTIONS),
    )

    @property
    def world(self) -> int:
        """Processes of a training."""
        return self.gpus * self.nodes

    def command(self, folder: Path, words: Sequence[str]) -> list[str]:
        """The command that trains.

        Args:
            words: fairseq-train and its options.
        """
        if self.launcher is None:
            return list(words)
        prefix, own, on_device = getattr(self, f"_{self.launcher}")(folder)
        if self.precision == "auto":
            on_device = [
                "--precision",
                str(folder),
                *(["--cpu"] if self.launcher == "cpu" else []),
                *on_device,
            ]
        elif OPTIONS[self.precision]:
            own.append(OPTIONS[self.precision])
        if on_device:
            prefix += ["python", "-m", "fairseq_ext", "on-device", *on_device, "--"]
        return [*prefix, *self._with_defaults(words, folder), *own]

    def _with_defaults(self, words: Sequence[str], folder: Path) -> list[str]:
        """The words, where curves go, and the batches of a process in an update; later options override."""
        batches = _batches(words)
        own = ["--tensorboard-logdir", str(folder / CURVES)]
        if batches is not None:
            own += ["--update-freq", str(-(-batches // self.world))]
        place = words.index("--save-dir") + 2
        return [*words[:place], *own, *words[place:]]

    def idle(self, words: Sequence[str]) -> str | None:
        """A sentence if some processes have no work because the batches cannot be divided among them."""
        batches, world = _batches(words), self.world
        if self.launcher is None or batches is None or not max(batches, world) % min(batches, world):
            return None
        when = "" if world > batches else " in every last turn"
        idle = world % batches if world > batches else world - batches % world
        return f"{world} GPUs for a batch of {batches}: {idle} of them have nothing to do{when}"

    def _cpu(self, folder: Path) -> tuple[list[str], list[str], list[str]]:
        """Words before the command, options of fairseq-train, and what is known only where it runs."""
        prefix, own = [*self._environment(), *_MALLOC], ["--cpu", *self._size()]
        if self.world == 1:
            return prefix, own, []
        # fairseq starts one process per GPU only, and counts GPUs where torchrun does
        own += ["--distributed-backend", "gloo", "--distributed-init-method", "env://"]
        own += ["--distributed-no-spawn", "--ddp-backend", "legacy_ddp"]
        return [*prefix, *self._torchrun_words()], own, ["--rank"]

    def _gpu(self, folder: Path) -> tuple[list[str], list[str], list[str]]:
        # This signal ends fairseq's processes with the one that started them. Background processes ignore it.
        signal = ["--default-signal=INT"] if self.world > 1 and _env_resets_signals() else []
        return ["env", *signal, *self._environment()[1:]], [*self._size(), *self._meeting(folder)], []

    def _torchrun(self, folder: Path) -> tuple[list[str], list[str], list[str]]:
        return [*self._environment(), *self._torchrun_words()], self._size(), []

    def _slurm(self, folder: Path) -> tuple[list[str], list[str], list[str]]:
        cores = [] if self.cpus_per_task is None else ["--cpus-per-task", str(self.cpus_per_task)]
        step = [
            "srun",
            "--nodes",
            str(self.nodes),
            "--ntasks-per-node",
            "1",
            "--gpus-per-node",
            str(self.gpus),
        ]
        on_device = [] if self.nodes == 1 else ["--rendezvous", str(port_of(folder)), str(self.gpus)]
        return [*step, *cores, "--job-name", folder.name], [*self._size(), *self._meeting(folder)], on_device

    def _environment(self) -> list[str]:
        return ["env", f"OMP_NUM_THREADS={self.threads}"]

    def _torchrun_words(self) -> list[str]:
        return ["torchrun", "--standalone", "--nproc_per_node", str(self.gpus), "--no-python"]

    def _size(self) -> list[str]:
        return ["--distributed-world-size", str(self.world)]

    def _meeting(self, folder: Path) -> list[str]:
        if self.gpus == 1 or self.nodes > 1:
            return []
        return ["--distributed-init-method", f"tcp://localhost:{port_of(folder)}"]


@cache
def _env_resets_signals() -> bool:
    """Whether the program `env` is of GNU coreutils 8.31 or later."""
    return run_program(["env", "--default-signal=INT", "true"], stderr=DEVNULL).returncode == 0


def _batches(words: Sequence[str]) -> int | None:
    batches = parse_options(words).get("--batches-per-update", "")
    return int(batches) if batches.isdigit() and int(batches) else None


def port_of(folder: Path) -> int:
    """A port of a training: those on one node must not share one, nor those of two users."""
    name = f"{os.getuid()} {os.path.abspath(folder)}"
    return _LOWEST_PORT + zlib.crc32(name.encode()) % _PORTS
