"""Small translated folders with known contents, and a way to run commands."""

import json
from collections import namedtuple
from pathlib import Path

import pytest

import eval.__main__ as commands
from command_line.dispatch import run
from tests.eval.figures import draw_nothing
from tests.eval.scored import read_scores

TEXTS = {
    "en": ["A man is walking his dog in the park.", "Two children are playing football.",
           "The weather is nice today.", "I would like to buy a new bicycle."],
    "de": ["Ein Mann geht mit seinem Hund im Park spazieren.", "Zwei Kinder spielen zusammen Fußball.",
           "Das Wetter ist heute sehr schön.", "Ich möchte gerne ein neues Fahrrad kaufen."],
    "fr": ["Un homme promène son chien dans le parc.", "Deux enfants jouent au football.",
           "Il fait très beau aujourd'hui.", "Je voudrais acheter un nouveau vélo."],
}  # fmt: skip
SETTINGS = {
    "norm_placement": "pre", "language_tags": "s-enc-t-dec", "drop_residual_layers": "", "norm_affine": True,
    "encoder_final_norm": True, "architecture": "mnmt_transformer_tiny",
}  # fmt: skip
Result = namedtuple("Result", "status out err")


def write_lines(path: Path, lines) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def data(tmp_path) -> Path:
    """The raw test set of en, de and fr, four lines, three pairs."""
    for first, second in (("de", "en"), ("en", "fr"), ("de", "fr")):
        for language in (first, second):
            write_lines(tmp_path / "toy" / "text" / f"test.{first}-{second}.{language}", TEXTS[language])
    return tmp_path / "toy"


@pytest.fixture
def translated(tmp_path, data):
    """Function that writes a translated folder from direction -> hypotheses and returns it."""

    def write(name: str, hypotheses: dict, folder: str | None = None, seed: int | None = 1, **fields) -> Path:
        out = tmp_path / (folder or f"{name}-{seed}")
        settings = SETTINGS | fields.pop("system", {})
        directions = {}
        for direction, lines in hypotheses.items():
            write_lines(out / f"{direction}.txt", lines)
            kind = "supervised" if "en" in direction.split("-") else "zero-shot"
            directions[direction] = {"kind": kind, "lines": len(lines)}
        record = {
            "format": 1,
            "system": {"name": name, **settings, "seed": seed},
            "checkpoint": {"path": "checkpoint_best.pt", "sha256": "ab" * 32, "epoch": 3, "updates": 300},
            "data": {"path": str(data), "dictionary_sha256": "cd" * 32},
            "split": "test",
            "beam": 5,
            "pivot": None,
            "directions": directions,
            "command": "python -m eval translate",
            "versions": {"torch": "2"},
        } | fields
        (out / "translate.json").write_text(json.dumps(record), encoding="utf-8")
        return out

    return write


@pytest.fixture
def draws():
    """A test that asks for it draws its figures."""


@pytest.fixture(autouse=True)
def undrawn_figures(request, monkeypatch):
    if "draws" not in request.fixturenames:
        draw_nothing(monkeypatch)


@pytest.fixture
def command(capsys):
    """Run `python -m eval …` in this process."""

    def call(*argv) -> Result:
        status = run("eval", "", commands.COMMANDS, [str(word) for word in argv])
        return Result(status, *capsys.readouterr())

    return call


@pytest.fixture
def report(completed, tmp_path):
    """Function of result files: the folder of their report."""

    def make(*files, folder="report") -> Path:
        completed("report", *files, "--output", tmp_path / folder)
        return tmp_path / folder

    return make


@pytest.fixture
def scored(translated, command):
    """Function that writes a translated folder and scores it in this process."""

    def write(*args, **kwargs) -> Path:
        out = translated(*args, **kwargs)
        result = command("score", out, "--workers", "1")
        assert result.status == 0, result.err
        return out

    return write


@pytest.fixture
def texts() -> dict[str, list[str]]:
    return {language: list(lines) for language, lines in TEXTS.items()}


@pytest.fixture
def scores_of():
    """Function that reads the scores of a folder."""
    return lambda out: read_scores(out / "scores.json")
