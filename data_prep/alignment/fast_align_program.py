"""The `fast_align` program, if there is one on the PATH (https://github.com/clab/fast_align)."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.processes import how_it_ended, run_program
from data_prep.alignment.joint_text import SEPARATOR, flat, joint_line, parse_pharaoh, write_joint

PROGRAM = "fast_align"
_LENGTH_RATIO = re.compile(r"expected target length = source length \* (\S+)")
_TENSION = re.compile(r"final tension: (\S+)")


class FastAlignProgram:
    """One direction: trains into a file of parameters, then aligns with them."""

    def __init__(self):
        if shutil.which(PROGRAM) is None:
            raise InputError(
                f"--aligner fast_align-program: no program `{PROGRAM}` on the PATH; "
                "--aligner fast_align is the same model without it"
            )

    def train(self, source: Path, target: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(dir=source.parent)
        folder = Path(self._folder.name)
        write_joint(folder / "joint", source, target)
        self._parameters = folder / "parameters"
        log = _run(["-i", folder / "joint", "-d", "-o", "-v", "-p", self._parameters], folder / "links")
        self._options = []
        for option, pattern in (("-m", _LENGTH_RATIO), ("-T", _TENSION)):
            found = pattern.findall(log)
            if not found:
                raise InputError(f"{PROGRAM}: its log has no {pattern.pattern!r}; another version?")
            self._options += [option, found[-1]]

    def align(self, source: list[str], target: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Links per line, and all links in order."""
        folder = Path(self._folder.name)
        with open(folder / "joint", "w", encoding="utf-8") as stream:
            stream.writelines(map(joint_line, source, target))
        _run(["-i", folder / "joint", "-d", *self._options, "-f", self._parameters], folder / "links")
        with open(folder / "links", encoding="utf-8") as stream:
            lines = [line.rstrip("\n").split(f" {SEPARATOR} ") for line in stream]
        # with given parameters it writes the sentences, the links and a score; in training only the links
        return flat(parse_pharaoh(fields[2] if len(fields) > 2 else fields[0], PROGRAM) for fields in lines)


def _run(options: list, output: Path) -> str:
    """Run the program; returns its log.

    Raises:
        InputError: it fails, or dies of a signal.
    """
    with open(output, "wb") as stream:
        done = run_program(
            [PROGRAM, *map(str, options)], stdout=stream, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{PROGRAM}: {how_it_ended(done.returncode)}: {last}; try a smaller --train-sample")
    return done.stderr
