import hashlib
import platform
import shlex
import sys
from importlib.metadata import version

from command_line.provenance import checksums, command_typed, versions


def test_a_command_can_be_typed_again(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/eval/__main__.py", "score", "out of 2 seeds", "--force"])
    command = command_typed("eval")
    assert command == "python -m eval score 'out of 2 seeds' --force"
    assert shlex.split(command)[3:] == sys.argv[1:]


def test_versions_are_those_of_the_installed_distributions():
    found = versions("sacrebleu", "fairseq-fixed")
    assert found == {
        "python": platform.python_version(),
        "sacrebleu": version("sacrebleu"),
        "fairseq-fixed": version("fairseq-fixed"),
    }


def test_checksums_are_of_the_contents(tmp_path):
    (tmp_path / "a.json").write_bytes(b"one")
    found = checksums([tmp_path / "a.json"])
    assert found == [{"path": str(tmp_path / "a.json"), "sha256": hashlib.sha256(b"one").hexdigest()}]
