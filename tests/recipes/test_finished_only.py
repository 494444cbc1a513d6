"""`--finished-only`: what has come to its end is evaluated, with whatever number of seeds each system has."""

import shlex
from pathlib import Path

import pytest

from tests.recipes.commands import dry_run, recipe, write_training

SEEDS = ["--seeds", "1,10,20"]


@pytest.fixture
def out(tmp_path) -> Path:
    """Two seeds of one system, one of others have come to their end; one goes on."""
    for name, outputs in {
        "system1-seed1": {}, "system1-seed10": {}, "system2-seed1": {}, "system2-seed10": None,
        "system4-seed20": {},
    }.items():  # fmt: skip
        write_training(tmp_path / "out/models" / name, outputs)
    return tmp_path / "out"


def commands(out: Path, *options: str, name: str = "zero_shot", config: str = "iwslt") -> list[list[str]]:
    return dry_run(name, "--config", config, *SEEDS, "--output", str(out), "--finished-only", *options)


def folders(words: list[str]) -> list[str]:
    return [Path(word).name for word in words if "/translations/" in word and ":" not in word]


def test_one_report_of_systems_with_unequal_seeds(out):
    found = commands(out, "--systems", "1,2,3,0")
    kept = ["system1-seed1", "system1-seed10", "system2-seed1", "system0-seed20"]
    translated = [words for words in found if words[3:4] == ["translate"]]
    assert [folders(words)[-1] for words in translated] == kept
    for command in ("score", "compare", "report"):
        (words,) = [words for words in found if words[3:4] == [command]]
        assert folders(words) == kept
    assert not [word for words in found for word in words if "fairseq-train" in word or word == "data_prep"]


def test_one_system_that_is_left_is_not_compared(out):
    found = commands(out, "--systems", "1,3,5", "--stages", "translate,report")
    assert [words[3] for words in found] == ["translate", "translate", "report"]


@pytest.mark.parametrize(
    ("stages", "file"),
    [
        ("score", "translate.json"),
        ("report", "scores.json"),
        ("score,report", "translate.json"),  # the scores are made
        ("probe", "translate.json"),  # the identified languages are of translations
    ],
)
def test_what_is_read_and_not_made_must_be_there(out, stages, file):
    folder = out / "translations/system1-seed10"
    folder.mkdir(parents=True)
    (folder / file).touch()
    reading = [folders(words) for words in commands(out, "--systems", "1,2", "--stages", stages)]
    assert [one for one in reading if one] == [["system1-seed10"]] * (1 + stages.count(","))


@pytest.mark.parametrize(
    ("name", "system", "there", "probed"),
    [
        ("word_contrastive", "mlsc", "translate.json", False),  # its correlations are of scores
        ("word_contrastive", "mlsc", "scores.json", True),
        ("interlingua", "variable", None, True),  # translates itself
    ],
)
def test_what_the_probes_of_a_recipe_read_must_be_there(tmp_path, name, system, there, probed):
    write_training(tmp_path / f"models/{system}-seed1", {})
    if there:
        (tmp_path / f"translations/{system}-seed1").mkdir(parents=True)
        (tmp_path / f"translations/{system}-seed1" / there).touch()
    options = ["--config", "phrasebook", "--systems", system, "--seeds", "1", "--output", str(tmp_path)]
    result = recipe(name, *options, "--finished-only", "--stages", "probe", "--dry-run")
    assert (result.returncode == 0) == probed, result.stderr
    assert ("no system and seed is there yet" in result.stderr) != probed


@pytest.mark.parametrize(
    ("name", "system", "further"),
    [("sentence_embedding", "ems", "case/neighbours.json"), ("one_aligner", "de-en", None)],
)
def test_a_report_is_of_the_sentence_encoders_that_were_measured(tmp_path, name, system, further):
    """In all test sets; what is measured for the report need not be there."""
    out = tmp_path / "out"
    files = [
        "multiway/sentence-retrieval.json",
        "tatoeba/sentence-retrieval.json",
        *([further] * bool(further)),
    ]
    for seed, there in ((1, files), (10, files[1:]), (20, files[:-1])):
        write_training(out / f"models/{system}-seed{seed}", {})
        for file in there:
            path = out / f"retrieval/{system}-seed{seed}" / file
            path.parent.mkdir(parents=True)
            path.touch()
    (tmp_path / "mlm").mkdir()
    options = ["--systems", system, "--tatoeba", str(tmp_path), "--finished-only", *SEEDS, "--dry-run"]
    options += ["--encoder", str(tmp_path / "mlm")] if name == "one_aligner" else []
    found = recipe(name, "--config", "l10n", "--output", str(out), *options, "--stages", "report")
    assert "finished: 1 of 3 systems and seeds" in found.stderr
    *_, report = map(shlex.split, found.stdout.splitlines())
    read = [word for word in report if "/retrieval/" in word]
    assert read == [f"{out}/retrieval/{system}-seed1/{file}" for file in files]
    found = recipe(name, "--config", "l10n", "--output", str(out), *options, "--stages", "evaluate,report")
    assert "finished: 3 of 3 systems and seeds" in found.stderr


def test_every_way_to_decode_must_be_there(out):
    for name in ("system1-seed1", "system1-seed10", "system1-seed10-contrast"):
        (out / "translations" / name).mkdir(parents=True)
        (out / "translations" / name / "scores.json").touch()
    *_, words = commands(out, "--systems", "1", "--decoding", "plain,contrast", "--stages", "report")
    assert folders(words) == ["system1-seed10", "system1-seed10-contrast"]


def test_systems_of_another_recipe_too(tmp_path):
    for name in ("mlsc-seed1", "mlsc+FA-seed1", "mlsc+FA-seed20"):
        write_training(tmp_path / "models" / name, {})
    found = commands(tmp_path, "--stages", "translate,score,report", name="word_contrastive", config="enja")
    (words,) = [words for words in found if words[3:4] == ["report"]]
    assert folders(words) == ["mlsc-seed1", "mlsc+FA-seed1", "mlsc+FA-seed20"]


def test_fine_tunings_of_several_sizes_and_directions(tmp_path):
    write_training(tmp_path / "models/none-3000-en-ja-seed10", {})
    options = ["--spacy-model", "m", "--systems", "none,mass", "--stages", "translate"]
    (words,) = commands(tmp_path, *options, name="jass_enss", config="enja")
    assert folders(words) == ["none-3000-en-ja-seed10"]


def test_learning_curves_of_a_system_with_a_name_have_it(tmp_path):
    """A schedule is on no axis: unnamed, its checkpoints would be those of the usual system again."""
    write_training(tmp_path / "models/system2-rate-seed1", {})
    (tmp_path / "models/system2-rate-seed1/checkpoint_1_240.pt").touch()
    (translate, _, states, *_) = commands(
        tmp_path, "--systems", "2-rate", "--stages", "curves", config="phrasebook"
    )
    for words in (translate, states):
        assert words[words.index("--name") + 1] == "PostNorm S-ENC-T-DEC, learning rate 0.001"


def test_course_that_was_removed_has_no_learning_curve(out):
    kept = out / "models/system1-seed1/checkpoint_1_240.pt"
    kept.touch()
    options = ["--config", "phrasebook", *SEEDS, "--output", str(out), "--finished-only", "--dry-run"]
    result = recipe("zero_shot", *options, "--systems", "1,2", "--stages", "curves")
    assert result.returncode == 0, result.stderr
    assert "models/system2-seed1: no checkpoints, no learning curve" in result.stderr
    translate, *_, curves = result.stdout.splitlines()
    assert "--name" not in translate
    assert "curves/system1-seed1/240 --llr" in curves and "system2" not in curves


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stages", "train,score"], "--stages, with --finished-only: found 'train', expected one of: "),
        (["--systems", "3,5"], "out: no system and seed is there yet for --stages "),
    ],
)  # fmt: skip
def test_what_it_cannot_be_is_one_line(out, options, message):
    own = ["--config", "iwslt", "--output", str(out), "--finished-only", *options]
    result = recipe("zero_shot", *own)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ") and message in line


def test_without_it_nothing_is_left_out(out):
    options = ["--config", "iwslt", *SEEDS, "--output", str(out), "--systems", "1,2", "--stages", "translate"]
    assert len(dry_run("zero_shot", *options)) == 6


def test_a_training_that_goes_on_is_evaluated_by_no_stage(out):
    """Its best checkpoint so far would be taken for the model."""
    for name in ("system2-seed1", "system2-seed10"):
        (out / f"models/{name}/checkpoint_best.pt").touch()
    options = ["--config", "iwslt", "--output", str(out), "--systems", "2", "--seeds", "10"]
    result = recipe("zero_shot", *options, "--stages", "translate")
    assert result.returncode == 2
    assert result.stderr.endswith(
        f"{out}/models/system2-seed10: its training has not come to its end; run the stage train again, or"
        " give --finished-only\n"
    )


def test_what_trainings_took_is_part_of_the_report(out):
    """Also what they started from; of logs that there are."""
    for name in ("system1-seed1", "system1-seed10", "start-seed1"):
        (out / "models" / name).mkdir(exist_ok=True)
        (out / f"models/{name}/train.log").touch()
    options = ["--config", "iwslt", "--seeds", "1,10", "--output", str(out), "--systems", "1,2"]
    cost, _, report = dry_run("zero_shot", *options, "--stages", "report")
    assert cost[3:5] == ["probe", "cost"]
    assert cost[5:8] == [
        f"system1={out}/models/system1-seed1/train.log",
        f"system1={out}/models/system1-seed10/train.log",
        f"start={out}/models/start-seed1/train.log",
    ]
    assert f"{out}/cost/cost.json" in report
