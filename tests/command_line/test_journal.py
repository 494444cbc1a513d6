"""The journal of a killed run, whatever is left of it."""

import fcntl

import pytest

from command_line.errors import InputError
from command_line.journal import Journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, settings, *entries) -> None:
    with Journal(path, settings) as journal:
        for entry in entries:
            journal.add(entry)


def test_entries_survive(path):
    write(path, {"beam": 5}, [1, 2], {"a": "ü"})
    write(path, {"beam": 5}, "third")
    assert Journal(path, {"beam": 5}).entries == [[1, 2], {"a": "ü"}, "third"]


def test_a_journal_of_other_settings_is_discarded(path):
    write(path, {"beam": 5}, "first")
    assert Journal(path, {"beam": 4}).entries == []
    write(path, {"beam": 4}, "other")
    assert Journal(path, {"beam": 5}).entries == []


def test_whatever_a_kill_leaves_of_the_file_whole_entries_are_read_and_can_be_continued(path):
    entries = [{"examples": [number], "tokens": [[number, 7]]} for number in range(3)]
    write(path, {"beam": 5}, *entries)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        kept = Journal(path, {"beam": 5}).entries
        assert kept == entries[: len(kept)]
        assert len(kept) == max(0, content[:length].count(b"\n") - 1)
        write(path, {"beam": 5}, "next")
        assert Journal(path, {"beam": 5}).entries == [*kept, "next"]


def test_a_damaged_line_is_dropped_and_said(path, capsys):
    entries = [{"examples": [number], "tokens": [[number, 7]]} for number in range(3)]
    write(path, {"beam": 5}, *entries)
    content = path.read_bytes()
    for position in range(content.index(b"\n") + 1, len(content)):
        if content[position] == ord("\n"):  # two lines in one; the last is one that was cut off
            continue
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        number = content[:position].count(b"\n") + 1
        assert Journal(path, {"beam": 5}).entries == entries[: number - 2] + entries[number - 1 :]
        assert capsys.readouterr().err == f"{path}:{number}: damaged; what it held is done again\n"
    path.write_bytes(content.replace(b"[1]", b"[2]"))
    write(path, {"beam": 5}, entries[1])
    assert Journal(path, {"beam": 5}).entries == [entries[0], entries[2], entries[1]]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n", b"[]\n[]\n", b'{"beam": 5}\n{"examples": 3}\n'])
def test_a_file_that_is_no_journal_is_discarded(path, content):
    path.write_bytes(content)
    assert Journal(path, {"beam": 5}).entries == []


def test_a_journal_that_shall_not_be_kept_is_discarded(path):
    write(path, {"beam": 5}, 1)
    assert Journal(path, {"beam": 5}, keep=False).entries == []


def test_removed_when_done(path):
    write(path, {}, 1)
    Journal(path, {}).remove()
    assert not path.exists()


def test_a_second_run_that_writes_the_same_is_refused_until_the_first_has_ended(path):
    with Journal(path, {"beam": 5}) as first:
        first.add("one")
        with pytest.raises(InputError, match=f"{path}: another run is writing here"):
            Journal(path, {"beam": 4}).__enter__()
        first.add("two")
    assert Journal(path, {"beam": 5}).entries == ["one", "two"]
    write(path, {"beam": 4}, "other")
    assert Journal(path, {"beam": 4}).entries == ["other"]


def test_of_two_runs_that_begin_at_one_moment_one_is_refused(path, monkeypatch):
    """The second one puts its file in the place of the first one's, between its opening and its lock."""
    lock, seconds = fcntl.flock, []

    def interrupted(stream, operation):
        if not seconds:
            seconds.append(Journal(path, {"beam": 4}))
            seconds[0].__enter__()
        lock(stream, operation)

    monkeypatch.setattr(fcntl, "flock", interrupted)
    with pytest.raises(InputError, match="another run is writing here"):
        Journal(path, {"beam": 5}).__enter__()
    seconds[0].__exit__()
