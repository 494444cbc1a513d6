"""The Python of docs/translating.md, as it stands, with a folder that is there."""

import ast
import re
from pathlib import Path

from tests.eval.translation.packages import package, write_checkpoint, write_data

PAGE = Path(__file__).parents[3] / "docs/translating.md"


def test_the_example_in_python(tmp_path, monkeypatch, capsys):
    (tmp_path / "example").mkdir()
    data = write_data(tmp_path / "data")
    package(tmp_path / "example/system", data, write_checkpoint(tmp_path / "model.pt", data))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    translations = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert (
        len(translations) == 3
        and translations[1] == ""
        and all(isinstance(translation, str) for translation in translations)
    )
