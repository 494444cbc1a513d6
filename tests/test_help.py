"""`--help` answers at once: what a command computes with is imported when it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", ["data_prep", "eval", "embeddings", "llm"])
def test_no_command_needs_torch_or_fairseq_to_explain_itself(package, tmp_path):
    """Where they would be imported, there are files that refuse."""
    for name in ("torch", "fairseq", "scipy", "transformers", "peft", "matplotlib"):
        (tmp_path / f"{name}.py").write_text(f"raise AssertionError('{name} is imported')")
    code = f"from tests.our_commands import parsers; print(len(parsers(({package!r},))))"
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3
