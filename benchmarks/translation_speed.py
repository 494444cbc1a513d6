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
from pathlib import Path

from command_line import options
from command_line.dispatch import run_script
from command_line.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "outputs" / "quickstart"
ENGINES = ("pytorch", "ctranslate2-float32", "ctranslate2-int8")
MODEL, DATA = Path("models/system1-seed1/checkpoint_best.pt"), Path("data/phrasebook")


def run(command: list[str]) -> tuple[float, str]:
    """Seconds and standard output of a command, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"error: {shlex.join(command)}\n{done.stderr[-2000:]}")
    return time.monotonic() - start, done.stdout


Hypotheses = dict[str, list[str]]  # direction -> lines


def translate(args, folder: Path, number: int, engine: str) -> tuple[float, Hypotheses]:
    """Seconds and hypotheses of one command for all directions."""
    output = folder / f"translated{number}-{engine}"
    name, _, precision = engine.partition("-")
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
    command += ["--max-len-b", str(args.max_len_b), "--engine", name]
    command += ["--precision", precision, "--engine-folder", str(folder / name)] if precision else []
    command += shlex.split(args.our_options or "")
    seconds, _ = run(command)
    return seconds, {path.stem: path.read_text().splitlines() for path in sorted(output.glob("*.txt"))}


def export(args, folder: Path) -> None:
    """Write the folder of CTranslate2."""
    command = [sys.executable, "-m", "fairseq_ext", "export", args.checkpoint, str(folder / "ctranslate2")]
    seconds, _ = run([*command, "--to", "ctranslate2", "--data", args.data, "--check-lines", "20"])
    print(f"export to CTranslate2, with the comparison of 60 sentences: {seconds:.1f} s", flush=True)


def enlarged(checkpoint: str, sizes: list[int], folder: Path) -> str:
    """The path of a checkpoint that computes the same with more units and layers."""
    import torch

    from benchmarks._larger_model import Enlargement, enlarge
    from fairseq_ext.checkpoints.reading import read_state

    if len(sizes) != 3:
        raise InputError(f"--enlarge {','.join(map(str, sizes))}: expected three numbers, such as 3,4,6")
    path = folder / "enlarged.pt"
    torch.save(enlarge(read_state(Path(checkpoint)), Enlargement(*sizes)), path)
    return str(path)


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


def generate(args, directions: list[str], preparation) -> tuple[float, dict[str, list[str]]]:
    total, hypotheses = 0.0, {}
    for direction in directions:
        source, target = direction.split("-")
        command = [sys.executable, "-m", "fairseq_cli.generate", args.data, "--path", args.checkpoint]
        command += ["--user-dir", str(ROOT / "fairseq_ext"), "--task", "multilingual_nmt", "-s", source]
        command += ["-t", target, "--gen-subset", "test", "--beam", str(args.beam)]
        command += ["--max-len-b", str(args.max_len_b)]
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
    parser.add_argument("--max-len-b", type=options.positive, default=200)
    parser.add_argument(
        "--engines",
        type=options.items(options.text),
        default=list(ENGINES),
        metavar="LIST",
        help=f"some of {', '.join(ENGINES)} (default: all)",
    )
    parser.add_argument(
        "--enlarge",
        type=options.items(options.positive),
        metavar="LIST",
        help="factors of the width and of the inner width of feed-forward layers, and the number of layers",
    )
    parser.add_argument("--rounds", type=options.positive, default=1)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--our-options", type=options.text, help="further options of eval translate")
    parser.add_argument("--fairseq-options", type=options.text, help="further options of fairseq-generate")


def main(args) -> None:
    args.checkpoint, args.data = str(args.checkpoint), str(args.data)
    if not Path(args.checkpoint).exists():
        raise InputError(
            f"{args.checkpoint}: no such file; run `make quickstart`, or give --checkpoint and --data"
        )
    from data_prep.formats.preparation import Preparation

    if unknown := set(args.engines) - set(ENGINES):
        raise InputError(f"--engines {','.join(unknown)}: expected some of {','.join(ENGINES)}")
    preparation = Preparation.load(args.data)
    ratios: dict[str, list[float]] = {engine: [] for engine in args.engines}
    with tempfile.TemporaryDirectory() as folder:
        if args.enlarge:
            args.checkpoint = enlarged(args.checkpoint, args.enlarge, Path(folder))
        if any(engine.startswith("ctranslate2") for engine in args.engines):
            export(args, Path(folder))
        for number in range(args.rounds):
            runs = {engine: translate(args, Path(folder), number, engine) for engine in args.engines}
            directions = list(next(iter(runs.values()))[1])
            theirs, expected = generate(args, directions, preparation)
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
