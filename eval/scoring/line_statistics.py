"""What a measure needs of every line of an output, so that its score of any selection of lines follows.

`python -m eval score` writes one array per measure and direction, lines x columns; `compare` adds up the
lines that it draws, and the formulas here turn sums into scores, for many sums at once. They are sacreBLEU's
(Post, 2018): BLEU with exponential smoothing, chrF++ with its average over the orders that occur.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.names_in_records import path_inside
from command_line.outputs import atomic_path, checksum
from command_line.records import field
from embeddings.search.sentence_scores import MEASURES as SIMILARITIES
from eval.scored import Scores

CHRF_BETA = 2


def bleu(sums: np.ndarray) -> np.ndarray:
    """BLEU from 0 to 100. (… x 10) -> (…).

    Args:
        sums: length of hypotheses, of references, matching 1..4-grams, 1..4-grams of hypotheses.
    """
    length, reference_length, correct, total = sums[..., 0], sums[..., 1], sums[..., 2:6], sums[..., 6:]
    defined = (total > 0).all(-1) & (correct > 0).any(-1)
    missing = correct == 0
    # The n-th order without a match counts as 1 / 2^n of one.
    smoothed = np.where(missing, 0.5 ** missing.cumsum(-1), correct)
    precisions = np.log(smoothed / np.maximum(total, 1)).mean(-1)
    brevity = np.minimum(0, 1 - reference_length / np.maximum(length, 1))
    return np.where(defined, 100 * np.exp(precisions + brevity), 0.0)


def chrf(sums: np.ndarray) -> np.ndarray:
    """chrF++ from 0 to 100. (… x 24) -> (…).

    Args:
        sums: n-grams of hypotheses, of references, matching, for 1..6 characters and 1..2 words.
    """
    counts = sums.reshape(*sums.shape[:-1], -1, 3)
    hypothesis, reference, match = np.moveaxis(counts, -1, 0)
    occurs = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(occurs.sum(-1), 1)
    precision = (match * occurs / np.maximum(hypothesis, 1)).sum(-1) / orders
    recall = (match * occurs / np.maximum(reference, 1)).sum(-1) / orders
    weight = CHRF_BETA**2
    divisor = weight * precision + recall
    return 100 * (1 + weight) * precision * recall / np.where(divisor > 0, divisor, 1)


def mean(sums: np.ndarray) -> np.ndarray:
    """Mean of a score that every line has. (… x 2) -> (…).

    Args:
        sums: of the scores, and number of lines.
    """
    return sums[..., 0] / sums[..., 1]


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bleu": bleu,
    "chrf": chrf,
    "comet": mean,
    **dict.fromkeys(SIMILARITIES, mean),  # of hits
}


def segments(scores) -> np.ndarray:
    """The statistics of a score that every line has: the score and 1. (lines) -> (lines x 2)."""
    scores = np.asarray(scores, dtype=np.float64)
    return np.stack([scores, np.ones_like(scores)], axis=1)


def write_statistics(path: Path, statistics: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Write direction -> measure -> lines x columns, in numpy's compressed format."""
    arrays = {
        f"{measure}/{direction}": rows
        for direction, measures in statistics.items()
        for measure, rows in measures.items()
    }
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, **arrays)


@lru_cache
def load_statistics(run: Scores, measure: str) -> dict[str, np.ndarray]:
    """Direction -> lines x columns of one scored folder.

    Raises:
        InputError: the file is missing or not the one that scores.json was written with, or the folder was
            scored without this measure.
    """
    name = "scoring.statistics.file"
    path = path_inside(run.folder, field(run.record, name, str, run.path), f"{run.path}: field {name}")
    if not path.is_file():
        raise InputError(f"{path}: no such file; python -m eval score --force writes it again")
    if checksum(path) != field(run.record, "scoring.statistics.sha256", str, run.path):
        raise InputError(f"{path}: is not the file that {run.path} was written with (SHA-256 differs)")
    with np.load(path) as stored:
        names = {direction: f"{measure}/{direction}" for direction in run.directions}
        missing = [direction for direction, name in names.items() if name not in stored]
        if missing:
            model = " --comet-model MODEL" if measure == "comet" else ""
            raise InputError(
                f"{path}: no {measure} per line of {missing[0]}, which the test needs; run again:"
                f" python -m eval score {run.folder} --force{model}"
            )
        return {direction: stored[name] for direction, name in names.items()}
