"""Stamps: when a step is skipped, when it is done again, and who may read what it writes."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from command_line import completion
from command_line.completion import (
    SAMPLE,
    SAMPLES,
    WHOLE,
    Stamp,
    check_finished,
    check_unchanged,
    file_identity,
    input_identities,
    read_settings,
)
from command_line.errors import InputError
from command_line.outputs import checksum, write_json


def step(folder, size=1, inputs=()) -> Stamp:
    return Stamp(folder / "done.json", "done", {"size": size, "path": folder}, inputs)


def do(folder, **options) -> None:
    stamp = step(folder, **options)
    stamp.begin()
    (folder / "out.txt").write_text("result\n")
    stamp.finish([folder / "out.txt"])


def begun_again(stamp: Stamp) -> bool:
    if stamp.is_current():
        return False
    stamp.begin()
    return True


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder in which the step is done."""
    do(tmp_path)
    return tmp_path


def test_a_finished_step_is_skipped_unless_settings_change_or_it_is_forced(folder, capsys):
    assert step(folder).is_current()
    assert "skipped" in capsys.readouterr().err
    assert not step(folder).is_current(force=True)
    other = step(folder, size=2)
    assert not other.is_current() and not capsys.readouterr().err
    other.begin()
    assert "was made with another size; `done` is done again" in capsys.readouterr().err


def test_a_step_that_never_ran_says_nothing(tmp_path, capsys):
    assert not step(tmp_path).is_current()
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (Path.unlink, "out.txt is gone"),
        (lambda path: os.truncate(path, 3), "out.txt has changed since"),
        (lambda path: path.write_text("RESULT\n"), "out.txt has changed since"),  # of the same size
    ],
)
def test_a_step_whose_output_is_damaged_is_done_again(folder, capsys, damage, reason):
    damage(folder / "out.txt")
    assert begun_again(step(folder))
    assert reason in capsys.readouterr().err


def test_a_replaced_input_is_seen_though_size_and_time_are_the_same(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("one\n")
    do(tmp_path, inputs=[text])
    assert step(tmp_path, inputs=[text]).is_current()
    status = text.stat()
    text.write_text("two\n")
    os.utime(text, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert begun_again(step(tmp_path, inputs=[text]))
    assert f"was made from another {text}" in capsys.readouterr().err


def test_a_copy_of_the_same_input_is_no_change(tmp_path):
    text = tmp_path / "text"
    text.write_text("one\n")
    do(tmp_path, inputs=[text])
    os.utime(text, ns=(0, 0))
    assert step(tmp_path, inputs=[text]).is_current()


def test_identities_of_large_files_are_bounded_samples(tmp_path):
    path = tmp_path / "large"
    with open(path, "wb") as stream:
        stream.truncate(WHOLE + 5)
    before = file_identity(path)
    assert set(before) == {"bytes", "sampled_sha256"}
    for place in (0, WHOLE // (SAMPLES - 1) + SAMPLE // 2, WHOLE + 4):  # the first, second and last sample
        with open(path, "r+b") as stream:
            stream.seek(place)
            stream.write(b"x")
        assert file_identity(path) != before, place
        before = file_identity(path)
    recorded = input_identities([path])
    os.utime(path, ns=(1, 1))
    assert file_identity(path) == before and input_identities([path]) != recorded


def test_the_identity_of_a_small_file_is_its_checksum(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert file_identity(tmp_path / "a") == {"bytes": 3, "sha256": checksum(tmp_path / "a")}


def test_a_step_that_has_begun_again_is_not_finished_for_itself_nor_for_its_readers(folder, capsys):
    check_finished(folder)
    assert read_settings(folder, "done") == {"size": 1, "path": str(folder)}
    step(folder).begin()
    assert not step(folder).is_current()
    assert not capsys.readouterr().err
    for asked in ((), ("done",)):
        with pytest.raises(InputError, match="`done` did not finish here; run it again"):
            check_finished(folder, *asked)
    with pytest.raises(InputError, match="`done` did not finish here"):
        read_settings(folder, "done")
    check_finished(folder, "another")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": 2}', '{"format": 2, "settings": []}'])
def test_a_broken_record_is_refused_by_readers_and_mended_by_the_step(folder, content):
    (folder / "done.json").write_text(content)
    assert not step(folder).is_current()
    with pytest.raises(InputError, match=r"done\.json.*run `done` again"):
        read_settings(folder, "done")
    do(folder)
    assert read_settings(folder, "done")["size"] == 1


def test_what_only_the_last_run_wrote_goes(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.touch()
    folder = tmp_path / "in"
    folder.mkdir()
    first = step(folder)
    first.begin()
    for name in ("out.txt", "old.txt"):
        (folder / name).write_text("x")
    first.finish([folder / "out.txt", folder / "old.txt"])
    record = json.loads((folder / "done.json").read_text())
    record["outputs"] |= {"../outside.txt": {}, str(outside): {}}
    write_json(folder / "done.json", record)
    do(folder)
    assert {path.name for path in folder.iterdir()} == {"out.txt", "done.json"}
    assert outside.exists()


def test_what_only_an_earlier_run_wrote_goes_however_often_the_next_one_is_killed(folder):
    first = step(folder)
    first.begin()
    for name in ("out.txt", "old.txt"):
        (folder / name).write_text("x")
    first.finish([folder / "out.txt", folder / "old.txt"])
    for _ in range(3):
        step(folder).begin()  # and is killed
    do(folder)
    assert {path.name for path in folder.iterdir()} == {"out.txt", "done.json"}


def refused_elsewhere(folder) -> bool:
    """Whether another process cannot begin the step."""
    child = os.fork()
    if not child:
        status = 2
        try:
            step(folder).begin()
            status = 0
        except InputError:
            status = 1
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 1)
    return status == 1


@pytest.mark.parametrize("again", [True, False])
def test_no_other_process_begins_a_step_before_its_record_is_there(tmp_path, monkeypatch, again):
    """Neither while the outputs are read, nor just before the mark becomes the record."""
    if again:
        do(tmp_path)
    stamp, refused, rename = step(tmp_path), [], os.replace
    stamp.begin()
    refused.append(refused_elsewhere(tmp_path))
    (tmp_path / "out.txt").write_text("result\n")

    def identity(path):
        refused.append(refused_elsewhere(tmp_path))
        return file_identity(path)

    def replace(source, target):
        refused.append(refused_elsewhere(tmp_path))
        rename(source, target)

    monkeypatch.setattr(completion, "file_identity", identity)
    monkeypatch.setattr(os, "replace", replace)
    stamp.finish([tmp_path / "out.txt"])
    assert refused == [True] * 4
    assert {path.name for path in tmp_path.iterdir()} == {"out.txt", "done.json"}
    assert not refused_elsewhere(tmp_path)


@pytest.mark.parametrize("again", [True, False])
def test_of_two_processes_that_begin_a_step_at_one_moment_one_is_refused(tmp_path, monkeypatch, again):
    """The second one begins between the first one's opening of the mark and its lock."""
    if again:
        do(tmp_path)
    lock, refused = fcntl.flock, []

    def interrupted(stream, operation):
        monkeypatch.setattr(fcntl, "flock", lock)
        if not refused:
            refused.append(refused_elsewhere(tmp_path))  # it ends, so that its lock does, too
        lock(stream, operation)

    monkeypatch.setattr(fcntl, "flock", interrupted)
    if again:  # it has put a mark of its own in the place of the first one's
        with pytest.raises(InputError, match="`done` is running here in another process"):
            step(tmp_path).begin()
    else:
        step(tmp_path).begin()
    assert refused == [False]


def test_a_process_can_begin_again_what_ended_with_an_error(tmp_path):
    stamp = step(tmp_path)
    stamp.begin()
    do(tmp_path)
    assert step(tmp_path).is_current()


@pytest.mark.parametrize(
    "damage, found",
    [
        (lambda folder: (folder / "out.txt").unlink(), "out.txt is gone"),
        (lambda folder: (folder / "out.txt").write_text("res"), "out.txt has changed since"),
        (lambda folder: (folder / "out.txt").write_text("RESULT\n"), "out.txt has changed since"),
    ],
)
def test_a_copy_that_is_not_whole_is_refused_by_its_readers(folder, tmp_path_factory, damage, found):
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(folder, copy)
    check_unchanged(copy, "done")
    damage(copy)
    with pytest.raises(InputError, match=f"copy: {found}; expected all files as `done` wrote them"):
        check_unchanged(copy, "done")


def test_a_record_that_names_files_elsewhere_is_refused(folder):
    record = json.loads((folder / "done.json").read_text())
    record["outputs"] = {"../secret": file_identity(folder / "out.txt")}
    write_json(folder / "done.json", record)
    with pytest.raises(InputError, match="expected files below it"):
        check_unchanged(folder, "done")


def test_every_checkpoint_has_a_record_of_its_own(tmp_path):
    def write(name) -> Stamp:
        stamp = Stamp.of_checkpoint(tmp_path / name, "mean", {})
        if not stamp.is_current():
            stamp.begin()
            (tmp_path / name).write_text("weights")
            stamp.finish([tmp_path / name])
        return stamp

    for name in ("a.pt", "b.pt", "a.pt"):
        write(name)
    assert {path.name for path in tmp_path.iterdir()} == {"a.pt", "a.json", "b.pt", "b.json"}
    for name in ("a.json", "a.bin", "a"):  # would have the record of a.pt, or be it
        with pytest.raises(InputError, match=f"{name}: found no .pt at its end, expected FILE.pt"):
            write(name)
    (tmp_path / "checkpoint_best.pt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not from `mean`"):
        write("checkpoint_best.pt")
    assert (tmp_path / "checkpoint_best.pt").read_text() == "mine"


def test_a_record_of_something_else_is_not_taken_for_that_of_a_checkpoint(tmp_path):
    (tmp_path / "training.json").write_text('{"format": 1, "options": {}}')
    with pytest.raises(InputError, match=r"training\.json, which exists and is not from `mean`"):
        Stamp.of_checkpoint(tmp_path / "training.pt", "mean", {})
