"""What is done besides `fairseq-train`."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "trim-mbart": (
        "fairseq_ext.commands.trim_mbart",
        "start from mBART: a checkpoint with the corpus's vocabulary",
    ),
    "precision": (
        "fairseq_ext.commands.precision",
        "the option of fairseq-train for the fastest precision of this machine's devices",
    ),
}

if __name__ == "__main__":
    sys.exit(run("fairseq_ext", "What is done before a training starts.", COMMANDS))
