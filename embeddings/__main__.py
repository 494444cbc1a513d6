"""The commands of `python -m embeddings`."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "encode": ("embeddings.encode", "text to vectors, one per line, with any encoder of sentences"),
    "import": ("embeddings.import_vectors", "vectors that another program has made, for all other commands"),
    "retrieve": (
        "embeddings.retrieve",
        "P@1 and error of sentence retrieval: Tatoeba, Flores, any parallel text",
    ),
    "neighbours": ("embeddings.neighbours", "the nearest sentences of given ones, printed"),
    "mine": ("embeddings.mine", "pairs of translations in two texts by margin; scores of given pairs; BUCC"),
    "bucc": ("embeddings.bucc", "the BUCC shared task: mining with the threshold of the training part"),
    "classify": (
        "embeddings.classify",
        "a perceptron over vectors, taught in one language, tested in others",
    ),
    "calibrate": (
        "embeddings.calibrate",
        "sentence embeddings for an encoder, learned on English alone, before it is compared by retrieval",
    ),
    "finetune": (
        "embeddings.finetune",
        "an encoder learns a task in some languages (XNLI, …), and is tested in others",
    ),
    "pretrain": ("embeddings.pretrain", "a multilingual encoder of any size from monolingual text, as XLM-R"),
    "layers": ("embeddings.layers", "the layers of encoders that a recipe measures as they are"),
    "speed": ("embeddings.speed", "lines per second of several encoders, side by side"),
    "plan": ("embeddings.plan", "updates, subwords, operations and hours of the fine-tunings of a recipe"),
    "sts": ("embeddings.sts", "correlation of cosines with rated similarity, in and across languages"),
}

if __name__ == "__main__":
    sys.exit(run("embeddings", "Encode sentences into vectors of one space, and use them.", COMMANDS))
