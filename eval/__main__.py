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
    "compare": ("eval.scoring.compare", "significance of differences between systems"),
    "probe": ("eval.probes", "analyses of the hidden states and outputs of checkpoints"),
    "report": ("eval.report", "tables, plots and one HTML file from result files"),
}

if __name__ == "__main__":
    sys.exit(run("eval", "Evaluate multilingual translation models.", COMMANDS))
