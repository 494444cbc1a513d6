"""--jobs: translations, probes and checkpoints of learning curves that run at a time."""

import os
import signal
import subprocess
import sys

import pytest

from tests import hanging
from tests.recipes.commands import ROOT, STAYS, recipe, wait_for, write_program

# Notes what it was asked for; a file `wait` lets it wait until so many are there, `stay` until it is stopped.
PYTHON = (
    """#!/bin/bash
[[ $1 != -c ]] || { echo 4 && exit; }
[[ $2 != fairseq_ext ]] || exec REAL_PYTHON "$@"
output=${*: -1}
mkdir -p "$output"
echo "${OMP_NUM_THREADS:-all} ${CUDA_VISIBLE_DEVICES:-none} $*" >> calls
case " $* " in
  *" -m eval translate "* | *" probe states "*)
    echo $$ > "$output/pid"
    echo $$ >> started # stays, when the states of one that was faster are gone
    echo "working" >&2
    [[ ! -e stay ]] || """
    + STAYS
    + """
    while [[ -e wait && $(grep -c . started) -lt $(< wait) ]]; do sleep 0.05; done
    [[ ! -e fail || $output != *$(< fail)* ]] || { echo "error: no memory" >&2; exit 2; }
    ;;
esac
[[ $4 == states || $3 != probe ]] || touch "$output/$4.json"
"""
).replace("REAL_PYTHON", sys.executable)


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A folder with two trained models, each with two checkpoints of its course."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    write_program(tmp_path / "bin/python", PYTHON)
    write_program(tmp_path / "bin/fairseq-train", "")
    write_program(tmp_path / "bin/nproc", "#!/bin/sh\necho 6\n")
    for system in "12":
        for name in ("checkpoint_best.pt", "checkpoint_9_960.pt", "checkpoint_10_1200.pt"):
            path = tmp_path / f"out/models/system{system}-seed1" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    return tmp_path


def words(*options: str) -> list[str]:
    return ["--config", "phrasebook", "--systems", "1,2", "--seeds", "1", "--output", "out", *options]


def environment(folder) -> dict:
    return {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def run(folder, *options: str) -> subprocess.CompletedProcess:
    return recipe("zero_shot", *words(*options), cwd=folder, env=environment(folder), timeout=hanging.SECONDS)


def calls(folder, command: str) -> list[str]:
    """`THREADS GPUS` of every call of a command."""
    lines = (folder / "calls").read_text().splitlines()
    return sorted(" ".join(line.split()[:2]) for line in lines if f" -m eval {command} " in line)


@pytest.mark.parametrize(
    ("stage", "command", "models"),
    [("translate", "translate", 2), ("probe", "probe states", 2), ("curves", "translate", 4)],
)
def test_at_a_time(trained, stage, command, models):
    """They wait for each other here; every one has its share of the cores."""
    (trained / "wait").write_text(str(models))
    result = run(trained, "--stages", stage, "--jobs", str(models))
    assert result.returncode == 0, result.stderr
    assert calls(trained, command) == [f"{6 // models} none"] * models


def test_slurm_hands_out_cores_of_its_own(trained):
    write_program(trained / "bin/srun", '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift 2; done\n"$@"\n')
    result = run(trained, "--stages", "translate", "--jobs", "2", "--launcher", "slurm")
    assert result.returncode == 0, result.stderr
    assert calls(trained, "translate") == ["all none"] * 2


def test_what_follows_all_of_them(trained):
    """The curves of all checkpoints, in the order of systems and updates."""
    result = run(trained, "--stages", "curves", "--jobs", "4")
    assert result.returncode == 0, result.stderr
    last = (trained / "calls").read_text().splitlines()[-1].split()
    folders = [f"out/curves/system{system}-seed1/{updates}" for system in "12" for updates in (960, 1200)]
    recognized = [f"{folder}/llr" for folder in folders]
    assert last[2:] == [
        "-m", "eval", "probe", "learning-curves", *folders, "--llr", *recognized, "--output", "out/curves",
    ]  # fmt: skip
    assert not list(trained.glob("out/curves/*/*/states"))


def test_one_at_a_time_is_the_default(trained):
    result = run(trained, "--stages", "translate")
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines().count("working") == 2  # as it said it, with no name in front


def test_lines_have_the_name_of_their_model(trained):
    result = run(trained, "--stages", "translate,curves", "--jobs", "2")
    assert result.returncode == 0, result.stderr
    names = {
        line.removesuffix(": working") for line in result.stderr.splitlines() if line.endswith("working")
    }
    models = {f"system{system}-seed1" for system in "12"}
    assert names == models | {f"{model}-{updates}" for model in models for updates in (960, 1200)}


def test_every_job_has_gpus_of_its_own(trained):
    (trained / "wait").write_text("2")
    result = run(trained, "--stages", "translate", "--jobs", "2", "--launcher", "gpu", "--gpus", "2")
    assert result.returncode == 0, result.stderr
    assert [call.split()[1] for call in calls(trained, "translate")] == ["0,1", "2,3"]


@pytest.mark.parametrize(
    ("stage", "failing", "message"),
    [
        ("translate", "system1", "error: 1 models failed; the same command continues where they were"),
        ("curves", "960", "error: 2 checkpoints failed; the same command continues where they were"),
    ],
)
def test_one_that_fails_does_not_stop_the_others(trained, stage, failing, message):
    (trained / "fail").write_text(failing)
    result = run(trained, "--stages", stage, "--jobs", "2")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == message
    assert (
        f"{failing}-seed1: error: no memory" in result.stderr
        or f"-{failing}: error: no memory" in result.stderr
    )
    assert len(calls(trained, "translate")) == (2 if stage == "translate" else 4)
    assert "learning-curves" not in (trained / "calls").read_text()


@pytest.mark.parametrize("jobs", [1, 2])
def test_stopping_the_recipe_stops_them(trained, jobs):
    (trained / "stay").touch()
    script = str(ROOT / "recipes/zero_shot/run.sh")
    process = subprocess.Popen(
        ["bash", script, *words("--stages", "translate", "--jobs", str(jobs))],
        cwd=trained, env=environment(trained), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    started = wait_for(
        lambda: [path for path in trained.glob("out/translations/*/pid") if path.read_text()], jobs
    )
    processes = [int(path.read_text()) for path in started]
    process.send_signal(signal.SIGTERM)
    said = "error: stopped; the same command continues where it was\n" if jobs == 2 else "working\n"
    assert process.wait(timeout=hanging.SECONDS) == (2 if jobs == 2 else 143)
    assert process.stderr.read().endswith(said)
    wait_for(lambda: [pid for pid in processes if not os.path.exists(f"/proc/{pid}")], jobs)
