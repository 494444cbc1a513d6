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
from pathlib import Path
from typing import NamedTuple

from command_line import options
from command_line.dispatch import run_script
from command_line.errors import InputError

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


def measure(args, folder: Path) -> None:
    from data_prep.parsing.parsers import OWN_MODELS
    from data_prep.tokenizers import make_tokenizer

    step, language, tokenizer = STEPS[args.parser]
    source = args.text or phrasebook_lines(folder / "phrasebook", args.lines)
    lines = source.read_text(encoding="utf-8").splitlines()[: args.lines]
    text, tokenized = (folder / name / f"train.{language}" for name in ("text", "tokenized"))
    write_lines(text, lines)
    write_lines(tokenized, list(map(make_tokenizer(tokenizer, language).tokenize, lines)))
    model = args.model or OWN_MODELS[args.parser]
    choice = ["--parser", args.parser, "--model", model, "--lang", language]
    folders = {"--input": tokenized.parent, "--text": text.parent, "--output": folder / "analyses"}
    files = [word for option, path in folders.items() for word in (option, str(path))]
    workers = str(args.workers)
    ours = [sys.executable, "-m", "data_prep", step, *choice, *files, "--workers", workers, "--force"]
    parser = [sys.executable, "-c", PARSER_ITSELF, *choice[1::2], str(text), workers]
    found: dict[str, list[Cost]] = {f"data_prep {step}": [], "the parser by itself": []}
    for _ in range(args.rounds):
        for costs, command in zip(found.values(), (ours, parser), strict=True):
            costs.append(cost_of(command))
    print(f"{args.parser}, {len(lines)} lines, {args.workers} processes, median of {args.rounds} rounds")
    print(" | lines/s | processor seconds\n--- | ---: | ---:")
    for name, costs in found.items():
        clock, processor = (statistics.median(values) for values in zip(*costs, strict=True))
        print(f"{name} | {len(lines) / clock:.0f} | {processor:.1f}")
    pairs = list(zip(*found.values(), strict=True))
    by_clock = " ".join(f"{itself.clock / step.clock:.2f}" for step, itself in pairs)
    by_processor = " ".join(f"{itself.processor / step.processor:.2f}" for step, itself in pairs)
    print(f"of the parser's own speed, per round: {by_clock} (goal: 0.90); in processor time: {by_processor}")


def add_arguments(parser) -> None:
    parser.add_argument("--text", type=options.path, help="a sentence per line")
    parser.add_argument("--parser", choices=STEPS, default="ginza")
    parser.add_argument("--model", type=options.text, help="spaCy pipeline, by name or path")
    parser.add_argument("--lines", type=options.positive, default=4000, help="of the text")
    parser.add_argument("--workers", type=options.worker_count, default=2, help="processes")
    parser.add_argument("--rounds", type=options.positive, default=3)


def main(args) -> None:
    if args.parser == "spacy" and not (args.text and args.model):
        raise InputError("--parser spacy: expected together with --text and --model")
    if args.text and not args.text.is_file():
        raise InputError(f"--text {args.text}: no such file")
    with tempfile.TemporaryDirectory() as folder:
        measure(args, Path(folder).resolve())


if __name__ == "__main__":
    sys.exit(run_script())
