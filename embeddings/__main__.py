"""The commands of `python -m embeddings`."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "encode": ("embeddings.encode", "text to vectors, one per line, with any encoder of sentences"),
}

if __name__ == "__main__":
    sys.exit(run("embeddings", "Encode sentences into vectors of one space, and use them.", COMMANDS))
