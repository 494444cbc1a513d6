"""BLEU and chrF++ by sacreBLEU, length ratio, shares of empty and of copied lines (thesis, 8.2.2)."""

from collections.abc import Sequence


def surface_scores(
    bleu, hypotheses: Sequence[str], sources: Sequence[str], references: Sequence[str]
) -> tuple[dict, list[list[int]]]:
    """Scores of one direction, and BLEU's sufficient statistics per line.

    Args:
        bleu: sacreBLEU's, with the tokenizer of the target language.
        hypotheses, sources, references: equally many lines.

    Returns:
        scores with their signatures; statistics: one row per line of [hypothesis length, reference length,
        matching 1..4-grams, hypothesis 1..4-grams], from which BLEU of any selection of lines follows.
    """
    from sacrebleu.metrics import CHRF

    chrf = CHRF(word_order=2)
    statistics = bleu._extract_corpus_statistics(hypotheses, [references])
    total = bleu._aggregate_and_compute(statistics)
    scores = {
        "bleu": total.score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "chrf_signature": str(chrf.get_signature()),
        "length_ratio": total.sys_len / total.ref_len if total.ref_len else None,
        "empty": share(not line.strip() for line in hypotheses),
        "copied": share(copies(hypotheses, sources)),
    }
    return scores, statistics


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
