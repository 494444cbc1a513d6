"""`embeddings speed`: encoders take turns; ratios are those within a round."""

import json

import pytest

from embeddings import speed
from embeddings.speed import KIND, take_turns
from eval.report import write_report
from tests.eval.rows import values_of


class Clock:
    """Encoders that take so many seconds a line, on a machine that becomes slower."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def encoder(self, name, seconds):
        clock = self

        class Encoder:
            def encode(self, lines, language):
                clock.calls.append((name, len(lines), language))
                clock.now += seconds * len(lines) * (1 + len(clock.calls) // 2)

        return Encoder()


def test_encoders_take_turns_after_a_warm_up(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(speed.time, "perf_counter", lambda: clock.now)
    encoders = [clock.encoder("slow", 2.0), clock.encoder("fast", 0.5)]
    seconds = take_turns(encoders, ["a"] * 40, "de", rounds=3)
    assert [name for name, *_ in clock.calls] == ["slow", "fast"] * 4
    assert clock.calls[0] == ("slow", 32, "de") and clock.calls[2] == ("slow", 40, "de")
    assert [slow / fast for slow, fast in zip(*seconds, strict=True)] != [4.0] * 3  # it is slower by then
    assert all(1 < slow / fast < 4.1 for slow, fast in zip(*seconds, strict=True))


def test_the_result_and_its_table(command, completed, one_space, tmp_path):
    text = tmp_path / "test.de"
    text.write_text("w1 w2\n" * 9)
    tags = command("encode", text, *one_space, "--output", tmp_path / "vectors")
    assert tags.status == 0
    names = [f"stored={tmp_path}/vectors", f"again={tmp_path}/vectors"]
    words = ["--text", text, "--lines", 5, "--rounds", 2, "--threads", 1, "--output", tmp_path / "out"]
    completed("speed", *names, *words)
    record = json.loads((tmp_path / f"out/{KIND}.json").read_text())
    assert [run["system"]["name"] for run in record["runs"]] == ["stored", "again"]
    file = tmp_path / f"out/{KIND}.csv"
    for run in (0, 1):
        seconds = values_of(file, run=run, measure="seconds")
        assert values_of(file, run=run, measure="lines") == [5] and len(seconds) == 2
        rate = values_of(file, run=run, measure="lines_per_second")
        assert rate == [pytest.approx(5 / (sum(seconds) / 2))]
    assert values_of(file, run=0, measure="ratio") == [1] and record["threads"] == 1
    write_report([tmp_path / f"out/{KIND}.json"], "Speed", tmp_path / "report")
    assert "| System | Seeds | lines/s | ratio |" in (tmp_path / "report/report.md").read_text()


def test_two_encoders_of_one_name_and_an_empty_text(refusal, one_space, tmp_path):
    text = tmp_path / "test.de"
    text.write_text("")
    words = ["--text", text, "--model-data", one_space[3], "--output", tmp_path / "out"]
    refused = refusal("speed", f"a={one_space[1]}", f"a={one_space[1]}", *words)
    assert "a=: is the name of two encoders" in refused
