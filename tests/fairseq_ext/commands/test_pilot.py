"""`pilot` and `plan`: what trainings will take, with a stand-in for fairseq-train."""

import json
import sys

import pytest

from command_line.errors import InputError
from fairseq_ext.commands import pilot, plan
from tests.our_commands import run_command

# Ten updates a second, of 40 words each; 25 updates per epoch.
TRAINER = """
import sys, time
print("2026 | INFO | fairseq_cli.train | num. shared model params: 1,234 (num. trained: 1,234)", flush=True)
open(sys.argv[1], "w").write(" ".join(sys.argv[2:]))
for number in range(1, 1000):
    print(f"2026 | INFO | train_inner | epoch 001: {number:6d} / 25 loss=5.1, wps=400, wpb=40, bsz=2, "
          f"num_updates={number}, lr=1", flush=True)
    time.sleep(0.02 if number == 1 else 0.005)
"""


@pytest.fixture
def run(tmp_path):
    """Function that pilots a training with these options, and returns the record."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/dict.en.txt").touch()
    (tmp_path / "trainer.py").write_text(TRAINER)

    def pilot_of(*options: str, name: str = "toy") -> dict:
        words = [
            "fairseq_ext",
            "pilot",
            "--output",
            str(tmp_path / "plan"),
            "--seconds",
            "0.05",
        ]
        trainer = [sys.executable, str(tmp_path / "trainer.py"), str(tmp_path / "words")]
        status = run_command(
            [
                *words,
                "--data",
                str(tmp_path / "data"),
                "--",
                *trainer,
                *options,
                "--save-dir",
                f"models/{name}-seed1",
            ]
        )
        assert status == 0
        return json.loads((tmp_path / f"plan/{name}.json").read_text())

    return pilot_of


@pytest.mark.parametrize(
    ("options", "updates", "early"),
    [
        (["--max-update", "300"], 300, False),
        (["--max-epoch", "4"], 100, False),
        (["--max-epoch", "4", "--max-update", "300", "--patience", "3"], 100, True),
        (["--max-epoch", "40", "--max-update", "300", "--patience", "-1"], 300, False),
        ([], None, False),
    ],
)
def test_updates_words_and_rate(run, options, updates, early):
    rate = run(*options)["rate"]
    assert (rate["updates"], rate["stops_early"]) == (updates, early)
    assert (rate["parameters"], rate["words_per_update"]) == (1234, 40)
    assert rate["seconds_per_update"] > 0.005


def test_the_command_is_the_trainings_but_saves_nothing_and_starts_from_nothing(run, tmp_path):
    run("--lr", "1", "--save-dir", "models/x", "--finetune-from-model", "a.pt", "--seed", "3")
    words = (tmp_path / "words").read_text().split()
    assert words[:6] == ["--lr", "1", "--save-dir", "models/x", "--seed", "3"]
    assert {"--no-save", "--disable-validation"} <= set(words)
    assert words[9].startswith(str(tmp_path / "plan"))  # the last --save-dir counts
    assert [path.name for path in (tmp_path / "plan").iterdir()] == ["toy.json"]  # and it is gone


def test_a_start_that_is_there_is_kept(run, tmp_path):
    """Vectors that are stored ask for the encoder that they are of."""
    start = tmp_path / "teacher.pt"
    start.touch()
    run("--finetune-from-model", str(start), "--pretrained-checkpoint=none.pt", "--new-rows", "mean")
    words = (tmp_path / "words").read_text().split()
    assert words[: words.index("--save-dir")] == ["--finetune-from-model", str(start)]


@pytest.mark.parametrize("form", ["{} {}", "{}={}"])
def test_options_of_the_start_and_of_logs_are_left_out(run, tmp_path, form):
    """A dictionary and new rows without the checkpoint are refused; logs are those of the training."""
    given = {
        "--pretrained-checkpoint": "a.pt", "--finetune-from-model": "b.pt", "--pretrained-dictionary": "dict",
        "--new-rows": "mean,__af__=__nl__", "--log-file": "c.log", "--tensorboard-logdir": "d",
        "--wandb-project": "e", "--aim-repo": "f",
    }  # fmt: skip
    run("--lr", "1", *" ".join(form.format(*each) for each in given.items()).split(), "--seed=3", "--fp16")
    words = (tmp_path / "words").read_text().split()
    assert words[: words.index("--save-dir")] == ["--lr", "1", "--seed=3", "--fp16"]


def test_other_seeds_are_counted_and_missing_data_are_said(run, tmp_path, capsys):
    run("--max-update", "300")
    first = run("--max-update", "300")
    assert first["trainings"] == 2
    words = ["fairseq_ext", "pilot", "--output", str(tmp_path / "plan"), "--data", str(tmp_path / "none")]
    assert run_command([*words, "--", "x"]) == 2
    assert "after --: expected a command with --save-dir FOLDER" in capsys.readouterr().err
    assert run_command([*words, "--", "x", "--save-dir", "b-seed10"]) == 0
    assert run_command(["fairseq_ext", "plan", str(tmp_path / "plan")]) == 0
    head, toy, missing, total = capsys.readouterr().out.splitlines()
    seconds = 600 * first["rate"]["seconds_per_update"]
    assert toy.split() == ["toy", "2", "600", "2.4e+04", f"{6 * 1234 * 24000:.2g}", f"{seconds / 3600:,.2f}"]
    assert missing.split(maxsplit=2)[2] == f"{tmp_path / 'none'}: not prepared yet; run --stages prepare"
    assert total.split()[2:] == toy.split()[1:]
    assert head.split() == ["trainings", "updates", "words", "operations", "hours"]


def test_a_training_that_fails_is_one_line(tmp_path):
    command = [sys.executable, "-c", "print('CUDA out of memory'); raise SystemExit(3)"]
    with pytest.raises(InputError, match="the pilot ended with status 3 before its second update: CUDA out"):
        pilot._run(command, 1)


def test_sums_and_what_has_no_end():
    rate = {"parameters": 10**6, "updates": 100, "stops_early": True, "words_per_update": 1e3}
    one = {"name": "a", "trainings": 3, "missing": None, "rate": rate | {"seconds_per_update": 36.0}}
    endless = one | {"name": "b", "rate": one["rate"] | {"updates": None}}
    _, first, second, total = plan.table([one, endless])
    assert first.split() == [
        "a",
        "3",
        "300",
        "3e+05",
        "1.8e+12",
        "3.00",
        *["at", "most:", "it", "stops", "early"],
    ]
    assert second.endswith("no end: give --max-update or --max-epoch")
    assert total.split()[2:] == ["3", "300", "3e+05", "1.8e+12", "3.00"]
