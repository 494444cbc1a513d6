"""`plan` and `dry-run` of a recipe's commands."""

import io
import shlex
import sys

import pytest
import torch
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder

from tests.our_commands import run_command

WIDTH, LAYERS, INNER, VOCABULARY = 16, 2, 32, 100
MODEL = [
    "--task", "multilingual_nmt", "--lang-pairs", "de-en,en-de", "--arch", "mnmt_transformer_tiny",
    "--encoder-layers", "2", "--decoder-layers", "2", "--encoder-embed-dim", "16",
    "--encoder-ffn-embed-dim", "32", "--decoder-embed-dim", "16", "--decoder-ffn-embed-dim", "32",
    "--encoder-attention-heads", "2",
    "--decoder-attention-heads", "2", "--criterion", "fused_label_smoothed_cross_entropy",
]  # fmt: skip
RUN = ["python", "-m", "fairseq_ext", "run-training"]


@pytest.fixture
def say(monkeypatch, capsys):
    """Function that gives lines to a command, and returns its lines."""

    def lines_of(lines: list[list[str]], *command: str) -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(shlex.join(words) + "\n" for words in lines)))
        assert run_command(["fairseq_ext", *command]) == 0
        return capsys.readouterr().out.splitlines()

    return lines_of


def training(name: str, *options: str, data="nowhere", launch: tuple = ()) -> list[str]:
    own = ["--output", f"models/{name}", "--data", str(data), *launch]
    return [*RUN, *own, "--", "fairseq-train", str(data), "--save-dir", f"models/{name}", *MODEL, *options]


def parameters(vocabulary: int) -> int:
    """Of the Transformer above, with one embedding on all three sides: attention, feed-forward, norms."""
    attention, feed_forward, norm = (
        4 * (WIDTH + 1) * WIDTH,
        (WIDTH + 1) * INNER + (INNER + 1) * WIDTH,
        2 * WIDTH,
    )
    encoder = LAYERS * (attention + feed_forward + 2 * norm) + norm
    decoder = LAYERS * (2 * attention + feed_forward + 3 * norm) + norm
    return encoder + decoder + vocabulary * WIDTH


def test_updates_words_operations_and_hours_without_data(say):
    batch = ["--max-tokens", "1000", "--batches-per-update", "4", "--max-update", "500"]
    lines = [
        ["python", "-m", "data_prep", "subword", "--merges", str(VOCABULARY)],
        training("a-seed1", *batch),
        training("a-seed2", *batch),
    ]
    _, row, total = say(lines, "plan", "--flops", "1e9")
    name, trainings, updates, words, operations, hours = row.split()
    assert (name, trainings, updates, words) == ("a", "2", "1,000", "4e+06")  # 2 x 500 updates of 4 x 1,000
    known = parameters(VOCABULARY + 4 + 2)  # special symbols, tags of two languages
    assert float(operations) == pytest.approx(6 * known * 4e6, rel=0.05)
    assert float(hours) == pytest.approx(6 * known * 4e6 / 1e9 / 3600, rel=0.05)
    assert total.split()[2:] == row.split()[1:]


@pytest.mark.parametrize(
    ("options", "updates"),
    [
        (["--sentence-pairs", "3000", "--words-per-sentence", "10"], 3 * 60),  # both directions: 60,000 words
        (["--sentence-pairs", "3000", "--words-per-sentence", "20"], 3 * 120),
    ],
)
def test_epochs_of_text_that_is_not_there(say, options, updates):
    lines = [
        ["python", "-m", "data_prep", "subword", "--merges", "100"],
        training("a-seed1", "--max-tokens", "1000", "--max-epoch", "3"),
    ]
    assert say(lines, "plan", "--flops", "1e9", *options)[1].split()[2] == f"{updates:,}"


def test_sentences_of_prepared_data_are_counted(say, tmp_path):
    for language, length in (("de", 4), ("en", 6)):
        (tmp_path / f"dict.{language}.txt").write_text("".join(f"w{number} 1\n" for number in range(100)))
        builder = MMapIndexedDatasetBuilder(str(tmp_path / f"train.de-en.{language}.bin"))
        for _ in range(300):
            builder.add_item(torch.ones(length, dtype=torch.int64))
        builder.finalize(str(tmp_path / f"train.de-en.{language}.idx"))
    batch = ["--max-tokens", "100", "--batches-per-update", "2", "--max-epoch", "3"]
    line = training("a-seed1", *batch, data=tmp_path)
    _, row, _ = say([line], "plan", "--flops", "1e9", "--sentence-pairs", "7")
    assert row.split()[2:4] == ["45", "9e+03"]  # 3 epochs of 600 sentences of 5 words, 200 words an update


def test_what_is_unknown_is_said(say):
    short = ["--max-tokens", "1000"]
    subwords = ["python", "-m", "data_prep", "subword", "--merges", "100"]
    lines = [subwords, training("a-seed1", *short, "--max-epoch", "3"), training("b-seed1", *short)]
    _, a, b, total = say(lines, "plan", "--flops", "1e9")
    assert a.endswith("nowhere: not prepared yet; run --stages prepare, or set TRAINING_PAIRS")
    assert b.endswith("no end: give --max-update or --max-epoch")
    assert total.split() == ["in", "all", "0", "0", "0", "0", "0"]
    _, a, _ = say([training("a-seed1", *short, "--max-update", "5")], "plan", "--flops", "1e9")
    assert a.endswith("size of the model unknown: its encoder or its subwords are not there yet")


def test_a_dry_run_has_trainings_as_they_are_started(say):
    launch = ("--launcher", "torchrun", "--gpus", "2", "--threads", "3", "--precision", "bf16")
    lines = [["python", "-m", "eval", "x y"], training("a-seed1", "--batches-per-update", "3", launch=launch)]
    first, second = say(lines, "dry-run")
    assert first == "python -m eval 'x y'"
    torchrun = (
        "env OMP_NUM_THREADS=3 torchrun --standalone --nproc_per_node 2 --no-python fairseq-train nowhere"
    )
    own = "--tensorboard-logdir models/a-seed1/tensorboard --update-freq 2"
    assert second.startswith(f"{torchrun} --save-dir models/a-seed1 {own} --task multilingual_nmt")
    assert second.endswith("--batches-per-update 3 --distributed-world-size 2 --autocast-bf16")
