"""Lines per second of `clean` and of `tokenize` by Unicode and by Moses, and a plain loop over sacremoses.

    python -m benchmarks.data_prep [--text FILE.de FILE.en] [--workers 2]

Without --text the lines come from the phrasebook, whose words come again and again; give two line-parallel
files for numbers on real text. A text that is too short is repeated, with a number in front of every line;
words that come again flatter `tokenize`, so give enough text. The steps are measured as commands, with
start-up. For `clean` a line is a pair of lines.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from command_line import options
from command_line.dispatch import run_script

ROOT = Path(__file__).parents[1]
LANGUAGES = ("de", "en")


def run_step(*words) -> float:
    """Seconds that a step takes."""
    start = time.monotonic()
    command = [sys.executable, "-m", "data_prep", *map(str, words)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def make_corpus(folder: Path, texts: list[Path], lines: int) -> int:
    """A training corpus of at least `lines` different pairs and small evaluation sets; returns its size."""
    sizes = f"--train-lines {20_000 if texts else 60_000} --valid-lines 500 --test-lines 500".split()
    run_step("phrasebook", "--langs", ",".join(LANGUAGES), "--output", folder, *sizes)
    names = [folder / f"train.de-en.{language}" for language in LANGUAGES]
    sides = [path.read_text(encoding="utf-8").splitlines() for path in texts or names]
    repetitions = -(-lines // len(sides[0]))
    for path, side in zip(names, sides, strict=True):
        with open(path, "w", encoding="utf-8") as stream:
            for number in range(repetitions):  # a number in front makes the copies different
                stream.writelines(f"{number} {line}\n" for line in side)
    return repetitions * len(sides[0])


def plain_loop(path: Path, language: str, lines: int) -> float:
    """Seconds of a loop over sacremoses in one process."""
    from sacremoses import MosesTokenizer

    text = path.read_text(encoding="utf-8").splitlines()[:lines]
    tokenizer = MosesTokenizer(language)
    start = time.monotonic()
    for line in text:
        tokenizer.tokenize(line, return_str=True)
    return time.monotonic() - start


def add_arguments(parser) -> None:
    parser.add_argument("--text", nargs=2, type=options.path, default=[], metavar=("FILE.de", "FILE.en"))
    parser.add_argument("--workers", type=options.worker_count, default=2, help="processes")
    parser.add_argument("--lines", type=options.positive, default=600_000, help="pairs to clean")
    parser.add_argument("--runs", type=options.positive, default=3, help="the best of so many")


def main(args) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        count = make_corpus(folder / "raw", args.text, args.lines)
        clean, unicode, moses, loop = [], [], [], []
        workers = ("--workers", args.workers, "--force")
        sample = 20_000
        for _ in range(args.runs):
            clean.append(run_step("clean", "--input", folder / "raw", "--output", folder / "clean", *workers))
            for name, seconds in (("unicode", unicode), ("moses", moses)):
                words = ("--tokenizer", name, "--input", folder / "clean", "--output", folder / name)
                seconds.append(run_step("tokenize", *words, *workers))
                shutil.rmtree(folder / name)
            loop.append(
                sum(plain_loop(folder / f"clean/train.de-en.{code}", code, sample) for code in LANGUAGES)
            )
        cleaned, looped = count / min(clean), 2 * sample / min(loop)
        by_unicode, by_moses = (2 * count / min(seconds) for seconds in (unicode, moses))
    print(f"clean     {cleaned:>9,.0f} pairs/s with {args.workers} processes")
    print(f"tokenize  {by_unicode:>9,.0f} lines/s with {args.workers} processes, unicode")
    print(f"          {by_moses:>9,.0f} lines/s, Moses; ratio {by_unicode / by_moses:.1f}")
    print(f"          {looped:>9,.0f} lines/s in a plain loop over sacremoses")


if __name__ == "__main__":
    sys.exit(run_script())
