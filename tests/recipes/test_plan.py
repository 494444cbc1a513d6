"""`--plan`: a pilot of every training of a recipe, and a table; nothing is trained."""

import os
from pathlib import Path

import pytest

from tests import hanging
from tests.recipes.commands import ROOT, recipe, write_trainer

TRAINER = r"""#!/bin/bash
echo "$*" >> "$(dirname "$0")/calls"
echo "| INFO | num. shared model params: 5,000 (num. trained: 5,000)"
for number in $(seq 1000); do
  echo "| INFO | train_inner | epoch 001: $number / 20 loss=1, wpb=100, num_updates=$number"
  sleep 0.02
done
"""


@pytest.fixture
def plan(tmp_path):
    """Function that plans a recipe with pilots of a tenth of a second."""

    def run(name: str, config: str, *options: str):
        write_trainer(tmp_path / "bin", TRAINER, tmp_path / "out/data/mine")
        (tmp_path / "mine.sh").write_text(
            f'source "{ROOT}/recipes/{name}/configs/{config}.sh"\nPILOT_SECONDS=0.1\nPRECISION=float32\n'
        )
        before = everything(tmp_path / "out")
        environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        own = ["--config", str(tmp_path / "mine.sh"), "--plan", "--output", str(tmp_path / "out")]
        result = recipe(name, *own, *options, env=environment, timeout=hanging.SECONDS)
        assert everything(tmp_path / "out") == before
        return result

    return run


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_every_system_once_and_its_seeds_counted(plan, tmp_path):
    result = plan("zero_shot", "iwslt", "--systems", "0,4,1", "--seeds", "1,10,20")
    assert result.returncode == 0, result.stderr
    _, four, one, total = result.stdout.splitlines()
    assert four.split()[:4] == ["system4", "3", f"{3 * 100 * 20:,}", "6e+05"]  # epochs x updates x words
    assert four.split()[4] == f"{6 * 5000 * 6e5:.2g}"
    assert one.split()[:2] == ["system1", "3"]
    assert total.split()[:4] == ["in", "all", "6", "12,000"]
    calls = (tmp_path / "bin/calls").read_text().splitlines()
    assert ["--language-tags t-enc" in line for line in calls] == [True, False]
    assert "== train: mine" in result.stderr and "translate" not in result.stderr


def test_pretraining_and_what_is_not_prepared_yet(plan):
    result = plan(
        "jass_enss", "enja", "--systems", "mass", "--seeds", "1", "--sizes", "3000", "--directions", "ja-en"
    )
    assert result.returncode == 0, result.stderr
    _, pretraining, finetuning, _ = result.stdout.splitlines()
    assert pretraining.startswith("mass ") and finetuning.startswith("mass-3000-ja-en ")
    for line in (pretraining, finetuning):
        assert line.endswith("not prepared yet; run --stages prepare")


@pytest.mark.parametrize("stored", [False, True])
def test_sums_of_layers_are_not_stored_for_a_plan(plan, tmp_path, stored):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text('{"num_hidden_layers": 4}')
    (tmp_path / "out/data/mine").mkdir(parents=True)
    (tmp_path / "out/data/mine/train.de-en.de.frozen.vectors").touch()  # which are no sums
    if stored:
        (tmp_path / "out/data/mine/train.de-en.de.frozen.layers").touch()
    folders = ["--data-root", str(tmp_path), "--encoder", str(tmp_path / "model")]
    result = plan("dual_pivot", "l10n", *folders, "--systems", "paired-de-en", "--stages", "train")
    assert result.returncode == 0, result.stderr
    assert ("no sums of layers are stored yet" in result.stderr) != stored
    (call,) = (tmp_path / "bin/calls").read_text().splitlines()
    assert ("--layer-sums frozen" in call) == stored


def test_a_stage_that_trains_nothing_has_no_plan(plan):
    result = plan("zero_shot", "iwslt", "--stages", "score")
    assert result.returncode == 2
    assert result.stderr == "error: --plan: found --stages score, expected one of: train\n"
