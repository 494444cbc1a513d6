"""Importing `fairseq_ext` registers everything and does nothing else, but what it says."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import fairseq_ext
from fairseq_ext import set_up

ROOT = Path(__file__).parents[2]

PROBE = """
import json, logging, os, socket, sys
import torch
import fairseq  # what fairseq does is not ours
from fairseq import tasks, models, criterions, optim
from fairseq_cli import train

def state():
    return {
        "threads": [torch.get_num_threads(), torch.get_num_interop_threads()],
        "handlers": [str(handler) for handler in logging.getLogger().handlers],
        "level": logging.getLogger().level,
        "environment": dict(os.environ),
        "default type": str(torch.get_default_dtype()),
        "random": torch.random.get_rng_state().sum().item(),
        "folder": os.getcwd(),
    }

def refuse(*arguments, **options):
    raise AssertionError("importing opens a connection")

before, safe = state(), set(map(str, torch.serialization.get_safe_globals()))
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
LOAD
print(json.dumps({
    "unchanged": {name: value == state()[name] for name, value in before.items()},
    "allowed": sorted(set(map(str, torch.serialization.get_safe_globals())) - safe),
    "registered": [
        "multilingual_nmt" in tasks.TASK_REGISTRY,
        "mnmt_transformer" in models.MODEL_REGISTRY,
        {"mnmt_transformer_tiny", "mnmt_transformer_big"} <= set(models.ARCH_MODEL_REGISTRY),
        "fused_label_smoothed_cross_entropy" in criterions.CRITERION_REGISTRY,
        "fused_adam" in optim.OPTIMIZER_REGISTRY,
    ],
}))
"""


def probe(load: str, cwd, path: bool) -> dict:
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    if path:
        environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-c", PROBE.replace("LOAD", load)],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict) -> None:
    assert all(found["unchanged"].values()), found
    placeholder = "<class 'fairseq.distributed.utils._TensorPlaceholder'>"  # a mark, sent between processes
    assert found["allowed"] == ["<class 'argparse.Namespace'>", placeholder]
    assert found["registered"] == [True] * 5


def test_import_registers_and_does_nothing_else(tmp_path):
    check(probe("import fairseq_ext", tmp_path, path=True))


@pytest.mark.slow
def test_user_dir_works_from_any_folder(tmp_path):
    load = f"""
from argparse import Namespace
from fairseq.utils import import_user_module
import_user_module(Namespace(user_dir={str(ROOT / "fairseq_ext")!r}))
"""
    check(probe(load, tmp_path, path=False))


def test_the_package_says_what_importing_it_does():
    function = ast.parse(inspect.getsource(set_up.set_up_process.__wrapped__))
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    owners = [getattr(set_up, ast.unparse(call.func).split(".")[0]) for call in calls]
    modules = {inspect.getmodule(owner).__name__ for owner in owners}
    assert "fairseq_ext.uncaught" in modules
    assert [name for name in sorted(modules) if f"`{name}`" not in fairseq_ext.__doc__] == []
