"""The quickstart recipe in miniature, from nothing to the report."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MINIATURE = ("--languages", "en,de,fr", "--train-lines", "300", "--test-lines", "20", "--merges", "500")
MINIATURE += ("--updates", "12", "--", "--encoder-layers", "2", "--decoder-layers", "2")


def quickstart(folder, programs) -> subprocess.CompletedProcess:
    command = ["bash", str(ROOT / "recipes/quickstart/run.sh"), "--output", "out", *MINIATURE]
    variables = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)


@pytest.mark.slow
def test_quickstart_makes_a_report_and_a_second_run_does_nothing(tmp_path, programs):
    result = quickstart(tmp_path, programs)
    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]
    out = tmp_path / "out"
    placements = []
    for system in (1, 2):
        scores = json.loads((out / f"translations/system{system}-seed1/scores.json").read_text())
        kinds = [entry["kind"] for entry in scores["directions"].values()]
        assert (kinds.count("supervised"), kinds.count("zero-shot")) == (4, 2)
        placements.append(scores["system"]["norm_placement"])
    assert placements == ["pre", "post"]
    assert json.loads((out / "comparison.json").read_text())["runs"]
    assert "PostNorm" in (out / "report/report.html").read_text()

    written = {path: path.stat().st_mtime_ns for path in out.glob("[dmt]*/**/*") if path.is_file()}
    result = quickstart(tmp_path, programs)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stderr.count("trained, skipped") == 2
    assert written == {path: path.stat().st_mtime_ns for path in written}
