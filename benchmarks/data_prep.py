"""Lines per second of `import`, `clean`, `tokenize` and `binarize`; `tokenize` by Unicode against Moses and a
plain loop over sacremoses, `binarize` against `fairseq-preprocess`, each of which works on the same lines.

    python -m benchmarks.data_prep [--text FILE.de FILE.en] [--workers 2]

Without --text the lines come from the phrasebook, whose words come again and again; give two line-parallel
files for numbers on real text. A text that is too short is repeated, with a number in front of every line;
words that come again flatter `tokenize`, so give enough text. The steps are measured as commands, with
start-up. For `import` and `clean` a line is a pair of lines. `import` and `binarize` are measured in one
process, in seconds of a processor; `import` also without start-up.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from command_line import options as types
from command_line.dispatch import run_script
from command_line.lines import count_lines
from command_line.option_classes import option

ROOT = Path(__file__).parents[1]
LANGUAGES = ("de", "en")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is prepared, and how often."""

    text: list[Path] = option(
        "line-parallel text", [], nargs=2, type=types.path, metavar=("FILE.de", "FILE.en")
    )
    workers: int = option("processes", 2, type=types.worker_count)
    lines: int = option("pairs to clean", 600_000)
    runs: int = option("the best of so many", 3)


def run_step(*words) -> float:
    """Seconds that a step takes."""
    start = time.monotonic()
    command = [sys.executable, "-m", "data_prep", *map(str, words)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def processor_seconds(*command) -> float:
    """Seconds of processors that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [str(word) for word in (sys.executable, "-m", *command)]
    subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_formats(folder: Path, corpus: Path) -> list[Path]:
    """The training text of a corpus as TSV and as TMX; an empty one first, whose import is start-up."""
    sides = [(corpus / f"train.de-en.{code}").read_text(encoding="utf-8").splitlines() for code in LANGUAGES]
    rows = list(zip(*sides, strict=True))
    folder.mkdir()
    paths = [folder / name for name in ("one.de-en.tsv", "news.de-en.tsv", "news.de-en.tmx")]
    for path, some in zip(paths[:2], (rows[:1], rows), strict=True):
        path.write_text("".join(f"{de}\t{en}\n" for de, en in some), encoding="utf-8")
    with open(paths[2], "w", encoding="utf-8") as stream:
        stream.write('<tmx version="1.4"><body>\n')
        for de, en in rows:
            variants = zip(LANGUAGES, map(escape, (de, en)), strict=True)
            texts = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
            stream.write(f"<tu>{texts}</tu>\n")
        stream.write("</body></tmx>\n")
    return paths


def import_rates(folder: Path, corpus: Path, runs: int) -> dict[str, tuple[float, float]]:
    """Format -> lines per second of a processor, with and without start-up."""
    one, *paths = write_formats(folder / "formats", corpus)
    lines = count_lines(corpus / "train.de-en.de")

    def seconds(path: Path, *options) -> float:
        command = ("data_prep", "import", path, "--output", folder / "imported", "--force", "--workers", 1)
        return min(processor_seconds(*command, *options) for _ in range(runs))

    start_up = seconds(one)
    taken = {path.suffix: seconds(path) for path in paths}
    taken[".tsv, 1,000 lines cut out"] = seconds(paths[0], "--valid", 500, "--test", 500)
    return {name: (lines / found, lines / (found - start_up)) for name, found in taken.items()}


def binarizing_seconds(folder: Path, runs: int) -> tuple[float, float]:
    """Of `binarize` and of `fairseq-preprocess`, both sides of the training text."""
    subword, data = folder / "sub", folder / "data"
    run_step("subword", "--input", folder / "clean", "--output", subword, "--type", "none", "--min-count", 5)
    ours = ("data_prep", "binarize", "--input", subword, "--text", folder / "clean", "--output", data)
    theirs = (
        "fairseq_cli.preprocess", "--source-lang", "de", "--target-lang", "en", "--joined-dictionary",
        "--trainpref", subword / "train.de-en", "--srcdict", subword / "dict.txt",
        "--destdir", folder / "preprocessed",
    )  # fmt: skip
    return (
        min(processor_seconds(*ours, "--workers", 1, "--force") for _ in range(runs)),
        min(processor_seconds(*theirs) for _ in range(runs)),
    )


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


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        count = make_corpus(folder / "raw", options.text, options.lines)
        clean, unicode, moses, loop = [], [], [], []
        workers = ("--workers", options.workers, "--force")
        sample = 20_000
        for _ in range(options.runs):
            clean.append(run_step("clean", "--input", folder / "raw", "--output", folder / "clean", *workers))
            for name, seconds in (("unicode", unicode), ("moses", moses)):
                words = ("--tokenizer", name, "--input", folder / "clean", "--output", folder / name)
                seconds.append(run_step("tokenize", *words, *workers))
                shutil.rmtree(folder / name)
            loop.append(
                sum(plain_loop(folder / f"clean/train.de-en.{code}", code, sample) for code in LANGUAGES)
            )
        imported = import_rates(folder, folder / "raw", options.runs)
        binarized, preprocessed = binarizing_seconds(folder, options.runs)
        kept = 2 * count_lines(folder / "clean/train.de-en.de")
        cleaned, looped = count / min(clean), 2 * sample / min(loop)
        by_unicode, by_moses = (2 * count / min(seconds) for seconds in (unicode, moses))
    for name, (with_start_up, alone) in imported.items():
        print(f"import    {with_start_up:>9,.0f} pairs/s of {name}, {alone:,.0f} without start-up")
    print(f"clean     {cleaned:>9,.0f} pairs/s with {options.workers} processes")
    print(f"tokenize  {by_unicode:>9,.0f} lines/s with {options.workers} processes, unicode")
    print(f"          {by_moses:>9,.0f} lines/s, Moses; ratio {by_unicode / by_moses:.1f}")
    print(f"          {looped:>9,.0f} lines/s in a plain loop over sacremoses")
    print(f"binarize  {kept / binarized:>9,.0f} lines/s in one process")
    ratio = preprocessed / binarized
    print(f"          {kept / preprocessed:>9,.0f} lines/s by fairseq-preprocess; ratio {ratio:.1f}")


if __name__ == "__main__":
    sys.exit(run_script())
