"""`python -m eval probe training-speed` on logs as fairseq writes them."""

import pytest

from tests.eval.rows import values_of

LINE = "2026-01-01 10:00:00 | INFO | train_inner | epoch 001:  {0} / 900 loss=9.1, nll_loss=8, num_updates={0}, lr=1, train_wall={1}, wall={2}\n"  # noqa: E501
JSON = '2026-01-01 10:00:01 | INFO | train_inner | {{"epoch": 1, "num_updates": "{}", "train_wall": "{}"}}\n'
VALID = "2026-01-01 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.9 | num_updates 100 | train_wall 900\n"  # noqa: E501


@pytest.fixture
def probe(command, tmp_path):
    def run(**logs):
        words = []
        for name, text in logs.items():
            (tmp_path / f"{name}.log").write_text(text)
            words.append(f"{name.rstrip('_')}={tmp_path}/{name}.log")
        return command("probe", "training-speed", *words, "--dataset", "toy", "--output", tmp_path / "out")

    return run


def simple(*reports):
    return VALID + "".join(LINE.format(update, seconds, 0) for update, seconds in reports)


def measured(tmp_path, measure: str) -> list[float]:
    return values_of(tmp_path / "out/training-speed.csv", measure=measure)


def test_seconds_of_updates_in_both_formats(probe, tmp_path):
    """The first report has no beginning: 100 updates of 50 s are counted from the second on."""
    assert probe(A=simple((100, 70), (200, 50), (300, 50))).status == 0
    assert measured(tmp_path, "seconds_per_1000_updates") == pytest.approx([500])
    text = "".join(JSON.format(update, seconds) for update, seconds in ((10, 9), (20, 2), (40, 4)))
    assert probe(A=text).status == 0
    assert measured(tmp_path, "updates") == [40]
    assert measured(tmp_path, "seconds_per_1000_updates") == [200]


def test_busy_times_and_restarts_are_left_out(probe, tmp_path):
    """A kill after update 850, a checkpoint at 450: reports go on at 500, of 50 updates."""
    seconds = [40, 40, 400, 40, 40, 40, 40, 40]
    before = list(zip(range(100, 900, 100), seconds, strict=True))
    after = [(500, 20), (600, 40), (700, 40), (800, 40)]
    assert probe(A=simple(*before, *after)).status == 0
    assert measured(tmp_path, "seconds_per_1000_updates") == pytest.approx([400])


def test_seeds_and_ratios_in_the_report(probe, report, tmp_path):
    slow, slower, fast = (simple((100, 1), (200, seconds)) for seconds in (40, 60, 25))
    assert probe(ems=slow, ems_=slower, bare=fast).status == 0
    text = (report(tmp_path / "out/training-speed.json") / "report.md").read_text(encoding="utf-8")
    assert "| ems | 2 | 500.0 ± 141.4 | 1.00 |" in text
    assert "| bare | 1 | 250.0 | 0.50 |" in text


def test_a_log_without_updates_is_one_line(probe):
    result = probe(A=VALID)
    assert result.status == 2
    assert "A.log: no two reports of updates in it; expected a log of fairseq-train" in result.err
