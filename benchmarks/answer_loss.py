"""An update of instruction tuning: the output layer for answers only, against transformers' own loss.

    python -m benchmarks.answer_loss [--vocabulary 250880] [--width 256] [--layers 4] [--rounds 5]

A BLOOM with random weights and a LoRA adapter reads a batch of questions and answers; forward and backward
pass. `transformers` computes the scores of every token of the vocabulary after every token of the text, ours
after those that tell the answer. Both run interleaved, then each in a process of its own for the peak of its
memory. Loss and gradients are the same (tests/llm/tuning).
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from command_line import options
from command_line.dispatch import run_script

SIDES = ("transformers", "ours")


def add_arguments(parser) -> None:
    parser.add_argument("--vocabulary", type=options.positive, default=250_880, help="symbols (BLOOM's)")
    parser.add_argument("--width", type=options.positive, default=256)
    parser.add_argument("--layers", type=options.positive, default=4)
    parser.add_argument("--sentences", type=options.positive, default=8, help="of a batch")
    parser.add_argument("--question", type=options.positive, default=70, help="tokens")
    parser.add_argument("--answer", type=options.positive, default=30, help="tokens")
    parser.add_argument("--rounds", type=options.positive, default=5)
    parser.add_argument("--side", choices=SIDES, help="measures the memory of one")


def main(args) -> None:
    update = make_update(args)
    if args.side:
        update(args.side)
        print(f"{args.side}: at most {peak_memory() / 2**30:.2f} GiB, model and libraries included")
        return
    seconds = {side: [] for side in SIDES}
    for _ in range(args.rounds + 1):
        for side in SIDES:
            started = time.perf_counter()
            update(side)
            seconds[side].append(time.perf_counter() - started)
    medians = {side: statistics.median(taken[1:]) for side, taken in seconds.items()}  # the first warms up
    ratio = medians["transformers"] / medians["ours"]
    shown = ", ".join(f"{side} {median:.2f} s" for side, median in medians.items())
    print(
        f"an update of {args.sentences} x {args.question} + {args.answer} tokens: {shown}; ratio {ratio:.2f}"
    )
    for side in SIDES:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.answer_loss", *sys.argv[1:], "--side", side], check=True
        )


def peak_memory() -> int:
    """Bytes that this process has had at most (VmHWM of Linux; what getrusage says is also the parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def make_update(args):
    """A function of the side, which computes gradients of the adapter."""
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import BloomConfig, BloomForCausalLM

    from llm.tuning.answers import AnswerTokens
    from llm.tuning.examples import IGNORED
    from llm.tuning.model import with_new_adapter
    from llm.tuning.options import Lora

    torch.manual_seed(1)
    config = BloomConfig(
        vocab_size=args.vocabulary, hidden_size=args.width, n_layer=args.layers, n_head=4, hidden_dropout=0.0
    )
    model = with_new_adapter(BloomForCausalLM(config), Lora(8, 32, 0.0, None))
    tokens = torch.randint(10, args.vocabulary, (args.sentences, args.question + args.answer))
    labels = tokens.clone()
    labels[:, : args.question] = IGNORED
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}
    answers = AnswerTokens(model)

    def update(side: str) -> None:
        model.zero_grad()
        if side == "ours":
            scores, learned = answers(model, inputs)
            cross_entropy(scores, learned).backward()
        else:
            model(**inputs, use_cache=False).loss.backward()

    return update


if __name__ == "__main__":
    sys.exit(run_script())
