"""Spearman's correlation of bootstrap samples, which is no function of sums over lines."""

import numpy as np

from eval.scoring.significance import times_drawn


def spearman(times: np.ndarray, statistics: np.ndarray) -> np.ndarray:
    """Spearman's correlation in per cent, of samples that have line i times[i] times; 0 if all numbers of a
    column are equal.

    Args:
        times: samples x N.
        statistics: N x D directions x S seeds x 2 columns.

    Returns:
        samples x D x S.
    """
    _, directions, seeds, _ = statistics.shape
    scores = np.zeros((len(times), directions, seeds))
    for direction, seed in np.ndindex(directions, seeds):
        scores[:, direction, seed] = _correlation(times, statistics[:, direction, seed])
    return scores


def resampled_spearman(
    baseline: np.ndarray, system: np.ndarray, samples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `resampled_scores`: both systems on the same lines, drawn with replacement."""
    drawn = [
        [spearman(times, each) for each in (baseline, system)]
        for times in times_drawn(len(baseline), samples, seed)
    ]
    return tuple(np.concatenate(scores) for scores in zip(*drawn, strict=True))


def _correlation(times: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """N x 2 -> samples."""
    mean = (times.sum(axis=1, keepdims=True) + 1) / 2  # of ranks, with ties and without
    first, second = (_ranks(times, column) - mean for column in columns.T)
    covariance = (times * first * second).sum(axis=1)
    variances = (times * first**2).sum(axis=1) * (times * second**2).sum(axis=1)
    return 100 * covariance / np.sqrt(np.where(variances > 0, variances, 1.0))


def _ranks(times: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The rank of every line within its sample; equal numbers have the mean of their ranks. samples x N."""
    _, tie, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    of_tie = np.add.reduceat(times[:, np.argsort(tie, kind="stable")], starts, axis=1)
    return (np.cumsum(of_tie, axis=1) - (of_tie - 1) / 2)[:, tie]
