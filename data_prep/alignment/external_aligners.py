"""Aligners of others: the packages eflomal and systran-align, and the program `fast_align`.

Programs read `words of A ||| words of B` and write Pharaoh's `i-j` lines.
"""

import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_lines, read_parallel
from command_line.processes import how_it_ended, run_program

SEPARATOR = "|||"
_OTHER = "¦¦¦"  # in place of the separator where it is text


def joint_line(a: str, b: str) -> str:
    """Words as `str.split` finds them, which counts more spaces than the programs do."""
    sides = (" ".join(side.split()).replace(SEPARATOR, _OTHER) for side in (a, b))
    return f" {SEPARATOR} ".join(sides) + "\n"


def write_joint(path: Path, path_a: Path, path_b: Path) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(joint_line(a, b) for a, b in read_parallel(path_a, path_b))


def flat(lines: Iterable[Iterable[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray]:
    """Links per line, and all links in order, `L x 2`."""
    lines = [sorted(links) for links in lines]
    links = np.array(list(chain.from_iterable(lines)), dtype=int).reshape(-1, 2)
    return np.array([len(line) for line in lines], dtype=int), links


def parse_pharaoh(line: str, program: str) -> list[tuple[int, int]]:
    """Links of a line that a program wrote."""
    try:
        return [(int(a), int(b)) for a, _, b in (item.partition("-") for item in line.split())]
    except ValueError:
        raise InputError(f"{program}: wrote {line[:80]!r}, expected links i-j") from None


class EflomalAligner:
    """eflomal (Östling and Tiedemann, 2016), one direction: Gibbs sampling of a model with word order and
    fertility. Its links are better than fast_align's, and it is several times slower.

    The sample is aligned once; what was counted in it is the prior with which every shard is aligned.
    """

    def __init__(self):
        try:
            import eflomal
        except ImportError:
            raise InputError(
                "--aligner eflomal: the package is not installed: pip install '.[align]' (compiles it); "
                "--aligner fast_align needs nothing"
            ) from None
        self._library = eflomal

    def train(self, source: Path, target: Path) -> None:
        self._priors = None
        self._folder = source.parent
        sides = [list(read_lines(path)) for path in (source, target)]
        links = self._sample(*sides)
        # counts of one direction only: what the other would add is taken out
        lexical, jumps, _, fertilities, _ = self._library.calculate_priors(*sides, links, [""] * len(links))
        priors = io.StringIO()
        self._library.write_priors(priors, lexical, jumps, {}, fertilities, {})
        self._priors = priors.getvalue()

    def align(self, source: list[str], target: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Links per line, and all links in order."""
        return flat(parse_pharaoh(line, "eflomal") for line in self._sample(source, target))

    def _sample(self, source: list[str], target: list[str]) -> list[str]:
        priors = self._priors and io.StringIO(self._priors)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            output = Path(folder) / "links"
            try:
                self._library.Aligner().align(
                    [line + "\n" for line in source], [line + "\n" for line in target],
                    links_filename_fwd=str(output), priors_input=priors, quiet=True,
                )  # fmt: skip
            except subprocess.CalledProcessError as error:
                raise InputError(
                    f"eflomal: {how_it_ended(error.returncode)}; try a smaller --train-sample"
                ) from None
            except (RuntimeError, OSError) as error:
                raise InputError(f"eflomal: failed (out of memory?): {error}") from None
            return list(read_lines(output))


class SystranAligner:
    """fast_align through the package systran-align: C++, wheels for Linux x86-64 and Python 3.10/3.11 only.

    The package symmetrizes itself, always by grow-diag-final-and, and hands out nothing else. Three options
    of fast_align that default to off there are on: the diagonal is favored, its tension is optimized,
    variational Bayes.
    """

    def __init__(self):
        try:
            import systran_align
        except ImportError:
            raise InputError(
                "--aligner systran-align: the package is not installed (pip install '.[align]'), it has "
                "wheels for Linux x86-64 and Python 3.10/3.11 only; --aligner fast_align is the same model "
                "and needs no package, eflomal is another"
            ) from None
        self._library = systran_align

    def train(self, path_a: Path, path_b: Path) -> None:
        with tempfile.TemporaryDirectory(dir=path_a.parent) as folder:
            joint, forward, backward = (str(Path(folder) / name) for name in ("joint", "forward", "backward"))
            write_joint(Path(joint), path_a, path_b)
            self._library.generate_alignment_probabilities(
                joint, forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
            )
            self._aligner = self._library.Aligner(forward, backward)

    def align(self, lines_a: list[str], lines_b: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Links per line, and all links in order, symmetrized."""
        words = [line.split() for line in lines_a], [line.split() for line in lines_b]
        return flat([result["alignments"] for result in self._aligner.align_batch(*words)])


PROGRAM = "fast_align"
_LENGTH_RATIO = re.compile(r"expected target length = source length \* (\S+)")
_TENSION = re.compile(r"final tension: (\S+)")


class FastAlignProgram:
    """The `fast_align` program on the PATH (https://github.com/clab/fast_align), one direction: trains into a
    file of parameters, then aligns with them.
    """

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
            values = pattern.findall(log)
            if not values:
                raise InputError(f"{PROGRAM}: its log has no {pattern.pattern!r}; another version?")
            self._options += [option, values[-1]]

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
    """Run the program; returns its log."""
    with open(output, "wb") as stream:
        done = run_program(
            [PROGRAM, *map(str, options)], stdout=stream, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{PROGRAM}: {how_it_ended(done.returncode)}: {last}; try a smaller --train-sample")
    return done.stderr
