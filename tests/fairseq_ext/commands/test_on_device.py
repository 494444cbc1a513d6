"""`python -m fairseq_ext on-device`: what devices have in hardware, and what a training began with."""

import os

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext import processor
from fairseq_ext.commands import on_device
from tests.our_commands import run_command

V100, T4, A100, H200, P100 = (7, 0), (7, 5), (8, 0), (9, 0), (6, 0)


@pytest.fixture
def devices(monkeypatch):
    """Function that puts a processor and GPUs in place of this machine's."""

    def put(gpus: list, flags: str, folder, vendor: str = "GenuineIntel") -> None:
        (folder / "cpuinfo").write_text(
            f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: fpu {flags} sse2\n"
        )
        monkeypatch.setattr(processor, "INFORMATION", folder / "cpuinfo")
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(gpus))
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda number: gpus[number])

    return put


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Function that starts a training with these options of `on-device`; returns those that it adds."""

    def start(*options: str) -> list[str]:
        commands = []
        monkeypatch.setattr(os, "execvp", lambda program, words: commands.append(words))
        asked = ["fairseq_ext", "on-device", "--precision", str(tmp_path / "trained"), *options]
        assert run_command([*asked, "--", "fairseq-train", "data"]) == 0
        ((program, data, *added),) = commands
        assert (program, data) == ("fairseq-train", "data")
        return added

    return start


@pytest.mark.parametrize(
    ("gpus", "option"),
    [
        ([V100], "--fp16"),
        ([T4], "--fp16"),
        ([A100], "--autocast-bf16"),
        ([H200, H200], "--autocast-bf16"),
        ([A100, V100], "--fp16"),
        ([P100], ""),
    ],
)
def test_gpus(devices, started, tmp_path, gpus, option):
    devices(gpus, "amx_bf16", tmp_path)
    assert started() == [word for word in [option] if word]


@pytest.mark.parametrize(
    ("flags", "vendor", "option"),
    [
        ("avx512_bf16", "AuthenticAMD", "--autocast-bf16"),
        ("avx512_bf16", "GenuineIntel", ""),
        ("amx_bf16 amx_tile avx512_bf16", "GenuineIntel", "--autocast-bf16"),
        ("avx512f avx_vnni", "AuthenticAMD", ""),
    ],
)
def test_processors(devices, started, tmp_path, flags, vendor, option):
    devices([H200], flags, tmp_path, vendor)
    assert started("--cpu") == [word for word in [option] if word]


def test_rank_and_the_place_to_meet(devices, started, tmp_path, monkeypatch):
    devices([P100], "", tmp_path)
    monkeypatch.setenv("RANK", "3")
    assert started("--rank") == ["--distributed-rank", "3"]
    (tmp_path / "bin").mkdir()
    scontrol = tmp_path / "bin/scontrol"
    scontrol.write_text("#!/bin/sh\n[ \"$*\" = 'show hostnames a[1-2]' ] && printf 'a1\\na2\\n'\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_STEP_NODELIST", "a[1-2]")
    monkeypatch.setenv("SLURM_PROCID", "1")
    meeting = ["--distributed-init-method", "tcp://a1:29500", "--distributed-rank", "4"]
    assert started("--rendezvous", "29500", "4") == meeting


def test_no_gpu_is_one_line(devices, tmp_path):
    devices([], "", tmp_path)
    with pytest.raises(InputError, match="no usable GPU; expected one, or --launcher cpu"):
        on_device.fastest(on_cpu=False)


def test_a_training_keeps_the_precision_of_its_beginning(devices, tmp_path):
    model = tmp_path / "model"
    devices([V100], "", tmp_path)
    assert on_device.noted(model, on_cpu=False) == "fp16"
    devices([A100], "", tmp_path)
    assert on_device.noted(model, on_cpu=False) == "fp16"
    assert on_device.fastest(on_cpu=False) == "bf16"
    with pytest.raises(
        InputError, match=r"model/precision.txt: the training began in fp16, which needs a GPU"
    ):
        on_device.noted(model, on_cpu=True)
    (model / "precision.txt").write_text("int8\n")
    with pytest.raises(InputError, match=r"precision.txt: found 'int8', expected one of bf16, fp16, float32"):
        on_device.noted(model, on_cpu=False)
