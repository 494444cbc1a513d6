"""`make quick` chooses the tests that a change calls for."""

import subprocess
from pathlib import Path

import pytest

from tests.quick import MANY, calls_for, changed


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("fairseq_ext/losses/word_contrastive.py", "tests/fairseq_ext/test_word_contrastive.py"),
        ("command_line/options.py", "tests/command_line/test_options.py"),
        ("tests/campaign/world.py", "tests/campaign/test_world.py"),
        ("tests/test_quick.py", "tests/test_quick.py"),
        ("eval/scoring/test_sets.py", "tests/eval/scoring/test_score.py"),
        ("command_line/trainings.py", "tests/embeddings/calibration/test_calibrate.py"),
        ("data_prep/corpora/corpus.py", "tests/data_prep/test_download.py"),
        ("recipes/distillation/run.sh", "tests/recipes/test_distillation_recipe.py"),
        ("docs/mbart.md", "tests/test_readme.py"),
    ],
)
def test_a_change_calls_for_the_tests_that_name_it(path, expected):
    assert expected in calls_for(Path(path))


def test_other_tests_are_left_out():
    chosen = calls_for(Path("fairseq_ext/losses/word_contrastive.py"))
    assert len(chosen) <= MANY and "tests/command_line/test_xz.py" not in chosen
    assert calls_for(Path("tests/test_removed.py")) == calls_for(Path("Makefile")) == []


def test_of_many_the_most_specific_are_chosen():
    assert len(calls_for(Path("eval/__init__.py"))) == MANY
    assert "tests/eval/probes/test_transfer.py" in calls_for(Path("eval/probes/transfer.py"))


def test_a_module_that_many_tests_name_calls_for_those_of_its_folder():
    chosen = calls_for(Path("command_line/errors.py"))
    assert chosen and {Path(name).parts[1] for name in chosen} == {"command_line"}


def test_what_has_changed(tmp_path):
    def git(*words) -> None:
        name = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("same.py", "edited.py"):
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "edited.py").write_text("2\n")
    (tmp_path / "new.py").write_text("3\n")
    assert changed("HEAD", tmp_path) == [Path("edited.py"), Path("new.py")]
    git("add", ".")
    git("commit", "-m", "second")
    assert changed("HEAD", tmp_path) == []
    assert changed("HEAD~1", tmp_path) == [Path("edited.py"), Path("new.py")]
