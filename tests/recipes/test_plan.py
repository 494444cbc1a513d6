"""`--plan`: what the trainings of a recipe will take, of any machine; nothing is run."""

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


def test_flops_are_a_number(tmp_path):
    result = recipe(
        "zero_shot", "--plan", "fast", "--config", "phrasebook", cwd=tmp_path, timeout=hanging.SECONDS
    )
    assert result.returncode == 2
    assert "--flops: found 'fast', expected a number" in result.stderr
