import json

import pytest

from command_line.outputs import Stamp, atomic_path, checksum, input_settings, write_json


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


def test_a_finished_step_is_skipped_unless_settings_change_or_it_is_forced(tmp_path, capsys):
    stamp = Stamp(tmp_path / "done.json", {"size": 1, "path": tmp_path})
    assert not stamp.is_current()
    stamp.finish()
    assert Stamp(tmp_path / "done.json", {"size": 1, "path": tmp_path}).is_current()
    assert "skipped" in capsys.readouterr().err
    assert not Stamp(tmp_path / "done.json", {"size": 2, "path": tmp_path}).is_current()
    assert not stamp.is_current(force=True)


def test_a_step_that_has_begun_again_is_not_finished(tmp_path):
    stamp = Stamp(tmp_path / "done.json", {})
    stamp.finish()
    stamp.begin()
    assert not stamp.is_current()


def test_a_broken_stamp_means_not_finished(tmp_path):
    (tmp_path / "done.json").write_text("{")
    assert not Stamp(tmp_path / "done.json", {}).is_current()


def test_input_settings_change_with_the_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("1")
    before = input_settings(path)
    path.write_text("12")
    assert input_settings(path) != before
    assert json.dumps(before)
