"""`--plan`: what the trainings of a recipe will take, of any machine; nothing is run."""

import math

import pytest

from tests import hanging
from tests.recipes.commands import recipe


def plan(folder, name: str, *options: str):
    result = recipe(name, *options, cwd=folder, timeout=hanging.SECONDS)
    assert list(folder.iterdir()) == []
    return result


@pytest.mark.slow
def test_every_system_once_and_its_seeds_counted(tmp_path):
    options = ("--config", "phrasebook", "--systems", "0,4,1", "--seeds", "1,10,20")
    result = plan(tmp_path, "zero_shot", "--plan", "1e12", *options)
    assert result.returncode == 0, result.stderr
    _, four, one, total = result.stdout.splitlines()
    assert four.split()[:4] == ["system4", "3", "7,200", "7.4e+06"]  # 3 x 2,400 updates of 1,024 words
    assert one.split()[:2] == ["system1", "3"]
    assert total.split()[:4] == ["in", "all", "6", "14,400"]
    assert float(total.split()[-1]) > 0


@pytest.mark.slow
def test_pretraining_and_fine_tuning(tmp_path):
    options = ("--systems", "mass", "--seeds", "1", "--sizes", "3000", "--directions", "ja-en")
    own = ("--config", "enja", "--spacy-model", "en_core_web_sm")
    result = plan(tmp_path, "jass_enss", "--plan", "1e12", *own, *options)
    assert result.returncode == 0, result.stderr
    _, pretraining, finetuning, _ = result.stdout.splitlines()
    assert pretraining.startswith("mass ") and finetuning.startswith("mass-3000-ja-en ")


@pytest.mark.slow
def test_instructions_of_a_model_that_is_not_there(tmp_path):
    """Table 6.1 and 6.3.2: 5 epochs of 2 x 4,498,632 instructions, 1,024 in an update, by three rates."""
    config = (
        "--config",
        "bloomz24",
        "--model",
        "bloomz-3b",
        "--launcher",
        "slurm",
        "--gpus",
        "8",
        "--nodes",
        "16",
    )
    result = plan(tmp_path, "align_instruct", "--plan", "1e14", *config, "--systems", "base,mt,align-mt")
    assert result.returncode == 0, result.stderr
    _, mt, align_mt, _ = [line.split() for line in result.stdout.splitlines()]
    per_epoch = math.ceil(2 * 4498632 / 1024)
    assert mt[:3] == ["mt", "1", f"{3 * 5 * per_epoch:,}"]
    assert align_mt[:3] == ["align-mt", "1", f"{2 * 3 * 5 * per_epoch:,}"]
    operations = 4 * 3.0e9 * 3 * 5 * per_epoch * 1024 * 80  # adapters; 80 subwords
    assert float(mt[4]) == pytest.approx(operations, rel=0.05)
    assert float(mt[5]) == pytest.approx(operations / 1e14 / 3600, rel=0.01)


@pytest.mark.slow
def test_fine_tunings_of_encoders_that_are_not_there(tmp_path):
    given = (
        "--encoders",
        "mbert=m",
        "--xnli",
        "x",
        "--seeds",
        "1,2",
        "--nli",
        "n",
        "--sts",
        "s",
        "--wmt20",
        "w",
    )
    stages = ("--stages", "calibrate,finetune")
    result = plan(tmp_path, "crosslingual_evaluation", "--plan", "1e14", "--config", "paper", *given, *stages)
    assert result.returncode == 0, result.stderr
    rows = {words[0]: words[1:] for words in map(str.split, result.stdout.splitlines()[1:])}
    inferences = math.ceil((549367 + 392702) / 3 / 128) + math.ceil(10 * 5749 / 128)
    assert rows["calibrated/mbert"][:2] == ["1", f"{inferences:,}"]
    updates = math.ceil(10 * 392702 / 32)
    assert rows["mbert/xnli-en"][:2] == ["2", f"{2 * updates:,}"]
    assert float(rows["mbert/xnli-en"][3]) == pytest.approx(6 * 8.6e7 * 2 * 10 * 392702 * 60, rel=0.05)
    assert rows["mbert/xnli-all"][:2] == ["2", f"{2 * math.ceil(10 * 15 * 392702 / 32):,}"]


def test_flops_are_a_number(tmp_path):
    result = recipe(
        "zero_shot", "--plan", "fast", "--config", "phrasebook", cwd=tmp_path, timeout=hanging.SECONDS
    )
    assert result.returncode == 2
    assert "--flops: found 'fast', expected a number" in result.stderr
