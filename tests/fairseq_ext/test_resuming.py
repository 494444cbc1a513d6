"""What a trainer hands to its task when a training goes on; tests/integration/test_resuming.py trains."""

from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from fairseq import trainer

from command_line.errors import InputError
from fairseq_ext.tasks import resuming
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.monolingual import write_monolingual
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_linguistic_pretraining import make_task as make_pretraining
from tests.fairseq_ext.test_multilingual_nmt import make_task as make_translation
from tests.fairseq_ext.test_sentence_embedding import make_task
from tests.fairseq_ext.test_sentence_losses import make_criterion

CANNOT = "the training cannot go on: "


@pytest.fixture
def task(tmp_path):
    return make_task(write_toy_folder(tmp_path / "data"), improvement_metrics="loss,ppl")


def load(task, saved, updates: int = 7, extra: dict | None = None, criterion: object = None) -> dict | None:
    """As fairseq's trainer, which has just read a checkpoint."""
    found = {"train_iterator": {"epoch": 1}, resuming.KEY: saved} if extra is None else extra
    wrapped = resuming._with_task(lambda self, filename, reset_optimizer=False: found)
    own = SimpleNamespace(task=task, get_num_updates=lambda: updates, get_criterion=lambda: criterion)
    return wrapped(own, "last.pt", False)


def test_the_trainer_sees_the_state_of_the_task_and_nobody_else_does(tmp_path):
    state = {
        "args": None, "cfg": None, "model": {}, "extra_state": {"train_iterator": {"epoch": 2}},
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "Adam", "lr_scheduler_state": {}}],
        "task_state": {"languages": ["de"]},
    }  # fmt: skip
    path = save(tmp_path / "last.pt", state)
    read = trainer.checkpoint_utils.load_checkpoint_to_cpu(path)
    assert read["extra_state"][resuming.KEY] == read["task_state"] == {"languages": ["de"]}
    from fairseq import checkpoint_utils

    assert resuming.KEY not in checkpoint_utils.load_checkpoint_to_cpu(path)["extra_state"]
    assert trainer.checkpoint_utils.checkpoint_paths is checkpoint_utils.checkpoint_paths


def test_the_count_of_improvements_goes_on(task):
    counted = {"improvements": {"count": 3, "best": {"loss": 3.0, "ppl": 2.0}}}
    extra = load(task, {**task.state_dict(), **counted})
    assert (task.improvements.count, task.improvements.best["ppl"]) == (3, 2.0)
    assert resuming.KEY not in extra


def test_what_a_training_began_with_is_what_it_was(task):
    """Also if the file is not there any more."""
    task.initialized_from = None
    load(task, {**task.state_dict(), "initialized_from": {"file": "mbart.pt"}})
    assert task.initialized_from == {"file": "mbart.pt"}


def test_without_its_optimizer_a_training_still_began_with_what_it_did(task):
    """--reset-optimizer begins anew with the weights of --save-dir; those of another file have its name."""
    saved = {**task.state_dict(), "initialized_from": {"file": "mbart.pt"}}
    for own, expected in (({}, {"file": "mbart.pt"}), ({"file": "other.pt"}, {"file": "other.pt"})):
        task.initialized_from = own
        load(task, saved, updates=0)
        assert task.initialized_from == expected


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"dictionary_sha256": "0"}, f"{CANNOT}.*is not the dictionary that the checkpoint was trained"),
        ({"languages": ["en", "de", "fr"]}, f"{CANNOT}--langs: the checkpoint has en,de,fr;"),
        ({"languages": 7}, "field 'task_state.languages' is 7, expected a list"),
        (
            {"improvements": {"count": "x", "best": {}}},
            "field 'task_state.improvements.count' is 'x'",
        ),
        ({"initialized_from": "x"}, "field 'task_state.initialized_from' is 'x', expected an object"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_in_a_line(task, changes, said):
    with pytest.raises(InputError, match=f"^last.pt: {said}") as caught:
        load(task, {**task.state_dict(), **changes})
    assert "\n" not in str(caught.value)


def test_a_training_that_begins_from_a_checkpoint_takes_nothing_of_its_task(task):
    before = task.state_dict()
    load(task, {"dictionary_sha256": task.fingerprint, "languages": ["zh"]}, updates=0)  # no tags in text
    assert load(task, {}) == {"train_iterator": {"epoch": 1}}  # of stock fairseq
    wrapped = resuming._with_task(lambda self, *_: None)
    assert wrapped(trainer_of(task), "folder/checkpoint_last.pt") is None
    assert task.state_dict() == before


def test_weights_of_another_dictionary_are_refused(task):
    """As many rows may be of other symbols."""
    with pytest.raises(InputError, match="was trained with another dictionary than dict"):
        load(task, {"dictionary_sha256": "0", "languages": ["zh"]}, updates=0)


def test_rows_of_the_tags_of_other_languages_are_refused(tmp_path):
    """They are found by their places behind the dictionary."""
    folder = write_toy_folder(tmp_path / "data")
    task = make_translation(folder, language_tags="t-enc", langs="fr,en,de")
    saved = {"dictionary_sha256": task.fingerprint, "languages": ["fr", "en", "de"]}
    load(task, saved, updates=0)
    for other in (["de", "en", "fr"], ["fr", "en", "ru"]):
        with pytest.raises(
            InputError, match=rf"tags for {','.join(other)}, and .* of fr,en,de; expected --lan"
        ):
            load(task, {**saved, "languages": other}, updates=0)
    load(task, {**saved, "languages": ["x"], "tags_exist": False}, updates=0)


def test_losses_of_other_languages_are_refused(tmp_path):
    """A matrix of a loss has a row per language, also where no sentence has a tag."""
    folder = write_toy_folder(tmp_path / "data")
    task = make_task(folder, pairs="de-en,en-fr", langs="fr,en,de")
    criterion = make_criterion("token_reconstruction")
    saved = {"dictionary_sha256": task.fingerprint, "languages": ["de", "en", "fr"]}
    load(task, saved, updates=0, criterion=criterion)  # of a checkpoint without that loss
    criterion.load_state_dict(criterion.state_dict())
    with pytest.raises(InputError, match=r"^last\.pt: has losses of the languages de,en,fr, and here"):
        load(task, saved, updates=0, criterion=criterion)
    load(task, {**saved, "languages": ["fr", "en", "de"]}, updates=0, criterion=criterion)
    without = make_criterion("token_reconstruction", token_reconstruction_without_language=True)
    without.load_state_dict(without.state_dict())
    load(task, saved, updates=0, criterion=without)


def test_a_pretraining_that_begins_with_rows_of_other_tokens_is_refused(tmp_path):
    """Its sources begin with a language though its placement of tags is none."""
    folder = write_monolingual(tmp_path / "text")
    saved = make_pretraining(folder).state_dict()
    load(make_pretraining(folder), saved, updates=0)
    with pytest.raises(InputError, match=r"^last\.pt: the checkpoint has another languages"):
        load(make_pretraining(folder, langs="ja,en"), saved, updates=0)


def trainer_of(task, restore_file: str = "checkpoint_last.pt", continue_once: str | None = None):
    checkpoint = SimpleNamespace(save_dir="model", restore_file=restore_file, continue_once=continue_once)
    return SimpleNamespace(task=task, cfg=SimpleNamespace(checkpoint=checkpoint))


@pytest.mark.parametrize("name", ["missing.pt", "other/folder/checkpoint_last.pt"])
def test_a_file_to_start_from_that_is_not_there_is_refused(task, name):
    """fairseq would train from nothing, and say so in one line among a hundred."""
    wrapped = resuming._with_task(lambda self, *_: None)
    with pytest.raises(InputError, match=f"--restore-file {name}: no such file"):
        wrapped(trainer_of(task, name), name)
    with pytest.raises(InputError, match=f"--continue-once {name}: no such file"):
        wrapped(trainer_of(task, continue_once=name), name)


@pytest.mark.parametrize("optimizer", [{}, {"last_optimizer_state": None}], ids=["none", "None"])
def test_weights_without_an_optimizer_are_no_training_that_goes_on(task, tmp_path, optimizer):
    """An average of checkpoints, for example: it knows its epoch and the best validation, and no more."""
    state = {
        "args": None, "cfg": None, "model": {}, "extra_state": {"train_iterator": {"epoch": 9}, "best": 0.1},
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "none", "lr_scheduler_state": {}}],
        "task_state": task.state_dict(),
    }  # fmt: skip

    def load_from(path, *reset) -> dict:
        read = resuming._TrainersUtilities.load_checkpoint_to_cpu(path)
        own = SimpleNamespace(get_num_updates=lambda: 0, get_criterion=lambda: None, **vars(trainer_of(task)))
        return resuming._with_task(lambda *_: read["extra_state"])(own, str(path), *reset)

    path = save(tmp_path / "average.pt", {**state, **optimizer})
    with pytest.raises(
        InputError, match=r"average\.pt: has no state of an optimizer, .* begin one with --fine"
    ):
        load_from(path)
    assert load_from(path, True) == state["extra_state"]
    whole = save(tmp_path / "last.pt", {**state, "last_optimizer_state": {}})
    assert load_from(whole) == state["extra_state"]


def test_weights_without_a_criterion_are_fine(tmp_path):
    """Those of an average or of a packaged system: fairseq asks for the entry where losses have weights."""
    torch.save({"model": {}, "extra_state": {}}, tmp_path / "model.pt")
    with mock.patch.object(
        resuming.checkpoint_utils, "load_checkpoint_to_cpu", lambda path: torch.load(path)
    ):
        state = resuming._TrainersUtilities.load_checkpoint_to_cpu(tmp_path / "model.pt")
    assert state["criterion"] is None


def test_tasks_of_fairseq_are_left_as_they_are():
    other = SimpleNamespace(load_state_dict=lambda state: pytest.fail("was called"))
    assert load(other, {"dictionary_sha256": "0", "languages": ["zh"]}) == {"train_iterator": {"epoch": 1}}
