"""What a user's environment says changes nothing of a recipe, but where it runs."""

import os
import re
import subprocess

import pytest

from tests import hanging
from tests.recipes.commands import RECIPES, ROOT, recipe, write_program

SCRIPTS = sorted(ROOT.glob("recipes/**/*.sh"))
WHERE_IT_RUNS = {
    "PATH", "HOME", "USER", "SHELL", "TERM", "TMPDIR", "CUDA_VISIBLE_DEVICES", "PYTHONNOUSERSITE",
    "PYTHONUSERBASE",
}  # fmt: skip
EXPANDED, ASSIGNED, CAPITALS = (
    r"\$\{?[#!]?([A-Za-z_]\w*)",
    r"\b([A-Za-z_]\w*)(?:\[[^]\n]*\])? ?\+?=",
    r"\b[A-Z][A-Z0-9_]+\b",
)
VARIABLES = {
    name
    for script in SCRIPTS
    for pattern in (EXPANDED, ASSIGNED, CAPITALS)
    for name in re.findall(pattern, script.read_text(encoding="utf-8"))
}
OPTIONS = {
    "quickstart": [],
    "zero_shot": ["--config", "multi30k", "--systems", "1,4,6"],
    "interlingua": ["--config", "multi30k", "--systems", "pivot,variable"],
    "word_contrastive": ["--config", "enja", "--systems", "mlsc,mlsc+FA"],
    "sentence_embedding": ["--config", "l10n", "--tatoeba", "v1"],
    "distillation": ["--config", "l10n", "--teacher", "ems.pt", "--teacher-data", "data"],
    "one_aligner": ["--config", "l10n", "--encoder", "mlm", "--tatoeba", "v1"],
    "dual_pivot": ["--config", "l10n", "--encoder", "mlm", "--tatoeba", "v1", "--bucc", "bucc"],
    "post_pretraining": ["--config", "ppa", "--encoder", "mbert", "--xnli", "xnli"],
    "crosslingual_evaluation": ["--config", "paper", "--encoders", "mbert=m", "--xnli", "x", "--sts17", "s"],
    "align_instruct": ["--config", "phrasebook", "--systems", "base,mt,mt+align,mt-pivot"],
    "jass_enss": ["--config", "enja", "--spacy-model", "model", "--systems", "mass"],
}
TOOLS = {  # that make shells, tools, Python and libraries behave in another way
    "POSIXLY_CORRECT": "1", "GREP_OPTIONS": "-v", "LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8",
    "LC_NUMERIC": "de_DE.UTF-8", "PYTHONSTARTUP": "nonsense", "PYTHONPATH": "nonsense", "PYTHONHASHSEED": "7",
    "PYTHONOPTIMIZE": "2", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3", "LOGLEVEL": "ERROR",
    "WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "nowhere", "MASTER_PORT": "1", "NVIDIA_TF32_OVERRIDE": "1",
    "SHELLOPTS": "noglob", "GLOBIGNORE": "*",
    "MALLOC_MMAP_THRESHOLD_": "4096000", "MALLOC_TRIM_THRESHOLD_": "4096000",  # a word is 0, which is slow
}  # fmt: skip


def hostile(folder) -> dict[str, str]:
    """An environment with nonsense for every variable of the scripts."""
    folder.joinpath("bash_env").write_text("SEEDS=77; die() { exit 9; }; shopt -s nocasematch; set -f\n")
    nonsense = dict.fromkeys(VARIABLES - WHERE_IT_RUNS, "nonsense")
    functions = {f"BASH_FUNC_{name}%%": "() { exit 9; }" for name in ("note", "prepare", "train", "tr", "cd")}
    shell = {"BASH_ENV": str(folder / "bash_env"), "CDPATH": f"{ROOT}:{ROOT / 'recipes'}:/"}
    return {**nonsense, **functions, **shell, **TOOLS}


def said(result) -> list[str]:
    """Without what the first bash says of a locale that this machine does not have."""
    return [line for line in result.stderr.splitlines() if not line.startswith("bash: warning: setlocale")]


def test_the_variables_of_the_scripts_are_known():
    """Settings, what is read or counted, and what an option sets by its name, as --spacy-model does."""
    assert {"SYSTEMS", "FINETUNING_TOKENS", "LANGUAGES", "SPACY_MODEL"} <= VARIABLES
    assert {"seed", "model", "place", "cores", "used"} <= VARIABLES


@pytest.mark.parametrize("name", RECIPES)
def test_no_variable_of_the_environment_changes_a_recipe(name, tmp_path):
    """Called by a relative path, where CDPATH could lead elsewhere."""
    command = ["bash", f"recipes/{name}/run.sh", "--dry-run", *OPTIONS[name]]
    clean = {name: os.environ[name] for name in WHERE_IT_RUNS if name in os.environ}
    expected, found = (
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        for environment in (clean, {**clean, **hostile(tmp_path)})
    )
    assert found.returncode == 0, found.stderr
    assert said(found) == said(expected)
    assert len(expected.stdout.splitlines()) > 8
    assert found.stdout == expected.stdout


def test_commands_see_where_they_run_and_none_of_the_rest(tmp_path):
    """The stage score, with a stand-in for python that writes down its environment."""
    write_program(tmp_path / "bin/python", "#!/bin/bash\nenv > seen\n")
    write_program(tmp_path / "bin/fairseq-train", "")
    where = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": "/home", "TMPDIR": "/tmp",
        "CUDA_VISIBLE_DEVICES": "1", "SLURM_JOB_ID": "5", "https_proxy": "http://proxy", "HF_HOME": "/hf",
        "PYTHONNOUSERSITE": "1", "PYTHONUSERBASE": "/packages",
        "lingual_nmt": "5",  # part of a word of the scripts
    }  # fmt: skip
    options = ["--config", "iwslt", "--systems", "1", "--seeds", "1", "--stages", "score", "--output", "out"]
    result = recipe(
        "zero_shot", *options, cwd=tmp_path, env={**hostile(tmp_path), **where}, timeout=hanging.SECONDS
    )
    assert result.returncode == 0, result.stderr
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines() if "=" in line)
    assert {name: seen.get(name) for name in where} == where
    assert (seen["LC_ALL"], seen["PYTHONPATH"]) == ("C.UTF-8", str(ROOT))
    assert seen["OMP_WAIT_POLICY"] == "passive"  # threads that spin stop others on a core that is shared
    assert not (set(TOOLS) - {"LC_ALL", "PYTHONPATH", "SHELLOPTS"}) & set(seen)
    of_users = {name: value for name, value in seen.items() if not name.startswith("SLURM_")}
    assert not [
        name for name, value in of_users.items() if value == "nonsense" or name.startswith("BASH_FUNC")
    ]
