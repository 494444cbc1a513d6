"""What a checkpoint says of what it was initialized from, and what of it reaches the record of a system."""

import re
from argparse import Namespace

import pytest
import torch

from command_line.errors import InputError
from command_line.outputs import checksum
from fairseq_ext.checkpoints.origin import initialized_from, named_by_options, origin_of, origin_of_file
from fairseq_ext.checkpoints.reading import read_checkpoint
from fairseq_ext.inference import load_for_inference
from fairseq_ext.provenance import describe_checkpoint
from tests.fairseq_ext.checkpoints.test_initializing import (  # noqa: F401
    ARCHITECTURE,
    built,
    folder,
    options,
    pretrained,
)


def saved(task, model, model_options, path, **task_options):
    """A checkpoint of `multilingual_nmt` as fairseq's trainer saves it."""
    state = {
        "args": None,
        "cfg": {
            "model": model_options,
            "task": {"_name": "multilingual_nmt", **task_options},
            "criterion": {"_name": "label_smoothed_cross_entropy", "label_smoothing": 0.1},
            "common": {"seed": 1},
        },
        "model": model.state_dict(),
        "task_state": task.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
        "last_optimizer_state": None,
    }
    torch.save(state, path)
    return path


def test_pretraining_reaches_the_record_of_the_system(folder, pretrained, tmp_path):  # noqa: F811
    task, model = built(folder, pretrained)
    path = saved(task, model, options(), tmp_path / "tuned.pt", pretrained_checkpoint=str(pretrained))
    loaded = load_for_inference(path, folder)
    record = loaded.system()
    assert "from MASS (en) BMASS (ja)" in record["name"]
    origin = record["initialization"]["system"]
    assert origin["pretraining_tasks"] == {"ja": {"bmass": 1.0}, "en": {"mass": 1.0}}
    assert not {"name", "seed"} & origin.keys()  # two seeds of pre-training are one system
    provenance = describe_checkpoint(path, loaded.state)["initialized_from"]
    file = f"{pretrained.parent.name}/checkpoint_best.pt"
    assert provenance == {"file": file, "sha256": checksum(pretrained), "seed": 3}
    assert loaded.system("mine")["name"] == "mine"


def test_from_scratch(folder, tmp_path):  # noqa: F811
    task, model = built(folder, None)
    loaded = load_for_inference(saved(task, model, options(), tmp_path / "scratch.pt"), folder)
    assert loaded.system()["initialization"] == {}
    assert "from" not in loaded.system()["name"]


def test_fairseqs_option_is_known_too(folder, pretrained, tmp_path):  # noqa: F811
    task, model = built(folder, None, model={"finetune_from_model": str(pretrained)})
    path = saved(task, model, options(), tmp_path / "tuned.pt")
    assert task.state_dict()["initialized_from"]["seed"] == 3
    assert load_for_inference(path, folder).system()["initialization"]["system"]["pretraining_tasks"]
    (tmp_path / "checkpoint_last.pt").touch()
    removed = {"finetune_from_model": str(tmp_path / "removed.pt"), "save_dir": str(tmp_path)}
    task, _ = built(folder, None, model=removed)
    assert task.state_dict()["initialized_from"] is None  # goes on, without what it began with


def test_a_file_that_was_brought_into_our_form_is_the_origin(folder, tmp_path):  # noqa: F811
    (tmp_path / "mbart").mkdir()
    (tmp_path / "mbart" / "model.pt").write_bytes(b"weights")
    task, model = built(folder, None)
    task.initialized_from = origin_of_file(tmp_path / "mbart" / "model.pt")
    path = saved(task, model, options(), tmp_path / "start.pt")
    trained = read_checkpoint(path)
    assert origin_of(path, trained)["file"].endswith("/start.pt")
    untrained = trained | {"optimizer_history": [{"num_updates": 0}]}
    assert origin_of(path, untrained) == task.initialized_from
    assert task.initialized_from["file"] == "mbart/model.pt"


def test_options_of_a_training_by_stock_fairseq_name_a_file(folder, tmp_path):  # noqa: F811
    task, model = built(folder, None)
    path = saved(task, model, options(), tmp_path / "stock.pt")
    state = torch.load(path)
    del state["task_state"]
    state["cfg"]["task"] = {
        "_name": "translation_multi_simple_epoch", "lang_pairs": "en-ja,ja-en", "langs": "en,ja",
        "encoder_langtok": "src", "decoder_langtok": True,
    }  # fmt: skip
    torch.save(state, path)
    assert load_for_inference(path, folder).system()["initialization"] == {}
    state["cfg"]["checkpoint"] = {"finetune_from_model": "/somebody\n/mass $(x)/best.pt"}
    torch.save(state, path)
    loaded = load_for_inference(path, folder)
    assert loaded.system()["initialization"] == {"file": "best.pt"}
    assert loaded.system()["name"].startswith("PostNorm S-ENC-T-DEC from best.pt")
    assert "somebody" not in str(loaded.state["cfg"].get("checkpoint"))


def test_what_options_may_hold():
    assert named_by_options({"args": Namespace(finetune_from_model="a/b.pt")}) == {"file": "b.pt"}
    assert named_by_options({"args": 3, "cfg": [1]}) == {}
    assert named_by_options({"cfg": {"checkpoint": {"finetune_from_model": 7}}}) == {}
    bad = "x/\x1b[31m${oc.env:HOME}" + "y" * 300
    named = named_by_options({"cfg": {"checkpoint": {"finetune_from_model": bad}}})
    assert re.fullmatch(r"[\w.+-]{1,100}", named["file"])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("a.pt", "field 'task_state.initialized_from' is 'a.pt', expected an object"),
        ({"sha256": 3}, "field 'task_state.initialized_from.sha256' is 3, expected a string"),
        (
            {"system": {"losses": "word"}},
            "field 'task_state.initialized_from.system.losses' is 'word', expected an object",
        ),
        ({"system": 7}, "field 'task_state.initialized_from.system' is 7, expected an object"),
    ],
)
def test_nonsense_is_one_line(found, message):
    with pytest.raises(InputError, match=re.escape(f"a.pt: {message}")):
        initialized_from({"task_state": {"initialized_from": found}}, "a.pt")
