"""What the README and the first pages say besides commands, which are in `test_documented_commands.py`."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
AXES = (ROOT / "docs/axes.md").read_text(encoding="utf-8")
FIRST_STEPS = (ROOT / "docs/first_steps.md").read_text(encoding="utf-8")
FAIRSEQ_PARSERS = {"fairseq-train": "get_training_parser", "fairseq-generate": "get_generation_parser"}


def parse_fairseq(program: str, words: list[str]):
    """What a fairseq program makes of its arguments; an unknown or wrong one ends the test."""
    from fairseq import options, utils

    utils.import_user_module(type("Args", (), {"user_dir": str(ROOT / "fairseq_ext")}))
    parser = getattr(options, FAIRSEQ_PARSERS[program])(default_task="multilingual_nmt")
    return options.parse_args_and_arch(parser, input_args=words)


BASES = {  # what the options of a row of the table belong to
    "sentence encoder": ["--task", "sentence_embedding", "--pairs", "en-de", "--arch", "ems"],
}
TRANSLATION = ["--task", "multilingual_nmt", "--lang-pairs", "en-de", "--arch", "mnmt_transformer"]


def test_every_option_of_the_table_of_axes_exists():
    table = AXES[AXES.index("| axis |") : AXES.index("## Adding an idea")]
    documented = [
        (BASES.get(row.split("|")[1].strip(), TRANSLATION), option, [first, *re.findall(r"`([\w-]+)`", rest)])
        for row in table.splitlines()
        for option, first, rest in re.findall(r"`(--[\w-]+)(?: ([\w-]+))?`((?:, `[\w-]+`)*)", row)
    ]
    names = {"--norm-placement", "--language-tags", "--arch", "--autocast-bf16", "--pooling"}
    assert names <= {name for _, name, _ in documented}
    for base, option, values in documented:
        for value in values:
            parse_fairseq("fairseq-train", ["data", *base, option, *([value] if value else [])])


def test_the_figure_is_what_the_numbers_of_the_results_give(tmp_path):
    figure = ROOT / "docs/figures/zero_shot_normalization.svg"
    assert figure.relative_to(ROOT).as_posix() in (ROOT / "README.md").read_text(encoding="utf-8")
    command = [sys.executable, str(figure.with_suffix(".py")), str(tmp_path / figure.name)]
    subprocess.run(command, check=True)
    assert (tmp_path / figure.name).read_bytes() == figure.read_bytes()


def test_every_file_that_is_named_exists():
    for path in re.findall(r"`((?:fairseq_ext|recipes|tests)/[\w/.]*)`", AXES):
        assert (ROOT / path).exists(), path


def test_the_environment_the_installed_commands_and_the_path_of_the_user_dir_are_explained():
    section = FIRST_STEPS[FIRST_STEPS.index("## The environment") : FIRST_STEPS.index("## Prepare data")]
    assert "`source .venv/bin/activate`" in section
    assert '`--user-dir "$(mnmt user-dir)"`' in section
    assert "`--user-dir` is the path of the folder" in section
    for package in ("data_prep", "eval", "fairseq_ext"):
        assert f"`python -m {package}`" in section


def test_recipes_find_the_environment_as_the_page_says(tmp_path):
    """An active one first, else `.venv` of the repository, else one line."""
    parts = "".join(f"source {ROOT}/recipes/shared/{name}.sh; " for name in ("command_line", "launching"))
    script = f"ROOT={tmp_path}; {parts} use_environment; command -v fairseq-train; echo $PYTHONPATH"

    def found(path: str) -> subprocess.CompletedProcess:
        command = ["/bin/bash", "-c", script]
        return subprocess.run(command, cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True)

    nothing = found("/usr/bin:/bin")
    assert nothing.returncode == 2
    assert "fairseq-train not found: run 'make env'" in nothing.stderr
    programs = [tmp_path / folder / "fairseq-train" for folder in (".venv/bin", "active/bin")]
    for program in programs:
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    for path, expected in (
        ("/usr/bin:/bin", programs[0]),
        (f"{programs[1].parent}:/usr/bin:/bin", programs[1]),
    ):
        assert found(path).stdout.split() == [str(expected), str(tmp_path)]
