"""The package as it is installed: versions, pins, the make targets that set it up."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned() -> dict[str, list[Requirement]]:
    pins: dict[str, list[Requirement]] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            pins.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return pins


def test_changelog_starts_with_the_version():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    released = [version for version in versions if version != "Unreleased"]
    assert versions[0] in ("Unreleased", released[0])
    assert released[0] == PROJECT["version"]


def test_constraints_are_exact():
    for requirements in pinned().values():
        for requirement in requirements:
            assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), str(requirement)


def test_every_requirement_of_every_extra_is_pinned_to_a_version_that_it_allows():
    extras = PROJECT["optional-dependencies"]
    pins = pinned()
    for text in PROJECT["dependencies"] + [text for extra in extras.values() for text in extra]:
        requirement = Requirement(text)
        if requirement.name == PROJECT["name"]:
            assert requirement.extras == set(extras) - {"all"}
            continue
        for pin in pins[canonicalize_name(requirement.name)]:
            version = next(iter(pin.specifier)).version
            assert requirement.specifier.contains(version), f"{pin} against {requirement}"


def test_what_is_installed_needs_nothing_that_is_not_pinned():
    try:
        importlib.metadata.distribution(PROJECT["name"])
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed: it runs from its folder")
    pins, seen = pinned(), set()
    todo = [(PROJECT["name"], extra) for extra in ("", *PROJECT["optional-dependencies"]) if extra != "all"]
    while todo:
        parent, extra = todo.pop()
        try:
            requirements = importlib.metadata.requires(parent) or []
        except importlib.metadata.PackageNotFoundError:  # of an extra that `make env` leaves out
            continue
        for requirement in map(Requirement, requirements):
            name = canonicalize_name(requirement.name)
            needed = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            own = name.startswith(("nvidia-", "cuda-")) or name == "triton"  # torch pins those itself
            for one in {"", *requirement.extras} if needed and not own else ():
                assert name in pins, f"{name}, which {parent} needs"
                if (name, one) not in seen:
                    seen.add((name, one))
                    todo.append((name, one))


def test_importing_the_plug_ins_changes_no_settings():
    code = (
        "import logging, torch, fairseq; before = torch.get_num_threads(), len(logging.getLogger().handlers);"
        "import fairseq_ext;"
        "assert before == (torch.get_num_threads(), len(logging.getLogger().handlers))"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "2"}
    )


def test_ci_runs_all_tests_and_nothing_else():
    commands = [
        line
        for line in (ROOT / ".ci/run").read_text().splitlines()
        if not line.startswith(("#", "set", "cd"))
    ]
    assert commands == ["exec make test-all"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_make_alone_lists_every_target():
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^make ([\w-]+)", listed, flags=re.M) == (
        ["help", "env", "quickstart", "quick", "test", "test-all", "bench", "lint", "format", "clean"]
    )


# --- make env, with a stand-in for Python that records what it is asked ------------------------------

PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then exec {python} -c "import sys; sys.version_info = {version}; exec(sys.argv[1])" "$2"; fi
echo "$*" >> {log}
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
case "$*" in *{failing}*) exit 1 ;; esac
"""


@pytest.fixture
def make_env(tmp_path):
    for name in ("Makefile", "setup.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def run(version=(3, 11), failing="nothing", **environment):
        python, log = tmp_path / "python-stand-in", tmp_path / "log"
        log.write_text("")
        python.write_text(PYTHON.format(python=sys.executable, version=version, log=log, failing=failing))
        python.chmod(0o755)
        command = ["make", "env", f"PYTHON={python}"]
        environment = {**os.environ, **environment}
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return result, log.read_text().splitlines()

    return run


def test_environment_is_made_once(make_env, tmp_path):
    result, calls = make_env()
    assert result.returncode == 0, result.stderr
    assert calls[0] == "-m venv .venv"
    assert calls[-1].endswith(
        "--no-build-isolation"
        " --editable .[ja,zh,ko,align,formats,comet,embed,llm,onnx,lid,ctranslate2,cluster,dev]"
    )
    assert all("--constraint constraints.txt" in call for call in calls[1:])
    assert make_env()[1] == []
    os.utime(tmp_path / "constraints.txt", (2e9, 2e9))
    assert len(make_env()[1]) == len(calls)


def test_an_installation_that_failed_starts_over(make_env, tmp_path):
    result, _ = make_env(failing="editable")
    assert result.returncode != 0
    left_over = tmp_path / ".venv" / "left-over"
    left_over.write_text("")
    result, calls = make_env()
    assert result.returncode == 0
    assert calls[0] == "-m venv .venv"
    assert not left_over.exists()


def test_a_compiler_that_will_not_do_is_one_clear_line_before_anything_is_downloaded(make_env):
    result, calls = make_env(CXX="false")
    assert result.returncode != 0 and calls == []
    assert "error: false does not compile C++20 with Python.h, expected it to build fairseq" in result.stderr


def test_an_old_python_is_one_clear_line(make_env):
    result, calls = make_env(version=(3, 10))
    assert result.returncode != 0
    message = "is Python 3.10, expected 3.11, 3.12 or 3.13; choose another with: make PYTHON=python3.11"
    assert message in result.stderr
    assert calls == []
