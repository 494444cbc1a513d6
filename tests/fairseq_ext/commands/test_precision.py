"""`python -m fairseq_ext precision`: what devices have in hardware, and what a training began with."""

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext import processor
from fairseq_ext.commands import precision
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
def test_gpus(devices, tmp_path, capsys, gpus, option):
    devices(gpus, "amx_bf16", tmp_path)
    assert run_command(["fairseq_ext", "precision"]) == 0
    assert capsys.readouterr().out == option + "\n"


@pytest.mark.parametrize(
    ("flags", "vendor", "option"),
    [
        ("avx512_bf16", "AuthenticAMD", "--autocast-bf16"),
        ("avx512_bf16", "GenuineIntel", ""),
        ("amx_bf16 amx_tile avx512_bf16", "GenuineIntel", "--autocast-bf16"),
        ("avx512f avx_vnni", "AuthenticAMD", ""),
    ],
)
def test_processors(devices, tmp_path, capsys, flags, vendor, option):
    devices([H200], flags, tmp_path, vendor)
    assert run_command(["fairseq_ext", "precision", "--cpu"]) == 0
    assert capsys.readouterr().out == option + "\n"


def test_no_gpu_is_one_line(devices, tmp_path):
    devices([], "", tmp_path)
    with pytest.raises(InputError, match="no usable GPU; expected one, or --launcher cpu"):
        precision.fastest(on_cpu=False)


def test_a_training_keeps_the_precision_of_its_beginning(devices, tmp_path):
    model = tmp_path / "model"
    devices([V100], "", tmp_path)
    assert precision.noted(model, on_cpu=False) == "fp16"
    devices([A100], "", tmp_path)
    assert precision.noted(model, on_cpu=False) == "fp16"
    assert precision.fastest(on_cpu=False) == "bf16"
    with pytest.raises(
        InputError, match=r"model/precision.txt: the training began in fp16, which needs a GPU"
    ):
        precision.noted(model, on_cpu=True)
    (model / "precision.txt").write_text("int8\n")
    with pytest.raises(InputError, match=r"precision.txt: found 'int8', expected one of bf16, fp16, float32"):
        precision.noted(model, on_cpu=False)
