"""A small text, instructions made of it, a tiny model, and a way to run commands."""

from collections import namedtuple
from pathlib import Path

import pytest

from llm.__main__ import COMMANDS
from tests.llm.tiny_model import write_bloom
from tests.llm.toy_text import WORDS, write_texts
from tests.made_once import made_once

Result = namedtuple("Result", "status out err")


def run_quietly(*words) -> None:
    from command_line.dispatch import run

    assert run("llm", "", COMMANDS, [str(word) for word in words]) == 0, words


@pytest.fixture(scope="session")
def texts(tmp_path_factory) -> Path:
    """Folders text, words and alignments of de-en and en-fr, which no test may change."""
    return made_once(tmp_path_factory, "texts", lambda folder: write_texts(folder / "toy")) / "toy"


@pytest.fixture(scope="session")
def instructions(tmp_path_factory, texts) -> Path:
    """All tasks in all directions of `texts`, which no test may change."""
    folders = ("--text", texts / "text", "--words", texts / "words", "--alignments", texts / "alignments")
    tasks = "mt,align,hint,revise,mono-full,mono-half"

    def make(folder: Path) -> None:
        run_quietly("instruct", *folders, "--tasks", tasks, "--workers", 1, "--output", folder / "made")

    return made_once(tmp_path_factory, "instructions", make) / "made"


@pytest.fixture(scope="session")
def bloom(tmp_path_factory) -> Path:
    """A BLOOM of width 8 with one layer, which no test may change."""
    lines = [" ".join(words) for words in WORDS.values()]

    def make(folder: Path) -> None:
        write_bloom(folder / "tiny-bloom", lines, 300, width=8, layers=1)

    return made_once(tmp_path_factory, "bloom", make) / "tiny-bloom"


@pytest.fixture(scope="session")
def tokenizer(bloom):
    from llm.language_model import load_tokenizer

    return load_tokenizer(bloom)


@pytest.fixture(scope="session")
def tuned(tmp_path_factory, bloom, instructions) -> Path:
    """An adapter that has seen translations of de-en and en-fr, which no test may change."""
    return tuned_model(tmp_path_factory, bloom, instructions, 4)


@pytest.fixture(scope="session")
def tuned_whole(tmp_path_factory, bloom, instructions) -> Path:
    """The same without an adapter."""
    return tuned_model(tmp_path_factory, bloom, instructions, 0)


def tuned_model(tmp_path_factory, bloom: Path, instructions: Path, rank: int) -> Path:
    given = ("--model", bloom, "--instructions", instructions, "--curriculum", "mt", "--cpu", "--epochs", 2)
    rest = ("--learning-rate", 0.1, "--loader-workers", 0, "--lora-rank", rank)

    def make(folder: Path) -> None:
        run_quietly("tune", *given, *rest, "--output", folder / "tuned")

    return made_once(tmp_path_factory, f"tuned-rank-{rank}", make) / "tuned"


@pytest.fixture
def command(capsys):
    """Run `python -m llm …` in this process."""

    def call(*argv) -> Result:
        from command_line.dispatch import run

        capsys.readouterr()
        status = run("llm", "", COMMANDS, [str(word) for word in argv])
        return Result(status, *capsys.readouterr())

    return call


@pytest.fixture
def refusal(command):
    """Run a command that is to be refused; its one line."""

    def call(*argv) -> str:
        result = command(*argv)
        assert result.status == 2
        errors = [line for line in result.err.splitlines() if not line.startswith("warning: ")]
        assert len(errors) == 1 and errors[0].startswith("error: "), result.err
        return errors[0].removeprefix("error: ")

    return call
