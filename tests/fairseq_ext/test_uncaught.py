"""An `InputError` that fairseq's own commands let out is one line; every other exception is not touched."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext import uncaught

FOLDER = Path(uncaught.__file__).parent
PROGRAM = """
import sys, types
package = types.ModuleType("fairseq_ext")  # without what it registers
package.__path__ = [{folder!r}]
sys.modules["fairseq_ext"] = package
sys.modules["__main__"].__file__ = {script!r}
from fairseq_ext.uncaught import report_input_errors
from command_line.errors import InputError
report_input_errors()
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


def test_of_others():
    assert uncaught.message_of(ValueError("x")) is None
    raised = type("ProcessRaisedException", (Exception,), {})
    assert uncaught.message_of(raised("Traceback\nValueError: x")) is None
