"""`search-table`: the trainings of a search, the best in validation first."""

import json
import re

import pytest

from command_line.errors import InputError
from fairseq_ext.commands.search_table import best_validation
from tests.our_commands import run_command

LINE = "2026 | INFO | valid | epoch 001 | valid on 'valid' subset | {} | num_updates {} | best_loss 0.5\n"


@pytest.fixture
def write(tmp_path):
    """Function that writes a training with these validations: what a line says, and its updates."""

    def training(name: str, *validations: tuple[str, int], **options: str):
        folder = tmp_path / name
        folder.mkdir()
        given = {f"--{option.replace('_', '-')}": value for option, value in options.items()}
        (folder / "training.json").write_text(json.dumps({"options": given}))
        lines = [LINE.format(*validation) for validation in validations]
        (folder / "train.log").write_text("".join(["| train_inner | loss 0.1 | num_updates 7\n", *lines]))
        return folder

    return training


def test_the_lowest_loss_comes_first(write, tmp_path):
    folders = [
        write("a~lr~1-seed1", ("loss 4.5 | nll_loss 1.1", 10), ("loss 3.25 | nll_loss 9", 20)),
        write("a~lr~2-seed1", ("loss 2.5e+00 | nll_loss 8", 10), ("loss 7 | nll_loss 8", 20)),
    ]
    output = tmp_path / "search"
    words = ["fairseq_ext", "search-table", *map(str, folders), "--output", str(output)]
    assert run_command(words) == 0
    assert (output / "search.tsv").read_text().splitlines() == [
        "training\tloss\tupdates", "a~lr~2-seed1\t2.5\t10", "a~lr~1-seed1\t3.25\t20",
    ]  # fmt: skip


def test_a_measure_may_be_better_when_it_is_larger(write):
    own = {"best_checkpoint_metric": "retrieval", "maximize_best_checkpoint_metric": ""}
    folder = write("a-seed1", ("loss 1 | retrieval 60", 10), ("loss 2 | retrieval 70.5", 20), **own)
    best = best_validation(folder, "a")
    assert (best.measure, best.value, best.updates, best.is_larger_better) == ("retrieval", 70.5, 20, True)


def test_trainings_of_encoders_are_compared_by_the_score_that_chose_their_best(tmp_path):
    """Those of one fine-tuning lie in folders of the same name."""
    for rate, accuracy in (("1", 61.5), ("2", 70.25)):
        folder = tmp_path / f"finetuned/a~lr~{rate}-seed1/xnli-en"
        folder.mkdir(parents=True)
        record = {"score": "accuracy", "best": {"update": 40, "accuracy": accuracy, "loss": 3}}
        (folder / "training.json").write_text(json.dumps(record))
    folders = sorted(map(str, tmp_path.glob("finetuned/*/xnli-en")))
    assert run_command(["fairseq_ext", "search-table", *folders, "--output", str(tmp_path / "search")]) == 0
    assert (tmp_path / "search/search.tsv").read_text().splitlines() == [
        "training\taccuracy\tupdates", "a~lr~2-seed1/xnli-en\t70.25\t40", "a~lr~1-seed1/xnli-en\t61.5\t40",
    ]  # fmt: skip


def test_a_training_without_validation_is_refused(write):
    with pytest.raises(InputError, match=r"train\.log: has no validation with loss"):
        best_validation(write("a-seed1"), "a")


@pytest.mark.parametrize(
    "record, message",
    [
        ({}, "field 'options' is missing"),
        ([1], "found a list, expected an object"),
        ({"score": "p_at_1"}, "field 'best' is missing"),
        ({"score": "p_at_1", "best": {"update": 3}}, "field 'best.p_at_1' is missing"),
        ({"score": "p_at_1", "best": {"p_at_1": "x", "update": 3}}, "field 'best.p_at_1' is 'x'"),
    ],
)
def test_a_damaged_record_is_one_line(tmp_path, record, message):
    (tmp_path / "calibration.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=f"calibration.json: {re.escape(message)}"):
        best_validation(tmp_path, "a")
