"""`export --to fairseq`: stock fairseq reads the checkpoint, in a process that has none of our code."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from data_prep.formats.preparation import Preparation
from fairseq_ext.export.fairseq_checkpoint import readme, task_options
from fairseq_ext.export.translation_parity import checked_sentences
from fairseq_ext.inference import load_for_inference
from tests import hanging
from tests.eval.translation.packages import fairseq_ext, write_checkpoint
from tests.fairseq_ext.export.translation_models import write_data, write_model
from tests.fairseq_ext.models import OTHER_PLACEMENTS
from tests.fairseq_ext.test_checkpoints import save

GENERATE = """
import sys
from fairseq_cli.generate import cli_main
sys.argv = ["fairseq-generate", *sys.argv[1:]]
cli_main()
assert not [name for name in sys.modules if name.split(".")[0] in ("fairseq_ext", "command_line", "eval")]
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("fairseq") / "data")


def export(checkpoint: Path, data: Path, output: Path, *options) -> int:
    return fairseq_ext("export", checkpoint, output, "--to", "fairseq", "--data", data, *options)


def stock_hypotheses(data: Path, folder: Path, words: str) -> dict[int, list[str]]:
    """What `fairseq-generate` prints, as the README of the folder calls it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", GENERATE, str(data), "--path", "model.pt", *words.split(), "--cpu"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=hanging.SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rows = re.findall(r"^H-(\d+)\t[^\t]+\t(.*)$", done.stdout, flags=re.M)
    return {int(number): text.split() for number, text in rows}


@pytest.mark.parametrize(
    ("tags", "options"),
    [
        ("s-enc-t-dec", {}),
        pytest.param("t-enc", {"norm_placement": "pre", "no_norm_affine": True}, marks=pytest.mark.slow),
        pytest.param("none", {}, marks=pytest.mark.slow),
    ],
)
def test_fairseq_generate_finds_our_hypotheses(data, tmp_path, tags, options):
    checkpoint = write_model(tmp_path / "model.pt", data, tags=tags, **options)
    assert export(checkpoint, data, tmp_path / "out") == 0
    readme = (tmp_path / "out/README.md").read_text()
    words = re.search(r"fairseq-generate DATA --path model.pt (.*)", readme)[1]
    words = re.sub("-s .. -t ..", "-s fr -t de", words)  # of any direction
    found = stock_hypotheses(data, tmp_path / "out", f"{words} --beam 5 --max-len-b 63 --gen-subset test")
    loaded = load_for_inference(checkpoint, data)
    sentences = checked_sentences(loaded, Preparation.load(data), 4)
    expected = {one.line: one.hypothesis for one in sentences if one.direction == ("fr", "de")}
    assert len(expected) == 4 and len(found) >= 3  # fairseq's task leaves out the last one
    for line, words in found.items():
        assert words == [loaded.task.dictionary.symbols[token] for token in expected[line]]


def test_it_holds_nothing_but_tensors_texts_and_numbers(data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out", "--check-lines", "1") == 0
    allowed = torch.serialization.get_safe_globals()  # by fairseq_ext
    torch.serialization.clear_safe_globals()
    try:
        state = torch.load(tmp_path / "out/model.pt", weights_only=True)
    finally:
        torch.serialization.add_safe_globals(allowed)
    assert state["cfg"]["model"]["_name"] == "transformer" and state["last_optimizer_state"] is None


def test_a_model_without_tags_is_one_of_the_task_translation():
    tags = SimpleNamespace(exist=False, placement_name="none")
    task = task_options(SimpleNamespace(task=SimpleNamespace(tags=tags, supervised=[("de", "en")])))
    assert task == {"_name": "translation", "source_lang": "de", "target_lang": "en"}
    assert "fairseq-generate DATA --path model.pt --task translation -s de -t en " in readme(task, "model.pt")


def test_it_is_read_by_our_commands_too(data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out", "--check-lines", "1") == 0
    loaded = load_for_inference(tmp_path / "out/model.pt", data)
    assert loaded.task.tags.placement_name == "s-enc-t-dec"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        *OTHER_PLACEMENTS,
        ({"drop_residual_layers": "1"}, "--drop-residual-layers"),
        ({"norm_placement": "pre", "no_encoder_final_norm": True}, "--no-encoder-final-norm"),
        ({"tags": "s-enc-t-enc"}, "fairseq has no --language-tags s-enc-t-enc"),
        ({"tags": "mbart"}, "fairseq has no --language-tags mbart"),
    ],
)
def test_what_fairseq_lacks_is_refused(data, tmp_path, capsys, options, reason):
    tags = options.get("tags", "s-enc-t-dec")
    others = {name: value for name, value in options.items() if name != "tags"}
    checkpoint = write_checkpoint(tmp_path / "model.pt", data, **others)
    state = torch.load(checkpoint, weights_only=False)
    state["task_state"]["language_tags"] = tags
    save(checkpoint, state)
    assert export(checkpoint, data, tmp_path / "out") == 2
    message = capsys.readouterr().err
    assert reason in message and message.count("\n") == 1
    assert not (tmp_path / "out/model.pt").exists()
