"""Checkpoints with wrong contents, through every command that reads one: one line that names the file."""

import copy
import shutil
import zipfile
from argparse import Namespace

import pytest
import torch

from fairseq_ext.checkpoints.reading import EMBEDDINGS
from tests.campaign.world import words_of

FILES = {
    "eval translate": "model.pt",
    "eval probe states": "model.pt",
    "eval probe interlingua": "interlingua.pt",
    "embeddings encode": "model.pt",
    "fairseq_ext trim-mbart": "mbart/model.pt",
    "fairseq_ext describe": "model.pt",
    "fairseq_ext trim-vocabulary": "model.pt",
}
BUILD_NO_MODEL = ("fairseq_ext describe", "fairseq_ext trim-vocabulary")  # and may take what makes none
A_FOLDER = object()
NO_CHECKPOINTS = {
    "empty": b"",
    "text": b"one\ntwo\n",
    "text of a kind that unpickles": b"I1\n.",
    "not UTF-8": b"\xff" * 100,
    "a number": 3,
    "a list": [1, 2],
    "no fields": {},
    "a tensor": torch.zeros(3),
}
TENSORS = {
    "another width": lambda tensor: tensor[:, :-1].clone(),
    "another number of symbols": lambda tensor: tensor[:-1].clone(),
    "no rows": lambda tensor: tensor[:0].clone(),
    "one dimension": lambda tensor: tensor[0].clone(),
    "no dimension": lambda tensor: torch.tensor(1.0),
    "whole numbers": lambda tensor: tensor.to(torch.int64),
    "booleans": lambda tensor: tensor > 0,
    "complex": lambda tensor: tensor.to(torch.complex64),
    "sparse": lambda tensor: tensor.to_sparse(),
    "without memory": lambda tensor: tensor.to("meta"),
    "NaN": lambda tensor: torch.full_like(tensor, float("nan")),
    "infinite": lambda tensor: torch.full_like(tensor, float("inf")),
    "a list": lambda tensor: tensor.tolist(),
    "a number": lambda tensor: 3,
    "text": lambda tensor: "text",
    "null": lambda tensor: None,
}
NO_WEIGHTS = (None, 3, "text", [], [1, 2], {}, {1: 2}, {"x": None}, {"x": torch.zeros(1)}, torch.zeros(3))
NO_OPTIONS = (
    None, 3, "text", [], {}, {"model": None}, {"model": 3}, {"model": []}, {"model": {"_name": []}},
    {"model": {"_name": "transformer", "encoder_layers": {"a": {"b": {"c": "d"}}}}, "task": {}},
    {"model": Namespace(arch="mnmt_transformer"), "task": Namespace()},
    {"model": Namespace(arch="mnmt_transformer"), "task": Namespace(_name="multilingual_nmt")},
)  # fmt: skip
NO_TASKS = (None, 3, "text", "???", [], {}, {"_name": None}, {"_name": 3}, {"_name": ["multilingual_nmt"]})
WRONG_VALUES = (None, 3, -1, 1e300, float("nan"), "", "text", "../x", [], [[]], [None], [3], {}, {"x": {}})
OPTIONS = ("encoder_embed_dim", "encoder_layers", "decoder_layers", "encoder_attention_heads", "dropout",
           "encoder_ffn_embed_dim", "share_all_embeddings", "norm_placement", "activation_fn")  # fmt: skip


@pytest.fixture
def refused(pristine, tmp_path, run):
    """Run a command on a checkpoint with these contents; it has to refuse and to name it."""

    def call(command: str, content, may_work: bool = False, names: str | None = None) -> None:
        path = place_for(pristine, tmp_path, command)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content is A_FOLDER:
            path.mkdir()
        else:
            torch.save(content, path)
        words = words_of(command, tmp_path / "w", tmp_path / "output")
        found = run([*command.split(), *words])
        assert found.status == 2 or may_work or command in BUILD_NO_MODEL
        assert found.status == 0 or (names or str(path)) in found.line, found.line
        shutil.rmtree(tmp_path / "output", ignore_errors=True)

    return call


def place_for(pristine, tmp_path, command: str):
    """Where the checkpoint of a command lies, in a world of links."""
    world = tmp_path / "w"
    if not world.exists():
        world.mkdir()
        for path in pristine.iterdir():
            if path.name == "mbart":
                shutil.copytree(path, world / "mbart")
            else:
                (world / path.name).symlink_to(path)
    path = world / FILES[command]
    path.unlink(missing_ok=True)
    return path


@pytest.fixture(scope="session")
def states(pristine):
    """The contents of each command's right checkpoint."""
    return {name: torch.load(pristine / name, weights_only=True) for name in {*FILES.values()}}


@pytest.fixture
def state(states):
    return lambda command: copy.deepcopy(states[FILES[command]])


@pytest.mark.parametrize("command", FILES)
def test_files_that_are_no_checkpoints(pristine, tmp_path, refused, command):
    for content in NO_CHECKPOINTS.values():
        refused(command, content)
    right = (pristine / FILES[command]).read_bytes()
    for length in (1, 2, 30, len(right) // 2, len(right) - 1):
        refused(command, right[:length])
    refused(command, right[: len(right) // 2] + bytes(1000) + right[len(right) // 2 + 1000 :], may_work=True)
    path = place_for(pristine, tmp_path, command)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("hello.txt", "hello")
    refused(command, path.read_bytes())
    refused(command, A_FOLDER)


@pytest.mark.parametrize("command", FILES)
def test_models_that_are_none(refused, state, command):
    for wrong in NO_WEIGHTS:
        refused(command, state(command) | {"model": wrong})
    changed = state(command)
    del changed["model"]
    refused(command, changed)


@pytest.mark.parametrize("wrong", TENSORS)
@pytest.mark.parametrize("command", FILES)
def test_tensors(refused, state, command, wrong):
    for names in (EMBEDDINGS, ("decoder.layers.0.fc1.weight",)):
        changed = state(command)
        for name in changed["model"].keys() & set(names):  # tied weights are all of that kind
            changed["model"][name] = TENSORS[wrong](changed["model"][name])
        refused(command, changed)


@pytest.mark.parametrize("command", FILES)
def test_keys(refused, state, command):
    for name in [name for name in state(command)["model"] if ".layers." in name][::5]:
        changed = state(command)
        del changed["model"][name]
        refused(command, changed)
    for name in ("x", "encoder.layers.99.fc1.weight", "decoder.layers.x.fc1.weight", 3):
        changed = state(command)
        changed["model"][name] = torch.zeros(3)
        refused(command, changed)


@pytest.mark.parametrize("command", [command for command in FILES if not command.endswith("mbart")])
def test_options_of_odd_kinds(refused, state, command):
    for wrong in NO_OPTIONS:
        refused(command, state(command) | {"cfg": wrong})
    for wrong in NO_TASKS:
        changed = state(command)
        changed["cfg"]["task"] = wrong
        refused(command, changed)


@pytest.mark.parametrize("option", OPTIONS)
def test_options_with_wrong_values(refused, state, option):
    command = "eval translate"
    for wrong in WRONG_VALUES:
        changed = state(command)
        setattr(changed["cfg"]["model"], option, wrong)
        refused(command, changed, may_work=True)


def test_states_of_the_task(refused, state):
    command = "eval translate"
    right = state(command)["task_state"]
    for wrong in (None, 3, "text", [], {}):
        refused(command, state(command) | {"task_state": wrong})
    changed = state(command)
    del changed["task_state"]
    refused(command, changed)
    for name in right:
        for wrong in WRONG_VALUES:
            is_other = name == "dictionary_sha256" and isinstance(wrong, str)
            names = "dict.*.txt" if is_other else None
            refused(command, state(command) | {"task_state": right | {name: wrong}}, True, names)


@pytest.mark.parametrize("command", [command for command in FILES if not command.endswith("mbart")])
def test_models_without_layers(refused, state, command):
    for side in ("encoder", "decoder"):
        changed = state(command)
        setattr(changed["cfg"]["model"], f"{side}_layers", 0)
        kept = {name: value for name, value in changed["model"].items() if f"{side}.layers" not in name}
        refused(command, changed | {"model": kept}, may_work=True)


@pytest.mark.parametrize(
    "args",
    [3, "text", [1], {"encoder_attention_heads": 3}, Namespace(encoder_attention_heads=[]),
     Namespace(encoder_attention_heads=0)],
)  # fmt: skip
def test_options_of_mbart(refused, state, args):
    command = "fairseq_ext trim-mbart"
    refused(command, state(command) | {"args": args}, may_work=type(args) is not Namespace)
