"""Command lines of tiny models on the toy corpus."""

import json

from tests.integration.commands import USER_DIR
from tests.integration.toy_corpus import LANGUAGES, SUPERVISED

TASK = ("--task", "multilingual_nmt")
PAIRS = ("--lang-pairs", ",".join(SUPERVISED))
SIZE = (
    "--encoder-layers", 1, "--decoder-layers", 1, "--encoder-embed-dim", 32, "--decoder-embed-dim", 32,
    "--encoder-ffn-embed-dim", 64, "--decoder-ffn-embed-dim", 64, "--encoder-attention-heads", 2,
    "--decoder-attention-heads", 2, "--max-source-positions", 32, "--max-target-positions", 32,
)  # fmt: skip
MODEL = ("--arch", "mnmt_transformer", *SIZE)
OPTIMIZATION = (
    "--lr", 0.01, "--lr-scheduler", "inverse_sqrt", "--warmup-updates", 100, "--label-smoothing", 0.1,
    "--max-tokens", 1500,
)  # fmt: skip
OURS = ("--optimizer", "fused_adam", "--criterion", "fused_label_smoothed_cross_entropy")
STOCK = (
    "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--criterion", "label_smoothed_cross_entropy",
)  # fmt: skip
STOCK_TASK = (
    "--task", "translation_multi_simple_epoch", "--lang-pairs", ",".join(SUPERVISED),
    "--langs", ",".join(LANGUAGES), "--encoder-langtok", "src", "--decoder-langtok",
)  # fmt: skip
LOGS = (
    "--log-format", "json", "--log-interval", 1, "--cpu", "--num-workers", 0, "--no-epoch-checkpoints",
    "--distributed-world-size", 1,  # else fairseq starts a process for every GPU
)  # fmt: skip


def training(data, save_dir, *options) -> list:
    """Arguments of fairseq-train; later options replace earlier ones."""
    return [
        data, *USER_DIR, *TASK, *PAIRS, *MODEL, *OPTIMIZATION, *OURS, *LOGS, "--save-dir", save_dir, *options
    ]  # fmt: skip


def logged(result, kind: str) -> list[dict]:
    """What fairseq logged as JSON: per update ("train_inner"), epoch ("train") or validation ("valid")."""
    marker = f"| {kind} | "
    lines = [line.split(marker, 1)[1] for line in result.text.splitlines() if marker in line]
    return [json.loads(line) for line in lines if line.startswith("{")]


def final_state(save_dir, name: str = "checkpoint_last.pt") -> dict:
    from fairseq_ext.checkpoints.reading import read_checkpoint

    return read_checkpoint(save_dir / name)
