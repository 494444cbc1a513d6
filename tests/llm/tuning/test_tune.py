"""`llm tune`: stages, learning rates, the record, what is refused, and what a kill leaves."""

import functools
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from command_line.completion import file_identity
from command_line.dispatch import run
from command_line.errors import InputError
from llm.__main__ import COMMANDS
from llm.tuned import Tuned, curriculum_title
from llm.tuning import training
from tests import hanging
from tests.kill_points import sweep


@pytest.fixture
def options(bloom, instructions):
    """The words of a small tuning."""

    def words(output: Path, *others) -> list[str]:
        given = ("--model", bloom, "--instructions", instructions, "--cpu", "--loader-workers", 0)
        small = ("--curriculum", "mono-full", "--epochs", 1, "--valid-instructions", 3)
        return [str(word) for word in ("tune", *given, *small, "--output", output, *others)]

    return words


def record_of(folder: Path) -> dict:
    return json.loads((folder / "tuning.json").read_text())


def adapter(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "adapter_model.safetensors")


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_the_record_says_what_was_taught(options, completed, tmp_path, bloom):
    completed(*options(tmp_path / "out", "--curriculum", "mt+align,mt"))
    assert visible(tmp_path / "out") == ["stage-1", "stage-2", "tuning.json"]
    record = record_of(tmp_path / "out")
    assert record["curriculum"] == "MT+Align→MT"
    (weights,) = record["model"].pop("weights").items()
    assert weights == ("model.safetensors", file_identity(bloom / "model.safetensors"))
    assert record["model"] == {"path": str(bloom), "name": "tiny-bloom"}
    assert record["directions"] == ["de-en", "en-de", "en-fr", "fr-en"]
    assert record["languages"] == {"de": "German", "en": "English", "fr": "French"}
    assert (record["settings"]["seed"], record["settings"]["lora_rank"]) == (1, 8)
    first, second = record["stages"]
    assert (first["folder"], first["objectives"]) == ("stage-1", ["mt", "align"])
    assert (second["folder"], second["objectives"]) == ("stage-2", ["mt"])
    assert set(first["epochs"][0]["objectives"]) == {"mt", "align"}
    assert first["epochs"][0]["objectives"]["mt"]["instructions"] == 3
    assert (first["updates"], second["updates"]) == (11, 6)  # of 88 and 44 instructions, by eights
    assert first["loss"] == first["epochs"][-1]["loss"]
    tuned = Tuned.load(tmp_path / "out")
    assert tuned.is_adapter and tuned.last_stage == tmp_path / "out/stage-2"


@pytest.mark.parametrize("skip", [False, True])
def test_instructions_that_are_too_long_are_counted_and_said(options, command, tmp_path, tokenizer, skip):
    """By objective, once for all epochs and learning rates."""
    words = ("--curriculum", "mt+align", "--max-input", 64, "--epochs", 2, "--learning-rate", "1e-3,1e-4")
    done = command(*options(tmp_path / "out", *words, *["--skip-overlong"] * skip, "--loader-workers", 1))
    if skip:  # assertions do not fit
        assert "--skip-overlong: all 3 valid instructions of align are longer than --max-input 64" in done.err
        return
    assert done.status == 0, done.err
    (stage,) = record_of(tmp_path / "out")["stages"]
    assert stage["overlong"] == {
        "mt": {"instructions": 44, "questions": 0, "answers": 0},
        "align": {"instructions": 44, "questions": 44, "answers": 0},
    }
    assert [line for line in done.err.splitlines() if "max-input" in line] == [
        "warning: stage 1 of 1, MT+Align: longer than --max-input 64: 44 of 44 questions of align, which lost"
        " their ends; give larger limits, or --skip-overlong"
    ]


def test_stages_follow_each_other(options, command, tmp_path, monkeypatch):
    begun = []
    make = training.tuned_model
    monkeypatch.setattr(
        training, "tuned_model", lambda job, before: begun.append(before) or make(job, before)
    )
    assert command(*options(tmp_path / "out", "--curriculum", "mono-half,mono-full,mono-full")).status == 0
    assert begun == [None, tmp_path / "out/stage-1", tmp_path / "out/stage-2"]
    stages = [adapter(tmp_path / f"out/stage-{number}") for number in (1, 2, 3)]
    for name, value in stages[0].items():
        assert not value.equal(stages[1][name]) and not stages[1][name].equal(stages[2][name])


def test_of_several_learning_rates_the_one_with_the_lowest_loss_is_kept(
    options, command, completed, tmp_path
):
    rates = "1e-9,5e-2,1e-7"
    done = completed(*options(tmp_path / "out", "--learning-rate", rates, "--epochs", 2))
    (stage,) = record_of(tmp_path / "out")["stages"]
    losses = stage["losses_of_rates"]
    assert list(losses) == ["1e-09", "0.05", "1e-07"]
    assert stage["learning_rate"] == 0.05 and stage["loss"] == losses["0.05"] == min(losses.values())
    assert command(*options(tmp_path / "alone", "--learning-rate", 5e-2, "--epochs", 2)).status == 0
    torch.testing.assert_close(
        adapter(tmp_path / "out/stage-1"), adapter(tmp_path / "alone/stage-1"), rtol=0, atol=0
    )
    assert "learning rate 0.05 is kept" in done.err


@pytest.fixture
def diverging(monkeypatch):
    """Trainings by rates above 1e-3 lose their numbers: in the loss, or in that of the validation."""

    def diverge(kind: str) -> None:
        right, measure, rates = training.AnswerTrainer.compute_loss, training.validate, []

        def compute_loss(self, *args, **kwargs):
            rates.append(self.args.learning_rate)
            loss = right(self, *args, **kwargs)
            return loss * float("nan") if kind == "loss" and rates[-1] > 1e-3 else loss

        def validate(*args):
            losses = measure(*args)
            if kind == "validation" and rates[-1] > 1e-3:
                losses = {name: values | {"loss": float("inf")} for name, values in losses.items()}
            return losses

        monkeypatch.setattr(training.AnswerTrainer, "compute_loss", compute_loss)
        monkeypatch.setattr(training, "validate", validate)

    return diverge


@pytest.mark.parametrize("kind", ["loss", "validation"])
def test_a_rate_that_is_too_high_does_not_end_the_search(options, completed, tmp_path, diverging, kind):
    diverging(kind)
    done = completed(*options(tmp_path / "out", "--learning-rate", "5e-2,1e-4,1e-2"))
    (stage,) = record_of(tmp_path / "out")["stages"]
    assert stage["learning_rate"] == 1e-4
    assert stage["losses_of_rates"] == {"0.05": None, "0.0001": stage["loss"], "0.01": None}
    assert "tune: stage 1 of 1, Mono-full: --learning-rate 0.05: the " in done.err


@pytest.mark.parametrize("kind", ["loss", "validation"])
def test_rates_that_are_all_too_high(options, refusal, tmp_path, diverging, kind):
    diverging(kind)
    line = refusal(*options(tmp_path / "out", "--learning-rate", "5e-2,1e-2"))
    assert line.startswith("--learning-rate 0.01: the ") and "expected a number; give a smaller one" in line


def test_without_an_adapter_every_stage_is_a_whole_model(options, completed, tmp_path, bloom):
    words = options(tmp_path / "out", "--curriculum", "mono-full,mono-full", "--lora-rank", 0)
    completed(*words)
    tuned = Tuned.load(tmp_path / "out")
    assert not tuned.is_adapter
    for stage in ("stage-1", "stage-2"):
        assert {"model.safetensors", "tokenizer.json", "config.json"} <= set(
            visible(tmp_path / "out" / stage)
        )
    weights = [load_file(folder / "model.safetensors") for folder in (bloom, tuned.last_stage)]
    assert not weights[0]["transformer.word_embeddings.weight"].equal(
        weights[1]["transformer.word_embeddings.weight"]
    )


@pytest.mark.parametrize(
    ("curriculum", "title"),
    [
        ([["mt"]], "MT"),
        ([["align"], ["mt"]], "Align→MT"),
        ([["mt", "align", "hint", "revise"]], "MT+Align+Hint+Revise"),
        ([["mt", "mono-half", "align"]], "MT+Mono-half+Align"),
    ],
)
def test_titles_are_those_of_the_tables(curriculum, title):
    assert curriculum_title(curriculum) == title


def test_what_is_done_is_skipped_and_another_tuning_is_refused(options, command, refusal, tmp_path):
    words = options(tmp_path / "out")
    assert command(*words).status == 0
    before = adapter(tmp_path / "out/stage-1")
    (tmp_path / "out/training").mkdir()  # by a kill at its very end
    assert "complete, skipped" in command(*words).err
    assert visible(tmp_path / "out") == ["stage-1", "tuning.json"]
    assert command(*words, "--save-updates", 3).status == 0
    line = refusal(*words, "--seed", 2)
    assert line == (
        f"{tmp_path}/out: was trained with another seed; give another --output, or --force to begin anew"
    )
    torch.testing.assert_close(adapter(tmp_path / "out/stage-1"), before, rtol=0, atol=0)
    assert command(*words, "--seed", 2, "--force").status == 0
    assert record_of(tmp_path / "out")["settings"]["seed"] == 2


def test_what_is_refused_removes_nothing(options, command, refusal, tmp_path):
    words = options(tmp_path / "out")
    wrong = ("--lora-modules", "q_proj")
    assert "not found in the base" in refusal(*words, *wrong)
    assert command(*words).status == 0  # nothing was made that another tuning could lose
    before = adapter(tmp_path / "out/stage-1")
    assert "not found in the base" in refusal(*words, *wrong, "--force")
    torch.testing.assert_close(adapter(tmp_path / "out/stage-1"), before, rtol=0, atol=0)
    assert "complete, skipped" in command(*words).err


def test_an_update_is_the_same_on_another_number_of_devices(options, command, refusal, tmp_path, monkeypatch):
    """One that has as many batches of all devices together; another update is another tuning."""
    words = options(tmp_path / "out", "--batch-sentences", 2)
    assert command(*words, "--batches-per-update", 2).status == 0
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("llm.tune.Processes", lambda cpu: SimpleNamespace(is_first=True, wait=lambda: None))
    assert "complete, skipped" in command(*words).err
    line = refusal(*words, "--batches-per-update", 2)
    assert line.startswith(f"{tmp_path}/out: was trained with another batches_per_update; ")


def test_other_instructions_are_another_tuning(options, command, refusal, tmp_path, instructions):
    own = shutil.copytree(instructions, tmp_path / "own")
    words = options(tmp_path / "out", "--instructions", own)
    assert command(*words).status == 0
    path = own / "train.mono-full.de-en.jsonl"
    path.write_text(path.read_text().replace("Haus", "Haut"))
    (own / "instruct.json").unlink()  # the record of a step that wrote other ones
    assert f"was trained with another {path}" in refusal(*words)


@pytest.mark.parametrize("gone", [".tuning.done", "stage-1/adapter_model.safetensors"])
def test_stages_are_never_removed_unasked(options, command, refusal, tmp_path, gone):
    """Copied without the hidden record, or thinned out to save disk."""
    words = options(tmp_path / "out", "--curriculum", "mono-full,mono-full")
    assert command(*words).status == 0
    before = adapter(tmp_path / "out/stage-2")
    (tmp_path / "out" / gone).unlink()
    line = refusal(*words)
    assert "has stage-1, but neither the record of a complete training nor a state to go on from" in line
    torch.testing.assert_close(adapter(tmp_path / "out/stage-2"), before, rtol=0, atol=0)
    assert command(*words, "--force").status == 0
    torch.testing.assert_close(adapter(tmp_path / "out/stage-2"), before, rtol=0, atol=0)


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_to_the_same_adapters(options, tmp_path, monkeypatch):
    """With two learning rates, in two stages. Last it removes what is needed to go on."""
    monkeypatch.setattr("llm.tune.time.monotonic", lambda: 0.0)  # seconds are recorded
    monkeypatch.setattr("llm.tune.command_typed", lambda package: package)
    work = tmp_path / "work"
    rates = ("--learning-rate", "1e-3,1e-2", "--save-updates", 2)
    words = options(work / "out", "--curriculum", "mono-full,mono-half", *rates)

    def reset() -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()

    sweep(
        functools.partial(run, "llm", "", COMMANDS, words),
        [work],
        reset,
        lambda: Tuned.load(work / "out"),
        InputError,
        most=9,
        comparable=lambda found: {name: data for name, data in found.items() if "/training" not in name},
    )
    assert not (work / "out/training").exists()


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (["--curriculum", "mt+nothing"], "--curriculum: found 'nothing', expected some of mt, align, hint"),
        (["--curriculum", "mt+mt"], "--curriculum: found 'mt+mt', expected every objective once"),
        (["--curriculum", "mt,,mt"], "--curriculum: found '', expected some of mt"),
        (["--instructions", "/nothing"], "/nothing"),
        (["--model", "/nothing"], "--model /nothing: no such folder"),
        (
            ["--lora-modules", "q_proj"],
            "--lora-modules: Target modules {'q_proj'} not found in the base",
        ),
        (
            ["--lora-modules", "dense", "--lora-rank", "0"],
            "--lora-modules: are of adapters, and --lora-rank 0",
        ),
    ],
)
def test_refusals(options, refusal, tmp_path, others, line):
    assert line in refusal(*options(tmp_path / "out", *others))
    assert not (tmp_path / "out/tuning.json").exists()


def test_a_library_that_is_not_installed(options, refusal, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    assert refusal(*options(tmp_path / "out")) == "peft is not installed: pip install '.[llm]'"


@pytest.mark.slow
def test_what_the_trainer_needs_is_not_installed(options, tmp_path):
    """In a process of its own, which has not imported it."""
    words = ["llm", *options(tmp_path / "out")]
    start = f"sys.argv = {words}; runpy.run_module('llm', run_name='__main__')"
    asked = [sys.executable, "-c", f"import runpy, sys; sys.modules['accelerate'] = None; {start}"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=hanging.SECONDS)
    assert (done.returncode, done.stderr) == (
        2,
        "error: accelerate is not installed: pip install '.[embed]'\n",
    )


def test_folders_that_are_read_are_not_written(options, refusal, bloom, instructions):
    """A model with the mark of an unfinished tuning could not be read any more, by that tuning, too."""
    for folder in (bloom, instructions):
        before = sorted(folder.iterdir())
        assert f"--output {folder}: is a folder that is read" in refusal(*options(folder))
        assert sorted(folder.iterdir()) == before


def test_a_stage_is_not_tuned_into_its_own_place(options, command, refusal, tmp_path):
    whole = ("--lora-rank", 0)
    assert command(*options(tmp_path / "out", *whole)).status == 0
    words = options(tmp_path / "out", *whole, "--model", tmp_path / "out/stage-1", "--force")
    assert "stage-1 in it, which a new tuning removes; give another" in refusal(*words)
    assert (tmp_path / "out/stage-1/model.safetensors").is_file()
    Tuned.load(tmp_path / "out")


def test_what_was_taught_is_of_the_objectives(options, command, texts, tmp_path):
    """Another folder may have other directions, of an objective that is not learned."""
    for tasks, direction in (("mt", "de-en"), ("mono-full", "en-fr")):
        made = ("--tasks", tasks, "--directions", direction, "--workers", 1, "--output", tmp_path / tasks)
        assert command("instruct", "--text", texts / "text", *made).status == 0
    folders = ("--instructions", tmp_path / "mt", tmp_path / "mono-full")
    for curriculum, taught in (("mt", ["de-en"]), ("mt,mono-full", ["de-en", "en-fr"])):
        words = options(tmp_path / f"tuned-{curriculum}", *folders, "--curriculum", curriculum)
        assert command(*words).status == 0
        assert record_of(tmp_path / f"tuned-{curriculum}")["directions"] == taught


def test_an_objective_without_instructions(bloom, refusal, command, texts, tmp_path):
    made = ("--text", texts / "text", "--tasks", "mt", "--workers", 1, "--output", tmp_path / "made")
    assert command("instruct", *made).status == 0
    given = ("--model", bloom, "--instructions", tmp_path / "made", "--output", tmp_path / "out", "--cpu")
    assert "train instructions of align: there are none; make them" in refusal("tune", *given)


def test_an_unfinished_tuning_is_none(options, command, tmp_path):
    assert command(*options(tmp_path / "out")).status == 0
    (tmp_path / "out/.tune.unfinished").touch()
    with pytest.raises(InputError, match="`tune` did not finish here; run it again"):
        Tuned.load(tmp_path / "out")


def test_a_record_that_leads_elsewhere(options, command, tmp_path):
    assert command(*options(tmp_path / "out")).status == 0
    record = record_of(tmp_path / "out")
    record["stages"][-1]["folder"] = "../stranger"
    (tmp_path / "out/tuning.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"field stages\.folder is '\.\./stranger'"):
        Tuned.load(tmp_path / "out")
