"""The lines that a recipe shows of a training."""

import pytest

from fairseq_ext.shown_progress import LONGEST_LINE, ShownProgress


def updates(epoch: int, batch: int, number: int) -> str:
    return (
        f"2026-01-01 | INFO | train_inner | epoch {epoch:03d}: {batch:6d} / 100 loss=5.421, nll_loss=3.9, "
        f"ppl=15.0, wps=9000, num_updates={number}, lr=0.001, wall=100"
    )


def shown(options: dict, *reports: tuple[int, str]) -> list[str | None]:
    """Lines for reports, each with the second in which it comes."""
    seconds = iter([second for second, _ in reports])
    progress = ShownProgress(options, clock=lambda: next(seconds))
    return [progress.line(report) for _, report in reports]


@pytest.mark.parametrize("options", [{"--max-epoch": "4"}, {"--max-update": "400", "--max-epoch": "0"}])
def test_time_left_follows_from_the_reports_since_the_start(options):
    """A resumed training: what was done before says nothing about its speed."""
    lines = shown(
        options, (1000, updates(2, 0, 100)), (1060, updates(2, 50, 150)), (4960, updates(4, 90, 390))
    )
    assert lines == [
        "epoch 2, update 100, loss 5.421, 25% done",
        "epoch 2, update 150, loss 5.421, 38% done, 5 min left",
        "epoch 4, update 390, loss 5.421, 98% done, 2 min left",
    ]


def test_the_end_that_comes_first_counts():
    options = {"--max-update": "1e3", "--max-epoch": "4", "--patience": "3"}
    lines = shown(options, (0, updates(1, 50, 50)), (7200, updates(2, 0, 100)))
    assert lines[1] == "epoch 2, update 100, loss 5.421, 25% done, at most 12 h 0 min left"


@pytest.mark.parametrize("text", ["abc", "1000 2000", "5e4"])
def test_what_fairseq_will_refuse_is_no_end(text):
    (line,) = shown({"--max-update": text}, (0, updates(1, 1, 1)))
    assert line == "epoch 1, update 1, loss 5.421"


def test_without_an_end_no_time_is_said():
    assert shown({}, (0, updates(30, 50, 12950))) == ["epoch 30, update 12,950, loss 5.421"]


def test_a_validation_shows_what_selects_the_checkpoint():
    values = "loss 9.5 | ppl 7 | retrieval 61 | num_updates 300"
    report = f"2026 | INFO | valid | epoch 003 | valid on 'valid' subset | {values}"
    assert shown({}, (0, report), (0, f"{report} | best_retrieval 63")) == [
        "validation: loss 9.5",
        "validation: loss 9.5, retrieval 61, best_retrieval 63",
    ]
    assert shown({}, (0, f"{report} | best_loss 9.1")) == ["validation: loss 9.5, best_loss 9.1"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2026 | INFO | train_inner | epoch 1: loss=2", "epoch 1: loss=2"),
        ("2026 | INFO | valid | valid on 'valid'", "valid on 'valid'"),
        ("2026 | ERROR | error: no memory " + "x" * 200, "error: no memory " + "x" * 200),
        ("2026 | INFO | fairseq.trainer | begin", None),
        ("2026 | INFO | train_inner | " + "word " * 50, "word " * (LONGEST_LINE // 5 - 2) + "word …"),
    ],
)
def test_other_lines_are_shown_in_whole_words(line, text):
    assert shown({}, (0, line)) == [text]
