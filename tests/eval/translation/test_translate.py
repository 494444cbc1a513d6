"""`eval translate` with a tiny model that nobody trained: what it refuses, and what a kill leaves."""

import functools
import importlib
import json
import shutil
from pathlib import Path

import pytest
import torch

import eval.__main__ as commands
from command_line.dispatch import run
from command_line.errors import InputError
from command_line.journal import Journal
from eval.scored import TRANSLATION, Translation
from tests.eval.translation.packages import WITH_EMPTY_LINES as SENTENCES
from tests.eval.translation.packages import types_of_products, write_binarized
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save
from tests.kill_points import sweep


@pytest.fixture
def data(tmp_path) -> Path:
    return write_binarized(tmp_path / "data", SENTENCES)


@pytest.fixture
def checkpoint(tmp_path, data) -> str:
    return save(tmp_path / "model.pt", checkpoint_state(data))


@pytest.fixture
def translate(data, checkpoint, tmp_path):
    """Arguments of the command."""
    return [
        "translate", "--checkpoint", checkpoint, "--data", str(data), "--output", str(tmp_path / "work/out"),
        "--cpu", "--max-len-b", "4", "--max-tokens", "20",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), [([], torch.float32), (["--bf16"], torch.bfloat16)])
def test_products_are_bfloat16_where_asked_for(command, translate, tmp_path, words, expected):
    with types_of_products() as types:
        assert command(*translate, "--directions", "de-en", *words).status == 0
    assert types == {expected}
    record = json.loads((tmp_path / "work/out/translate.json").read_text())
    assert record["bf16"] == bool(words)  # no seed of what was searched in float32


@pytest.mark.parametrize("name", ["identifier.bin", "py3langid", None])
def test_another_identifier_in_the_place_of_one_translates_anew(
    command, translate, tmp_path, monkeypatch, name
):
    """And nothing of what was chosen by the one before is continued."""
    monkeypatch.chdir(tmp_path)
    model, stamps = tmp_path / "identifier.bin", []
    model.write_bytes(b"one")
    monkeypatch.setattr(
        "eval.translation.translate.translate", lambda job, output, step: stamps.append(step.stamp)
    )
    words = ("--language-rescoring", "1", *(("--rescoring-identifier", name) if name else ()))
    for content in (b"one", b"two"):
        model.write_bytes(content)
        assert command(*translate, *words).status == 0
    assert (stamps[0].work == stamps[1].work) == (name != "identifier.bin")


def texts(out: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(out.glob("*.txt"))}


def test_scores_that_are_no_numbers_name_direction_and_sentence(data, tmp_path, command, translate):
    """The weights are finite; what the first layer makes of word 9 is not."""
    state = checkpoint_state(data, share_all_embeddings=False)
    state["model"]["encoder.embed_tokens.weight"][9] = 1e38
    save(tmp_path / "model.pt", state)
    result = command(*translate, "--directions", "de-fr,en-fr")
    assert result.status == 2
    assert result.err.splitlines()[-1].startswith(
        "error: translate: de-fr, sentence 4: the model's scores are NaN or infinite"
    )
    assert not texts(tmp_path / "work/out")
    assert command(*translate, "--directions", "en-fr").status == 0


@pytest.mark.parametrize("damage", ["gone", "cut off", "changed"])
def test_hypotheses_that_are_not_those_of_the_record_are_made_again(
    command, translate, data, tmp_path, damage
):
    """No dead end: `score` says "translate again", and `translate` does."""
    out, text = tmp_path / "work/out", data / "text"
    assert command(*translate, "--directions", "de-en").status == 0
    text.mkdir()
    for language, sentences in SENTENCES.items():
        (text / f"test.de-en.{language}").write_text("a line\n" * len(sentences))
    score = ("score", out, "--workers", "1")
    path = out / "de-en.txt"
    content = path.read_bytes()
    assert content.count(b"\n") == 4 and command(*score).status == 0
    path.unlink()
    if damage != "gone":
        path.write_bytes(content[:-1] if damage == "cut off" else b"another\n" * 4)
    result = command(*score)
    assert result.status == 2
    assert str(path) in result.err and (damage == "gone" or "translate again" in result.err)
    result = command(*translate, "--directions", "de-en")
    assert result.status == 0
    assert f"de-en.txt {'is gone' if damage == 'gone' else 'has changed since'}; `translate`" in result.err
    assert path.read_bytes() == content
    assert command(*score).status == 0


def test_force_discards_the_journal(command, translate, tmp_path):
    out = tmp_path / "work/out"
    out.mkdir(parents=True)
    assert command(*translate).status == 0
    expected = texts(out)
    settings = json.loads((out / ".translate.done").read_text())
    work = {name: settings[name] for name in ("settings", "inputs")}
    wrong = {"stage": "translate", "examples": list(range(24)), "tokens": [[20]] * 24}
    wrong["cost"] = {"seconds": 1000.0, "decoder_tokens": 7}
    for options, continued in (((), True), (("--force",), False)):
        (out / ".translate.done").rename(out / ".translate.unfinished")
        with Journal(out / ".journal.jsonl", work) as journal:
            journal.add(wrong)
        assert command(*translate, *options).status == 0
        assert (texts(out) != expected) == continued
        record = json.loads((out / "translate.json").read_text())
        assert (record["decoding"]["seconds"] >= 1000) == continued


@pytest.mark.slow
def test_killed_and_run_again_gives_the_files_of_an_undisturbed_run(translate, tmp_path):
    for module in ("eval.translation.decoding", "fairseq_ext", "fairseq_ext.axes"):
        importlib.import_module(module)  # once here, not in every child
    torch.set_num_threads(1)
    work = tmp_path / "work"

    def reset() -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()

    def comparable(files: dict) -> dict:
        """Without what says how long it took."""
        return {name: _without_times(name, content) for name, content in files.items()}

    sweep(
        functools.partial(run, "eval", "", commands.COMMANDS, translate),
        [work],
        reset,
        lambda: Translation.load(work / "out" / TRANSLATION).directions,
        InputError,
        comparable=comparable,
    )


def _without_times(name: str, content: bytes | None):
    if content is None or not name.endswith((TRANSLATION, ".translate.done")):
        return content
    record = json.loads(content)
    record.get("outputs", {}).pop(TRANSLATION, None)  # checksum of the times
    record.get("decoding", {}).pop("seconds", None)
    return {key: value for key, value in record.items() if key != "seconds"}


def test_the_test_set_is_found_from_another_working_directory(
    command, translate, data, tmp_path, monkeypatch
):
    (data / "text").mkdir()
    for language, sentences in SENTENCES.items():
        (data / f"text/test.de-en.{language}").write_text("a line\n" * len(sentences))
    monkeypatch.chdir(tmp_path)
    words = [word.removeprefix(f"{tmp_path}/") for word in translate]
    assert command(*words, "--directions", "de-en").status == 0
    monkeypatch.chdir("/")
    assert command("score", tmp_path / "work/out", "--workers", "1").status == 0
