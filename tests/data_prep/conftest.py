"""Small corpora and a way to run a step as a user does, within this process."""

from pathlib import Path

import pytest

from command_line.dispatch import run
from data_prep.__main__ import DESCRIPTION, STEPS


def write_corpus(folder: Path, files: dict[str, list[str]]) -> Path:
    """Write `files` (name -> lines) into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return folder


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.fixture(scope="session", name="write_corpus")
def _write_corpus():
    return write_corpus


@pytest.fixture(scope="session", name="read")
def _read():
    return read


@pytest.fixture
def step(capsys):
    """`step("clean", "--input", folder, ...)` -> exit status, standard error."""

    def run_step(*words) -> tuple[int, str]:
        status = run("data_prep", DESCRIPTION, STEPS, [str(word) for word in words])
        return status, capsys.readouterr().err

    return run_step


@pytest.fixture(scope="session")
def prepared(tmp_path_factory) -> Path:
    """A phrasebook corpus of en, de, fr after every step: folders raw, tok, sub, data."""
    root = tmp_path_factory.mktemp("prepared")
    commands = [
        f"phrasebook --langs en,de,fr --output {root}/raw --train-lines 300 --valid-lines 20 --test-lines 30",
        f"tokenize --input {root}/raw --output {root}/tok --workers 1",
        f"subword --input {root}/tok --output {root}/sub --merges 300 --workers 1",
        f"binarize --input {root}/sub --text {root}/raw --output {root}/data --workers 1",
    ]
    for command in commands:
        assert run("data_prep", DESCRIPTION, STEPS, command.split()) == 0, command
    return root
