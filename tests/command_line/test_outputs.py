import math
import os
import subprocess

import pytest

from command_line.errors import InputError
from command_line.outputs import (
    atomic_path,
    check_other_folder,
    checksum,
    partial_prefix,
    remove_leftovers,
    scratch_folder,
    write_json,
)


def test_a_file_appears_only_when_complete(tmp_path):
    path = tmp_path / "new" / "a.txt.gz"
    with atomic_path(path) as temporary:
        temporary.write_text("x")
        assert not path.exists()
        assert temporary.suffix == ".gz"
    assert path.read_text() == "x"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_keeps_order_and_letters(tmp_path):
    write_json(tmp_path / "a.json", {"z": "é", "a": 1})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text == '{\n  "z": "é",\n  "a": 1\n}\n'


def test_checksum_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert checksum(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def ended_process() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_leftovers_of_ended_processes_go_and_those_of_running_ones_stay(tmp_path, ended_process):
    gone, running = partial_prefix(ended_process), partial_prefix(os.getppid())
    (tmp_path / f"{gone}.a").touch()
    (tmp_path / f"{gone}.scratch-x").mkdir()
    (tmp_path / f"{gone}.scratch-x/part").touch()
    (tmp_path / f"{running}.a").touch()
    (tmp_path / f"{partial_prefix(os.getpid())}.of-an-earlier-process-with-this-number").touch()
    (tmp_path / ".partial-archive.tgz").touch()  # a download, which goes on
    with atomic_path(tmp_path / "b") as ours, scratch_folder(tmp_path) as scratch:
        ours.touch()
        remove_leftovers(tmp_path)
        kept = {path.name for path in tmp_path.iterdir()}
        assert kept == {f"{running}.a", ".partial-archive.tgz", ours.name, scratch.name}


def test_a_folder_that_is_read_is_not_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "read")
    (tmp_path / "read").mkdir()
    check_other_folder(tmp_path / "other", [tmp_path / "read"])
    with pytest.raises(InputError, match="link: is a folder that is read, expected another one"):
        check_other_folder(tmp_path / "link", [tmp_path / "more", tmp_path / "read"])


def test_a_scratch_folder_is_gone_afterwards(tmp_path):
    with scratch_folder(tmp_path) as folder:
        (folder / "x").touch()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_has_no_word_for_numbers_that_are_not_finite(tmp_path, number):
    record = {"directions": {"de-en": [{"loss": 1.0}, {"loss": number}]}}
    with pytest.raises(InputError, match=r"x.json: not written: directions.de-en\[1\].loss is (nan|-?inf)"):
        write_json(tmp_path / "x.json", record)
    assert not list(tmp_path.iterdir())
