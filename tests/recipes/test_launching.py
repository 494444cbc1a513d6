"""How recipes start what they run: the paper's batch on any devices, launchers, GPUs of jobs, Slurm."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import hanging
from tests.recipes.commands import (
    RECIPES,
    TRAINED,
    assert_refused,
    configurations,
    dry_run,
    is_training,
    parse_training,
    recipe,
    write_program,
    write_trainer,
)

WITH_BATCHES = sorted({*RECIPES} - {"quickstart", "align_instruct", "crosslingual_evaluation"})
BATCHES = {"opus": 4, "iwslt": 4, "europarl": 8, "multi30k": 1}  # of 4,096 tokens (multi30k: 2,000)


def trainings(*options: str, config: str = "iwslt") -> list[list[str]]:
    common = ("--config", config, "--systems", "1", "--seeds", "1", "--stages", "train", "--output", "out")
    return dry_run("zero_shot", *common, *options)


def training(*options: str, config: str = "iwslt") -> list[str]:
    (words,) = trainings(*options, config=config)
    return words


def assert_in_order(words: list[str], *expected: str) -> None:
    """The expected words follow one another."""
    length = len(expected)
    assert expected in [tuple(words[first : first + length]) for first in range(len(words))], words


# --- the paper's batch


@pytest.mark.parametrize("config", BATCHES)
@pytest.mark.parametrize("devices", [1, 2, 3, 5, 8, 12, 16])
def test_the_batch_is_the_papers_on_any_number_of_gpus(config, devices):
    from fairseq_ext.data.updates import check_update_freq

    options = ("--launcher", "gpu", "--gpus", str(devices), "--precision", "bf16")
    args = parse_training(training(*options, config=config))
    assert args.batches_per_update == BATCHES[config]
    assert args.max_tokens == (2000 if config == "multi30k" else 4096)
    check_update_freq(*args.update_freq, args.batches_per_update, devices)


@pytest.mark.parametrize("devices", [1, 3, 4])
def test_finetuning_of_jass_has_the_batch_of_one_gpu_and_pretraining_of_four(devices, tmp_path):
    common = ("--config", "aspec-ja-en", "--systems", "jass", "--sizes", "3000", "--directions", "ja-en")
    text = ("--data-root", str(tmp_path), "--monolingual", str(tmp_path), "--seeds", "1")
    run = ("--stages", "pretrain,finetune", "--launcher", "gpu", "--gpus", str(devices))
    found = dry_run("jass_enss", *common, *text, *run)
    batches = [(args.batches_per_update, args.max_tokens) for args in map(parse_training, found)]
    assert batches == [(4, 4096), (1, 4096)]


@pytest.mark.parametrize("name", WITH_BATCHES)
def test_every_configuration_says_its_batch(name, tmp_path):
    stages = ["--stages", "train"]
    if name == "jass_enss":
        stages = ["--stages", "pretrain,finetune", "--systems", "mass"]
    if name in ("one_aligner", "dual_pivot", "post_pretraining"):
        stages += ["--encoder", "model"]
    for config in configurations(name):
        folder = ["--data-root", str(tmp_path)]
        if name == "distillation":  # whose reductions begin with a checkpoint, or with a folder
            folder += {"l10n": ["--teacher", "m.pt", "--teacher-data", "d"]}.get(config, ["--teacher", "m"])
        commands = dry_run(name, "--config", config, *stages, "--seeds", "1", *folder)
        found = [words for words in commands if any(map(is_training, words))]
        assert found
        assert all("--batches-per-update" in words and "--update-freq" in words for words in found)


@pytest.mark.parametrize("given", [["--batches-per-update", "7"], ["--batches-per-update=7"]])
def test_the_users_batch_wins(given):
    words = training("--launcher", "gpu", "--gpus", "3", "--", *given)
    args = parse_training(words)
    assert (args.batches_per_update, args.update_freq) == (7, [3])


def test_gpus_without_work_are_named():
    common = ("--config", "iwslt", "--systems", "1", "--seeds", "1", "--stages", "train", "--dry-run")
    result = recipe("zero_shot", *common, "--launcher", "gpu", "--gpus", "6")
    assert "6 GPUs for a batch of 4: 2 of them have nothing to do" in result.stderr
    result = recipe("zero_shot", *common, "--launcher", "gpu", "--gpus", "3")
    assert "3 GPUs for a batch of 4: 2 of them have nothing to do in every last turn" in result.stderr
    assert "nothing to do" not in recipe("zero_shot", *common, "--launcher", "gpu", "--gpus", "8").stderr
    assert "nothing to do" not in recipe("zero_shot", *common, "--launcher", "gpu", "--gpus", "2").stderr


# --- launchers


@pytest.mark.parametrize(
    ("options", "start", "end"),
    [
        (["cpu"], ["env", "OMP_NUM_THREADS="], "--cpu --distributed-world-size 1"),
        (["gpu"], ["env", "OMP_NUM_THREADS="], "--distributed-world-size 1"),
        (
            ["gpu", "--gpus", "4"],
            ["env", "--default-signal=INT", "OMP_NUM_THREADS="],
            "--distributed-world-size 4 --distributed-init-method tcp://localhost:",
        ),
        (
            ["torchrun", "--gpus", "4"],
            ["env", "OMP_NUM_THREADS=", "torchrun", "--standalone", "--nproc_per_node", "4"],
            "--distributed-world-size 4",
        ),
        (
            ["slurm", "--gpus", "4", "--cpus-per-task", "12"],
            [
                "srun", "--nodes", "1", "--ntasks-per-node", "1", "--gpus-per-node", "4",
                "--cpus-per-task", "12",
            ],
            "--distributed-world-size 4 --distributed-init-method tcp://localhost:",
        ),
        (
            ["slurm", "--gpus", "4", "--nodes", "2"],
            ["srun", "--nodes", "2", "--ntasks-per-node", "1", "--gpus-per-node", "4"],
            "--distributed-world-size 8",
        ),
    ],
)  # fmt: skip
def test_launchers(options, start, end):
    words = training("--launcher", *options)
    assert all(word.startswith(expected) for word, expected in zip(words, start, strict=False))
    assert end in " ".join(words)
    parse_training(words)


SPAWNING = """
import os, signal, sys, torch.multiprocessing as processes

def rank(number):
    print(os.getpid(), flush=True)
    signal.pause()

if __name__ == "__main__":
    processes.start_processes(rank, nprocs=2, start_method="spawn")
"""


@pytest.mark.slow
def test_stopped_with_the_recipe_are_also_the_processes_that_fairseq_starts(tmp_path):
    """It starts them as here; what a script starts in its background ignores SIGINT, and so would they."""
    (tmp_path / "spawning.py").write_text(SPAWNING)
    words = training("--launcher", "gpu", "--gpus", "2")
    start = words[: next(place for place, word in enumerate(words) if "=" in word and "OMP" in word)]
    asked = " ".join(shlex.quote(word) for word in [*start, sys.executable, str(tmp_path / "spawning.py")])
    script = f"{asked} > {tmp_path / 'ranks'} & pid=$!; read -r; kill $pid; wait $pid"
    with subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as recipe:
        ranks = until(lambda: (tmp_path / "ranks").read_text().split(), lambda found: len(found) == 2)
        recipe.communicate(b"\n", timeout=hanging.SECONDS)
    until(lambda: [rank for rank in ranks if Path(f"/proc/{rank}").exists()], lambda found: not found)


def until(look, is_so, seconds: float = hanging.SECONDS):
    """What is there when it is so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            if is_so(found := look()):
                return found
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def test_trainings_have_ports_of_their_own_and_so_have_those_of_one_name_in_two_folders(tmp_path):
    common = ("--config", "iwslt", "--systems", "1,2", "--seeds", "1", "--stages", "train")
    ports = set()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        options = (*common, "--output", "out", "--launcher", "gpu", "--gpus", "2")
        for words in dry_run("zero_shot", *options, cwd=tmp_path / name):
            ports.add(parse_training(words).distributed_init_method)
    assert len(ports) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nodes", "2"], "--nodes 2: expected --launcher slurm, found cpu"),
        (["--nodes", "0"], "--nodes: found '0', expected a whole number from 1"),
        (["--cpus-per-task", "x"], "--cpus-per-task: found 'x', expected a whole number from 1"),
        (["--cpus-per-task", "4"], "--cpus-per-task 4: expected --launcher slurm, found cpu"),
        (["--", "--lr", "1", "--seed", "42"], "--seed: is the recipe's own, which has it of every training"),
        (["--", "--save-dir=elsewhere"], "--save-dir: is the recipe's own"),
        (["--jobs-per-gpu", "2"], "--jobs-per-gpu 2: expected --launcher gpu or torchrun, found cpu"),
        (["--precision", "fp16"], "--precision fp16: expected a GPU, found --launcher cpu"),
    ],
)
def test_a_wrong_launch_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused("zero_shot", ["--config", "iwslt", *options], message, tmp_path)


def test_threads_are_those_of_the_machine_whatever_the_environment_says():
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
    alone = training("--jobs", "1")[1]
    assert alone == f"OMP_NUM_THREADS={len(os.sched_getaffinity(0))}"
    common = ("--config", "iwslt", "--systems", "1", "--seeds", "1", "--stages", "train")
    assert dry_run("zero_shot", *common, env=environment)[0][1] == alone
    assert training("--gpus", "64")[1] == "OMP_NUM_THREADS=1"


# --- precision


@pytest.mark.parametrize("launcher", ["cpu", "gpu", "torchrun", "slurm"])
def test_the_device_that_trains_is_asked_for_its_precision(launcher):
    """In the command that is launched, which runs in a job of Slurm, not in the recipe."""
    words = training("--launcher", launcher)
    device = ["--cpu"] if launcher == "cpu" else []
    asked = [
        "python", "-m", "fairseq_ext", "on-device", "--precision", "out/models/system1-seed1",
        *device,
        "--",
        "fairseq-train",
    ]  # fmt: skip
    assert_in_order(words, *asked)
    assert not {"--fp16", "--autocast-bf16"} & set(words)
    for precision, option in (("bf16", "--autocast-bf16"), ("fp16", "--fp16")):
        if launcher != "cpu" or precision == "bf16":
            words = training("--launcher", launcher, "--precision", precision)
            assert option in words and "on-device" not in words


# --- Slurm

SRUN = """#!/bin/bash
echo "srun $*" >> "$CALLS"
nodes=1 options=1
while [[ $1 == --* ]]; do
  [[ $1 != --nodes ]] || nodes=$2
  shift 2
done
for ((node = 0; node < nodes; node++)); do
  SLURM_PROCID=$node SLURM_STEP_NODELIST="first,second" "$@" || exit
done
"""
SCONTROL = """#!/bin/bash
[[ $* == "show hostnames first,second" ]] || exit 1
echo first
echo second
"""
FAIRSEQ_TRAIN = (
    """#!/bin/bash
echo "train CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES $*" >> "$CALLS"
folder=$(sed 's/.*--save-dir \\([^ ]*\\).*/\\1/' <<< "$*")
while [[ -e $folder/../wait && $(wc -l < "$CALLS") -lt $(< "$folder/../wait") ]]; do sleep 0.05; done
"""
    + TRAINED
)
PYTHON = f"""#!/bin/bash
[[ $1 != -c ]] || {{ echo "${{COUNTED_GPUS:-4}}" && exit; }}
[[ $2 != fairseq_ext ]] || exec {sys.executable} "$@"
echo "python $*" >> "$CALLS"
[[ $* != *" probe "* ]] || mkdir -p "${{*: -1}}"
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """Function that runs a recipe among stand-ins for Slurm and python; returns what was called."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # of the machine that runs the tests
    for name, text in {"srun": SRUN, "scontrol": SCONTROL, "python": PYTHON}.items():
        write_program(tmp_path / "bin" / name, text)
    write_trainer(tmp_path / "bin", FAIRSEQ_TRAIN, tmp_path / "out/data/iwslt")
    (tmp_path / "out/models").mkdir()
    (tmp_path / "calls").touch()

    def run(
        *options: str, precision: str = "bf16", **environment
    ) -> tuple[list[str], subprocess.CompletedProcess]:
        own = ["--config", "iwslt", "--seeds", "1", "--output", "out", "--precision", precision]
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        result = recipe(
            "zero_shot", *own, *options, cwd=tmp_path, timeout=hanging.SECONDS,
            env={**os.environ, "PATH": path, "CALLS": str(tmp_path / "calls"), **environment},
        )  # fmt: skip
        return (tmp_path / "calls").read_text().splitlines(), result

    return run


def test_every_stage_runs_under_slurm(cluster):
    calls, result = cluster("--systems", "1,2", "--launcher", "slurm", "--cpus-per-task", "6")
    assert result.returncode == 0, result.stderr
    place = "srun --nodes 1 --ntasks 1 --cpus-per-task 6 --job-name zero_shot python"
    on_gpu = "srun --nodes 1 --ntasks 1 --gpus-per-node 1 --cpus-per-task 6 --job-name zero_shot python"
    steps = [call.removeprefix("srun ") for call in calls if call.startswith("srun")]
    assert {" ".join(call.split()[:2]) for call in calls if not call.startswith("srun")} == {
        "python -m", "train CUDA_VISIBLE_DEVICES=",
    }  # fmt: skip
    outside = [
        call
        for number, call in enumerate(calls)
        if call.startswith("python") and calls[number - 1][:4] != "srun"
    ]
    assert len(outside) == 1  # nodes have no network
    assert "data_prep download" in outside[0]
    for step in (
        "data_prep clean",
        "data_prep binarize",
        "eval compare",
        "eval report",
        "probe llr",
        "eval score",
    ):
        found = [call for call in steps if f" {step} " in call]
        assert found and all(f"srun {call}".startswith(place) for call in found), step
    for step in ("eval translate", "eval probe states"):
        found = [call for call in steps if f" {step} " in call]
        assert found and all(f"srun {call}".startswith(on_gpu) for call in found), step


def test_scores_by_comet_have_a_gpu_under_slurm(cluster):
    calls, result = cluster("--systems", "1", "--stages", "score", "--launcher", "slurm", "--comet", "model")
    assert result.returncode == 0, result.stderr
    (step,) = [call for call in calls if call.startswith("srun")]
    assert " --gpus-per-node 1 " in step and " eval score " in step and step.endswith("--comet-batch-size 16")


def test_trainings_on_several_nodes_meet_at_the_first(cluster):
    calls, result = cluster(
        "--systems", "1", "--stages", "train", "--launcher", "slurm", "--nodes", "2", "--gpus", "4"
    )
    assert result.returncode == 0, result.stderr
    step, *nodes = calls
    assert step.startswith("srun --nodes 2 --ntasks-per-node 1 --gpus-per-node 4 --job-name system1-seed1")
    assert len(nodes) == 2
    meeting = [node.split("--distributed-init-method ")[1].split()[0] for node in nodes]
    assert meeting[0] == meeting[1]
    assert meeting[0].startswith("tcp://first:")
    assert [node.split("--distributed-rank ")[1].split()[0] for node in nodes] == ["0", "4"]
    assert all("--distributed-world-size 8" in node and "--update-freq 1" in node for node in nodes)


def test_cores_of_the_job_are_handed_to_its_steps(cluster):
    calls, _ = cluster("--systems", "1", "--stages", "train", "--launcher", "slurm", SLURM_CPUS_PER_TASK="9")
    assert "--cpus-per-task 9" in calls[0]


# --- several trainings on several GPUs; python says that there are four


def gpus_of(calls: list[str]) -> list[str]:
    return [call.split()[1].removeprefix("CUDA_VISIBLE_DEVICES=") for call in calls]


@pytest.mark.parametrize(
    ("options", "visible", "expected"),
    [
        (["--jobs", "3"], None, ["0", "1", "2"]),
        (["--jobs", "2", "--gpus", "2"], None, ["0,1", "2,3"]),
        (["--jobs", "2", "--gpus", "2"], "7,3,5,GPU-1a", ["5,GPU-1a", "7,3"]),
        (["--jobs", "4", "--gpus", "2", "--jobs-per-gpu", "2"], None, ["0,1", "0,1", "2,3", "2,3"]),
    ],
)
def test_trainings_at_a_time_have_gpus_of_their_own(cluster, tmp_path, options, visible, expected):
    systems = ",".join(str(number) for number in range(1, len(expected) + 1))
    (tmp_path / "out/models/wait").write_text(str(len(expected)))  # for each other: they run at a time
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    calls, result = cluster(
        "--systems", systems, "--stages", "train", "--launcher", "gpu", *options, **environment
    )
    assert result.returncode == 0, result.stderr
    assert sorted(gpus_of(calls)) == expected


def test_the_models_of_the_quickstart_share_a_gpu(cluster, tmp_path):
    shutil.copytree(tmp_path / "out/data/iwslt", tmp_path / "out/data/phrasebook")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CALLS": str(tmp_path / "calls")}
    environment |= {"CUDA_VISIBLE_DEVICES": "6", "COUNTED_GPUS": "1"}
    result = recipe(
        "quickstart", "--launcher", "gpu", "--output", "out",
        cwd=tmp_path,
        env=environment,
        timeout=hanging.SECONDS,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "the others wait" not in result.stderr
    calls = [call for call in (tmp_path / "calls").read_text().splitlines() if call.startswith("train")]
    assert gpus_of(calls) == ["6", "6"]


def test_trainings_beyond_the_gpus_wait(cluster, tmp_path):
    calls, result = cluster(
        "--systems", "1,2,3,4,5", "--stages", "train", "--launcher", "gpu", "--gpus", "2", "--jobs", "5"
    )
    assert result.returncode == 0, result.stderr
    assert "--jobs 5: GPUs for 2 at a time (4 in all), the others wait" in result.stderr
    assert set(gpus_of(calls)) == {"0,1", "2,3"}
    assert len(calls) == 5


def test_more_gpus_than_there_are_is_one_line(cluster):
    _, result = cluster("--systems", "1", "--stages", "train", "--launcher", "gpu", "--gpus", "5")
    assert result.returncode == 2
    assert result.stderr == (
        "error: --launcher gpu: this machine has 4 usable GPUs; expected --launcher cpu or at most 4 --gpus\n"
    )


# --- a training that goes on


def test_a_training_goes_on_with_other_devices_but_not_with_another_batch_or_precision(cluster, tmp_path):
    options = ("--systems", "1", "--stages", "train", "--launcher", "gpu", "--gpus")
    assert cluster(*options, "2")[1].returncode == 0
    folder = tmp_path / "out/models/system1-seed1"
    unfinished(folder)
    calls, result = cluster(*options, "3")
    assert result.returncode == 0, result.stderr
    assert ["--update-freq 2 " in calls[0], "--update-freq 2 " in calls[1]] == [True, True]
    unfinished(folder)
    _, result = cluster(*options, "3", precision="fp16")
    assert result.stderr.splitlines()[-1].endswith(
        "began with --precision bf16, found fp16; give that or auto, or choose another --output"
    )
    _, result = cluster(*options, "3", "--", "--batches-per-update", "5")
    assert "began with --batches-per-update 4, found with --batches-per-update 5" in result.stderr


def unfinished(folder) -> None:
    """As if the training had been stopped before its end."""
    record = json.loads((folder / "training.json").read_text())
    (folder / "training.json").write_text(json.dumps(record | {"outputs": None}))
