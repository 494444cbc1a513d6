"""Running recipes, and fairseq's view of the trainings that they print."""

import atexit
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from argparse import Namespace
from functools import cache
from pathlib import Path

import pytest

import fairseq_ext.__main__
from command_line.dispatch import run
from tests import hanging

ROOT = Path(__file__).parents[2]
RECIPES = sorted(path.parent.name for path in ROOT.glob("recipes/*/run.sh"))


@cache
def python_for_dry_runs() -> Path:
    """A folder for the PATH, whose `python` hands on what a recipe gives to `fairseq_ext dry-run`."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    write_program(
        folder / "python",
        f'#!/bin/sh\n[ "$*" = "-m fairseq_ext dry-run" ] && exec cat\nexec "{sys.executable}" "$@"\n',
    )
    return folder


def recipe(name: str, *options: str, **keywords) -> subprocess.CompletedProcess:
    """Run a recipe. In a dry run without an environment, Python is called in this process."""
    command = ["bash", str(ROOT / "recipes" / name / "run.sh"), *options]
    if "--dry-run" not in options or "env" in keywords:
        return subprocess.run(command, capture_output=True, text=True, **keywords)
    environment = os.environ | {"PATH": f"{python_for_dry_runs()}:{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, **keywords)
    output, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(keywords.get("cwd", ".")),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stdin", io.StringIO(done.stdout))
        status = run("fairseq_ext", "", fairseq_ext.__main__.COMMANDS, ["dry-run"])
    return subprocess.CompletedProcess(
        command, status or done.returncode, output.getvalue(), done.stderr + errors.getvalue()
    )


def configurations(name: str) -> list[str]:
    return [path.stem for path in sorted(ROOT.glob(f"recipes/{name}/configs/*.sh"))]


def options_of(name: str) -> list[str]:
    """What the recipe's command line knows, as its --help says."""
    return re.findall(r"^  (--[a-z0-9-]+) ", recipe(name, "--help").stdout, flags=re.M)


def dry_run(name: str, *options: str, **keywords) -> list[list[str]]:
    """The commands that a recipe would run, as words."""
    result = recipe(name, "--dry-run", *options, **keywords)
    assert result.returncode == 0, result.stderr
    return [shlex.split(line) for line in result.stdout.splitlines()]


def parse_training(words: list[str]) -> Namespace:
    """fairseq's own view of a training command of a recipe, without its folder of curves."""
    from fairseq import options, utils

    utils.import_user_module(type("Args", (), {"user_dir": str(ROOT / "fairseq_ext")}))
    parser = options.get_training_parser(default_task="multilingual_nmt")
    start = next(i for i, word in enumerate(words) if is_training(word))
    args = options.parse_args_and_arch(parser, input_args=words[start + 1 :])
    assert args.tensorboard_logdir in (None, f"{args.save_dir}/tensorboard")
    args.tensorboard_logdir = None  # as little a difference between systems as its name is
    return args


def is_training(word: str) -> bool:
    return word.endswith("fairseq-train")


def parse_trainings(commands: list[list[str]]) -> dict[str, Namespace]:
    """Name of the model's folder without the seed (1) -> fairseq's view of its training."""
    found = [parse_training(words) for words in commands if any(map(is_training, words))]
    return {args.save_dir.split("/")[-1].removesuffix("-seed1"): args for args in found}


def write_training(folder: Path, outputs: dict | None) -> None:
    """The record of a training, which has come to its end if it has outputs."""
    folder.mkdir(parents=True)
    record = {"format": 1, "options": {}, "inputs": {}, "outputs": outputs}
    (folder / "training.json").write_text(json.dumps(record))


def wait_for(find, number: int) -> list:
    """What is found, when there is that much of it."""
    deadline = time.monotonic() + hanging.SECONDS
    while len(found := find()) < number:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def write_program(path: Path, text: str) -> None:
    """A program that stands in for another on the PATH."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


# Of a stand-in that is stopped: longer than a test waits for that.
STAYS = f"exec sleep {2 * hanging.SECONDS}"
TRAINED = 'cp "$(dirname "$0")/whole.pt" "$folder/checkpoint_best.pt"\n'  # of a stand-in for fairseq-train


def write_trainer(folder: Path, text: str, data: Path) -> None:
    """A stand-in for fairseq-train, which may end with `TRAINED`, and binarized data for it."""
    write_program(folder / "fairseq-train", text)
    with zipfile.ZipFile(folder / "whole.pt", "w") as archive:  # as torch writes a checkpoint
        archive.writestr("archive/data.pkl", "weights")
    data.mkdir(parents=True, exist_ok=True)
    for name in ("dict.en.txt", "train.en-it.en.bin", "valid.en-it.en.bin"):
        (data / name).write_text(name)


def assert_refused(name: str, options: list[str], message: str, folder: Path) -> None:
    """A wrong command line is one line of `message`, and nothing is run."""
    result = recipe(name, *options, cwd=folder, timeout=hanging.SECONDS)
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1
    assert list(folder.iterdir()) == []
