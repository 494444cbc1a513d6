"""Scores from sums of statistics per line, against sacreBLEU; the file of a scored folder."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from command_line.errors import InputError
from eval.scored import Scores
from eval.scoring.line_statistics import bleu, chrf, load_statistics


def random_lines(rng: random.Random, lines: int) -> list[str]:
    """Short, so that orders of n-grams are missing; empty lines among them."""

    def word() -> str:
        return "".join(rng.choices("abc.", k=rng.randint(1, 4)))

    return [" ".join(word() for _ in range(rng.randint(0, 7))) for _ in range(lines)]


@pytest.mark.parametrize(("formula", "metric"), [(bleu, BLEU()), (chrf, CHRF(word_order=2))])
def test_formulas_are_sacrebleus(formula, metric):
    rng, sums, expected = random.Random(1), [], []
    for _ in range(500):
        lines = rng.randint(1, 4)
        hypotheses, references = random_lines(rng, lines), random_lines(rng, lines)
        sums.append(np.sum(metric._extract_corpus_statistics(hypotheses, [references]), axis=0))
        expected.append(metric.corpus_score(hypotheses, [references]).score)
    assert 0.0 in expected
    assert formula(np.array(sums).reshape(5, 100, -1)).ravel().tolist() == pytest.approx(expected)


def test_scored_folders_hold_the_statistics_of_bleu_and_chrf(scored, texts, scores_of):
    out = scored("toy", {"de-fr": texts["en"], "en-de": texts["de"]})
    run = Scores.load(out / "scores.json")
    for measure, formula in (("bleu", bleu), ("chrf", chrf)):
        stored = load_statistics(run, measure)
        assert {direction: len(rows) for direction, rows in stored.items()} == {"de-fr": 4, "en-de": 4}
        for direction, rows in stored.items():
            assert formula(rows.sum(axis=0)) == pytest.approx(
                scores_of(out)["directions"][direction][measure]
            )


def test_comet_of_a_folder_that_was_scored_without_it_is_refused(scored, texts):
    run = Scores.load(scored("toy", {"de-fr": texts["en"]}) / "scores.json")
    with pytest.raises(InputError, match=r"no comet per line of de-fr.*eval score \S+ --force --comet-model"):
        load_statistics(run, "comet")
