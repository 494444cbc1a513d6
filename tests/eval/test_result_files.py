"""Malformed result files give one line; checkpoints that have changed since are noticed."""

import json
import os
from pathlib import Path

import pytest

from command_line.errors import InputError
from command_line.outputs import checksum
from eval.result_files import (
    checkpoint_checksum,
    checkpoint_now,
    is_overwritten,
    read_result,
    split_direction,
    weight_files,
)
from eval.scored import Scores, Translation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1,\n "x": }', r"r.json:2: not JSON"),
        ("[1]", r"found a list, expected an object"),
        ('{"format": true}', r"field 'format' is True, expected 1"),
        ('{"format": 2}', r"field 'format' is 2, expected 1"),
        ("{}", r"field 'format' is None, expected 1"),
        ('{"format": 1, "kind": "mining", "runs": [{"system": {}}]}', r"system.name' is missing"),
    ],
)
def test_malformed_json(tmp_path, text, message):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_result(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("checkpoint", [None, {}, {"path": None}, {"path": "gone.pt"}, [1]])
def test_a_checkpoint_that_is_not_named_or_not_there(checkpoint):
    assert checkpoint_now({"checkpoint": checkpoint}) is None


def test_a_folder_without_weights_is_no_checkpoint(tmp_path):
    (tmp_path / "tuning.json").touch()
    assert checkpoint_now({"checkpoint": {"path": str(tmp_path)}}) is None


@pytest.fixture
def shards(tmp_path) -> Path:
    """A folder with the weights of a model in two files, and what belongs to them."""
    (tmp_path / "model").mkdir()
    for name in ("model-1.safetensors", "model-2.safetensors", "config.json"):
        (tmp_path / "model" / name).write_text(name)
    return tmp_path / "model"


def test_no_path_is_not_the_working_directory(shards, monkeypatch):
    monkeypatch.chdir(shards)
    assert checkpoint_now({"checkpoint": {"path": "."}}) == Path(".")
    assert checkpoint_now({"checkpoint": {"path": ""}}) is None


def test_a_checksum_is_of_all_shards_of_a_model(shards):
    first, second = weight_files(shards)
    assert checkpoint_checksum(first) == checksum(first)
    before = checkpoint_checksum(shards)
    content = second.read_text()
    second.write_text(first.read_text())
    first.write_text(content)
    assert checkpoint_checksum(shards) != before
    first.unlink()
    assert checkpoint_checksum(shards) == checksum(second)


def test_one_shard_that_is_another_makes_another_model(shards, tmp_path):
    result = tmp_path / "scores.json"
    result.touch()
    record = {"checkpoint": {"path": str(shards)}}
    sha256 = checkpoint_checksum(shards)
    later = result.stat().st_mtime_ns + 1
    os.utime(shards / "model-2.safetensors", ns=(later, later))  # a copy
    assert not is_overwritten(checkpoint_now(record), result, sha256)
    (shards / "model-2.safetensors").write_text("anew")
    os.utime(shards / "model-2.safetensors", ns=(later, later))
    assert is_overwritten(checkpoint_now(record), result, sha256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": {}}, "field 'system.name' is missing"),
        ({"split": 3}, "field 'split' is 3, expected a string"),
        ({"directions": {}}, "no directions"),
        ({"directions": {"de": {"kind": "zero-shot"}}}, "'de' is not a direction"),
        (
            {"directions": {"de-fr": {"kind": "few-shot"}}},
            "field 'directions.de-fr.kind' is 'few-shot', expected 'supervised' or 'zero-shot'",
        ),
        (
            {"directions": {"../de-fr": {"kind": "zero-shot"}}},
            "direction is '../de-fr'; expected a plain name",
        ),
        ({"split": "../test"}, "field split is '../test'; expected a plain name"),
    ],
)
def test_malformed_translation(translated, texts, change, message):
    path = translated("toy", {"de-fr": texts["fr"]}) / "translate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        Translation.load(path)


def test_translation_is_not_scores(translated, texts):
    with pytest.raises(InputError, match="kind is None, expected 'scores'"):
        Scores.load(translated("toy", {"de-fr": texts["fr"]}) / "translate.json")


@pytest.mark.parametrize("direction", ["de", "de-", "-fr", "de-fr-en", "de-de", ""])
def test_bad_directions(direction):
    with pytest.raises(InputError):
        split_direction(direction)


def test_dataset_and_name(translated, texts):
    run = Translation.load(translated("toy", {"de-fr": texts["fr"]}, pivot="en") / "translate.json")
    assert (run.name, run.dataset) == ("toy (pivot en)", "toy")
    run = Translation.load(translated("toy", {"de-fr": texts["fr"]}, dataset="OPUS") / "translate.json")
    assert run.dataset == "OPUS"


def test_a_data_folder_is_asked_for_its_name_once(translated, texts, monkeypatch):
    """A package is compared with its record, file by file."""
    run = Translation.load(translated("toy", {"de-fr": texts["fr"]}) / "translate.json")
    names = iter(["corpus"])
    monkeypatch.setattr("data_prep.formats.package.dataset_of", lambda data: next(names))
    assert (run.dataset, run.dataset) == ("corpus", "corpus")
