"""Updates per second of `mnmt_transformer` with the fused loss and Adam, against fairseq's `transformer`
with its own.

Same data, batches, arguments and seed; runs are interleaved, so that a busy machine disturbs all alike; the
time per update includes loading, collation and logging, and the first updates are not counted. The loss
after the last update shows that the same model is trained. On a CPU both sides run with the same allocator
settings as the recipes. With --gpu both train in bf16, and the most memory that tensors took is printed.

    python -m benchmarks.training_speed --data DATA [--arch base|big|tiny] [--max-tokens 4096] [--rounds 3]

Without --data a corpus is made with `data_prep phrasebook`.
"""

import contextlib
import json
import os
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

STOCK = ["--criterion", "label_smoothed_cross_entropy", "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)"]
OURS = ["--criterion", "fused_label_smoothed_cross_entropy", "--optimizer", "fused_adam"]
STOCK_ARCHITECTURES = {
    "base": "transformer",
    "big": "transformer_vaswani_wmt_en_de_big",
    "tiny": "transformer_tiny",
}
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}


def architecture(size: str) -> str:
    """Our Transformer of a size, as `--arch` names it."""
    return "mnmt_transformer" if size == "base" else f"mnmt_transformer_{size}"


def variants(arch: str, gpu: bool) -> dict[str, list[str]]:
    stock = ["--arch", STOCK_ARCHITECTURES[arch], "--share-all-embeddings", *STOCK]
    ours = ["--arch", architecture(arch), *OURS]
    if gpu:
        return {
            "fairseq bf16": [*stock, "--bf16"],
            "ours bf16": [*ours, "--autocast-bf16"],
            "ours bf16 compiled": [*ours, "--autocast-bf16", "--compile"],
        }
    return {"fairseq float32": stock, "ours float32": ours, "ours bfloat16": [*ours, "--autocast-bf16"]}


def child(result: str, profiled: bool, arguments: list[str]) -> None:
    """Run fairseq-train in this process and write when every update began, its loss, and where time went."""
    import torch
    from fairseq.trainer import Trainer
    from fairseq_cli.train import cli_main

    starts, losses, words = [], [], []
    train_step = Trainer.train_step

    def timed(trainer, samples, *rest):
        starts.append(time.perf_counter())
        logged = train_step(trainer, samples, *rest)
        losses.append(float(logged["loss"]) if logged else None)  # waits for the GPU
        words.append(sum(int(sample["ntokens"]) for sample in samples))
        return logged

    Trainer.train_step = timed
    sys.argv = ["fairseq-train", *arguments]
    with torch.profiler.profile() if profiled else contextlib.nullcontext() as profile:
        cli_main()
    operations = (
        {entry.key: entry.self_cpu_time_total for entry in profile.key_averages()} if profiled else {}
    )
    memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None
    measured = {"starts": starts, "losses": losses, "words": words, "operations": operations}
    Path(result).write_text(json.dumps({**measured, "memory": memory}))


def measure(data: str, options: list[str], args, folder: Path) -> dict:
    """One training; seconds per update after the warm-up, and the last loss."""
    result = folder / "result.json"
    command = [
        sys.executable,
        __file__,
        "--child",
        str(result),
        "profile" if args.profile else "time",
        data,
        "--user-dir",
        str(ROOT / "fairseq_ext"),
    ]
    command += ["--task", "multilingual_nmt", "--lang-pairs", args.lang_pairs, *options]
    command += ["--dropout", "0.1", "--label-smoothing", "0.1", "--max-tokens", str(args.max_tokens)]
    command += ["--lr", "5e-4", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "4000", "--seed", "1"]
    command += [
        "--max-update",
        str(args.warmup + args.updates),
        "--log-format",
        "simple",
        "--log-interval",
        "100",
    ]
    command += ["--distributed-world-size", "1"]  # else fairseq starts a process for every GPU
    command += ["--no-save", "--disable-validation", *([] if args.gpu else ["--cpu"])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(args.threads)}
    environment |= {} if args.gpu else ALLOCATOR
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}\n{done.stderr[-2000:]}")
    measured = json.loads(result.read_text())
    starts = measured["starts"][args.warmup :]
    return {
        "seconds": (starts[-1] - starts[0]) / (len(starts) - 1),
        "words": sum(measured["words"][args.warmup : -1]) / (starts[-1] - starts[0]),
        "memory": measured["memory"],
        "loss": measured["losses"][-1],
        "operations": measured["operations"],
    }


def print_profile(name: str, operations: dict[str, float], most: int = 20) -> None:
    """The operations that most of the processor's time is spent in."""
    total = sum(operations.values())
    print(f"\n{name}: {total / 1e6:.1f} s in operations of torch, the first updates included")
    for operation, time_spent in sorted(operations.items(), key=lambda item: -item[1])[:most]:
        print(f"{100 * time_spent / total:5.1f}%  {operation}")


def phrasebook(folder: Path) -> str:
    """A small binarized corpus."""
    steps = [
        ["phrasebook", "--langs", "en,de,fr", "--train-lines", "20000", "--output", "raw"],
        ["tokenize", "--input", "raw", "--output", "tokenized"],
        ["subword", "--merges", "8000", "--input", "tokenized", "--output", "subword"],
        ["binarize", "--input", "subword", "--text", "raw", "--output", "data"],
    ]
    for step in steps:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "data_prep", *step], cwd=folder, check=True, env=environment)
    return str(folder / "data")


def has_gpu() -> bool:
    """Whether torch sees one."""
    import torch

    return torch.cuda.is_available()


def restart_with_allocator() -> None:
    """Run the command anew with the allocator of the recipes: it is chosen when a process starts."""
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **ALLOCATOR})


def add_arguments(parser) -> None:
    parser.add_argument(
        "--data", type=options.path, default=os.environ.get("BENCHMARK_DATA"), help="binarized folder"
    )
    parser.add_argument("--lang-pairs", type=options.text, default="en-de,de-en,en-fr,fr-en")
    parser.add_argument("--arch", choices=STOCK_ARCHITECTURES, default="base")
    parser.add_argument("--max-tokens", type=options.positive, default=2048)
    parser.add_argument("--updates", type=options.positive, default=8, help="counted updates of a run")
    parser.add_argument("--warmup", type=options.positive, default=3, help="updates that are not counted")
    parser.add_argument("--rounds", type=options.positive, default=3)
    parser.add_argument("--threads", type=options.worker_count, default=os.cpu_count())
    parser.add_argument("--gpu", action="store_true", help="in bf16; fails where there is no GPU")
    parser.add_argument(
        "--profile", action="store_true", help="print where the time goes (this itself takes some)"
    )
    parser.add_argument("--only", type=options.items(options.text), help="comma-separated names of variants")


def main(args) -> None:
    if args.gpu and not has_gpu():
        raise InputError("--gpu: there is none, or torch does not see it; leave it out to measure on the CPU")
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.abspath(args.data) if args.data else phrasebook(Path(folder))
        chosen = variants(args.arch, args.gpu)
        if args.only:
            chosen = {name: chosen[name] for name in args.only}
        runs = {name: [] for name in chosen}
        for number in range(args.rounds):
            for name, options in chosen.items():
                runs[name].append(measure(data, options, args, Path(folder)))
                last = runs[name][-1]
                print(
                    f"round {number + 1}: {name}: {last['seconds']:.3f} s/update, loss {last['loss']:.3f}",
                    flush=True,
                )
    if args.profile:
        for name, measured in runs.items():
            print_profile(name, measured[-1]["operations"])
    rival = next(iter(runs))
    print(f"\n{args.arch}, --max-tokens {args.max_tokens}, {args.threads} threads, {args.rounds} rounds")
    print(
        "variant | updates/s (median) | words/s | GPU, GiB | ratio per round | median ratio | last loss\n"
        "--- | ---: | ---: | ---: | --- | ---: | ---:"
    )
    for name, measured in runs.items():
        ratios = [a["seconds"] / b["seconds"] for a, b in zip(runs[rival], measured, strict=True)]
        speed = 1 / statistics.median(run["seconds"] for run in measured)
        words = statistics.median(run["words"] for run in measured)
        memory = measured[-1]["memory"]
        print(
            f"{name} | {speed:.2f} | {words:,.0f} | {'–' if memory is None else f'{memory:.1f}'} | "
            f"{' '.join(f'{ratio:.2f}' for ratio in ratios)} | {statistics.median(ratios):.2f} | "
            f"{measured[-1]['loss']:.3f}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3] == "profile", sys.argv[4:])
    else:
        sys.exit(run_script())
