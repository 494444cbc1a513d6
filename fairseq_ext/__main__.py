"""What makes checkpoints beside `fairseq-train`."""

import sys

from command_line.dispatch import run

COMMANDS = {
    "trim-mbart": (
        "fairseq_ext.commands.trim_mbart",
        "start from mBART: a checkpoint with the corpus's vocabulary",
    ),
}

if __name__ == "__main__":
    sys.exit(run("fairseq_ext", "Make checkpoints to start a training from.", COMMANDS))
