"""The registry of probes: one file, one line and one entry of report.toml make a probe."""

import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eval.probes import COMMANDS
from eval.reporting.shown import NO_SETTINGS, declared_sections
from eval.reporting.views import VIEWS

ROOT = Path(__file__).parents[3]
PROBE = '''"""How many inhabitants a place has."""

from dataclasses import dataclass

from command_line import options as types
from command_line.measurements import Measured, numbers
from command_line.option_classes import option
from eval.reporting.result_file import Written, publish

KIND = "census"


@dataclass(frozen=True, kw_only=True)
class Options:
    number: int = option("of inhabitants", required=True, type=types.natural)
    written: Written


def main(options: Options) -> None:
    publish(KIND, options, [], lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    measured = Measured()
    run = {"system": {"name": "Lummerland"}, "dataset": "islands"}
    measured.add(run, numbers({"people": options.number}, direction="all"))
    return measured
'''
LINE = '    "census": ("eval.probes.census", "count the inhabitants"),\n'
ENTRY = """
[[section]]
kind = "census"
title = "A census"
shows = [{ view = "table", name = "census", measure = "people", columns = "direction", caption = "People" }]
"""


@pytest.mark.slow
def test_a_probe_is_one_file_a_line_and_an_entry(tmp_path):
    """In a copy of `eval`: the probe is listed, runs, and is shown in a report."""
    shutil.copytree(ROOT / "eval", tmp_path / "eval", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "eval/probes/census.py").write_text(PROBE)
    registry = tmp_path / "eval/probes/__init__.py"
    before, after = registry.read_text().split("COMMANDS = {\n")
    registry.write_text(f"{before}COMMANDS = {{\n{LINE}{after}")
    with open(tmp_path / "eval/report.toml", "a") as stream:
        stream.write(ENTRY)

    def run(*words) -> str:
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", "eval", *map(str, words)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert "census                count the inhabitants" in run("probe", "--help")
    assert "--number NUMBER" in run("probe", "census", "--help")
    file = run("probe", "census", "--number", 17, "--output", tmp_path / "out").strip()
    assert (tmp_path / "out/census.csv").read_text() == (
        "run,dataset,system,direction,measure,value\n0,islands,Lummerland,all,people,17.0\n"
    )
    run("report", file, "--output", tmp_path / "report")
    assert (
        "## A census\n\n| System | Seeds | all |\n|---|---|---|\n| Lummerland | 1 | 17.0 |"
        in (tmp_path / "report/report.md").read_text()
    )


def test_what_is_declared_exists():
    """Every probe and every section: an entry that is wrong would be seen when somebody has such a result."""
    for module, _ in COMMANDS.values():
        assert callable(importlib.import_module(module).main)
    for entry in declared_sections():
        shows = entry.get("shows", [])
        functions = [entry.get("function"), *(view.get(key) for view in shows for key in ("of", "from"))]
        for function in filter(None, functions):
            module, _, name = function.partition(":")
            assert callable(getattr(importlib.import_module(module), name))
        for shown in shows:
            given = {name: value for name, value in shown.items() if name not in NO_SETTINGS}
            inspect.signature(VIEWS[shown["view"]]).bind("measured", "dataset", **given)
