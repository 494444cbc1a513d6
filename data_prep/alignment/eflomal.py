"""eflomal (Östling and Tiedemann, 2016): Gibbs sampling of a model with word order and fertility.

Its links are better than fast_align's, and it is several times slower.

The sample is aligned once; what was counted in it is the prior with which every shard is aligned.
"""

import io
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.processes import how_it_ended
from data_prep.alignment.joint_text import flat, parse_pharaoh


class EflomalAligner:
    """One direction."""

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
