"""Checkpoints: read safely, ours and stock fairseq's, and refused with one line that names the file."""

import math
import os
import pickle
from argparse import Namespace

import pytest
import torch
from fairseq import checkpoint_utils
from omegaconf import OmegaConf

from command_line.errors import InputError
from eval.translation.directions import choose_directions
from fairseq_ext.checkpoints.reading import read_checkpoint
from fairseq_ext.inference import load_for_inference
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_toy_folder
from tests.fairseq_ext.models import SIZES, toy_dictionary


class RunsACommand:
    """What an attacker's checkpoint holds: unpickling it runs a command."""

    def __init__(self, command: str):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture
def folder(tmp_path):
    return write_toy_folder(tmp_path / "data")


def checkpoint_state(folder, arch: str = "mnmt_transformer", task=None, **model_options) -> dict:
    """The parts of a checkpoint that inference reads, as fairseq's trainer saves them."""
    own = MultilingualNmtTask.setup_task(
        MultilingualNmtConfig(data=str(folder), lang_pairs="de-en,en-de,en-fr,fr-en")
    )
    options = Namespace(**{"_name": arch, "arch": arch, **SIZES, "encoder_layers": 1, "decoder_layers": 1})
    vars(options).update(model_options)
    torch.manual_seed(1)
    model = own.build_model(options)
    task_options = task or {"_name": "multilingual_nmt"}
    positions = {"max_source_positions": 64, "max_target_positions": 64}
    return {
        "args": None,
        "cfg": {"model": options, "task": {**positions, **task_options}, "common": {"seed": 1}},
        "model": model.state_dict(),
        "task_state": {} if task else own.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
        "last_optimizer_state": None,
    }  # fmt: skip


def bilingual_state(folder, **languages) -> dict:
    """Of a stock model, whose dictionary is that of the folder, without rows for tags.

    Args:
        languages: `source_lang` and `target_lang`, as fairseq saves them.
    """
    state = checkpoint_state(folder, arch="transformer", task={"_name": "translation", **languages})
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection"):
        weights = state["model"][f"{name}.weight"]
        state["model"][f"{name}.weight"] = weights[: len(toy_dictionary())]
    return state


def save(path, state) -> str:
    torch.save(state, path)
    return str(path)


def refused(function, *arguments) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- code in a checkpoint


@pytest.mark.parametrize("protocol", ["torch", "legacy torch", "pickle"])
@pytest.mark.parametrize("where", ["alone", "model", "cfg"])
def test_code_in_a_checkpoint_is_refused_and_does_not_run(tmp_path, folder, protocol, where):
    sentinel = tmp_path / "owned"
    attack = RunsACommand(f"touch {sentinel}")
    if where == "alone":
        state = attack
    else:
        state = checkpoint_state(folder)
        state[where] = {"x": attack}
    path = tmp_path / "evil.pt"
    if protocol == "pickle":
        path.write_bytes(pickle.dumps(state))
    else:
        torch.save(state, path, _use_new_zipfile_serialization=protocol == "torch")
    message = refused(read_checkpoint, path)
    assert message.startswith(f"{path}: refused")
    assert not sentinel.exists()
    # fairseq's own loaders, after fairseq_ext was imported
    assert refused(checkpoint_utils.load_checkpoint_to_cpu, str(path)) == message
    assert refused(checkpoint_utils.load_model_ensemble_and_task, [str(path)]) == message
    assert not sentinel.exists()


def test_the_attack_above_is_one(tmp_path):
    """Plain unpickling runs the command: the test would notice."""
    sentinel = tmp_path / "owned"
    pickle.loads(pickle.dumps(RunsACommand(f"touch {sentinel}")))
    assert sentinel.exists()


# --- files that are no checkpoints


def test_missing_file(tmp_path):
    assert refused(read_checkpoint, tmp_path / "no.pt").startswith(f"{tmp_path}/no.pt: no such file")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_file(tmp_path, folder, share):
    path = tmp_path / "cut.pt"
    save(path, checkpoint_state(folder))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert refused(read_checkpoint, path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "content", [b"hello\n", b"\x80\x04N.", b"PK\x03\x04", bytes(range(256)), b"\xdcbrig\n"]
)
def test_not_a_checkpoint(tmp_path, content):
    path = tmp_path / "other.pt"
    path.write_bytes(content)
    assert refused(read_checkpoint, path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "state", [{}, [1, 2], torch.zeros(3), {"model": {}}, {"cfg": None, "model": {}}], ids=str
)
def test_a_torch_file_that_is_not_a_fairseq_checkpoint(tmp_path, state):
    path = save(tmp_path / "tensor.pt", state)
    message = refused(read_checkpoint, path)
    assert message.startswith(f"{path}: ")
    assert "not a fairseq checkpoint" in message


def test_a_folder_is_not_a_checkpoint(tmp_path):
    assert refused(read_checkpoint, tmp_path) == f"{tmp_path}: is a folder, expected a fairseq checkpoint"


# --- loading


def test_ours(tmp_path, folder):
    state = checkpoint_state(folder, norm_placement="pre")
    loaded = load_for_inference(save(tmp_path / "ours.pt", state), folder)
    assert loaded.task.tags.languages == ["de", "en", "fr"]
    assert loaded.task.tags.placement_name == "s-enc-t-dec"
    assert [*map("-".join, loaded.task.supervised)] == ["de-en", "en-de", "en-fr", "fr-en"]
    assert loaded.task.max_positions() == (64, 64)
    assert not loaded.model.training
    for name, tensor in loaded.model.state_dict().items():
        assert torch.equal(tensor, state["model"][name]), name
    assert "model" not in loaded.state


STOCK = {
    "_name": "translation_multi_simple_epoch", "lang_pairs": ["en-de", "de-en"], "langs": ["de", "en", "fr"],
    "encoder_langtok": "src", "decoder_langtok": True, "lang_tok_style": "multilingual",
}  # fmt: skip


@pytest.mark.parametrize("pairs", ["en-de,de-en", ["en-de", "de-en"]])
@pytest.mark.parametrize("as_namespace", [False, True])
def test_stock_multilingual(tmp_path, folder, pairs, as_namespace):
    state = checkpoint_state(folder, arch="transformer", task={**STOCK, "lang_pairs": pairs})
    if as_namespace:
        state["cfg"]["task"] = Namespace(**state["cfg"]["task"])
    loaded = load_for_inference(save(tmp_path / "stock.pt", state), folder)
    assert type(loaded.model).__name__ == "TransformerModel"
    assert loaded.task.tags.placement_name == "s-enc-t-dec"
    assert loaded.task.supervised == [("en", "de"), ("de", "en")]


def test_stock_bilingual_has_no_tags(tmp_path, folder):
    """A real one is translated with in tests/integration."""
    state, words = bilingual_state(folder, source_lang="de", target_lang="en"), len(toy_dictionary())
    loaded = load_for_inference(save(tmp_path / "bilingual.pt", state), folder)
    tags = loaded.task.tags
    assert len(loaded.task.dictionary) == words == len(loaded.model.encoder.embed_tokens.weight)
    assert tags.encoder_ids("de", "en") == tags.decoder_ids("en") == tags.source_ending_ids("de", "en") == []
    assert (tags.languages, tags.all_ids()) == (["de", "en"], set())
    with pytest.raises(InputError, match=r"language 'fr': .*; known languages: de, en"):
        tags.encoder_ids("de", "fr")
    for wanted in ("all", "supervised"):
        assert choose_directions(loaded.task, folder, "valid", wanted) == [("de", "en")]
    with pytest.raises(InputError, match="no valid set for zero-shot directions"):
        choose_directions(loaded.task, folder, "valid", "zero-shot")


def test_a_bilingual_model_that_does_not_say_its_languages(tmp_path, folder):
    """fairseq saves none where it took them from the names of the files."""
    path = save(tmp_path / "bilingual.pt", bilingual_state(folder, source_lang=None))
    message = refused(load_for_inference, path, folder)
    assert message.startswith(f"{path}: trained without -s and -t, it does not say its languages; ")
    assert f"{folder}, found de-en, de-fr, en-fr; " in message
    one = tmp_path / "one"
    write_dictionaries(one, ["fr", "en"])
    write_pair(one, "train", "fr-en", [[4, 2]], [[4, 2]])
    assert load_for_inference(path, one).task.supervised == [("fr", "en")]


def test_another_size_of_dictionary_for_a_bilingual_checkpoint(tmp_path, folder):
    task = {"_name": "translation", "source_lang": "de", "target_lang": "en"}
    path = save(tmp_path / "bilingual.pt", checkpoint_state(folder, arch="transformer", task=task))
    message = refused(load_for_inference, path, folder)
    assert message.startswith(f"{folder}/dict.*.txt: 34 symbols, but {path} has embeddings for 37")


def test_languages_that_would_be_paths(tmp_path, folder):
    """`eval translate` names its outputs after the checkpoint's languages."""
    state = checkpoint_state(folder)
    state["task_state"]["languages"] = ["de", "en", "x/../../fr"]
    message = refused(load_for_inference, save(tmp_path / "x.pt", state), folder)
    assert message == f"{tmp_path}/x.pt: a language is 'x/../../fr'; expected a plain name without folders"


def test_unknown_task(tmp_path, folder):
    path = save(tmp_path / "lm.pt", checkpoint_state(folder, task={"_name": "language_modeling"}))
    message = refused(load_for_inference, path, folder)
    assert message.startswith(f"{path}: has the task 'language_modeling'; expected ")
    assert "multilingual_nmt, " in message


def test_a_known_task_that_does_not_translate(tmp_path, folder):
    path = save(tmp_path / "bart.pt", checkpoint_state(folder, task={"_name": "denoising"}))
    message = refused(load_for_inference, path, folder)
    assert message.startswith(f"{path}: has the task 'denoising'; expected multilingual_nmt, ")


def test_options_and_weights_that_do_not_fit_together(tmp_path, folder):
    state = checkpoint_state(folder)
    state["cfg"]["model"].encoder_ffn_embed_dim = 48
    message = refused(load_for_inference, save(tmp_path / "x.pt", state), folder)
    assert message.startswith(f"{tmp_path}/x.pt: its options and weights make no model: ")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_no_numbers(tmp_path, folder, value):
    state = checkpoint_state(folder)
    state["model"]["encoder.layers.0.fc2.weight"][1, 2:4] = value
    state["model"]["decoder.layers.0.fc1.bias"][0] = value
    path = save(tmp_path / "diverged.pt", state)
    size = state["model"]["encoder.layers.0.fc2.weight"].numel()
    assert refused(load_for_inference, path, folder) == (
        f"{path}: 2 of {size} weights of encoder.layers.0.fc2.weight are NaN or infinite; expected a"
        " checkpoint from before the training diverged"
    )


def test_tags_that_replace_other_symbols(tmp_path, folder):
    path = save(tmp_path / "mbart.pt", checkpoint_state(folder, task={**STOCK, "lang_tok_style": "mbart"}))
    assert refused(load_for_inference, path, folder).startswith(f"{path}: its language tokens")


def test_another_dictionary(tmp_path, folder):
    path = save(tmp_path / "ours.pt", checkpoint_state(folder))
    write_dictionaries(folder, ["de", "en", "fr"], words=29)
    message = refused(load_for_inference, path, folder)
    assert message.startswith(f"{folder}/dict.*.txt: is not the dictionary that the checkpoint was trained")


def test_another_size_of_dictionary_for_a_stock_checkpoint(tmp_path, folder):
    path = save(tmp_path / "stock.pt", checkpoint_state(folder, task=STOCK))
    write_dictionaries(folder, ["de", "en", "fr"], words=29)
    message = refused(load_for_inference, path, folder)
    expected = f"{folder}/dict.*.txt: 36 symbols with language tags, but {path} has embeddings for 37"
    assert message.startswith(expected)


def test_folder_without_dictionaries(tmp_path, folder):
    path = save(tmp_path / "ours.pt", checkpoint_state(folder))
    assert refused(load_for_inference, path, tmp_path).startswith(f"{tmp_path}: no dict.LANG.txt in it")


def test_options_are_a_configuration(tmp_path, folder):
    state = read_checkpoint(save(tmp_path / "ours.pt", checkpoint_state(folder)))
    assert OmegaConf.is_config(state["cfg"])
    assert state["cfg"]["task"]["_name"] == "multilingual_nmt"
