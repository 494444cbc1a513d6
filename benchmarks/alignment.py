"""Sentence pairs per second of `align` with fast_align's model, against the package systran-align.

    python -m benchmarks.alignment [--text FILE.de FILE.en] [--workers 2]

Without --text the words come from the phrasebook; give two line-parallel files of words for numbers on
real text. The step is measured as a command, with start-up, training in both directions, symmetrization and
writing.
The rival is the package called from a plain script: training, then one batch of everything, links written.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.dispatch import run_script
from command_line.option_classes import option

ROOT = Path(__file__).parents[1]
RIVAL = """
import sys
import systran_align
a, b = (open(path, encoding="utf-8").read().splitlines() for path in sys.argv[1:3])
with open("joint", "w", encoding="utf-8") as stream:
    stream.writelines(f"{x} ||| {y}\\n" for x, y in zip(a, b))
systran_align.generate_alignment_probabilities(
    "joint", "forward", "backward", favor_diagonal=True, optimize_tension=True, variational_bayes=True
)
aligner = systran_align.Aligner("forward", "backward")
with open("links", "w") as stream:
    for result in aligner.align_batch([x.split() for x in a], [y.split() for y in b]):
        stream.write(" ".join(f"{i}-{j}" for i, j in result["alignments"]) + "\\n")
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is aligned, and how often."""

    text: list[Path] = option(
        "line-parallel text", [], nargs=2, type=types.path, metavar=("FILE.de", "FILE.en")
    )
    workers: int = option("processes", 2, type=types.worker_count)
    runs: int = option("the best of so many", 3)


def run(command: list, folder: Path, threads: int) -> tuple[float, float]:
    """Seconds that a command takes, by the clock and of the processors."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads)}
    before, start = os.times(), time.monotonic()
    subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, env=environment, check=True, capture_output=True
    )
    after, end = os.times(), time.monotonic()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return end - start, used


def make_corpus(folder: Path, texts: list[Path]) -> int:
    """Write train.de-en.de and .en; returns the number of sentence pairs."""
    if not texts:
        sizes = ["--train-lines", "30000", "--valid-lines", "10", "--test-lines", "10"]
        run(
            ["-m", "data_prep", "phrasebook", "--langs", "de,en", "--output", folder / "raw", *sizes],
            folder,
            1,
        )
        run(["-m", "data_prep", "tokenize", "--input", folder / "raw", "--output", folder / "tok"], folder, 1)
        texts = [folder / f"tok/train.de-en.{language}" for language in ("de", "en")]
    (folder / "words").mkdir()
    for path, language in zip(texts, ("de", "en"), strict=True):
        (folder / f"words/train.de-en.{language}").write_bytes(path.read_bytes())
    return texts[0].read_bytes().count(b"\n")


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        lines = make_corpus(folder, options.text)
        step = ["-m", "data_prep", "align", "--input", folder / "words", "--output", folder / "align"]
        step += ["--workers", options.workers, "--force"]
        sides = [folder / f"words/train.de-en.{language}" for language in ("de", "en")]
        ours, theirs = [], []
        for _ in range(options.runs):
            ours.append(run(step, folder, 1))
            theirs.append(run(["-c", RIVAL, *sides], folder, options.workers))
    for name, times in (("align", ours), ("systran-align", theirs)):
        wall, used = min(times)
        print(f"{name:<14} {lines / wall:>9,.0f} sentence pairs/s, {used:.1f} s of the processors")
    print(f"ratio {min(theirs)[0] / min(ours)[0]:.1f} ({lines:,} sentence pairs, training included)")


if __name__ == "__main__":
    sys.exit(run_script())
