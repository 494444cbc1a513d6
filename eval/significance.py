"""Paired bootstrap resampling (Koehn, 2004) of BLEU, by sacreBLEU's own test, from stored counts per line.

The unit of resampling is the line number. Where several outputs belong to one unit, their counts are added
and drawn together: the outputs of all seeds of a system for one line, and over all directions the i-th lines
of all directions. Drawing them one by one would treat three seeds as three times as many test sentences, and
a multi-parallel test set as that many independent ones, and find significance where there is none. BLEU is
that of all lines concatenated.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np

COUNTS = 10  # hypothesis length, reference length, matching 1..4-grams, hypothesis 1..4-grams


@dataclass(frozen=True)
class PairedResult:
    """`difference` is BLEU of the system minus BLEU of the baseline; `p_value` is sacreBLEU's."""

    units: int
    baseline: float
    system: float
    difference: float
    p_value: float

    def record(self, level: float) -> dict:
        return asdict(self) | {"significant": self.p_value < level}


def add_units(statistics: Sequence[np.ndarray]) -> np.ndarray:
    """Add the counts of several outputs line by line; shorter ones end earlier. (lines x 10) each -> (longest
    x 10).
    """
    total = np.zeros((max(map(len, statistics)), COUNTS), dtype=np.int64)
    for rows in statistics:
        total[: len(rows)] += rows
    return total


def paired_bootstrap(baseline: np.ndarray, system: np.ndarray, samples: int, seed: int) -> PairedResult:
    """Test whether two systems' BLEU differ.

    Args:
        baseline, system: counts per unit, units x 10, of the same units.
        samples: bootstrap resamples.
        seed: of sacreBLEU's random generator; above 0 (sacreBLEU takes 0 for "no seed").
    """
    from sacrebleu.significance import PairedTest

    systems = [("baseline", baseline.tolist()), ("system", system.tolist())]
    with _sacrebleu_seed(seed):
        test = PairedTest(systems, {"BLEU": _counted_bleu()}, None, test_type="bs", n_samples=samples)
    _, results = test()
    first, second = results["BLEU"]
    # For equal outputs every resampled difference is 0, and sacreBLEU reports the smallest p-value there is.
    p_value = 1.0 if np.array_equal(baseline, system) else second.p_value
    return PairedResult(len(baseline), first.score, second.score, second.score - first.score, p_value)


@cache
def _counted_bleu():
    """sacreBLEU's BLEU whose "hypotheses" are rows of counts: lines were counted when scored."""
    from sacrebleu.metrics import BLEU

    class CountedBLEU(BLEU):
        def _extract_corpus_statistics(self, hypotheses, references):
            self.num_refs = 1  # the test asks for a signature
            return hypotheses

    return CountedBLEU(tokenize="none")


@contextlib.contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """sacreBLEU takes its seed from the environment only."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
