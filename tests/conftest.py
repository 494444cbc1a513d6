"""Options and limits that all tests share."""

import logging
import os
import signal
import sys
import tempfile
from pathlib import Path

# Recipes find the commands of the environment that runs the tests, active or not.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# Programs that tests start in other folders find the packages: nothing puts `eval` on everybody's path.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
)
# Several pytest workers share few cores: torch must not start a pool of threads in each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell has what it runs in the background (`make test &`) ignore SIGINT, which all processes inherit: the
# commands that tests interrupt, as Ctrl-C does, would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nor does the precision of the shell's trainings hold for those of the tests.
os.environ.pop("ACCELERATE_MIXED_PRECISION", None)

import pytest


@pytest.fixture(autouse=True)
def no_open_metrics():
    """A training that ends with an error leaves fairseq's groups of metrics open, for what follows it."""
    if metrics := sys.modules.get("fairseq.logging.metrics"):
        metrics.reset()


@pytest.fixture(autouse=True)
def no_closed_logs():
    """fairseq's commands log to the standard output of the test that imports them, also when it has ended."""
    for handler in list(logging.root.handlers):
        if isinstance(handler, logging.StreamHandler) and handler.stream.closed:
            logging.root.removeHandler(handler)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """What a test or its fixtures note in the environment, or a trainer for the process, goes with the test.

    Fixtures of a whole module are made before those of its first test, so no fixture sees what they change.
    """
    environment = dict(os.environ)
    done = yield
    os.environ.clear()
    os.environ.update(environment)
    if state := sys.modules.get("accelerate.state"):
        state.AcceleratorState._reset_state()
    return done


@pytest.fixture(scope="session")
def programs():
    """A folder for the PATH, whose programs start at once (`tests/warm_programs.py`)."""
    from tests.warm_programs import warm_programs

    with tempfile.TemporaryDirectory() as folder, warm_programs(Path(folder)):
        yield Path(folder)


@pytest.fixture(scope="session")
def cluster():
    """A dask cluster of two processes on this machine."""
    from dask.distributed import LocalCluster

    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as found:
        yield found


@pytest.fixture
def deaths(monkeypatch):
    """The addresses of dask's workers that have died: one, between two results of the first map, as the
    operating system ends a process that takes too much memory.
    """
    from command_line.dask_workers import DaskWorkers

    every, dead = DaskWorkers.map, []

    def with_a_death(workers, function, items):
        for result in every(workers, function, items):
            if not dead:
                (address, process), *_ = workers._client.run(os.getpid).items()
                dead.append(address)
                os.kill(process, signal.SIGKILL)
            yield result

    monkeypatch.setattr(DaskWorkers, "map", with_a_death)
    return dead


@pytest.fixture
def completed(command):
    """Run a command of the folder's package that must succeed."""

    def call(*argv):
        result = command(*argv)
        assert result.status == 0, result.err
        return result

    return call


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the slow tests")


def pytest_collection_modifyitems(config, items):
    skips = {}
    if not config.getoption("--slow"):
        skips["slow"] = pytest.mark.skip(reason="slow: --slow")
    if any(item.get_closest_marker("gpu") for item in items):
        import torch

        if not torch.cuda.is_available():
            skips["gpu"] = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        for marker, skip in skips.items():
            if item.get_closest_marker(marker):
                item.add_marker(skip)
    items.sort(key=_rank)  # workers take the long ones first, and share the short ones in the end


def _rank(item) -> int:
    """Stories come first, then tests that start processes, then all others."""
    if "programs" in item.fixturenames:
        return 0
    return 1 if item.get_closest_marker("slow") or "integration" in item.path.parts else 2
