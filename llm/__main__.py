"""The commands of `python -m llm`."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "instruct": (
        "llm.instruct",
        "bitext and word alignments to instructions: MT, Align, Hint, Revise, Mono (thesis 6.2)",
    ),
    "new-model": ("llm.new_model", "a small model with random weights, for experiments from nothing"),
    "tune": (
        "llm.tune",
        "low-rank adapters of a model on instructions, in one of three curricula (thesis 6.3.2)",
    ),
    "plan": ("llm.plan", "updates, subwords, operations and hours of the tunings of a recipe"),
    "translate": (
        "llm.translate",
        "translate a test set in all directions by a prompt (thesis 6.3.1, D.3, D.4)",
    ),
    "states": (
        "llm.states",
        "states of sentences, or of answers, in every layer, for `eval probe` (thesis 6.4.5)",
    ),
}

if __name__ == "__main__":
    sys.exit(run("llm", "Tune large language models on instructions for translation.", COMMANDS))
