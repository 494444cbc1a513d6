"""Run a training of fairseq, unless it has finished: recipes start every training by this command.

A training is finished if FOLDER/training.json says so, with the same options, the same binarized data and a
best checkpoint that is still there. It is resumed if it was stopped. Anything else is an error that says what
differs. The output of the command is in FOLDER/train.log; its reports and errors are shown in short. With
--launcher, curves for TensorBoard are in FOLDER/tensorboard. The file FOLDER/cpu_seconds.txt has a line for
each start, but not if Slurm runs the command on other machines.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from command_line import options
from command_line.errors import InputError
from command_line.locking import take_lock
from command_line.option_classes import force_switch, option, positional
from fairseq_ext.commands.on_device import note_given
from fairseq_ext.launching import WORD, Launch
from fairseq_ext.shown_progress import ShownProgress
from fairseq_ext.training_record import LOG, TrainingRecord, finish, forget, parse_options

_POLLING = 0.1  # seconds
_TRAINER = "fairseq-train"


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A training, and the command that trains it."""

    output: Path = option(
        "folder of the training", required=True, type=options.output_folder, metavar="FOLDER"
    )
    data: Path = option("binarized folder that it reads", required=True)
    launch: Launch
    force: bool = force_switch("remove what is there and train again")
    words: list[str] = positional(
        f"of the command, after --: {_TRAINER} and its options",
        nargs="*",
        type=WORD,
        metavar="WORD",
    )

    @property
    def command(self) -> list[str]:
        """The command as it is started."""
        return self.launch.command(self.output, self.words)

    @property
    def options(self) -> list[str]:
        """The words behind the trainer."""
        return self.words[self.words.index(_TRAINER) + 1 :]


def main(run: TrainingRun) -> None:
    if _TRAINER not in run.words:
        raise InputError(f"after --: expected a command with the word {_TRAINER}")
    record = TrainingRecord(run.output, run.data, run.options)  # refuses data before there is a folder
    run.output.mkdir(parents=True, exist_ok=True)
    busy = f"{run.output}: is being trained by another process; wait for its end"
    with take_lock(run.output / "lock", busy) as lock:
        _train(run, record, lock)


def _train(run: TrainingRun, record: TrainingRecord, lock: BinaryIO) -> None:
    """Skip, begin or resume a training whose folder is locked."""
    if run.force:
        forget(run.output)
    if not record.begin():
        _say(f"== {run.output}: trained, skipped")
        return
    if run.launch.precision != "auto":
        note_given(run.output, run.launch.precision)
    if idle := run.launch.idle(run.words):
        _say(f"== {run.output}: {idle}")
    log = run.output / LOG
    _say(f"== {run.output}: training, log in {LOG}")
    status = _run(run.command, log, ShownProgress(parse_options(run.options)), lock)
    if status:
        _show_end(log)
        raise InputError(f"{run.output}: training failed with status {status}, see {log}")
    finish(run.output)


def _run(command: list[str], log: Path, progress: ShownProgress, lock: BinaryIO) -> int:
    """The exit status of a command whose output is added to a log, and shown in short."""
    # It writes to the file itself and inherits the lock: it outlives a kill of this process.
    with open(log, "ab") as output:
        start = output.tell()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, pass_fds=[lock.fileno()])
    try:
        for line in _new_lines(log, start, process):
            if shown := progress.line(line):
                _say(f"{log.parent.name}: {shown}")
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    finally:
        if command[0] != "srun":
            _note_cpu_seconds(log.parent)


def _new_lines(log: Path, start: int, process) -> Iterator[str]:
    """The lines of a file after its first `start` bytes, to which a process adds until it ends."""
    with open(log, encoding="utf-8", errors="replace") as lines:
        lines.seek(start)
        unfinished, has_ended = "", False
        while not has_ended:
            has_ended = process.poll() is not None
            *whole, unfinished = (unfinished + lines.read()).split("\n")
            yield from whole
            if not has_ended:
                time.sleep(_POLLING)
        yield unfinished


def _note_cpu_seconds(folder: Path) -> None:
    """Processor seconds do not depend on what else the machine does, as the time of day does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(folder / "cpu_seconds.txt", "a", encoding="utf-8") as file:
        file.write(f"{used.ru_utime + used.ru_stime:.1f}\n")


def _show_end(log: Path) -> None:
    """The last lines of a log, unless they have an error of ours, which has been shown."""
    end = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
    if end and "error: " not in end:
        _say(end)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
