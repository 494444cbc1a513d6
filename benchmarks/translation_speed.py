"""Seconds of `eval translate` for all directions of a test set, against one `fairseq-generate` per direction.

Both sides use the same checkpoint, test sets and beam, in float32, and include everything a user waits for:
start-up, loading, search and writing. Hypotheses are compared line by line. Rounds are interleaved.

    python -m benchmarks.translation_speed [--checkpoint CHECKPOINT --data DATA] [--rounds 1]

Without options the model of `make quickstart` is used (BENCHMARK_CHECKPOINT and BENCHMARK_DATA name another).
"""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from command_line import options
from command_line.dispatch import run_script
from command_line.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "outputs" / "quickstart"
MODEL, DATA = Path("models/system1-seed1/checkpoint_best.pt"), Path("data/phrasebook")


def run(command: list[str]) -> tuple[float, str]:
    """Seconds and standard output of a command, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"error: {shlex.join(command)}\n{done.stderr[-2000:]}")
    return time.monotonic() - start, done.stdout


def translate(args, folder: Path, number: int) -> tuple[float, dict[str, list[str]]]:
    output = folder / f"translated{number}"
    command = [
        sys.executable,
        "-m",
        "eval",
        "translate",
        "--checkpoint",
        args.checkpoint,
        "--data",
        args.data,
    ]
    command += ["--output", str(output), "--beam", str(args.beam), *([] if args.gpu else ["--cpu"])]
    seconds, _ = run(command)
    return seconds, {path.stem: path.read_text().splitlines() for path in sorted(output.glob("*.txt"))}


def generate(args, directions: list[str], preparation) -> tuple[float, dict[str, list[str]]]:
    total, hypotheses = 0.0, {}
    for direction in directions:
        source, target = direction.split("-")
        command = [sys.executable, "-m", "fairseq_cli.generate", args.data, "--path", args.checkpoint]
        command += ["--user-dir", str(ROOT / "fairseq_ext"), "--task", "multilingual_nmt", "-s", source]
        command += ["-t", target, "--gen-subset", "test", "--beam", str(args.beam)]
        command += [*shlex.split(args.fairseq_options or ""), *([] if args.gpu else ["--cpu"])]
        seconds, output = run(command)
        total += seconds
        found = {}
        for line in output.splitlines():
            if line.startswith("H-"):
                number, _, tokens = line[2:].split("\t")
                found[int(number)] = " ".join(preparation.detokenize(target, tokens).split())
        hypotheses[direction] = [found[number] for number in sorted(found)]
        print(f"fairseq-generate {direction}: {seconds:.1f} s, {len(found)} hypotheses", flush=True)
    return total, hypotheses


def add_arguments(parser) -> None:
    parser.add_argument(
        "--checkpoint", type=options.path, default=os.environ.get("BENCHMARK_CHECKPOINT", QUICKSTART / MODEL)
    )
    parser.add_argument(
        "--data", type=options.path, default=os.environ.get("BENCHMARK_DATA", QUICKSTART / DATA)
    )
    parser.add_argument("--beam", type=options.positive, default=5)
    parser.add_argument("--rounds", type=options.positive, default=1)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--fairseq-options", type=options.text, help="further options of fairseq-generate")


def main(args) -> None:
    args.checkpoint, args.data = str(args.checkpoint), str(args.data)
    if not Path(args.checkpoint).exists():
        raise InputError(
            f"{args.checkpoint}: no such file; run `make quickstart`, or give --checkpoint and --data"
        )
    from data_prep.formats.preparation import Preparation

    preparation = Preparation.load(args.data)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.rounds):
            ours, found = translate(args, Path(folder), number)
            print(f"eval translate: {ours:.1f} s, {sum(map(len, found.values()))} hypotheses", flush=True)
            theirs, expected = generate(args, list(found), preparation)
            ratios.append(theirs / ours)
            pairs = [pair for name in found for pair in zip(found[name], expected[name], strict=True)]
            different = [pair for pair in pairs if pair[0] != pair[1]]
            print(
                f"round {number + 1}: {len(found)} directions, {len(pairs)} lines: "
                f"fairseq-generate {theirs:.1f} s, eval translate {ours:.1f} s, ratio {theirs / ours:.2f}; "
                f"{len(different)} hypotheses differ"
            )
            for ours_line, theirs_line in different[:3]:
                print(f"  ours   {ours_line}\n  theirs {theirs_line}")
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    sys.exit(run_script())
