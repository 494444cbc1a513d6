"""fast_align through the package systran-align: C++, wheels for Linux x86-64 and Python 3.10/3.11 only.

The package symmetrizes itself, always by grow-diag-final-and, and hands out nothing else. Three options of
fast_align that default to off there are on: the diagonal is favored, its tension is optimized, variational
Bayes.
"""

import tempfile
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from data_prep.alignment.joint_text import flat, write_joint


class SystranAligner:
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
