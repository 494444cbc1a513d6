"""The toy corpus and a model trained on it, made once for all tests and pytest workers."""

import importlib
import io
import sys
from pathlib import Path

import pytest

from command_line.errors import InputError
from tests.integration import commands
from tests.integration.toy_corpus import write_toy_corpus
from tests.integration.training import LOGS, OPTIMIZATION, SIZE, STOCK, STOCK_TASK, training
from tests.made_once import made_once
from tests.our_commands import run_command


def prepare(folder: Path) -> None:
    raw, tokenized, subword, data = (folder / name for name in ("raw", "tok", "sub", "data"))
    write_toy_corpus(raw, train={"de": 1000, "fr": 900, "cs": 600}, valid=30, test=40)
    for words in (
        ("tokenize", "--input", raw, "--output", tokenized),
        ("subword", "--input", tokenized, "--output", subword, "--merges", 60),
        ("binarize", "--input", subword, "--text", raw, "--output", data),
    ):
        assert run_command(["data_prep", *map(str, words), "--workers", "1"]) == 0


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    """The binarized toy corpus."""
    return made_once(tmp_path_factory, "toy", prepare) / "data"


@pytest.fixture(scope="session")
def trained(tmp_path_factory, data) -> Path:
    """A folder with checkpoint_best.pt of a model that has learned the toy corpus, and its `log`."""

    def train(folder: Path) -> None:
        result = commands.run_script(
            "fairseq_cli.train",
            *training(
                data, folder, "--norm-placement", "pre", "--zero-shot-lang-pairs", "de-fr,fr-de",
                "--eval-bleu", "--eval-bleu-args", '{"beam": 1, "max_len_b": 20}',
                "--max-epoch", 24, "--validate-interval", 24, "--log-interval", 100,
            ),
        )  # fmt: skip
        (folder / "log").write_text(result.text, encoding="utf-8")
        assert result.status == 0, result.text[-3000:]

    return made_once(tmp_path_factory, "trained", train)


@pytest.fixture(scope="session")
def stock(tmp_path_factory, data):
    """checkpoint_last.pt of fairseq's own task, model, criterion and optimizer."""

    def train(folder):
        result = commands.run_forked(
            folder / "logs", "train", data, *STOCK_TASK, "--arch", "transformer", *SIZE,
            "--share-all-embeddings", "--encoder-normalize-before",
            "--decoder-normalize-before", *OPTIMIZATION, *STOCK, *LOGS,
            "--max-update", 250, "--disable-validation", "--save-dir", folder, "--log-interval", 100,
        )  # fmt: skip
        assert result.status == 0, result.text[-3000:]

    return made_once(tmp_path_factory, "stock", train) / "checkpoint_last.pt"


@pytest.fixture
def forked(tmp_path):
    """Run a command in a forked process: `forked("generate", arguments…)` or `forked("eval", …)`."""

    def run(module: str, *arguments, **options) -> commands.Result:
        return commands.run_forked(tmp_path / "logs", module, *arguments, **options)

    return run


@pytest.fixture
def refusal(monkeypatch):
    """The line by which a command of fairseq refuses, called in this process: `refusal("train", …)`."""

    def run(name: str, *arguments) -> str:
        module = importlib.import_module(commands.FAIRSEQ[name])
        monkeypatch.setattr(sys, "argv", commands.command_line(name, arguments))
        monkeypatch.setattr(sys, "stdin", io.StringIO("bal mod\n"))  # which fairseq-interactive reads
        with pytest.raises(InputError) as refused:
            module.cli_main()
        return str(refused.value)

    return run


@pytest.fixture
def our_refusal(capsys):
    """The line by which a command of ours refuses, called in this process: `our_refusal("eval", …)`."""

    def run(*words) -> str:
        assert run_command([str(word) for word in words]) == 2
        (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("warning")]
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return run
