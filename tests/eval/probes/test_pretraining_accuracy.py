"""`python -m eval probe pretraining-accuracy` on logs as fairseq writes them."""

import pytest

from tests.eval.rows import rows_of

VALID = (
    "2026-01-01 10:00:01 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.9 | nll_loss 4.1 | "
)
LOG = (
    VALID + "accuracy_en-mass 20 | accuracy 50 | ppl 40 | ppl_en-mass 50 | num_updates 100\n"
    # the lowest perplexity
    + VALID + "accuracy_en-mass 70.5 | accuracy_ja-bmass 77 | accuracy_ja-brss.f 98 | accuracy_en 70.5 | "
    "accuracy_ja 85 | accuracy 80 | ppl 4 | ppl_en-mass 6 | ppl_ja-bmass 5 | ppl_ja-brss.f 1.5 | ppl_en 6 | "
    "ppl_ja 2 | num_updates 200\n"
    + VALID + "accuracy_en-mass 90 | accuracy 90 | ppl 4.5 | ppl_en-mass 5 | num_updates 300\n"
)  # fmt: skip


@pytest.fixture
def probe(command, tmp_path):
    def run(**logs):
        given = []
        for name, text in logs.items():
            (tmp_path / f"{name}.log").write_text(text)
            given.append(f"{name.strip('12')}={tmp_path}/{name}.log")
        output = ["--dataset", "toy", "--output", tmp_path / "out"]
        return command("probe", "pretraining-accuracy", *given, *output)

    return run


@pytest.fixture
def rows(tmp_path):
    return lambda **wanted: rows_of(tmp_path / "out/pretraining-accuracy.csv", **wanted)


def test_the_validation_of_the_lowest_perplexity_counts(probe, rows):
    result = probe(jass=LOG)
    assert result.status == 0, result.err
    assert {(row.direction, row.part, row.measure, row.value) for row in rows(update=200).itertuples()} == {
        ("en", "mass", "accuracy", 70.5), ("en", "mass", "ppl", 6.0),
        ("en", "all", "accuracy", 70.5), ("en", "all", "ppl", 6.0),
        ("ja", "bmass", "accuracy", 77.0), ("ja", "bmass", "ppl", 5.0),
        ("ja", "brss.f", "accuracy", 98.0), ("ja", "brss.f", "ppl", 1.5),
        ("ja", "all", "accuracy", 85.0), ("ja", "all", "ppl", 2.0),
    }  # fmt: skip
    assert len(rows()) == 10


@pytest.mark.parametrize("losses", ["ppl nan | ppl_en-mass nan", "ppl inf | ppl_en-mass inf"])
def test_a_validation_that_diverged_does_not_count(probe, rows, losses):
    diverged = VALID + "accuracy_en-mass 0 | " + losses + " | num_updates {}\n"
    assert probe(jass=diverged.format(50) + LOG + diverged.format(400)).status == 0
    assert set(rows()["update"]) == {200}


def test_a_log_with_the_nuls_of_a_machine_that_crashed_can_be_read(probe, rows):
    assert probe(jass=LOG + "\0" * 100 + "\n").status == 0
    assert set(rows()["update"]) == {200}


def test_seeds_other_tasks_and_the_report(probe, report, tmp_path):
    assert probe(jass1=LOG, jass2=LOG.replace("77", "79"), mass=LOG.replace("bmass", "mass")).status == 0
    text = (report(tmp_path / "out/pretraining-accuracy.json") / "report.md").read_text(encoding="utf-8")
    assert "Accuracy (%) of pre-training on toy, ja;" in text
    lines = [line for line in text.splitlines() if line.startswith("| jass")]
    assert lines[1] == "| jass | 2 | 85.00 ± 0.00 | 78.00 ± 1.41 | 98.00 ± 0.00 | – |"  # no mass


@pytest.mark.parametrize("perplexities", ["", "ppl_en-mass nan | "])
def test_a_measure_that_is_not_in_the_log_is_a_gap(probe, rows, perplexities):
    assert probe(jass=VALID + "accuracy_en-mass 20 | " + perplexities + "num_updates 1\n").status == 0
    assert list(rows().measure) == ["accuracy"]


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (VALID + "ppl 4 | num_updates 3\n", "no accuracies of tasks in it; expected a log of linguistic_pre"),
        ("nothing\n", "no validation in it; expected a log of fairseq-train"),
    ],
)
def test_other_logs_are_refused(probe, log, message):
    result = probe(jass=log)
    assert result.status != 0 and f"jass.log: {message}" in result.err
