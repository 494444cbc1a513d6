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
from dataclasses import dataclass
from pathlib import Path

from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.option_classes import option, switch

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "outputs" / "quickstart"
MODEL, DATA = Path("models/system1-seed1/checkpoint_best.pt"), Path("data/phrasebook")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is probed."""

    checkpoint: Path = option("a trained model", os.environ.get("BENCHMARK_CHECKPOINT", QUICKSTART / MODEL))
    data: Path = option("binarized folder", os.environ.get("BENCHMARK_DATA", QUICKSTART / DATA))
    max_lines: int = option("lines per set and direction", 2000)
    beam: int = option("of the search", 5)
    gpu: bool = switch("measure on the GPU")


def run(*command) -> float:
    """Seconds of a command, which must succeed."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "eval", "probe", *map(str, command)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return time.monotonic() - start


def main(options: Options) -> None:
    checkpoint, data = Path(options.checkpoint).resolve(), Path(options.data).resolve()
    if not checkpoint.exists():
        raise InputError(
            f"{checkpoint}: no such file; run `make quickstart`, or give --checkpoint and --data"
        )
    with tempfile.TemporaryDirectory() as folder:
        states = Path(folder) / "states"
        search = [
            "--max-lines",
            options.max_lines,
            "--beam",
            options.beam,
            *([] if options.gpu else ["--cpu"]),
        ]
        run("states", "--checkpoint", checkpoint, "--data", data, "--output", states, *search)
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
