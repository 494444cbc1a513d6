"""`recipes/interlingua`: the systems of Table 7.2 with the hyperparameters of thesis 7.3."""

import os
import signal
import subprocess

import pytest

from tests import hanging
from tests.our_commands import parse_command
from tests.recipes.commands import (
    ROOT,
    STAYS,
    assert_refused,
    configurations,
    dry_run,
    parse_training,
    parse_trainings,
    recipe,
    wait_for,
    write_trainer,
    write_training,
)

CONFIGS = configurations("interlingua")
TRAINED = [
    "mnmt", "fixed-universal", "fixed-specific", "variable", "regression", "ordinal", "source-length",
    "jitter", "repaired", "variable-per-token", "mnmt+w2w", "variable+w2w", "t-enc", "t-enc+w2w",
]  # fmt: skip
PRETRAINED = [
    f"{system}@{pretraining}"
    for system in ("mnmt", "variable", "t-enc", "mnmt+w2w", "variable+w2w", "t-enc+w2w")
    for pretraining in ("deshuffling", "enss")
]


def commands(*options: str, stages: str) -> list[list[str]]:
    return dry_run("interlingua", *options, "--seeds", "1", "--stages", stages)


def trainings(config: str, systems: str = "all") -> dict:
    """System -> fairseq's view of its training."""
    return parse_trainings(commands("--config", config, "--systems", systems, stages="train"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of europarl,iwslt,l10n,multi30k,opus,phrasebook, or a file"),
        (["--config", "opus", "--systems", "mnmt,9"], "--systems: found '9', expected one of: pivot mnmt"),
        (["--config", "opus", "--systems", "mnmt@enss"], "--systems: found 'mnmt@enss', expected one of: "),
        (
            ["--config", "l10n", "--systems", "mnmt@enss"],
            "--systems: @enss needs the phrases of English text; ",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused("interlingua", options, message, tmp_path)


def test_a_configuration_needs_the_fixed_length(tmp_path):
    text = (ROOT / "recipes/interlingua/configs/opus.sh").read_text().replace("INTERLINGUA_LENGTH=17\n", "")
    (tmp_path / "mine.sh").write_text(text)
    result = recipe("interlingua", "--config", str(tmp_path / "mine.sh"), "--dry-run")
    assert result.stderr == f"error: {tmp_path}/mine.sh: INTERLINGUA_LENGTH is not set\n"


@pytest.mark.parametrize(
    ("config", "of_its_own"), [("phrasebook", set()), ("l10n", {"max_update", "total_num_update"})]
)
def test_the_mnmt_that_all_start_from_is_system_2_of_zero_shot(config, of_its_own):
    ours = trainings(config, "mnmt")["start"]
    options = ("--config", config, "--systems", "2", "--seeds", "1", "--stages", "train")
    (theirs,) = map(parse_training, dry_run("zero_shot", *options))
    different = {name for name, value in vars(theirs).items() if getattr(ours, name) != value}
    assert different - {"data", "save_dir"} == of_its_own


@pytest.mark.parametrize("config", CONFIGS)
def test_every_training_is_understood_by_fairseq(config):
    found = trainings(config)
    starts = {name: found.pop(name) for name in list(found) if name.startswith(("start", "pretrained"))}
    assert list(found) == TRAINED + (PRETRAINED if "start@enss" in starts else [])
    baseline = found["mnmt"]
    assert (baseline.criterion, baseline.norm_placement) == ("fused_label_smoothed_cross_entropy", "post")
    for system, args in found.items():
        _, sign, pretraining = system.partition("@")
        tags = "-t-enc" if args.language_tags == "t-enc" else ""
        start = starts.get(f"start{tags}{sign}{pretraining}")
        assert args.pretrained_checkpoint == (start and f"{start.save_dir}/checkpoint_best.pt")
        assert not start or (start.arch, start.language_tags) == (baseline.arch, args.language_tags)
        assert args.decoder_layers == baseline.decoder_layers
        if args.arch == baseline.arch:
            assert args.encoder_layers == baseline.encoder_layers
            continue
        assert args.encoder_layers + args.interlingua_layers == baseline.encoder_layers
        assert args.encoder_layers in (args.interlingua_layers, args.interlingua_layers - 1)
        assert args.best_checkpoint_metric == "nmt_loss"
        predicted = not system.startswith("fixed")
        assert ("length_prediction" in args.losses) == predicted
        assert (args.interlingua == "variable") == predicted


def test_free_combination_is_word_contrast_with_interlingua_and_with_t_enc():
    combined = ["mnmt", "mnmt+w2w", "variable", "variable+w2w"]
    combined += ["t-enc", "t-enc+w2w"]
    found = trainings("opus", ",".join(combined))
    assert list(found) == combined
    for system, args in found.items():
        contrast, variable, t_enc = "w2w" in system, "variable" in system, system.startswith("t-enc")
        losses = (getattr(args, "losses", None) or "translation").split(",")
        assert ("word_contrastive" in losses) == contrast
        assert args.arch == ("interlingua_transformer" if variable else "mnmt_transformer")
        assert {"interlingua_alignment", "length_prediction"} <= set(losses) or not variable
        assert args.language_tags == ("t-enc" if t_enc else "s-enc-t-dec")
        assert not (variable and t_enc)  # its query is the source language's, which T-ENC does not say
        assert args.norm_placement == "post"
        assert args.alignments == ("word2word" if contrast else None)
    assert found["mnmt+w2w"].best_checkpoint_metric == "nmt_loss"


def test_words_are_aligned_for_word_contrast_only():
    for systems, aligners in (("mnmt,variable", []), ("mnmt,t-enc+w2w", ["word2word"])):
        steps = commands("--config", "phrasebook", "--systems", systems, stages="prepare")
        aligned = [words for words in steps if words[3] == "align"]
        assert [words[words.index("--aligner") + 1] for words in aligned] == aligners


def test_the_other_reading_of_equation_7_6_is_one_option():
    usual, other = (vars(args) for args in trainings("iwslt", "variable,variable-per-token").values())
    different = {name: other[name] for name in other if other[name] != usual[name]}
    assert different.pop("save_dir") and different == {"interlingua_alignment_per_token": True}


@pytest.mark.parametrize("config", ["phrasebook", "l10n"])
def test_initialization_from_pretraining_takes_the_updates_of_a_start(config):
    found = trainings(config, "variable,variable@enss,mnmt+w2w@deshuffling,t-enc@enss")
    pretrained = [name for name in found if name.startswith("pretrained")]
    assert pretrained == ["pretrained-deshuffling", "pretrained-enss"]  # tags of translation come later
    for name, start in found.items():
        if name.startswith("start") and "@" in name:
            origin = found[f"pretrained-{name.partition('@')[2]}"]
            assert start.pretrained_checkpoint == f"{origin.save_dir}/checkpoint_best.pt"
            assert start.max_update + origin.max_update == found["start"].max_update
            assert (origin.arch, origin.encoder_layers) == (start.arch, start.encoder_layers)
            assert origin.best_checkpoint_metric == "ppl"
    assert found["start"].pretrained_checkpoint is None
    assert found["variable"].max_update == found["variable@enss"].max_update


def test_enss_differs_from_deshuffling_in_english():
    found = trainings("phrasebook", "mnmt@enss,mnmt@deshuffling")
    tasks = [
        dict(item.split("=") for item in found[f"pretrained-{name}"].pretraining_tasks.split(","))
        for name in ("enss", "deshuffling")
    ]
    assert list(tasks[0]) == ["de", "en", "es", "fi", "fr", "ru"]
    assert tasks[0].pop("en") == "mass+hfss" and tasks[1].pop("en") == "mass+deshuffling"
    assert tasks[0] == tasks[1] and set(tasks[0].values()) == {"mass+deshuffling"}


def test_the_text_of_enss_is_parsed_after_it_is_binarized():
    options = ["--config", "phrasebook", "--spacy-model", "some/model", "--systems"]
    for systems, parsed in (("mnmt@enss", ["phrases", "structures"]), ("mnmt@deshuffling", [])):
        steps = commands(*options, systems, stages="prepare")
        assert [words[3] for words in steps[5:]] == parsed
        assert steps[4][3] == "binarize"
        for words in steps:
            parse_command(words)


def test_systems_differ_in_what_they_are_called_after():
    found = trainings("opus", "fixed-universal,fixed-specific,variable,ordinal,source-length,jitter,repaired")
    options = {
        system: (
            args.interlingua, args.interlingua_length, args.length_prediction_deviation,
            args.length_predictor_source_length, args.interlingua_length_jitter,
        )
        for system, args in found.items()
    }  # fmt: skip
    assert options == {
        "fixed-universal": ("fixed-universal", 17, 0, False, 0),
        "fixed-specific": ("fixed-language-specific", 17, 0, False, 0),
        "variable": ("variable", None, 0, False, 0),
        "ordinal": ("variable", None, 1, False, 0),
        "source-length": ("variable", None, 0, True, 0),
        "jitter": ("variable", None, 0, False, 0.2),
        "repaired": ("variable", None, 1, True, 0.2),
    }


@pytest.mark.parametrize(
    ("config", "arch", "dropout", "rate", "epochs", "length"),
    [
        ("opus", "interlingua_transformer", 0.1, 5e-4, 500, 17),
        ("iwslt", "interlingua_transformer", 0.4, 1e-3, 200, 21),
        ("europarl", "interlingua_transformer_big", 0.3, 5e-4, 500, 30),
    ],
)
def test_hyperparameters_of_the_paper(config, arch, dropout, rate, epochs, length):
    args = trainings(config, "fixed-universal")["fixed-universal"]
    assert (args.arch, args.dropout, args.lr, args.max_epoch) == (arch, dropout, [rate], epochs)
    assert (args.interlingua_length, args.warmup_updates, args.max_tokens) == (length, 4000, 4096)
    assert (args.encoder_layers, args.interlingua_layers, args.decoder_layers) == (3, 3, 6)
    assert (args.max_source_positions, args.language_tags) == (256, "s-enc-t-dec")
    assert (args.interlingua_alignment_weight, args.length_prediction_weight) == (1.0, 0.1)


def test_pivot_and_candidates_have_no_training_of_their_own():
    (train, other), (pivot, candidates) = (
        commands("--config", "iwslt", "--systems", "pivot,candidates", stages=stages)
        for stages in ("train", "translate")
    )
    assert "outputs/interlingua/iwslt/models/mnmt-seed1" in train
    assert "outputs/interlingua/iwslt/models/variable-seed1" in other
    assert "--pivot" in pivot and "outputs/interlingua/iwslt/models/mnmt-seed1/checkpoint_best.pt" in pivot
    assert candidates[candidates.index("--length-candidates") + 1] == "5"
    assert "outputs/interlingua/iwslt/models/variable-seed1/checkpoint_best.pt" in candidates


def test_probes_are_of_models_with_an_interlingua():
    *interlingua, curves = commands(
        "--config", "iwslt", "--systems", "pivot,mnmt,variable,candidates", stages="probe"
    )
    assert [words[-1].split("/")[-1] for words in interlingua] == ["variable-seed1", "candidates-seed1"]
    logs = [word for word in curves if word.endswith("train.log")]
    assert [log.split("=")[0] for log in logs] == ["MNMT", "Len-vari. Intl."]


def test_learning_curves_of_the_trainings_of_a_configuration_that_keeps_checkpoints(tmp_path):
    """Under the names of tables; of systems that are trained, whatever else is evaluated of them."""
    for system in ("mnmt", "variable"):
        models = tmp_path / f"out/models/{system}-seed1"
        models.mkdir(parents=True)
        for name in ("checkpoint_1_480.pt", "checkpoint_2_1600.pt", "checkpoint_best.pt"):
            (models / name).touch()
    given = [
        "--config",
        "phrasebook",
        "--output",
        str(tmp_path / "out"),
        "--systems",
        "mnmt,variable,candidates,pivot",
    ]
    *measured, curves = commands(*given, stages="curves")
    translated = [parse_command(words) for words in measured if "translate" in words]
    assert [(one.name, str(one.checkpoint).partition("models/")[2], one.split) for one in translated] == [
        (title, f"{system}-seed1/checkpoint_{updates}.pt", "valid")
        for system, title in (("mnmt", "MNMT"), ("variable", "Len-vari. Intl."))
        for updates in ("1_480", "2_1600")
    ]
    assert len(measured) == 8  # each is scored
    folders = [
        f"{tmp_path}/out/curves/{system}-seed1/{at}" for system in ("mnmt", "variable") for at in (480, 1600)
    ]
    assert curves[3:] == ["probe", "learning-curves", *folders, "--output", f"{tmp_path}/out/curves"]
    assert commands("--config", "iwslt", "--systems", "mnmt", stages="curves") == []


def test_combinations_of_which_all_four_systems_are_there():
    chosen = "mnmt,variable,mnmt+w2w,variable+w2w,t-enc", "--seeds", "10,20", "--stages", "report"
    commands = dry_run("interlingua", "--config", "phrasebook", "--systems", *chosen)
    (words,) = [words for words in commands if words[3:5] == ["probe", "combination"]]
    (four,) = words[words.index("--combine") + 1 : words.index("--paired")]
    assert [one.split("/")[-1] for one in four.split(":")] == [
        "mnmt-seed10",
        "variable-seed10",
        "mnmt+w2w-seed10",
        "variable+w2w-seed10",
    ]
    assert set(four.split(":")) <= set(words)


def finished(folder, ended: bool = True) -> None:
    write_training(folder, {} if ended else None)
    (folder / "train.log").touch()


def report_of_finished(out, *systems: str) -> list[list[str]]:
    for system in systems:
        finished(out / "models" / system)
        (out / "translations" / system).mkdir(parents=True)
        (out / "translations" / system / "scores.json").touch()
    options = ["--config", "phrasebook", "--systems", "mnmt,variable,mnmt+w2w,variable+w2w"]
    options += ["--seeds", "1,10", "--output", str(out), "--finished-only", "--stages", "report"]
    return dry_run("interlingua", *options)


@pytest.mark.parametrize(("last", "combined"), [(1, True), (10, False)])
def test_combinations_of_which_all_four_have_a_seed(tmp_path, last, combined):
    """And a result of other trainings is not reported."""
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes/combination.json").touch()
    first = ("mnmt-seed1", "mnmt-seed10", "variable-seed1", "mnmt+w2w-seed1")
    found = report_of_finished(tmp_path, *first, f"variable+w2w-seed{last}")
    made = [words for words in found if words[3:5] == ["probe", "combination"]]
    assert len(made) == combined
    assert (f"{tmp_path}/probes/combination.json" in found[-1]) == combined


def test_the_cost_is_of_starts_that_have_ended(tmp_path):
    finished(tmp_path / "models/start-seed1")
    finished(tmp_path / "models/start-seed10", ended=False)
    (cost,) = [words for words in report_of_finished(tmp_path, "mnmt-seed1") if words[4:5] == ["cost"]]
    logs = [word.split("/models/")[1] for word in cost if "/models/" in word]
    assert logs == ["mnmt-seed1/train.log", "start-seed1/train.log"]


TRAINER = rf"""#!/bin/bash
folder=$(sed 's/.*--save-dir \([^ ]*\).*/\1/' <<< "$*")
echo $$ > "$folder/pid"
{STAYS}
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_stopping_the_recipe_stops_starts_too(tmp_path, jobs):
    write_trainer(tmp_path / "bin", TRAINER, tmp_path / "out/data/phrasebook")
    script = str(ROOT / "recipes/interlingua/run.sh")
    options = ["--config", "phrasebook", "--systems", "mnmt", "--seeds", "1,10", "--stages", "train"]
    process = subprocess.Popen(
        ["bash", script, *options, "--jobs", str(jobs), "--output", str(tmp_path / "out")],
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    paths = [tmp_path / f"out/models/start-seed{seed}/pid" for seed in (1, 10)[:jobs]]
    wait_for(lambda: [path for path in paths if path.exists() and path.read_text().strip()], jobs)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=hanging.SECONDS) in (2, 143), process.stderr.read()
    wait_for(
        lambda: [path for path in paths if not os.path.exists(f"/proc/{path.read_text().strip()}")], jobs
    )


def test_force_says_that_starts_are_trained_anew():
    options = ["--config", "phrasebook", "--systems", "variable", "--seeds", "1", "--stages", "train"]
    for force, said in (([], False), (["--force"], True)):
        result = recipe("interlingua", *options, *force, "--dry-run")
        assert ("--force: what these systems start from is trained anew, too" in result.stderr) == said
