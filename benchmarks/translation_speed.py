"""Seconds of `eval translate` for all directions of a test set, against one `fairseq-generate` per direction:
our search, and CTranslate2 in float32 and int8.

All sides use the same checkpoint, test sets and beam, and include everything a user waits for: start-up,
loading, search and writing; the folder of CTranslate2 is written once, before. Hypotheses are compared line
by line, and by BLEU. Rounds are interleaved.

    python -m benchmarks.translation_speed [--checkpoint CHECKPOINT --data DATA] [--rounds 1]
        [--engines pytorch,ctranslate2-int8]
        [--enlarge 3,4,6]

A large model takes days to train, and random weights give no hypotheses of natural length: `--enlarge`
measures a PreNorm checkpoint with its units repeated and further layers, which computes the same and costs
as a large one.

Without options the model of `make quickstart` is used (BENCHMARK_CHECKPOINT and BENCHMARK_DATA name another).
"""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.option_classes import option, switch

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "outputs" / "quickstart"
ENGINES = ("pytorch", "ctranslate2-float32", "ctranslate2-int8")
MODEL, DATA = Path("models/system1-seed1/checkpoint_best.pt"), Path("data/phrasebook")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is translated, and how."""

    checkpoint: Path = option("a trained model", os.environ.get("BENCHMARK_CHECKPOINT", QUICKSTART / MODEL))
    data: Path = option("binarized folder", os.environ.get("BENCHMARK_DATA", QUICKSTART / DATA))
    beam: int = option("of the search", 5)
    max_len_b: int = option("tokens of a translation", 200)
    engines: list[str] = option(
        f"some of {', '.join(ENGINES)} (default: all)",
        list(ENGINES),
        type=types.items(types.text),
        metavar="LIST",
    )
    enlarge: list[int] | None = option(
        "factors of the width and of the inner width of feed-forward layers, and the number of layers",
        type=types.items(types.positive),
        metavar="LIST",
    )
    rounds: int = option("all sides take turns, so many times", 1)
    gpu: bool = switch("measure on the GPU")
    our_options: str | None = option("further options of eval translate")
    fairseq_options: str | None = option("further options of fairseq-generate")


def run(command: list) -> tuple[float, str]:
    """Seconds and standard output of a command, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [str(word) for word in command]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"error: {shlex.join(command)}\n{done.stderr[-2000:]}")
    return time.monotonic() - start, done.stdout


Hypotheses = dict[str, list[str]]  # direction -> lines


def translate(options: Options, folder: Path, number: int, engine: str) -> tuple[float, Hypotheses]:
    """Seconds and hypotheses of one command for all directions."""
    output = folder / f"translated{number}-{engine}"
    name, _, precision = engine.partition("-")
    command = [
        sys.executable,
        "-m",
        "eval",
        "translate",
        "--checkpoint",
        options.checkpoint,
        "--data",
        options.data,
    ]
    command += ["--output", output, "--beam", options.beam, *([] if options.gpu else ["--cpu"])]
    command += ["--max-len-b", options.max_len_b, "--engine", name]
    command += ["--precision", precision, "--engine-folder", folder / name] if precision else []
    command += shlex.split(options.our_options or "")
    seconds, _ = run(command)
    return seconds, {path.stem: path.read_text().splitlines() for path in sorted(output.glob("*.txt"))}


def export(options: Options, folder: Path) -> None:
    """Write the folder of CTranslate2."""
    command = [sys.executable, "-m", "fairseq_ext", "export", options.checkpoint, folder / "ctranslate2"]
    seconds, _ = run([*command, "--to", "ctranslate2", "--data", options.data, "--check-lines", "20"])
    print(f"export to CTranslate2, with the comparison of 60 sentences: {seconds:.1f} s", flush=True)


def enlarged(checkpoint: Path, sizes: list[int], folder: Path) -> Path:
    """The path of a checkpoint that computes the same with more units and layers."""
    import torch

    from benchmarks._larger_model import Enlargement, enlarge
    from fairseq_ext.checkpoints.reading import read_state

    if len(sizes) != 3:
        raise InputError(f"--enlarge {','.join(map(str, sizes))}: expected three numbers, such as 3,4,6")
    path = folder / "enlarged.pt"
    torch.save(enlarge(read_state(checkpoint), Enlargement(*sizes)), path)
    return path


def bleu(preparation, hypotheses: Hypotheses) -> float | None:
    """The mean over directions; None without references."""
    from sacrebleu.metrics import BLEU

    scores = []
    for direction, lines in hypotheses.items():
        path = preparation.text_path("test", "-".join(sorted(direction.split("-"))), direction.split("-")[1])
        if not path.is_file():
            return None
        references = path.read_text(encoding="utf-8").splitlines()
        scores.append(BLEU().corpus_score(lines, [references]).score)
    return statistics.mean(scores)


def compare(engine: str, found: Hypotheses, expected: Hypotheses, preparation) -> str:
    """Equal hypotheses and BLEU of one engine, against fairseq's."""
    pairs = [pair for name in found for pair in zip(found[name], expected[name], strict=True)]
    different = [pair for pair in pairs if pair[0] != pair[1]]
    for ours_line, theirs_line in different[:3] if engine != "ctranslate2-int8" else []:
        print(f"  {engine}  {ours_line}\n  fairseq  {theirs_line}")
    scores = [bleu(preparation, one) for one in (found, expected)]
    difference = "" if None in scores else f", BLEU {scores[0]:.2f} ({scores[0] - scores[1]:+.2f})"
    return f"{1 - len(different) / len(pairs):.2%} of {len(pairs)} hypotheses equal{difference}"


def generate(options: Options, directions: list[str], preparation) -> tuple[float, dict[str, list[str]]]:
    total, hypotheses = 0.0, {}
    for direction in directions:
        source, target = direction.split("-")
        command = [sys.executable, "-m", "fairseq_cli.generate", options.data, "--path", options.checkpoint]
        command += ["--user-dir", str(ROOT / "fairseq_ext"), "--task", "multilingual_nmt", "-s", source]
        command += ["-t", target, "--gen-subset", "test", "--beam", options.beam]
        command += ["--max-len-b", options.max_len_b]
        command += [*shlex.split(options.fairseq_options or ""), *([] if options.gpu else ["--cpu"])]
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


def main(options: Options) -> None:
    if not options.checkpoint.exists():
        raise InputError(
            f"{options.checkpoint}: no such file; run `make quickstart`, or give --checkpoint and --data"
        )
    from data_prep.formats.preparation import Preparation

    if unknown := set(options.engines) - set(ENGINES):
        raise InputError(f"--engines {','.join(unknown)}: expected some of {','.join(ENGINES)}")
    preparation = Preparation.load(options.data)
    ratios: dict[str, list[float]] = {engine: [] for engine in options.engines}
    with tempfile.TemporaryDirectory() as folder:
        if options.enlarge:
            larger = enlarged(options.checkpoint, options.enlarge, Path(folder))
            options = replace(options, checkpoint=larger)
        if any(engine.startswith("ctranslate2") for engine in options.engines):
            export(options, Path(folder))
        for number in range(options.rounds):
            runs = {engine: translate(options, Path(folder), number, engine) for engine in options.engines}
            directions = list(next(iter(runs.values()))[1])
            theirs, expected = generate(options, directions, preparation)
            for engine, (seconds, found) in runs.items():
                ratios[engine].append(theirs / seconds)
                print(
                    f"round {number + 1}: {len(found)} directions: fairseq-generate {theirs:.1f} s, {engine}"
                    f" {seconds:.1f} s, ratio {theirs / seconds:.2f};"
                    f" {compare(engine, found, expected, preparation)}",
                    flush=True,
                )
    for engine, of_rounds in ratios.items():
        print(f"{engine}: median ratio {statistics.median(of_rounds):.2f}")


if __name__ == "__main__":
    sys.exit(run_script())
