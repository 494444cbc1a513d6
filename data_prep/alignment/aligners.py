"""The aligners by name. A new one is a module and a line in ALIGNERS.

An aligner has `train(path_a, path_b)`, line-parallel files of words without empty lines, and
`align(lines_a, lines_b)`, which returns how many links each line has and all links in order: `L x 2` words,
or `L x 4` half-open spans of words. A directed one links every word of its second side to at most one of the
first and is made twice, once per direction; the two are symmetrized.
"""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class AlignerChoice:
    module: str
    name: str
    directed: bool
    summary: str
    shard_lines: int = 20_000  # for programs that load their parameters for every shard: more

    def make(self, options: dict):
        """Raises:
        InputError: its package or program is not installed; names the alternatives.
        """
        return getattr(importlib.import_module(self.module), self.name)(**options)


ALIGNERS = {
    "fast_align": AlignerChoice(
        "data_prep.alignment.fast_align",
        "DirectedAligner",
        True,
        "IBM model 2 near the diagonal, built in (5.1.1)",
    ),
    "word2word": AlignerChoice(
        "data_prep.alignment.word2word",
        "LexiconAligner",
        False,
        "lexicon of the bitext, few and precise, phrases (5.1.1)",
    ),
    "eflomal": AlignerChoice(
        "data_prep.alignment.eflomal", "EflomalAligner", True, "Gibbs sampling, better and slower", 100_000
    ),
    "systran-align": AlignerChoice(
        "data_prep.alignment.systran_align",
        "SystranAligner",
        False,
        "fast_align as a package, grow-diag-final-and only",
    ),
    "fast_align-program": AlignerChoice(
        "data_prep.alignment.fast_align_program",
        "FastAlignProgram",
        True,
        "`fast_align` on the PATH",
        100_000,
    ),
}
