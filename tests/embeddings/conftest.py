"""A checkpoint to encode with, and a way to run commands."""

from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import embeddings.__main__ as commands
from command_line.dispatch import run
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from tests.fairseq_ext.folders import write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save

PROGRESS = ("/s", "of validation", "(--force redoes it)")  # ends of lines that a command may say before
Result = namedtuple("Result", "status out err")


@pytest.fixture(scope="session")
def checkpoint_options(tmp_path_factory):
    """The options that name a translation model whose words are w0, w1, … of en, de and fr."""
    folder = write_toy_folder(tmp_path_factory.mktemp("embeddings") / "data")
    write_preparation(folder)
    return [
        "--model",
        save(folder.parent / "model.pt", checkpoint_state(folder)),
        "--model-data",
        str(folder),
    ]


@pytest.fixture
def command(capsys):
    """Run `python -m embeddings …` in this process."""

    def call(*argv) -> Result:
        status = run("embeddings", "", commands.COMMANDS, [str(word) for word in argv])
        return Result(status, *capsys.readouterr())

    return call


@pytest.fixture
def refusal(command):
    """Run a command that is to be refused; its one line of an error, with nothing but progress before."""

    def call(*argv) -> str:
        result = command(*argv)
        assert result.status == 2
        *said, line = result.err.splitlines()
        others = [each for each in said if not (each.startswith("warning: ") or each.endswith(PROGRESS))]
        assert line.startswith("error: ") and not others, result.err
        return line.removeprefix("error: ")

    return call


@pytest.fixture(scope="session")
def one_space(checkpoint_options):
    """The same with T-ENC tags, told one target language: equal sentences of all languages are one vector."""
    data = Path(checkpoint_options[3])
    state = checkpoint_state(data)
    state["task_state"]["language_tags"] = "t-enc"
    path = save(data.parent / "t-enc.pt", state)
    return ["--model", path, "--model-data", str(data), "--target-lang", "en"]


@pytest.fixture
def asked(monkeypatch) -> list[tuple[str, str | None]]:
    """The first sentence and the language of everything that the encoder of a command is given."""
    calls = []

    class Recording(SentenceEncoder):
        name, width = "toy", 3

        def encode(self, sentences, language=None):
            calls.append((sentences[0], language))
            return np.eye(len(sentences), 3, dtype=np.float32)

        def record(self):
            return {}

    monkeypatch.setattr(EncoderOptions, "load", lambda self: Recording())
    return calls
