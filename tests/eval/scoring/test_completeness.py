"""What `score` does again, what it keeps, and who reads scores of another translation: nobody."""

import functools
import json
import os
import shutil

import pytest

import eval.__main__ as commands
from command_line.dispatch import run
from command_line.errors import InputError
from command_line.outputs import checksum, partial_prefix
from eval.scored import Scores
from tests.eval.scored import read_scores
from tests.kill_points import sweep


@pytest.fixture
def hypotheses(texts) -> dict[str, list[str]]:
    return {"de-fr": texts["fr"], "en-de": [*texts["de"][:3], "Ein neues Fahrrad."]}


def change(path, **fields) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(record | fields), encoding="utf-8")


def with_checksums(out) -> None:
    """As `translate` writes them."""
    directions = json.loads((out / "translate.json").read_text(encoding="utf-8"))["directions"]
    described = {
        name: entry | {"sha256": checksum(out / f"{name}.txt")} for name, entry in directions.items()
    }
    change(out / "translate.json", directions=described)


# --- translated again, not scored again


def reword_elsewhere(out) -> None:
    """Other programs leave their record, which does not say what the hypotheses are, as it was."""
    (out / "de-fr.txt").write_text("un\ndeux\ntrois\nquatre\n", encoding="utf-8")


def reword(out) -> None:
    reword_elsewhere(out)
    with_checksums(out)


def rename(out) -> None:
    record = json.loads((out / "translate.json").read_text(encoding="utf-8"))
    change(out / "translate.json", system=record["system"] | {"name": "other"})


def drop_direction(out) -> None:
    record = json.loads((out / "translate.json").read_text(encoding="utf-8"))
    change(out / "translate.json", directions={"de-fr": record["directions"]["de-fr"]})


@pytest.mark.parametrize(
    ("again", "where"),
    [
        (reword, "direction de-fr"),
        (rename, "field 'system'"),
        (drop_direction, "direction en-de"),
        (lambda out: change(out / "translate.json", beam=1), "field 'beam'"),
    ],
)
def test_scores_of_another_translation_are_not_read(translated, command, hypotheses, tmp_path, again, where):
    outs = [translated("A", hypotheses), translated("B", hypotheses)]
    for out in outs:
        with_checksums(out)
    score = ("score", *outs, "--workers", "1")
    assert command(*score).status == 0
    again(outs[1])
    result = command("report", *outs, "--output", tmp_path / "report")
    assert (result.status, result.err) == (
        2,
        f"error: {outs[1]}/scores.json: is of another translation than translate.json beside it"
        f" ({where}); score again\n",
    )
    assert command(*score).status == 0
    assert Scores.load(outs[1] / "scores.json").record["kind"] == "scores"


def test_scores_of_translations_made_elsewhere_are_of_these_hypotheses(scored, command, hypotheses, tmp_path):
    out = scored("A", hypotheses)
    report = ("report", out, "--output", tmp_path / "report")
    assert command(*report).status == 0
    reword_elsewhere(out)
    assert command(*report).err == (
        f"error: {out}/scores.json: is of another translation than translate.json beside it (direction"
        " de-fr); score again\n"
    )
    (out / "de-fr.txt").unlink()  # as where only results are kept
    assert command(*report).status == 0


def test_how_long_a_translation_took_and_where_scores_lie_does_not_matter(scored, hypotheses, tmp_path):
    out = scored("A", hypotheses)
    change(out / "translate.json", seconds=9.9, command="python -m eval translate again")
    expected = Scores.load(out / "scores.json").record
    for ending in ("json", "csv"):
        shutil.copy(out / f"scores.{ending}", tmp_path / f"alone.{ending}")
    assert Scores.load(tmp_path / "alone.json").record == expected


# --- COMET


@pytest.fixture
def with_comet(scored, command, hypotheses, monkeypatch):
    """A folder with COMET scores: of a line, a hundredth of the hypothesis's length."""
    from eval.scoring.comet import Comet

    details = {"package": "unbabel-comet 2", "checkpoint": None, "sha256": None, "batch_size": 1}
    monkeypatch.setattr(Comet, "start", lambda self: self.details.update(details))
    monkeypatch.setattr(
        Comet, "scores", lambda self, sources, outputs, references: [len(line) / 100 for line in outputs]
    )
    out = scored("A", hypotheses)
    assert command("score", out, "--workers", "1", "--comet-model", "a/model").status == 0
    return out


def comet_of(out) -> dict:
    record = read_scores(out / "scores.json")
    return {name: entry["comet"] for name, entry in record["directions"].items()}


def test_comet_scores_are_kept_where_hypotheses_are_the_same(with_comet, command):
    with_checksums(with_comet)
    assert command("score", with_comet, "--workers", "1", "--comet-model", "a/model").status == 0
    expected = comet_of(with_comet)
    statistics = checksum(with_comet / "line_statistics.npz")
    assert all(expected.values())
    result = command("score", with_comet, "--workers", "1")
    assert result.status == 0 and "complete, skipped" in result.err
    result = command("score", with_comet, "--workers", "1", "--tokenize", "char")
    assert result.status == 0 and "skipped" not in result.err
    assert comet_of(with_comet) == expected
    record = Scores.load(with_comet / "scores.json").record
    assert record["scoring"]["comet_model"] == "a/model"
    result = command("score", with_comet, "--workers", "1")
    assert checksum(with_comet / "line_statistics.npz") == statistics


def test_comet_scores_of_translations_made_elsewhere_are_kept(with_comet, command):
    """Their record does not say what the hypotheses are."""
    expected = comet_of(with_comet)
    assert all(expected.values())
    result = command("score", with_comet, "--workers", "1")
    assert result.status == 0 and "complete, skipped" in result.err
    assert comet_of(with_comet) == expected


def test_comet_scores_of_other_hypotheses_go_and_it_is_said(with_comet, command):
    reword(with_comet)
    result = command("score", with_comet, "--workers", "1")
    assert result.status == 0
    assert "its COMET scores are of other texts and go; --comet-model makes new ones" in result.err
    assert comet_of(with_comet) == {"de-fr": None, "en-de": None}


# --- kills


@pytest.mark.slow
def test_killed_and_run_again_gives_the_files_of_an_undisturbed_run(translated, data, hypotheses, tmp_path):
    from data_prep import language_identification
    from eval.scoring import surface_metrics  # noqa: F401  once, not in every child

    language_identification.default_identifier()
    translation = translated("A", hypotheses, folder="translation")
    work = tmp_path / "work"

    def reset() -> None:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(translation, work / "out")

    arguments = ["score", str(work / "out"), "--workers", "1"]
    sweep(
        functools.partial(run, "eval", "", commands.COMMANDS, arguments),
        [work],
        reset,
        lambda: Scores.load(work / "out/scores.json").record,
        InputError,
    )


# --- leftovers


def test_leftovers_of_dead_processes_go(scored, command, hypotheses, tmp_path):
    outs = [scored(name, hypotheses) for name in "AB"]
    dead, running = (f"{partial_prefix(number)}.x.json" for number in (2**22 + 1, os.getppid()))
    output = tmp_path / "report"
    folders = [output, output / "tables", output / "plots", tmp_path / "compared"]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        for name in (dead, running):
            (folder / name).touch()
    assert command("report", *outs, "--output", output).status == 0
    compare = ("compare", *outs, "--all-pairs", "--samples", "99", "--correction", "none")
    assert command(*compare, "--output", tmp_path / "compared/c.json").status == 0
    for folder in folders:
        assert [path.name for path in folder.glob(".*")] == [running]
