"""`fairseq_ext describe`: every checkpoint of ours and of stock fairseq, read safely."""

import json
from argparse import Namespace

import pytest
import torch

from command_line.dispatch import run
from fairseq_ext.__main__ import COMMANDS
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.test_checkpoints import RunsACommand, checkpoint_state, save

STOCK = {"_name": "translation_multi_simple_epoch", "lang_pairs": "de-en,en-de", "encoder_langtok": "tgt"}
BILINGUAL = {"_name": "translation", "source_lang": "de", "target_lang": "en", "data": "some/data"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_toy_folder(tmp_path_factory.mktemp("describe") / "data")


@pytest.fixture
def describe(capsys):
    def call(*words) -> tuple[int, str, str]:
        status = run("fairseq_ext", "", COMMANDS, ["describe", *map(str, words)])
        return status, *capsys.readouterr()

    return call


KINDS = {
    "mnmt": {"arch": "mnmt_transformer"},
    "not shared": {"arch": "mnmt_transformer", "share_all_embeddings": False},
    "interlingua": {"arch": "interlingua_transformer"},
    "sentence encoder": {"arch": "thin_deep_64", "decoder_layers": 0},
    "stock multilingual": {"arch": "transformer", "task": STOCK},
    "stock bilingual": {"arch": "transformer", "task": BILINGUAL},
}


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_of_every_kind_are_those_of_the_model(describe, folder, tmp_path, kind):
    state = checkpoint_state(folder, **KINDS[kind])
    if kind == "sentence encoder":
        state["cfg"]["task"]["_name"] = "sentence_embedding"
        state["task_state"] |= {"language_tags": "none", "lang_pairs": ["de-en"]}
    path = save(tmp_path / "model.pt", state)
    status, out, err = describe(path, "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    weights = {name: one for name, one in state["model"].items() if "version" not in name}
    in_memory = {one.data_ptr(): one.numel() for name, one in weights.items() if "_float_tensor" not in name}
    assert record["parameters"]["total"] == sum(in_memory.values())
    layers = [v.numel() for n, v in state["model"].items() if n.startswith("encoder.layers.")]
    assert record["parameters"]["encoder layers"] == sum(layers) > 0
    assert describe(path)[0] == 0


def test_copies_of_shared_embeddings_count_once(describe, folder, tmp_path):
    """A GPU's checkpoint has lost that they are one."""
    state = checkpoint_state(folder)
    one = json.loads(describe(save(tmp_path / "a.pt", state), "--json")[1])["parameters"]
    state["model"] = {name: value.clone() for name, value in state["model"].items()}
    assert json.loads(describe(save(tmp_path / "b.pt", state), "--json")[1])["parameters"] == one


def test_what_is_said(describe, folder, tmp_path):
    state = checkpoint_state(folder, norm_placement="pre")
    state["cfg"]["task"] |= {"data": "corpus/data", "sampling_temperature": 3.0}
    state["cfg"]["criterion"] = {"_name": "label_smoothed_cross_entropy", "label_smoothing": 0.1}
    state["cfg"]["optimization"] = {"max_update": 7, "clip_norm": 0.0}
    path = save(tmp_path / "model.pt", state)
    record = json.loads(describe(path, "--json")[1])
    assert (record["task"], record["criterion"]) == ("multilingual_nmt", "label_smoothed_cross_entropy")
    assert record["languages"] == ["de", "en", "fr"]
    assert record["directions"] == ["de-en", "en-de", "en-fr", "fr-en"]
    assert record["data"]["path"] == "corpus/data"
    assert record["checkpoint"]["updates"] == 7 and record["checkpoint"]["epoch"] == 2
    assert record["axes"]["placement of normalization"]["norm_placement"] == "pre"
    assert record["axes"]["language tags"] == {"language_tags": "s-enc-t-dec"}
    options = record["options"]
    assert options["criterion"] == {"label_smoothing": 0.1} and options["optimization"] == {"max_update": 7}
    assert options["task"]["sampling_temperature"] == 3.0
    assert options["model"]["norm_placement"] == "pre" and options["model"]["encoder_embed_dim"] == 32
    assert "dropout" not in options["model"] and "decoder_output_dim" not in options["model"]
    lines = describe(path)[1].splitlines()
    assert "updates     7" in lines and "languages   de, en, fr" in lines
    assert any(line.split()[:1] == ["P_E"] for line in lines)


def test_pretraining(describe, folder, tmp_path):
    state = checkpoint_state(folder)
    state["cfg"]["task"] = {"_name": "linguistic_pretraining", "tasks": "ja:MASS"}
    state["task_state"] = {"languages": ["en", "ja"], "dictionary_sha256": "0" * 64}
    record = json.loads(describe(save(tmp_path / "model.pt", state), "--json")[1])
    assert (record["languages"], record["directions"]) == (["en", "ja"], [])
    assert record["axes"]["language tags"]["language_tags"] is None


def test_bad_input(describe, folder, tmp_path):
    sentinel = tmp_path / "owned"
    evil = checkpoint_state(folder) | {"model": {"x": RunsACommand(f"touch {sentinel}")}}
    options = checkpoint_state(folder)
    options["cfg"]["model"] = Namespace(
        **{**vars(options["cfg"]["model"]), "activation_fn": "${oc.env:HOME}"}
    )
    broken = checkpoint_state(folder)
    broken["task_state"]["languages"] = [3]
    (tmp_path / "text.pt").write_text("no checkpoint")
    for name, state, message in (
        ("evil.pt", evil, "refused"),
        ("options.pt", options, "activation_fn"),
        ("broken.pt", broken, "languages"),
        ("text.pt", None, "refused, expected a checkpoint"),
        ("none.pt", None, "no such file"),
    ):
        if state is not None:
            torch.save(state, tmp_path / name)
        status, out, err = describe(tmp_path / name)
        assert (status, out, err.count("\n")) == (2, "", 1), err
        assert str(tmp_path / name) in err and message in err
    assert not sentinel.exists()
