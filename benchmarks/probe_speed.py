"""Seconds of layer-wise language recognition beyond generation, against those of generation: at most as many.

Runs `eval probe states` (which generates, and says how long that and the rest took) and `eval probe llr`, as
a user does; what is beyond generation is the forced pass with storing, and all of `llr`.

    python -m benchmarks.probe_speed [--checkpoint CHECKPOINT --data DATA] [--max-lines N]

Without options the model of `make quickstart` is used (BENCHMARK_CHECKPOINT and BENCHMARK_DATA name another).
"""

import json
import os
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


def run(*command) -> float:
    """Seconds of a command, which must succeed."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "eval", "probe", *map(str, command)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return time.monotonic() - start


def add_arguments(parser) -> None:
    parser.add_argument(
        "--checkpoint", type=options.path, default=os.environ.get("BENCHMARK_CHECKPOINT", QUICKSTART / MODEL)
    )
    parser.add_argument(
        "--data", type=options.path, default=os.environ.get("BENCHMARK_DATA", QUICKSTART / DATA)
    )
    parser.add_argument(
        "--max-lines", type=options.positive, default=2000, help="lines per set and direction"
    )
    parser.add_argument("--beam", type=options.positive, default=5)
    parser.add_argument("--gpu", action="store_true")


def main(args) -> None:
    checkpoint, data = Path(args.checkpoint).resolve(), Path(args.data).resolve()
    if not checkpoint.exists():
        raise InputError(
            f"{checkpoint}: no such file; run `make quickstart`, or give --checkpoint and --data"
        )
    with tempfile.TemporaryDirectory() as folder:
        states = Path(folder) / "states"
        options = ["--max-lines", args.max_lines, "--beam", args.beam, *([] if args.gpu else ["--cpu"])]
        run("states", "--checkpoint", checkpoint, "--data", data, "--output", states, *options)
        record = json.loads((states / "states.json").read_text())
        size = sum(path.stat().st_size for path in states.iterdir())
        recognition = run("llr", states, "--output", Path(folder) / "llr")
    generation, forced = record["seconds"]["translate"], record["seconds"]["states"]
    sentences = sum(entry["sentences"] for split in record["splits"].values() for entry in split.values())
    print(
        f"{sentences} sentences, {size / 1e6:.0f} MB of states: generation with loading {generation:.1f} s, "
        f"forced pass and storing {forced:.1f} s, llr with its start {recognition:.1f} s"
    )
    print(f"beyond generation / generation: {(forced + recognition) / generation:.2f} (goal: at most 1)")


if __name__ == "__main__":
    sys.exit(run_script())
