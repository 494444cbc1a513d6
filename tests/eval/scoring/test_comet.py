"""COMET through an interpreter of its own, with a stand-in for the package."""

import hashlib
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line.errors import InputError
from eval.scoring.comet import Comet
from tests.eval.scoring.test_completeness import with_checksums
from tests.eval.translation.transformers_folders import write_pieces

# Prints as loudly as the real package, and scores by the share of lines that equal their reference.
PACKAGE = """
import os, types
print("noise on standard output")
def download_model(name):
    if name != "known/name":
        raise KeyError(f"Model '{name}' not supported by COMET.")
    return os.path.join(os.path.dirname(__file__), "downloaded.ckpt")
def load_from_checkpoint(path):
    if not os.path.isfile(path):
        raise Exception(f"Invalid checkpoint path: {path}")
    print("loading", path)
    return Model()
class Model:
    hparams = {}
    def requires_references(self):
        return True
    def predict(self, samples, batch_size, gpus, progress_bar):
        print("predicting", len(samples), "with batches of", batch_size)
        assert batch_size in (16, 3)
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
    (packages / "comet/downloaded.ckpt").write_text("weights")
    information = packages / "unbabel_comet-9.8.7.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 9.8.7\n")
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
    assert record["scoring"]["comet"] == {
        "package": "unbabel-comet 9.8.7",
        "reference_free": False,
        "checkpoint": None,
        "sha256": hashlib.sha256(b"weights").hexdigest(),
        "batch_size": 16,
    }


def test_another_model_in_the_same_folder_is_another_model(
    translated, scores_of, command, texts, other_python, checkpoint
):
    """Scores are made again, and what was scored with the one is not compared with the other's."""
    folder = checkpoint.parents[1]
    options = ("--comet-model", folder, "--comet-python", other_python, "--workers", "1")
    options = (*options, "--comet-batch-size", "3")
    outs = [translated(name, {"en-de": texts["de"], "de-fr": texts["en"]}, folder=name) for name in "AB"]
    for out in outs:
        with_checksums(out)
    assert command("score", *outs, *options).status == 0
    details = scores_of(outs[0])["scoring"]["comet"]
    assert (details["checkpoint"], details["batch_size"]) == (str(checkpoint), 3)
    assert details["sha256"] == hashlib.sha256(b"").hexdigest()
    for given in (options, options[4:6]):  # the second keeps the scores
        assert command("score", outs[0], *given).err.count("complete, skipped") == 1
    assert command("compare", *outs, "--metric", "comet").status == 0
    checkpoint.write_text("other weights")
    result = command("score", outs[0], *options)
    assert result.status == 0 and "skipped" not in result.err
    result = command("compare", *outs, "--metric", "comet")
    assert result.status == 2 and f"COMET's model is {folder} (" in result.err
    assert command("score", outs[1], "--workers", "1").err.count("complete, skipped") == 1


def test_one_model_under_two_paths_is_one(translated, command, texts, other_python, checkpoint, tmp_path):
    """Two people's downloads of it; those of two checkpoints are two."""
    copy = tmp_path / "copy.ckpt"
    outs = []
    for name, model in (("A", checkpoint), ("B", copy)):
        model.write_text("weights")
        outs.append(translated(name, {"en-de": texts["de"], "de-fr": texts["en"]}))
        options = ("--comet-model", model, "--comet-python", other_python, "--workers", "1")
        assert command("score", outs[-1], *options).status == 0
    result = command("compare", *outs, "--all-pairs", "--metric", "comet")
    assert result.status == 0, result.err
    assert command("report", *outs, "--output", tmp_path / "report").status == 0
    copy.write_text("other weights")
    assert command("score", outs[1], *options).status == 0
    result = command("compare", *outs, "--all-pairs", "--metric", "comet")
    sha256s = [hashlib.sha256(weights).hexdigest()[:12] for weights in (b"other weights", b"weights")]
    expected = (
        f"error: {outs[1]}/scores.json: COMET's model is {copy} ({sha256s[0]}), but {checkpoint}"
        f" ({sha256s[1]}) in {outs[0]}/scores.json; score both by one --comet-model, or give them apart\n"
    )
    assert result.err == expected
    assert command("report", *outs, "--output", tmp_path / "report").err == expected


def test_a_killed_scoring_by_another_model_leaves_no_lines_to_the_kept_scores(
    translated, scores_of, command, texts, other_python, checkpoint, monkeypatch
):
    """Its statistics are there already, its scores are not: means and lines would be of two models."""
    out = translated("toy", {"en-de": texts["de"], "de-fr": texts["en"]})
    with_checksums(out)
    options = ("--comet-python", other_python, "--workers", "1", "--comet-model")
    assert command("score", out, *options, "known/name").status == 0
    statistics = (out / "line_statistics.npz").read_bytes()
    checkpoint.write_text("other weights")
    with monkeypatch.context() as patched:

        def killed(*given):
            raise InputError("killed")

        patched.setattr("eval.scoring.score.write_rows", killed)
        patched.setattr("eval.scoring.comet.Comet.scores", lambda self, lines, *others: [0.25] * len(lines))
        assert command("score", out, *options, checkpoint).status == 2
    assert (out / "line_statistics.npz").read_bytes() != statistics
    assert command("score", out, "--workers", "1").status == 0
    assert scores_of(out)["scoring"]["comet_model"] == "known/name"
    with np.load(out / "line_statistics.npz") as stored:
        assert not [name for name in stored if name.startswith("comet/")]


def test_a_folder_that_is_no_model_is_one_line(translated, command, texts, tmp_path):
    out = translated("toy", {"en-de": texts["de"], "de-fr": texts["en"]})
    result = command("score", out, "--comet-model", tmp_path)
    assert result.status == 2
    assert result.err == (
        f"error: --comet-model {tmp_path}: no checkpoints/model.ckpt in it, expected a COMET model\n"
    )


needs_comet = pytest.mark.skipif(sys.version_info >= (3, 13), reason="COMET needs numpy below 2")
ENCODER = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
LINES = {"mt": ["a b", "c"], "src": ["x", "y x"], "ref": ["a b", "d"]}


@needs_comet
def test_a_real_model(tmp_path):
    """COMET's estimator over an encoder of one layer."""
    model = regression_metric(tmp_path / "encoder")
    scores, details = scores_and_details(tmp_path, model)
    assert scores == pytest.approx(expected_scores(model), abs=1e-5)
    assert details["package"].startswith("unbabel-comet 2") and not details["reference_free"]
    assert details["sha256"] == hashlib.sha256((tmp_path / CHECKPOINT).read_bytes()).hexdigest()


@needs_comet
@pytest.mark.slow
def test_a_real_model_without_references(tmp_path):
    """CometKiwi's estimator, whose encoder has its vocabulary in a file of sentencepiece alone."""
    from data_prep.model_folders.libraries import reading

    with reading(tmp_path, "COMET"):
        model = unified_metric(tmp_path / "encoder")
    scores, details = scores_and_details(tmp_path, model)
    assert scores == pytest.approx(expected_scores(model), abs=1e-5)
    assert details["reference_free"]


@needs_comet
@pytest.mark.slow
def test_an_encoder_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / CHECKPOINT).parent.mkdir()
    (tmp_path / CHECKPOINT).touch()
    (tmp_path / "hparams.yaml").write_text("pretrained_model: nobody/nothing\n")
    does_not_start(tmp_path, sys.executable, f"{tmp_path}/hparams.yaml: its encoder nobody/nothing cannot")


CHECKPOINT = "checkpoints/model.ckpt"  # in the folder of a COMET model


def regression_metric(encoder: Path):
    """Random weights of the class of wmt22-comet-da, over a new encoder."""
    from comet.models import RegressionMetric
    from transformers import BertConfig, BertModel, BertTokenizerFast

    encoder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdxy"]
    (encoder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    BertTokenizerFast(str(encoder / "vocab.txt")).save_pretrained(encoder)
    BertModel(BertConfig(vocab_size=len(words), **ENCODER)).save_pretrained(encoder)
    return RegressionMetric(
        encoder_model="BERT", pretrained_model=str(encoder), hidden_sizes=[4], load_pretrained_weights=False
    )


def unified_metric(encoder: Path):
    """Random weights of the class and options of wmt22-cometkiwi-da, over a new encoder."""
    from comet.models import UnifiedMetric
    from transformers import XLMRobertaConfig

    write_pieces(encoder / "sentencepiece.bpe.model")
    XLMRobertaConfig(vocab_size=128, **ENCODER).save_pretrained(encoder)
    return UnifiedMetric(
        encoder_model="XLM-RoBERTa", pretrained_model=str(encoder), load_pretrained_weights=False,
        hidden_sizes=[4], input_segments=["mt", "src"], word_level_training=False,
    )  # fmt: skip


def expected_scores(model) -> list[float]:
    """The model called by hand, line by line."""
    import torch

    scores = []
    for mt, src, ref in zip(*LINES.values(), strict=True):
        prepared = model.eval().prepare_sample([{"mt": mt, "src": src, "ref": ref}], stage="predict")
        with torch.no_grad():
            for batch in prepared if isinstance(prepared, tuple) else [prepared]:
                scores.append(model(**batch).score.item())
    return scores


def scores_and_details(folder: Path, model) -> tuple[list[float], dict]:
    """Of the model, saved to `folder` as published ones are, and read by `Comet`."""
    import torch
    import yaml

    (folder / CHECKPOINT).parent.mkdir()
    hyperparameters = dict(model.hparams)
    saved = {"state_dict": model.state_dict(), "hyper_parameters": hyperparameters}
    torch.save(saved | {"pytorch-lightning_version": "2.0.0"}, folder / CHECKPOINT)
    (folder / "hparams.yaml").write_text(yaml.safe_dump(hyperparameters))
    with Comet(str(folder)) as comet:
        return comet.scores(*LINES.values()), comet.details


@pytest.mark.parametrize(
    ("model", "message"),
    [("unknown/name", "not supported by COMET"), ("missing.ckpt", "Invalid checkpoint path: missing.ckpt")],
)
def test_model_that_does_not_load_is_one_line(other_python, model, message):
    with Comet(model, str(other_python)) as comet, pytest.raises(InputError, match=message) as error:
        comet.start()
    assert "\n" not in str(error.value)


def interpreter(folder, script: str):
    """A program in the place of python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def does_not_start(model, python, message: str) -> None:
    with Comet(str(model), str(python)) as comet, pytest.raises(InputError, match=message):
        comet.start()


def test_environment_without_comet(tmp_path, checkpoint):
    python = interpreter(tmp_path, f'exec "{sys.executable}" -S "$@"')  # no site-packages
    does_not_start(checkpoint, python, "pip install unbabel-comet")


def test_interpreter_that_dies_or_is_missing(tmp_path, checkpoint):
    python = interpreter(tmp_path, "echo 'out of memory' >&2\nexit 3")
    does_not_start(checkpoint, python, "status 3: out of memory")
    # longer than a pipe's buffer: the write itself meets the dead process, and so does closing the pipe
    does_not_start("x" * 1_000_000, python, "status 3")
    does_not_start(checkpoint, "/no/python", "/no/python: cannot be run")


def test_an_interpreter_may_say_what_is_not_utf8(tmp_path, checkpoint):
    python = interpreter(tmp_path, "printf 'm\\303\\251moire \\351puis\\351e\\n' >&2\nexit 3")
    does_not_start(checkpoint, python, "status 3: mémoire \ufffdpuis\ufffde")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("[]", "found a list"), ("{}", "field 'scores' is missing"), ("noise", "not JSON"),
        ("3", "expected an object"),
        ('{"scores": [NaN]}', "NaN"), ('{"scores": [null]}', "field 'scores[0]' is None"),
        ('{"scores": 3}', "field 'scores' is 3"), ('{"scores": [1, 2]}', "2 scores for 1 lines"),
        ('{"error": 3}', "field 'error' is 3, expected a string"),
    ],
)  # fmt: skip
def test_answers_that_are_none(tmp_path, checkpoint, answer, message):
    python = tmp_path / "python"
    loaded = '{"ready": true, "reference_free": false}'
    python.write_text(f"#!/bin/sh\nread x\necho '{loaded}'\nread x\necho '{answer}'\nread x\n")
    python.chmod(0o755)
    with pytest.raises(InputError) as caught, Comet(str(checkpoint), str(python)) as comet:
        comet.scores(["a"], ["b"], ["c"])
    assert str(caught.value).startswith(f"COMET ({python})") and message in str(caught.value)
