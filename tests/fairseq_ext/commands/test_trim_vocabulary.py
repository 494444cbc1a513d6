"""`fairseq_ext trim-vocabulary`: fewer symbols, equal outputs where a text has none of the others."""

import shutil

import pytest
import torch

from command_line.dispatch import run
from data_prep.formats.preparation import Preparation
from fairseq_ext.__main__ import COMMANDS
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.folders import write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save

KEPT = ["w7", "w2", "w11", "madeupword0000"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The data of a training, and the same with a dictionary of few symbols in another order."""
    root = tmp_path_factory.mktemp("trim")
    data = write_toy_folder(root / "data")
    write_preparation(data)
    shutil.copytree(data, root / "trimmed")
    for language in ("de", "en", "fr"):
        (root / f"trimmed/dict.{language}.txt").write_text("".join(f"{word} 1\n" for word in KEPT))
    write_preparation(root / "trimmed")
    return data, root / "trimmed"


@pytest.fixture
def trim(capsys):
    def call(checkpoint, data, trimmed, output) -> tuple[int, str]:
        words = ["--checkpoint", checkpoint, "--data", data, "--trimmed", trimmed, "--output", output]
        status = run("fairseq_ext", "", COMMANDS, ["trim-vocabulary", *map(str, words)])
        return status, "".join(capsys.readouterr())

    return call


def logits(checkpoint, data, source: list[str], target: list[str], at: list[str]) -> torch.Tensor:
    """The model's logits of some symbols after every symbol of the target."""
    loaded = load_for_inference(checkpoint, data)
    index = loaded.task.dictionary.index
    source, target, at = ([index(word) for word in words] for words in (source, target, at))
    with torch.no_grad():
        found = loaded.model(torch.tensor([source]), torch.tensor([len(source)]), torch.tensor([target]))[0]
    return found[0][:, at]


@pytest.mark.parametrize("shared", [True, False])
def test_covered_text_has_equal_outputs(folders, tmp_path, trim, shared):
    data, trimmed = folders
    path = save(tmp_path / "model.pt", checkpoint_state(data, share_all_embeddings=shared))
    assert trim(path, data, trimmed, tmp_path / "small.pt") == (
        0,
        "trim-vocabulary: 11 of 37 embeddings kept\n",
    )
    words = (
        ["__de__", "w7", "w2", "w2", "</s>"],
        ["</s>", "__fr__", "w11", "w7"],
        ["w2", "w7", "</s>", "__en__"],
    )
    torch.testing.assert_close(
        logits(tmp_path / "small.pt", trimmed, *words), logits(path, data, *words), atol=1e-6, rtol=1e-5
    )
    assert "complete, skipped" in trim(path, data, trimmed, tmp_path / "small.pt")[1]


def test_bad_input(folders, tmp_path, trim):
    data, trimmed = folders
    path = save(tmp_path / "model.pt", checkpoint_state(data))
    copies = {name: shutil.copytree(trimmed, tmp_path / name) for name in ("new", "subwords")}
    for language in ("de", "en", "fr"):
        (copies["new"] / f"dict.{language}.txt").write_text("w2 1\nnew 1\n")
    other = Preparation.load(copies["subwords"])
    (other.folder / "subword.codes").write_text("")
    other.subword = {"type": "subword-nmt", "model": "subword.codes"}
    other.save()
    for arguments, message in (
        ((path, data, copies["new"]), "the model has no symbol 'new'; expected a part of its dictionary"),
        ((path, data, copies["subwords"]), "its subword model is not that of"),
        ((path, trimmed, trimmed), "is not the dictionary that the checkpoint was trained with"),
        ((tmp_path / "none.pt", data, trimmed), "none.pt: no such file"),
        ((path, tmp_path / "nowhere", trimmed), "nowhere"),
    ):
        status, output = trim(*arguments, tmp_path / "out.pt")
        assert (status, output.count("\n")) == (2, 1) and message in output, output
        assert not (tmp_path / "out.pt").exists()
