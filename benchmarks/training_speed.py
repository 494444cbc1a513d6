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
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.option_classes import option, switch

ROOT = Path(__file__).resolve().parent.parent

STOCK = ["--criterion", "label_smoothed_cross_entropy", "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)"]
OURS = ["--criterion", "fused_label_smoothed_cross_entropy", "--optimizer", "fused_adam"]
STOCK_ARCHITECTURES = {
    "base": "transformer",
    "big": "transformer_vaswani_wmt_en_de_big",
    "tiny": "transformer_tiny",
}
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}


@dataclass(frozen=True, kw_only=True)
class Runs:
    """What is trained, and how long."""

    data: Path | None = option("binarized folder", os.environ.get("BENCHMARK_DATA"))
    lang_pairs: str = option("directions", "en-de,de-en,en-fr,fr-en")
    arch: str = option("size of the model", "base", choices=STOCK_ARCHITECTURES)
    max_tokens: int = option("of a batch", 2048)
    updates: int = option("counted updates of a run", 8)
    warmup: int = option("updates that are not counted", 3)
    rounds: int = option("all sides take turns, so many times", 3)
    threads: int = option("of torch", os.cpu_count(), type=types.worker_count)
    gpu: bool = switch("in bf16; fails where there is no GPU")


@dataclass(frozen=True, kw_only=True)
class Options(Runs):
    """What is compared, and what is shown."""

    profile: bool = switch("print where the time goes (this itself takes some)")
    only: list[str] | None = option("comma-separated names of variants", type=types.items(types.text))


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


def measure(data: str, words: list[str], options: Runs, folder: Path, profile: bool = False) -> dict:
    """One training; seconds per update after the warm-up, and the last loss."""
    result = folder / "result.json"
    command = [
        sys.executable,
        __file__,
        "--child",
        str(result),
        "profile" if profile else "time",
        data,
        "--user-dir",
        str(ROOT / "fairseq_ext"),
    ]
    command += ["--task", "multilingual_nmt", "--lang-pairs", options.lang_pairs, *words]
    command += ["--dropout", "0.1", "--label-smoothing", "0.1", "--max-tokens", str(options.max_tokens)]
    command += ["--lr", "5e-4", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "4000", "--seed", "1"]
    command += [
        "--max-update",
        str(options.warmup + options.updates),
        "--log-format",
        "simple",
        "--log-interval",
        "100",
    ]
    command += ["--distributed-world-size", "1"]  # else fairseq starts a process for every GPU
    command += ["--no-save", "--disable-validation", *([] if options.gpu else ["--cpu"])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(options.threads)}
    environment |= {} if options.gpu else ALLOCATOR
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}\n{done.stderr[-2000:]}")
    measured = json.loads(result.read_text())
    starts = measured["starts"][options.warmup :]
    return {
        "seconds": (starts[-1] - starts[0]) / (len(starts) - 1),
        "words": sum(measured["words"][options.warmup : -1]) / (starts[-1] - starts[0]),
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


def main(options: Options) -> None:
    if options.gpu and not has_gpu():
        raise InputError("--gpu: there is none, or torch does not see it; leave it out to measure on the CPU")
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.abspath(options.data) if options.data else phrasebook(Path(folder))
        chosen = variants(options.arch, options.gpu)
        if options.only:
            chosen = {name: chosen[name] for name in options.only}
        runs = {name: [] for name in chosen}
        for number in range(options.rounds):
            for name, words in chosen.items():
                runs[name].append(measure(data, words, options, Path(folder), options.profile))
                last = runs[name][-1]
                print(
                    f"round {number + 1}: {name}: {last['seconds']:.3f} s/update, loss {last['loss']:.3f}",
                    flush=True,
                )
    if options.profile:
        for name, measured in runs.items():
            print_profile(name, measured[-1]["operations"])
    rival = next(iter(runs))
    print(
        f"\n{options.arch}, --max-tokens {options.max_tokens}, {options.threads} threads,"
        f" {options.rounds} rounds"
    )
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
