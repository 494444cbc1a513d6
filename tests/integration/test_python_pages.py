"""The Python of the page on probing runs as it stands, from its first block to its last."""

import re
from pathlib import Path

import pandas as pd
import pytest

from command_line.dispatch import run
from eval.__main__ import COMMANDS
from tests.documented_commands import ROOT

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs/probing_from_python.md").read_text(encoding="utf-8")


def test_probing_from_python(tmp_path, monkeypatch, data, trained):
    (tmp_path / "pre").symlink_to(trained)
    (tmp_path / "DATA").symlink_to(data)
    monkeypatch.chdir(tmp_path)
    (shell,) = re.findall(r"^```\n(python -m eval .*)\n```", PAGE, flags=re.M)
    assert run("eval", "", COMMANDS, shell.split()[3:]) == 0
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.M | re.S))
    names: dict = {}
    exec(compile(code, "docs/probing_from_python.md", "exec"), names)
    store, rows = names["store"], names["rows"]
    assert len(store.encoder("test", "de-fr")) == 2 and len(store.decoder("test", "fr-de")) == 1
    assert names["part"].pieces[-1] == "</s>"
    accuracy = rows[(rows.measure == "accuracy") & (rows.kind == "zero-shot")]
    assert set(accuracy.part) == {"source", "target"} and accuracy.value.between(0, 1).all()
    assert Path("llr.svg").read_bytes().startswith(b"<?xml")
    own, recognized = (pd.DataFrame(names[name].rows) for name in ("own", "recognized"))
    assert set(own[own.measure == "accuracy"].layer) == {"L0", "L1", "output"}
    assert set(recognized[recognized.measure == "class_accuracy"].direction) == {"even", "odd"}
