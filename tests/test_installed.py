"""An installed copy harms nobody, and nobody's files harm it: wheel, editable install, a foreign `eval`."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.test_imports import FOLDERS, ROOT

FOREIGN = "import pathlib, sys\npathlib.Path(sys.argv[0]).parent.joinpath('foreign-was-run').touch()\n"
NOT_INSTALLED = {"benchmarks", "studies"}
NAMES = [name for name in FOLDERS if (ROOT / name).is_dir() and name not in NOT_INSTALLED]
COMMANDS = [name for name in NAMES if (ROOT / name / "__main__.py").exists() and name != "multilingual_nmt"]


def clean_environment(**variables) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "OMP_NUM_THREADS": "1", **variables}


def run(command: list, cwd, **variables) -> subprocess.CompletedProcess:
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=clean_environment(**variables), capture_output=True, text=True
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Built from the files under version control and new ones, as `pip install .` does."""
    copy = made_once(tmp_path_factory, "source", build)
    return zipfile.ZipFile(next((copy / "dist").glob("*.whl")))


def build(copy: Path) -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *NAMES]
    metadata = ["setup.py", "pyproject.toml", "README.md", "LICENSE"]
    files = subprocess.run(listed + metadata, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    built = run([sys.executable, "setup.py", "-q", "bdist_wheel"], copy)
    assert built.returncode == 0, built.stderr


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory) -> Path:
    """The wheel as it lies in an environment."""
    return made_once(tmp_path_factory, "site-packages", wheel.extractall)


@pytest.fixture
def beside_others(tmp_path) -> Path:
    """A folder of another project, with modules of our names."""
    for name in set(NAMES) - {"multilingual_nmt"}:
        (tmp_path / f"{name}.py").write_text(FOREIGN)
    return tmp_path


def mnmt(site, *words, cwd) -> subprocess.CompletedProcess:
    """As the script that pip makes of the entry point: the current folder is not on its path."""
    entry = "import sys; sys.argv[0] = 'mnmt'; from multilingual_nmt.__main__ import main; sys.exit(main())"
    return run([sys.executable, "-P", "-c", entry, *words], cwd, PYTHONPATH=str(site))


def test_everything_lies_inside_one_package(wheel):
    names = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"multilingual_nmt"}
    assert "mnmt = multilingual_nmt.__main__:main" in wheel.read(
        next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    ).decode().replace("mnmt=", "mnmt =")


def test_no_file_of_the_packages_is_left_out(wheel):
    packed = {name.removeprefix("multilingual_nmt/") for name in wheel.namelist()}
    for name in NAMES:
        for path in (ROOT / name).rglob("*"):
            if path.suffix in (".py", ".toml", ".html"):
                inside = path.relative_to(ROOT).as_posix().removeprefix("multilingual_nmt/")
                assert inside in packed, inside


@pytest.mark.parametrize("package", COMMANDS)
def test_mnmt_runs_every_package_and_nothing_foreign(package, site, beside_others):
    result = mnmt(site, package, "--help", cwd=beside_others)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: mnmt {package} STEP")
    assert "python -m" not in result.stdout
    assert not (beside_others / "foreign-was-run").exists()


def test_mnmt_lists_every_package(site, beside_others):
    listed = mnmt(site, "--help", cwd=beside_others).stdout
    assert [package for package in COMMANDS if package not in listed] == []
    assert not (beside_others / "foreign-was-run").exists()


def test_what_an_installed_command_says_can_be_typed(site, tmp_path):
    (tmp_path / "data").mkdir()
    for language in ("de", "en"):
        (tmp_path / f"data/train.de-en.{language}").write_text("a\n")
    result = mnmt(
        site, "data_prep", "binarize", "--input", "data", "--text", "data", "--output", "out", cwd=tmp_path
    )
    assert result.returncode == 2
    assert "`mnmt data_prep subword`" in result.stderr and "python -m" not in result.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "usage: mnmt PACKAGE"),
        (["evla"], 2, "error: mnmt evla: expected one of: "),
        (["user-dir", "x"], 2, "error: mnmt user-dir x: expected one of: "),
    ],
)
def test_a_wrong_word_is_one_line(words, status, said, site, tmp_path):
    result = mnmt(site, *words, cwd=tmp_path)
    assert result.returncode == status
    assert (result.stdout or result.stderr).startswith(said)
    assert len(result.stderr.splitlines()) <= 1


def test_other_projects_keep_their_modules(site, beside_others):
    """Our package on everybody's path takes no name but its own."""
    (beside_others / "eval.py").write_text("OWNER = 'another project'\n")
    code = "import multilingual_nmt, eval; print(eval.OWNER)"
    assert (
        run([sys.executable, "-c", code], beside_others, PYTHONPATH=str(site)).stdout == "another project\n"
    )
    for name in set(NAMES) - {"multilingual_nmt"}:
        found = run([sys.executable, "-SPc", f"import {name}"], beside_others, PYTHONPATH=str(site))
        assert "ModuleNotFoundError" in found.stderr, name


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_child_processes_find_the_modules(method, site, beside_others):
    script = beside_others / "script.py"
    script.write_text(
        "import multiprocessing\nfrom multilingual_nmt import put_first_on_path\nput_first_on_path()\n"
        "from command_line.workers import default_workers\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        print(pool.apply(default_workers) == default_workers())\n"
    )
    result = run([sys.executable, script], beside_others, PYTHONPATH=str(site))
    assert result.stdout == "True\n", result.stderr


def test_a_task_on_a_cluster_knows_one_package_only(site, tmp_path):
    """What dask sends unpickles where nothing but `multilingual_nmt` is on the path."""
    code = (
        "import pickle, sys, multilingual_nmt as m; m.put_first_on_path();"
        "from data_prep.languages import is_english;"
        "sys.stdout.buffer.write(pickle.dumps((m.call, pickle.dumps(is_english), pickle.dumps('en'))))"
    )
    sent = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(site)),
        capture_output=True,
    )
    worker = "import pickle, sys; call, *request = pickle.load(sys.stdin.buffer); print(call(*request))"
    done = subprocess.run(
        [sys.executable, "-c", worker], input=sent.stdout, cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(site)), capture_output=True,
    )  # fmt: skip
    assert done.stdout == b"True\n", done.stderr


@pytest.mark.slow
def test_fairseq_takes_the_user_dir_beside_a_foreign_eval(site, beside_others):
    user_dir = mnmt(site, "user-dir", cwd=beside_others).stdout.strip()
    assert user_dir == str(site / "multilingual_nmt/fairseq_ext")
    # with -m, the current folder is on the path before fairseq puts the parent of the user-dir there
    program = [sys.executable, "-m", "fairseq_cli.train", "no-data", "--user-dir", user_dir]
    result = run([*program, *TASK], beside_others, PYTHONPATH=str(site))
    assert result.returncode == 2, result.stderr
    assert "no-data: no such folder; expected the output of `mnmt data_prep binarize`" in result.stderr
    assert not (beside_others / "foreign-was-run").exists()


TASK = [*("--task", "multilingual_nmt", "--lang-pairs", "en-de", "--arch", "mnmt_transformer_tiny")]
TASK += ["--max-tokens", "500", "--optimizer", "fused_adam", "--lr", "1e-3", "--cpu"]
TASK += ["--criterion", "fused_label_smoothed_cross_entropy"]


@pytest.mark.slow
def test_an_installed_copy_leads_from_text_to_translations_in_an_empty_folder(site, beside_others):
    for words in (
        "data_prep phrasebook --langs en,de --train-lines 60 --valid-lines 5 --test-lines 5 --output text",
        "data_prep tokenize --input text --output tokenized --workers 2",
        "data_prep subword --merges 200 --input tokenized --output subword",
        "data_prep binarize --input subword --text text --output data",
        "train",
        "eval translate --checkpoint model/checkpoint_best.pt --data data --max-len-b 5 --cpu --output out",
    ):
        if words == "train":
            user_dir = site / "multilingual_nmt/fairseq_ext"
            command = ["fairseq-train", "data", "--user-dir", user_dir, *TASK]
            command += ["--max-update", "2", "--save-dir", "model"]
            result = run(command, beside_others, PYTHONPATH=str(site))
        else:
            result = mnmt(site, *words.split(), cwd=beside_others)
        assert result.returncode == 0, result.stderr[-3000:]
    assert len(list((beside_others / "out").glob("*.txt"))) >= 2
    assert not (beside_others / "foreign-was-run").exists()


def test_an_editable_install_puts_one_name_on_everybodys_path(tmp_path):
    """What setuptools would map, read from its own machinery."""
    from setuptools.command.editable_wheel import _find_package_roots

    code = "import json, runpy, setuptools; setuptools.setup = lambda **given: print(json.dumps(given));"
    options = json.loads(run([sys.executable, "-c", code + "runpy.run_path('setup.py')"], ROOT).stdout)
    roots = _find_package_roots(options["packages"], options["package_dir"], ROOT)
    assert {name.split(".")[0] for name in roots} == {"multilingual_nmt"}
    assert roots["multilingual_nmt"] == str(ROOT / "multilingual_nmt")


@pytest.mark.parametrize("recipe", ["quickstart", "zero_shot"])
def test_a_recipe_does_not_run_what_lies_in_the_current_folder(recipe, beside_others):
    options = {
        "quickstart": ["--languages", "en,qq"],
        "zero_shot": ["--config", "multi30k", "--data-root", ".", "--stages", "prepare"],
    }
    command = ["bash", ROOT / f"recipes/{recipe}/run.sh", *options[recipe], "--output", "out"]
    result = run(command, beside_others)
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert not list(beside_others.rglob("foreign-was-run"))


def test_packages_are_listed_where_they_are_installed():
    """A new folder of the order of folders is installed too."""
    source = (ROOT / "setup.py").read_text()
    for name in set(FOLDERS) - NOT_INSTALLED - {"multilingual_nmt"}:
        assert f'"{name}"' in source
