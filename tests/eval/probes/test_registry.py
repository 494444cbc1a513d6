"""The registry of probes: one file and one line make a probe, in `--help` and in the report."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from eval.probes import PROBES
from eval.report import sections

ROOT = Path(__file__).parents[3]
PROBE = '''"""How many states there are."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.option_classes import from_arguments
from eval.reporting.exhibits import Section, Table, cells
from eval.reporting.result_file import add_output_arguments, publish

KIND = "census"


@dataclass(frozen=True)
class Options:
    number: int


def add_arguments(parser) -> None:
    parser.add_argument("--number", type=types.natural, required=True, help="of inhabitants")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    publish(KIND, options, [], lambda: {"counted": options.number}, section, args.output, args.force)


def section(results) -> Section:
    rows = [cells(record["counted"]) for _, record in results.of_kind(KIND)]
    return Section("A census", [Table("census", "All inhabitants.", [cells("Number")], rows)])
'''
LINE = '    "census": Probe("eval.probes.census", "count the inhabitants", "census"),\n'


def test_a_probe_is_one_file_and_one_line(tmp_path):
    """In a copy of `eval`: the probe is listed, runs, and is shown in a report."""
    shutil.copytree(ROOT / "eval", tmp_path / "eval", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "eval/probes/census.py").write_text(PROBE)
    registry = tmp_path / "eval/probes/__init__.py"
    before, after = registry.read_text().split("PROBES = {\n")
    registry.write_text(f"{before}PROBES = {{\n{LINE}{after}")

    def run(*words) -> str:
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", "eval", *map(str, words)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert "census                count the inhabitants" in run("probe", "--help")
    assert "--number NUMBER" in run("probe", "census", "--help")
    file = run("probe", "census", "--number", 17, "--output", tmp_path / "out").strip()
    assert (tmp_path / "out/census.csv").read_text() == "Number\n17\n"
    run("report", file, "--output", tmp_path / "report")
    assert "## A census\n\n| Number |\n|---|\n| 17 |" in (tmp_path / "report/report.md").read_text()


def test_the_order_of_the_report():
    """How systems translate, what probes found, what encoders can do, where the numbers come from."""
    assert [module.removeprefix("eval.") for _, module in sections()] == [
        "reporting.sections.summary",
        "reporting.sections.off_target",
        "probes.off_target",
        "reporting.sections.significance",
        "reporting.sections.directions",
        "reporting.sections.indicators",
        "reporting.sections.on_target",
        "probes.adequacy",
        "probes.llr",
        "probes.similarity",
        "probes.retrieval",
        "probes.correlate",
        "probes.cosine",
        "probes.pretraining_accuracy",
        "probes.interlingua",
        "probes.validation_curves",
        "probes.training_speed",
        "probes.learning_curves",
        "probes.combination",
        "probes.language_groups",
        "probes.cost",
        "probes.retrieval_curves",
        "reporting.sections.sentence_retrieval",
        "reporting.sections.dual_pivot",
        "reporting.sections.encoder_sizes",
        "reporting.sections.distillation",
        "probes.data_size",
        "reporting.sections.encoder_sizes:speed",
        "reporting.sections.sentence_tasks:neighbours",
        "reporting.sections.sentence_tasks:mining",
        "reporting.sections.sentence_tasks:classification",
        "reporting.sections.sentence_tasks:sts",
        "reporting.sections.sentence_tasks:finetuning",
        "probes.transfer",
        "reporting.sections.provenance",
    ]


def test_every_kind_is_that_of_its_module():
    import importlib

    for name, probe in PROBES.items():
        module = importlib.import_module(probe.module)
        assert (probe.kind is None and name == "states") or probe.kind == module.KIND
