"""COMET through an interpreter of its own, with a stand-in for the package."""

import stat
import sys
from pathlib import Path

import pytest

from command_line.errors import InputError
from eval.scoring.comet import Comet

# Prints as loudly as the real package, and scores by the share of lines that equal their reference.
PACKAGE = """
import os, types
print("noise on standard output")
def download_model(name):
    if name != "known/name":
        raise KeyError(f"Model '{name}' not supported by COMET.")
    return "downloaded"
def load_from_checkpoint(path):
    if path != "downloaded" and not os.path.isfile(path):
        raise Exception(f"Invalid checkpoint path: {path}")
    print("loading", path)
    return Model()
class Model:
    def predict(self, samples, batch_size, gpus, progress_bar):
        print("predicting", len(samples))
        assert set(samples[0]) == {"src", "mt", "ref"}
        return types.SimpleNamespace(scores=[float(s["mt"] == s["ref"]) for s in samples])
"""
TORCH = "class cuda:\n    is_available = staticmethod(lambda: False)\n"


@pytest.fixture
def other_python(tmp_path) -> Path:
    """An executable that runs this Python with the stand-ins on its path: another environment."""
    packages = tmp_path / "packages"
    for name, text in (("comet", PACKAGE), ("torch", TORCH)):
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text(text)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return python


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    """The layout of a downloaded COMET model."""
    path = tmp_path / "model" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize("given", ["file", "folder", "name"])
def test_model_by_path_and_name(other_python, checkpoint, given):
    model = {"file": str(checkpoint), "folder": str(checkpoint.parents[1]), "name": "known/name"}[given]
    with Comet(model, str(other_python)) as comet:
        assert comet.scores(["a", "猫"], ["x", "y"], ["b", "猫"]) == [0.0, 1.0]
        assert comet.scores(["a"], ["x"], ["a"]) == [1.0]  # the same process again


def test_without_model_nothing_starts():
    with Comet(None, "/does/not/exist") as comet:
        assert comet.scores(["a"], ["x"], ["a"]) is None


def test_score_command(translated, scores_of, command, texts, other_python):
    out = translated("toy", {"en-de": texts["de"], "de-fr": texts["en"]})
    options = ("--comet-model", "known/name", "--comet-python", other_python, "--workers", "1")
    assert command("score", out, *options).status == 0
    record = scores_of(out)
    assert {name: entry["comet"] for name, entry in record["directions"].items()} == {
        "en-de": 1.0,
        "de-fr": 0.0,
    }
    assert record["averages"]["all"]["comet"] == 0.5
    assert record["scoring"]["comet_model"] == "known/name"


@pytest.mark.parametrize(
    ("model", "message"),
    [("unknown/name", "not supported by COMET"), ("missing.ckpt", "Invalid checkpoint path: missing.ckpt")],
)
def test_model_that_does_not_load_is_one_line(other_python, model, message):
    with Comet(model, str(other_python)) as comet, pytest.raises(InputError, match=message) as error:
        comet.start()
    assert "\n" not in str(error.value)


def test_environment_without_comet(tmp_path, checkpoint):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')  # no site-packages
    python.chmod(0o755)
    with (
        Comet(str(checkpoint), str(python)) as comet,
        pytest.raises(InputError, match="pip install unbabel-comet"),
    ):
        comet.start()


def test_interpreter_that_dies_or_is_missing(tmp_path, checkpoint):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'out of memory' >&2\nexit 3\n")
    python.chmod(0o755)
    with (
        Comet(str(checkpoint), str(python)) as comet,
        pytest.raises(InputError, match="status 3: out of memory"),
    ):
        comet.start()
    # longer than a pipe's buffer: the write itself meets the dead process, and so does closing the pipe
    with Comet("x" * 1_000_000, str(python)) as comet, pytest.raises(InputError, match="status 3"):
        comet.start()
    with (
        Comet(str(checkpoint), "/no/python") as comet,
        pytest.raises(InputError, match="/no/python: cannot be run"),
    ):
        comet.start()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("[]", "found a list"), ("{}", "field 'scores' is missing"), ("noise", "not JSON"),
        ("3", "expected an object"),
        ('{"scores": [NaN]}', "NaN"), ('{"scores": [null]}', "field 'scores[0]' is None"),
        ('{"scores": 3}', "field 'scores' is 3"), ('{"scores": [1, 2]}', "2 scores for 1 lines"),
        ('{"error": 3}', "field 'scores' is missing"),
    ],
)  # fmt: skip
def test_answers_that_are_none(tmp_path, checkpoint, answer, message):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nread x\necho '{{\"ready\": true}}'\nread x\necho '{answer}'\nread x\n")
    python.chmod(0o755)
    with pytest.raises(InputError) as caught, Comet(str(checkpoint), str(python)) as comet:
        comet.scores(["a"], ["b"], ["c"])
    assert str(caught.value).startswith(f"COMET ({python})") and message in str(caught.value)
