"""BLEU and chrF++ by sacreBLEU, length ratio, shares of empty and of copied lines (thesis, 8.2.2)."""

from collections.abc import Mapping, Sequence

import numpy as np

from eval.scoring.line_statistics import FORMULAS


def surface_scores(
    bleu, hypotheses: Sequence[str], sources: Sequence[str], references: Sequence[str]
) -> tuple[dict, dict[str, np.ndarray]]:
    """Scores of one direction, and the statistics per line from which those of any selection of lines follow.

    Args:
        bleu: sacreBLEU's, with the tokenizer of the target language.
        hypotheses, sources, references: equally many lines.

    Returns:
        scores with their signatures; statistics of "bleu" and "chrf" in the columns of
        `eval.scoring.line_statistics`, one row per line.
    """
    from sacrebleu.metrics import CHRF

    chrf = CHRF(word_order=2)
    statistics = {
        name: np.asarray(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.int32)
        for name, metric in (("bleu", bleu), ("chrf", chrf))
    }
    totals = {name: rows.sum(axis=0, dtype=np.int64).tolist() for name, rows in statistics.items()}
    total = bleu._compute_score_from_stats(totals["bleu"])
    scores = {
        "bleu": total.score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf": chrf._compute_score_from_stats(totals["chrf"]).score,
        "chrf_signature": str(chrf.get_signature()),
        "length_ratio": total.sys_len / total.ref_len if total.ref_len else None,
        "empty": share(not line.strip() for line in hypotheses),
        "copied": share(copies(hypotheses, sources)),
    }
    return scores, statistics


def scores_of_lines(statistics: Mapping[str, np.ndarray], lines: Sequence[bool]) -> dict[str, float | None]:
    """BLEU and chrF++ of some lines, from the statistics of `surface_scores`; None of no lines.

    Args:
        lines: of every line, whether it is one of them.
    """
    chosen = {name: rows[np.asarray(lines, dtype=bool)] for name, rows in statistics.items()}
    return {
        name: float(FORMULAS[name](rows.sum(axis=0, dtype=np.int64))) if len(rows) else None
        for name, rows in chosen.items()
    }


def copies(hypotheses: Sequence[str], sources: Sequence[str]) -> list[bool]:
    """Whether each hypothesis is its source line, spaces apart; an empty line copies nothing."""
    return [
        bool(hypothesis.split()) and hypothesis.split() == source.split()
        for hypothesis, source in zip(hypotheses, sources, strict=True)
    ]


def share(flags) -> float:
    """The fraction of true flags."""
    flags = list(flags)
    return sum(flags) / len(flags)
