import hashlib
import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

from command_line.provenance import checksums, command_typed, path_in_record, versions


def test_a_command_can_be_typed_again(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/eval/__main__.py", "score", "out of 2 seeds", "--force"])
    command = command_typed("eval")
    assert command == "python -m eval score 'out of 2 seeds' --force"
    assert shlex.split(command)[3:] == sys.argv[1:]


def test_versions_are_those_of_the_installed_distributions():
    installed = versions("sacrebleu", "fairseq-fixed")
    assert installed == {
        "python": platform.python_version(),
        "sacrebleu": version("sacrebleu"),
        "fairseq-fixed": version("fairseq-fixed"),
    }


def test_checksums_are_of_the_contents(tmp_path):
    (tmp_path / "a.json").write_bytes(b"one")
    sums = checksums([tmp_path / "a.json"])
    assert sums == [{"path": str(tmp_path / "a.json"), "sha256": hashlib.sha256(b"one").hexdigest()}]


def test_a_path_in_a_record_is_found_from_any_folder_and_after_both_have_moved(tmp_path, monkeypatch):
    (tmp_path / "one/text").mkdir(parents=True)
    (tmp_path / "one/text/test.de").touch()
    (tmp_path / "elsewhere").symlink_to("one/text", target_is_directory=True)
    monkeypatch.chdir(tmp_path / "one")
    assert path_in_record(tmp_path / "one/text/test.de", "out") == f"{tmp_path}/one/text/test.de"
    name = path_in_record("../elsewhere/test.de", "out")
    assert name == "../text/test.de"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one/out").mkdir()
    assert Path("one/out", name).samefile("one/text/test.de")
    (tmp_path / "one").rename("two")
    assert Path("two/out", name).samefile("two/text/test.de")


def test_a_distribution_of_another_name_is_unknown():
    assert versions("pytest", "no-such-package") | {"python": "", "pytest": ""} == {
        "python": "", "pytest": "", "no-such-package": "unknown",
    }  # fmt: skip
