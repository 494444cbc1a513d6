"""Checkpoints to translations, scores, probes, comparisons and reports."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "translate": ("eval.translation.translate", "translate a test set in all directions with one checkpoint"),
    "score": ("eval.scoring.score", "BLEU, chrF++, off-target rate, copies, COMET of translated folders"),
    "adequacy": (
        "eval.probes.adequacy",
        "cosine of sentence embeddings of sources and translations (thesis 4.5.2)",
    ),
    "bleurt": ("eval.probes.bleurt", "BLEURT of translated folders (thesis, Table E.9)"),
    "compare": ("eval.scoring.compare", "significance of differences between systems"),
    "examples": ("eval.scoring.examples", "translations of several systems side by side (thesis 4.5.3)"),
    "human-sheet": ("eval.scoring.human_sheet", "a blind sheet for raters of translations (thesis 4.5.3)"),
    "human-scores": ("eval.scoring.human_scores", "scores of raters by system, and their agreement"),
    "probe": ("eval.probes", "analyses of the hidden states and outputs of checkpoints"),
    "report": ("eval.report", "tables, plots and one HTML file from result files"),
}

if __name__ == "__main__":
    sys.exit(run("eval", "Evaluate multilingual translation models.", COMMANDS))
