"""Bad input and gradients that are no numbers are one line of fairseq's own commands; every other exception
is not touched.
"""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fairseq.optim.dynamic_loss_scaler import DynamicLossScaler
from fairseq.trainer import Trainer

from command_line.errors import InputError
from fairseq_ext import uncaught
from tests.fairseq_ext import bridges
from tests.fairseq_ext.folders import write_toy_folder
from tests.integration.commands import USER_DIR, run_script

FOLDER = Path(uncaught.__file__).parent
PROGRAM = """
import sys, types
package = types.ModuleType("fairseq_ext")  # without what it registers
package.__path__ = [{folder!r}]
sys.modules["fairseq_ext"] = package
sys.modules["__main__"].__file__ = {script!r}
from fairseq_ext.uncaught import report_in_one_line
from command_line.errors import InputError
report_in_one_line()
raise {error}
"""


def run(error: str, script: str = "/usr/bin/fairseq-train", *options):
    command = [sys.executable, *options, "-c", PROGRAM.format(script=script, error=error, folder=str(FOLDER))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_bad_input_is_one_line_and_status_2():
    done = run("InputError('a.txt:3: found x, expected y')")
    assert (done.returncode, done.stderr) == (2, "error: a.txt:3: found x, expected y\n")


def test_other_errors_and_other_programs_are_left_alone():
    for done in (run("ValueError('x')"), run("InputError('x')", "/usr/bin/my-script.py")):
        assert done.returncode == 1
        assert done.stderr.startswith("Traceback")


def test_developers_see_the_traceback():
    assert run("InputError('x')", "/usr/bin/fairseq-train", "-X", "dev").stderr.startswith("Traceback")


def _refuse(rank: int) -> None:
    raise InputError("--beta: found 3, expected 2")


def test_of_a_training_process_that_fairseq_spawned():
    with pytest.raises(torch.multiprocessing.ProcessRaisedException) as error:
        torch.multiprocessing.start_processes(_refuse, nprocs=1, start_method="fork")
    assert uncaught.message_of(error.value) == "--beta: found 3, expected 2"


class Refusing(torch.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        raise InputError("data/train.de: found x")


def test_of_a_worker_of_a_data_loader():
    loader = torch.utils.data.DataLoader(Refusing(), num_workers=1, multiprocessing_context="fork")
    with pytest.raises(InputError) as error:
        list(loader)
    assert "Traceback" in str(error.value)
    assert uncaught.message_of(error.value) == "data/train.de: found x"


def test_of_one_in_whose_place_fairseq_raises_another(tmp_path):
    """Its trainer has a sentence of its own for whatever a model says of a checkpoint's weights."""
    path, weights = tmp_path / "last.pt", bridges.build(interlingua_max_length=30).state_dict()
    state = {
        "args": None, "cfg": None, "model": weights, "extra_state": {"train_iterator": {"epoch": 2}},
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "Adam", "lr_scheduler_state": {}}],
    }  # fmt: skip
    torch.save(state, path)
    trainer = SimpleNamespace(
        model=bridges.build(),
        cfg=SimpleNamespace(
            model=None,
            checkpoint=SimpleNamespace(load_checkpoint_on_all_dp_ranks=True),
            distributed_training=SimpleNamespace(zero_sharding="none"),
        ),
        data_parallel_world_size=1,
        tpu=False,
        is_fsdp=False,
    )
    with pytest.raises(Exception, match="Cannot load model parameters from checkpoint") as error:
        Trainer.load_checkpoint(trainer, str(path))
    said = uncaught.message_of(error.value)
    assert said.startswith("--interlingua-max-length 20: the checkpoint's interlingua has at most 30 queries")


def test_of_others():
    assert uncaught.message_of(ValueError("x")) is None
    raised = type("ProcessRaisedException", (Exception,), {})
    assert uncaught.message_of(raised("Traceback\nValueError: x")) is None
    with pytest.raises(ValueError, match="x") as error:
        try:
            raise InputError("was dealt with")
        except InputError:
            raise ValueError("x") from None
    assert uncaught.message_of(error.value) is None


# --- gradients that are NaN or infinite


@pytest.mark.slow
def test_a_training_that_diverges_is_one_line_which_names_the_update(tmp_path):
    """With such a learning rate the second update is of weights whose products are infinite."""
    data = write_toy_folder(tmp_path / "data")
    words = (
        "--task", "multilingual_nmt", "--lang-pairs", "de-en", "--arch", "mnmt_transformer_tiny",
        "--criterion", "label_smoothed_cross_entropy", "--optimizer", "adam", "--lr", 1e38, "--max-update", 9,
        "--max-tokens", 100, "--cpu", "--num-workers", 0, "--distributed-world-size", 1,
        "--save-dir", tmp_path / "model",
    )  # fmt: skip
    done = run_script("fairseq_cli.train", data, *USER_DIR, *words)
    assert done.last_error.startswith("error: update 2: gradients are NaN or infinite; go on from the last")
    assert "Traceback" not in done.text
    assert done.status == 1
    assert (tmp_path / "model/checkpoint_last.pt").exists()  # from which it can go on


def _say(message: str) -> None:
    raise FloatingPointError(message)


def _search(message: str) -> None:
    """As fairseq's trainer, whose search for the module ends in another exception."""
    try:
        _say(message)
    except FloatingPointError:
        next(iter(()))


DIFFER = (
    "Fatal error: gradients are inconsistent between workers.\n{}\nrank   0 = {:.8f}\nrank   1 = {:.8f}\n"
)


@pytest.mark.parametrize(
    ("message", "is_divergence"),
    [
        ("gradients are Nan/Inf", True),
        (DIFFER.format("-" * 80, float("nan"), float("nan")), True),
        (DIFFER.format("-" * 80, 1.5, float("inf")), True),
        (DIFFER.format("-" * 80, 1.5, 1.25), False),
        ("divide by zero encountered", False),
    ],
)
def test_what_fairseq_says_of_gradients(message, is_divergence):
    with pytest.raises(StopIteration) as error:
        _search(message)
    assert (uncaught.divergence_of(error.value) is not None) == is_divergence
    with pytest.raises(torch.multiprocessing.ProcessRaisedException) as error:
        torch.multiprocessing.start_processes(_rank, args=(message,), nprocs=1, start_method="fork")
    assert (uncaught.divergence_of(error.value) is not None) == is_divergence


def _rank(rank: int, message: str) -> None:
    _search(message)


def test_a_loss_scale_that_cannot_be_smaller_is_a_divergence_too():
    scaler = DynamicLossScaler(init_scale=2.0, min_loss_scale=1.0)
    with pytest.raises(FloatingPointError, match=re.escape("Minimum loss scale reached (1.0)")) as error:
        scaler.check_overflow(float("inf"))
    assert uncaught.divergence_of(error.value).startswith("gradients are NaN or infinite; go on from")
