from command_line import progress as module
from command_line.progress import progress


def test_items_pass_through_and_a_log_line_gives_the_rate(capsys):
    assert list(progress(iter("abc"), 3, "read", "line")) == ["a", "b", "c"]
    assert capsys.readouterr().err.startswith("read: 3/3 lines, ")


def test_sizes_are_counted(capsys):
    assert list(progress([[1, 2], [3]], None, "read", "line", size=len)) == [[1, 2], [3]]
    assert capsys.readouterr().err.startswith("read: 3 lines, ")


def test_long_work_reports_in_between(monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LOG_LINES", 0)
    list(progress("ab", 2, "read", "line"))
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "read: 1/2 lines",
        "read: 2/2 lines",
        "read: 2/2 lines",
    ]


def test_slow_work_has_a_rate_too(monkeypatch, capsys):
    clock = iter([0.0, 4.0, 8.0, 8.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    list(progress("ab", 2, "encode", "round"))
    assert capsys.readouterr().err == "encode: 2/2 rounds, 0.25 rounds/s\n"
