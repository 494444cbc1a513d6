"""Lines per second of `bunsetsu` or `phrases`, and of its parser by itself.

    python -m benchmarks.parsing_speed [--text FILE] [--parser ginza|spacy --model MODEL] [--workers 2]

The parser by itself is the same spaCy pipeline with the same components over the same lines, in as many
processes (`nlp.pipe(lines, n_process=WORKERS)`), its documents thrown away. Both sides are commands from
start to end, and take turns. Without --text the lines are Japanese of the phrasebook, for GiNZA.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.option_classes import option

ROOT = Path(__file__).parents[1]
STEPS = {"ginza": ("bunsetsu", "ja", "mecab"), "spacy": ("phrases", "en", "moses")}
PARSER_ITSELF = """
import sys
from data_prep.parsing.parsers import ParserChoice, make_parser
parser, model, language, path, workers = sys.argv[1:]
nlp = make_parser(ParserChoice(parser, model, language))._nlp
if "torch" in sys.modules:
    sys.modules["torch"].set_num_threads(1)
lines = open(path, encoding="utf-8").read().splitlines()
for _ in nlp.pipe(lines, n_process=int(workers)):
    pass
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is parsed, and by which parser."""

    text: Path | None = option("a sentence per line")
    parser: str = option("kind of parser", "ginza", choices=STEPS)
    model: str | None = option("spaCy pipeline, by name or path")
    lines: int = option("of the text", 4000)
    workers: int = option("processes", 2, type=types.worker_count)
    rounds: int = option("all sides take turns, so many times", 3)


class Cost(NamedTuple):
    """Of a command: seconds by the clock, and of all processors."""

    clock: float
    processor: float


def cost_of(command: list[str]) -> Cost:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    clock, processor = time.monotonic(), used()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Cost(time.monotonic() - clock, used() - processor)


def phrasebook_lines(folder: Path, lines: int) -> Path:
    """A file of Japanese."""
    sizes = f"--train-lines {lines} --valid-lines 10 --test-lines 10".split()
    command = [sys.executable, "-m", "data_prep", "phrasebook", "--langs", "ja,en", "--output", str(folder)]
    cost_of([*command, *sizes])
    return next(folder.glob("train.*.ja"))


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir()
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def measure(options: Options, folder: Path) -> None:
    from data_prep.parsing.parsers import OWN_MODELS
    from data_prep.tokenizers import make_tokenizer

    step, language, tokenizer = STEPS[options.parser]
    source = options.text or phrasebook_lines(folder / "phrasebook", options.lines)
    lines = source.read_text(encoding="utf-8").splitlines()[: options.lines]
    text, tokenized = (folder / name / f"train.{language}" for name in ("text", "tokenized"))
    write_lines(text, lines)
    write_lines(tokenized, list(map(make_tokenizer(tokenizer, language).tokenize, lines)))
    model = options.model or OWN_MODELS[options.parser]
    choice = ["--parser", options.parser, "--model", model, "--lang", language]
    folders = {"--input": tokenized.parent, "--text": text.parent, "--output": folder / "analyses"}
    files = [word for flag, path in folders.items() for word in (flag, str(path))]
    workers = str(options.workers)
    ours = [sys.executable, "-m", "data_prep", step, *choice, *files, "--workers", workers, "--force"]
    parser = [sys.executable, "-c", PARSER_ITSELF, *choice[1::2], str(text), workers]
    found: dict[str, list[Cost]] = {f"data_prep {step}": [], "the parser by itself": []}
    for _ in range(options.rounds):
        for costs, command in zip(found.values(), (ours, parser), strict=True):
            costs.append(cost_of(command))
    print(
        f"{options.parser}, {len(lines)} lines, {options.workers} processes,"
        f" median of {options.rounds} rounds"
    )
    print(" | lines/s | processor seconds\n--- | ---: | ---:")
    for name, costs in found.items():
        clock, processor = (statistics.median(values) for values in zip(*costs, strict=True))
        print(f"{name} | {len(lines) / clock:.0f} | {processor:.1f}")
    pairs = list(zip(*found.values(), strict=True))
    by_clock = " ".join(f"{itself.clock / step.clock:.2f}" for step, itself in pairs)
    by_processor = " ".join(f"{itself.processor / step.processor:.2f}" for step, itself in pairs)
    print(f"of the parser's own speed, per round: {by_clock} (goal: 0.90); in processor time: {by_processor}")


def main(options: Options) -> None:
    if options.parser == "spacy" and not (options.text and options.model):
        raise InputError("--parser spacy: expected together with --text and --model")
    if options.text and not options.text.is_file():
        raise InputError(f"--text {options.text}: no such file")
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder).resolve())


if __name__ == "__main__":
    sys.exit(run_script())
