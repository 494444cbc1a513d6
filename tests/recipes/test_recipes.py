"""The recipes' shell code: command lines, launchers, and training that is skipped, continued or refused."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import hanging
from tests.our_commands import parse_command
from tests.recipes.commands import (
    RECIPES,
    ROOT,
    STAYS,
    TRAINED,
    assert_refused,
    configurations,
    dry_run,
    options_of,
    parse_training,
    recipe,
    wait_for,
    write_program,
    write_trainer,
)

SCRIPTS = sorted(ROOT.glob("recipes/**/*.sh"))
CONFIGS = configurations("zero_shot")
DIRECTIONS = {"opus": 12, "iwslt": 6, "europarl": 8, "multi30k": 6, "l10n": 6, "l10n-8": 14, "phrasebook": 10}
SYSTEMS = {
    "1": ("pre", "s-enc-t-dec", ""),
    "2": ("post", "s-enc-t-dec", ""),
    "3": ("pre", "t-enc", ""),
    "4": ("post", "t-enc", ""),
    "5": ("pre", "s-enc-t-dec", "4"),
    "6": ("post", "s-enc-t-dec", "4"),
    "7": ("pre", "t-enc", "4"),
    "8": ("post", "t-enc", "4"),
    "swap-prenorm": ("swap-pre", "s-enc-t-dec", ""),
    "embedded": ("post", "embedded", ""),
    "embedded-t-enc": ("post", "embedded-t-enc", ""),
}


def training_commands(*options: str) -> list[list[str]]:
    return dry_run("zero_shot", "--stages", "train", *options)


def test_scripts_are_bash():
    """Every script is looked at, whatever is wrong with those before it."""
    assert len(SCRIPTS) > 40
    look = 'status=0; for script; do "$BASH" -n "$script" || status=1; done; exit $status'
    looked = subprocess.run(["bash", "-c", look, "bash", *SCRIPTS], capture_output=True, text=True)
    assert (looked.returncode, looked.stderr) == (0, "")


def test_options_of_a_system_may_hold_blanks(tmp_path):
    """They are words from the table to the command."""
    text = (
        'source "$HERE/configs/multi30k.sh"\nMODEL_OPTIONS=(--activation-fn "re lu" --layernorm-embedding)\n'
    )
    (tmp_path / "own.sh").write_text(text)
    own = ("--config", str(tmp_path / "own.sh"), "--seeds", "1")
    for system in ("1", "1-simple", "1-long"):
        (words,) = training_commands(*own, "--systems", system)
        option = words.index("--activation-fn")
        assert words[option + 1 : option + 3] == ["re lu", "--layernorm-embedding"], system


def test_a_dry_run_is_the_same_in_processes_of_its_own():
    options = ("--config", "iwslt", "--dry-run", "--launcher", "gpu", "--gpus", "4", "--output", "out")
    called, started = (recipe("zero_shot", *options, **given) for given in ({}, {"env": dict(os.environ)}))
    assert (called.stdout, called.returncode) == (started.stdout, started.returncode)
    assert sorted(called.stderr.splitlines()) == sorted(started.stderr.splitlines())


@pytest.mark.parametrize("name", RECIPES)
def test_help_names_every_option(name):
    result = recipe(name, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert len(options_of(name)) > 8
    for option in options_of(name):
        named = re.search(rf"^  {option} ", result.stdout, flags=re.M)
        refused = option.startswith("--comet") and name not in OF_TRANSLATIONS
        assert bool(named) != refused, option
    assert all(config in result.stdout for config in configurations(name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of europarl,iwslt,l10n-8,l10n,multi30k,opus,phrasebook, or a file"),
        (["--config", "ops"], "--config: found 'ops', expected one of"),
        (["--config"], "--config: expected a value"),
        (["--config", "opus", "--systems", "1,9"], "--systems: found '9', expected one of: 0 1 2"),
        (["--config", "opus", "--seeds", "x"], "--seeds: found 'x', expected a whole number from 1"),
        (
            ["--config", "opus", "--stages", "trian"],
            "--stages: found 'trian', expected one of: prepare train",
        ),
        (["--config", "opus", "--launcher", "pbs"], "--launcher: found 'pbs', expected one of: cpu gpu"),
        (["--config", "opus", "--precision", "int8"], "--precision: found 'int8', expected one of: auto"),
        (
            ["--config", "opus", "--probe-lines", "few"],
            "--probe-lines: found 'few', expected a whole number from 1",
        ),
        (["--config", "opus", "--data-root", "/no/such"], "--data-root: /no/such: no such folder"),
        (["--config", "opus", "--sytems", "1"], "unknown option '--sytems'; --help lists the options"),
        (["--config", "opus", "--keep-states dry-run"], "unknown option '--keep-states dry-run'"),
        (["--config", "opus", "--comet-python", "p"], "--comet-python: expected together with --comet"),
        (
            ["--config", "opus", "--comet", "m", "--comet-batch-size", "0"],
            "--comet-batch-size: found '0', expected a whole number from 1",
        ),
        (["--config", "opus", "--output", ""], "--output: expected a value"),
        (["--config", "opus", "--output", str(ROOT / "README.md")], "--output: "),
        (["--config", "opus", "--systems", ""], "--systems: expected a value"),
        (["--config", "opus", "--stages", "prepare train"], "--stages: found 'prepare train', expected one"),
        (["--config", "opus", "--stages", "prepare\ntrain"], "--stages: found 'prepare"),
        (["--config", "opus", "--systems", "1 2"], "--systems: found '1 2', expected one of: 0 1 2"),
        (["--config", "opus", "--systems", "1,,2"], "--systems: found '1,,2', expected a list without empty"),
        (["--config", "opus", "--systems", "1,2,1"], "--systems: found '1' twice in '1,2,1', expected every"),
        (["--config", "opus", "--seeds", "1", "--seeds", "2"], "--seeds: given twice, expected once"),
        (
            ["--config", "opus", "--seeds", "9999999999"],
            "--seeds: found '9999999999', expected a whole number from 1 to 999999999",
        ),
        (["--config", "opus", "--plan", "--dry-run"], "--plan: expected a value"),
        (
            ["--config", "opus", "--search", "lr=1e-4 2e-4"],
            "--search: found 'lr=1e-4 2e-4', expected OPTION=VALUE,VALUE",
        ),
        (
            ["--config", "phrasebook", "--data-root", str(ROOT)],
            f"--data-root {ROOT}: the text of --config phrasebook is made by the recipe; expected none",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused("zero_shot", options, message, tmp_path)


def own_configuration(path: Path, corpus: str = "text") -> str:
    """A configuration of one's own; its path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'source "$HERE/configs/multi30k.sh"\nCORPUS={corpus}\n')
    return str(path)


@pytest.mark.parametrize("name", ["zero_shot", "interlingua"])
def test_own_text_is_in_a_folder(name, tmp_path):
    config = own_configuration(tmp_path / "own.sh")
    own = ["--config", config, "--output", str(tmp_path / "out")]
    result = recipe(name, *own)
    assert (result.returncode, result.stderr) == (
        2,
        f"error: --config {config}: give your text with --data-root, README.md says which\n",
    )
    assert dry_run(name, *own, "--stages", "score")  # of what is there


def test_a_configuration_is_read_where_it_lies_and_not_on_the_path(tmp_path):
    own_configuration(tmp_path / "own.sh", "multi30k")
    write_program(tmp_path / "bin/own.sh", "exit 9\n")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    assert dry_run("zero_shot", "--config", "own.sh", "--stages", "train", cwd=tmp_path, env=environment)


def test_data_folders_have_no_colon(tmp_path):
    config = own_configuration(tmp_path / "a:b.sh", "multi30k")
    result = recipe("zero_shot", "--config", config, "--output", str(tmp_path / "out"))
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: {tmp_path}/out/data/a:b: has a colon, which separates folders")
    assert result.stderr.count("\n") == 1


def test_a_configuration_without_a_setting_is_refused(tmp_path):
    (tmp_path / "mine.sh").write_text("CORPUS=opus100\nLANGUAGES=(de en)\n")
    result = recipe("zero_shot", "--config", str(tmp_path / "mine.sh"), "--dry-run")
    assert result.returncode == 2
    assert result.stderr == f"error: {tmp_path}/mine.sh: MERGES is not set\n"


def test_a_stage_without_the_one_before_says_so(tmp_path):
    common = ["--config", "opus", "--systems", "1", "--seeds", "1", "--output", str(tmp_path / "out")]
    result = recipe("zero_shot", *common, "--stages", "train")
    assert result.stderr.endswith("out/data/opus: no such folder; run the stage prepare first\n")
    for stage in ("translate", "probe"):
        result = recipe("zero_shot", *common, "--stages", stage)
        assert result.stderr.endswith("checkpoint_best.pt: no such file; run the stage train first\n")


@pytest.mark.parametrize("config", CONFIGS)
def test_every_training_is_understood_by_fairseq(config):
    commands = training_commands("--config", config, "--systems", "all", "--seeds", "10")
    # Table 8.2, LayerNorm-simple, Swap-PreNorm and w/o Enc-Last, embedded, LCS, other schedules of 1 and 2
    assert len(commands) == 8 + 8 + 2 + 2 + 2 + 6
    for words in commands[:2] + commands[-2:]:
        args = parse_training(words)
        assert args.seed == 10
        assert len(args.lang_pairs.split(",")) == DIRECTIONS[config]


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_of_table_8_2(system):
    (words,) = training_commands("--config", "opus", "--systems", system, "--seeds", "1")
    args = parse_training(words)
    assert (args.norm_placement, args.language_tags, args.drop_residual_layers) == SYSTEMS[system]
    assert not args.no_norm_affine
    assert not args.no_encoder_final_norm


def test_ways_to_decode_are_systems_beside_each_other():
    options = ["--config", "opus", "--systems", "1,0", "--seeds", "1", "--stages", "translate,score"]
    usual = dry_run("zero_shot", *options)
    *translated, scored = dry_run("zero_shot", *options, "--decoding", "plain,contrast,rescored")
    assert [words for words in translated if words in usual] == usual[:2]
    contrasted, rescored = translated[1:3]
    assert contrasted[-4:-2] == ["--source-contrast", "--language-contrast"]
    assert rescored[-4:-2] == ["--language-rescoring", "1"]
    names = ["system1-seed1", "system0-seed1"]
    folders = [f"{name}{ending}" for name in names for ending in ("", "-contrast", "-rescored")]
    assert [Path(words[-1]).name for words in translated] == folders
    assert [Path(word).name for word in scored[4:]] == folders
    for words in translated:
        parse_command(words)


@pytest.mark.parametrize("config", CONFIGS)
def test_lcs_leaves_a_layer_that_reads_the_sentence_alone(config):
    plain, told = training_commands("--config", config, "--systems", "2,2-lcs", "--seeds", "1")
    args = parse_training(told)
    assert args.target_embedding_layers == args.encoder_layers - 1
    assert parse_training(plain).target_embedding_layers == 0


def test_variants_differ_from_their_system_in_one_option():
    options = ["--config", "opus", "--seeds", "1", "--systems"]
    plain, simple, no_last = (
        [word for word in training_commands(*options, system)[0] if "/models/" not in word]
        for system in ("1", "1-simple", "no-enc-last")
    )
    assert [word for word in simple if word not in plain] == ["--no-norm-affine"]
    assert [word for word in no_last if word not in plain] == ["--no-encoder-final-norm"]


@pytest.mark.parametrize("system", ["1", "2"])
def test_another_schedule_is_of_a_system_of_its_own(system):
    """Warm-up, learning rate, length: each alone, and under a name, as no axis tells them apart."""
    variants = [system, *(f"{system}-{change}" for change in ("warmup", "rate", "long"))]
    options = ["--config", "l10n", "--systems", ",".join(variants), "--seeds", "1"]
    found = dry_run("zero_shot", *options, "--stages", "train,translate,report")
    usual, *others = [vars(parse_training(words)) for words in found[:4]]
    changed = [{name: args[name] for name in args if args[name] != usual[name]} for args in others]
    assert all(different.pop("save_dir") for different in changed)
    assert changed == [
        {"warmup_updates": 2400},
        {"lr": [0.001]},
        {"max_epoch": 200, "max_update": 9400, "total_num_update": "9400"},
    ]
    names = [words[words.index("--name") + 1] for words in found[5:8]]
    assert len(set(names)) == 3 and "--name" not in found[4]
    compared = found[8][found[8].index("--pairs") + 1 :]
    assert [Path(word).name for word in compared[:3]] == [f"system{name}-seed1" for name in variants[1:]]


def test_a_schedule_of_epochs_is_doubled_too():
    (words,) = training_commands("--config", "iwslt", "--systems", "2-long", "--seeds", "1")
    args = parse_training(words)
    assert (args.max_epoch, args.lr_scheduler, args.warmup_updates) == (200, "inverse_sqrt", 4000)


@pytest.mark.parametrize(
    ("config", "arch", "dropout", "rate", "epochs", "batch"),
    [
        ("opus", "mnmt_transformer", 0.1, 5e-4, 200, 4),
        ("iwslt", "mnmt_transformer", 0.4, 1e-3, 100, 4),
        ("europarl", "mnmt_transformer_big", 0.3, 5e-4, 400, 8),
    ],
)
def test_hyperparameters_of_the_paper(config, arch, dropout, rate, epochs, batch):
    options = ["--config", config, "--systems", "1", "--seeds", "1", "--launcher", "gpu", "--gpus", "2"]
    args = parse_training(training_commands(*options, "--precision", "bf16")[0])
    assert (args.arch, args.dropout, args.lr, args.max_epoch) == (arch, dropout, [rate], epochs)
    assert (args.warmup_updates, args.max_tokens, args.label_smoothing) == (4000, 4096, 0.1)
    assert (args.max_source_positions, args.max_target_positions) == (256, 256)
    assert args.batches_per_update == batch
    assert args.update_freq == [batch // 2]  # two GPUs accumulate what the paper's many had at once
    assert args.autocast_bf16


@pytest.mark.parametrize(
    ("config", "updates", "every"), [("phrasebook", 2400, 480), ("l10n", 4700, 940), ("l10n-8", 8000, 1600)]
)
def test_learning_curves_have_all_checkpoints_of_trainings_that_end_where_the_rate_is_zero(
    config, updates, every
):
    args = parse_training(training_commands("--config", config, "--systems", "2", "--seeds", "1")[0])
    assert (args.max_update, args.total_num_update) == (updates, str(updates))
    assert (args.save_interval_updates, args.keep_interval_updates) == (every, -1)
    (paper,) = training_commands("--config", "opus", "--systems", "2", "--seeds", "1")
    assert parse_training(paper).keep_interval_updates == 1


def test_the_phrasebook_is_made_and_the_table_of_l10n_read_in_a_local_folder(tmp_path):
    made, read = (
        dry_run("zero_shot", "--config", config, "--stages", "prepare", *folder)
        for config, folder in (("phrasebook", []), ("l10n", ["--data-root", str(tmp_path)]))
    )
    folder = "outputs/zero_shot/phrasebook/raw"
    sizes = ["--train-lines", "8000", "--valid-lines", "200", "--test-lines", "300", "--seed", "1"]
    languages = ["--langs", "de,en,es,fi,fr,ru"]
    assert made[0] == ["python", "-m", "data_prep", "phrasebook", *languages, *sizes, "--output", folder]
    assert made[1][made[1].index("--input") + 1] == folder
    assert read[0][3:9] == ["download", "l10n", "--langs", "de,en,fr,ru", "--from-folder", str(tmp_path)]
    for words in (*made, *read):
        parse_command(words)


def test_what_a_configuration_says_of_the_search_holds_for_translations_and_probes():
    options = ["--config", "phrasebook", "--systems", "1", "--seeds", "1", "--stages", "translate,probe"]
    translate, states, *_ = dry_run("zero_shot", *options)
    for words in (translate, states):
        assert "--max-len-a 1.5 --max-len-b 20" in " ".join(words)


def test_a_small_model_is_trained_in_float32_unless_asked_otherwise():
    options = ["--config", "phrasebook", "--systems", "1", "--seeds", "1"]
    assert not parse_training(training_commands(*options)[0]).autocast_bf16
    assert parse_training(training_commands(*options, "--precision", "bf16")[0]).autocast_bf16


def test_the_last_options_are_the_users():
    common = ["--config", "iwslt", "--systems", "1", "--seeds", "1"]
    (words,) = training_commands(*common, "--", "--lr", "0.5")
    assert parse_training(words).lr == [0.5]


@pytest.mark.parametrize(
    ("systems", "given", "named"),
    [
        ("1,1-long", ["--max-epoch", "3"], True),
        ("1,2", ["--norm-placement=pre"], True),
        ("1,1-simple", ["--no-norm-affine"], True),
        ("1,1-long", ["--lr", "1"], False),  # of either the configuration's
        ("1,1-rate", ["--lr-scheduler", "fixed"], False),
        ("1-long", ["--max-epoch", "3"], False),
        ("0,4", ["--norm-placement", "pre"], False),  # of one training
    ],
)
def test_options_that_take_away_what_makes_a_system_are_named(systems, given, named):
    common = ("--config", "multi30k", "--systems", systems, "--seeds", "1", "--stages", "train", "--dry-run")
    result = recipe("zero_shot", *common, "--", *given)
    assert result.returncode == 0, result.stderr
    line = f"== {given[0].split('=')[0]}: systems differ in it, and what follows --"
    assert (line in result.stderr) == named


def test_the_pivot_is_translated_with_the_model_of_system_4():
    common = ["--config", "iwslt", "--seeds", "1", "--dry-run"]
    result = recipe("zero_shot", *common, "--systems", "0,4", "--stages", "train,translate")
    train, pivot, direct = result.stdout.splitlines()
    assert "models/system4-seed1" in train
    for line, output in ((pivot, "system0-seed1"), (direct, "system4-seed1")):
        assert "models/system4-seed1/checkpoint_best.pt" in line
        assert line.split()[-1].endswith(output)
    assert "--pivot en" in pivot
    assert "--pivot" not in direct


def test_all_systems_of_a_seed_are_trained_before_the_next_seed_and_a_model_once():
    """What there is when a recipe is stopped can be compared; system 0 has the model of system 4."""
    found = training_commands("--config", "iwslt", "--systems", "0,1,4", "--seeds", "1,10")
    folders = [Path(words[words.index("--save-dir") + 1]).name for words in found]
    assert folders == ["system4-seed1", "system1-seed1", "system4-seed10", "system1-seed10"]


OF_TRANSLATIONS = {
    "quickstart": [],
    "zero_shot": ["--config", "iwslt"],
    "interlingua": ["--config", "iwslt"],
    "word_contrastive": ["--config", "enja"],
    "jass_enss": ["--config", "enja", "--spacy-model", "m"],
    "align_instruct": ["--config", "phrasebook"],
}


def test_a_recipe_that_translates_nothing_takes_no_comet():
    encoding = set(RECIPES) - set(OF_TRANSLATIONS)
    assert encoding == {
        "sentence_embedding", "distillation", "one_aligner", "dual_pivot", "post_pretraining",
        "crosslingual_evaluation",
    }  # fmt: skip
    encoders = {"crosslingual_evaluation": ["--encoders", "mbert=m"]}  # without which there are no systems
    for name in encoding:
        config = ["--config", configurations(name)[0], *encoders.get(name, [])]
        result = recipe(name, *config, "--comet", "m", "--dry-run")
        assert result.returncode == 2 and "unknown option '--comet'" in result.stderr


@pytest.mark.parametrize("name", OF_TRANSLATIONS)
def test_comet_is_an_option_of_every_recipe_that_translates(name):
    own = list(OF_TRANSLATIONS[name])
    own += [] if name == "quickstart" else ["--stages", "score,report"]
    comet = ["--comet", "my model", "--comet-python", "other/python", "--comet-batch-size", "8"]
    found = [words for words in dry_run(name, *own, *comet) if words[3] in ("score", "compare")]
    assert [words[3] for words in found] == ["score", "compare"]
    args = parse_command(found[0])
    assert (args.comet_model, str(args.comet_python), args.comet_batch_size) == (
        "my model",
        "other/python",
        8,
    )
    assert parse_command(found[1]).metric == ["bleu", "comet"]
    without = [words for words in dry_run(name, *own) if words[3] in ("score", "compare")]
    assert not [word for words in without for word in words if "comet" in word]


# --- probes

PROBES = ["llr", "similarity", "retrieval", "cosine"]


def probe_commands(*options: str) -> list[list[str]]:
    return dry_run("zero_shot", "--config", "iwslt", "--stages", "probe", "--output", "out", *options)


def test_probes_of_every_model_once_and_of_the_outputs_of_all_systems():
    commands = probe_commands("--systems", "0,4", "--seeds", "1,10")
    states = [words for words in commands if words[:5] == ["python", "-m", "eval", "probe", "states"]]
    assert [words[words.index("--output") + 1] for words in states] == [
        "out/states/system4-seed1", "out/states/system4-seed10",
    ]  # fmt: skip
    first = commands[: len(PROBES) + 2]
    assert first[1:-1] == [
        [
            "python",
            "-m",
            "eval",
            "probe",
            name,
            "out/states/system4-seed1",
            *(["--protocol", "optimum"] if name == "llr" else []),
            "--output",
            "out/probes/system4-seed1",
        ]
        for name in PROBES
    ]
    assert first[-1] == ["rm", "-r", "out/states/system4-seed1"]
    translations = [f"out/translations/system{system}-seed{seed}" for system in (0, 4) for seed in (1, 10)]
    assert commands[-1] == [
        "python", "-m", "eval", "probe", "off-target", *translations, "--output", "out/probes",
    ]  # fmt: skip


def test_the_size_of_the_states_can_be_chosen():
    options = [
        "--systems", "1", "--seeds", "1", "--probe-lines", "50", "--probe-layers", "L1,L7",
        "--keep-states",
    ]  # fmt: skip
    states, *others = probe_commands(*options)
    assert states[states.index("--max-lines") + 1] == "50"
    assert states[states.index("--layers") + 1] == "L1,L7"
    assert "rm" not in [words[0] for words in others]


def test_every_probe_command_is_understood():
    for words in probe_commands("--systems", "1", "--seeds", "1", "--probe-lines", "9"):
        if words[0] == "python":
            parse_command(words)


PYTHON = """#!/bin/bash
echo "$*" >> calls
output=${*: -1}
mkdir -p "$output"
while [[ -e wait-$4 ]]; do sleep 0.05; done
[[ $4 == states || $3 != probe ]] || touch "$output/$4.json"
"""


@pytest.fixture
def probed(tmp_path):
    """Function that runs the stage with a stand-in for python, and returns the commands that it was given."""
    real = f'[[ $2 != fairseq_ext ]] || exec {sys.executable} "$@"'
    write_program(tmp_path / "bin/python", PYTHON.replace("#!/bin/bash", f"#!/bin/bash\n{real}", 1))
    write_program(tmp_path / "bin/fairseq-train", "")
    model = tmp_path / "out/models/system1-seed1/checkpoint_best.pt"
    model.parent.mkdir(parents=True)
    model.touch()

    def run(*options: str, stages: str = "probe") -> list[str]:
        calls = tmp_path / "calls"
        calls.write_text("")
        result = run_probes(tmp_path, *options, stages=stages)
        assert result.returncode == 0, result.stderr
        return probes_called(calls)

    return run


def run_probes(
    folder: Path, *options: str, stages: str = "probe", name: str = "zero_shot", system: str = "1"
) -> subprocess.CompletedProcess:
    own = ["--systems", system, "--seeds", "1", "--stages", stages, "--output", "out"]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    config = () if "--config" in options else ("--config", "iwslt")
    return recipe(name, *config, *own, *options, cwd=folder, env=environment, timeout=hanging.SECONDS)


def probes_called(calls: Path) -> list[str]:
    return [line.split()[3] for line in calls.read_text().splitlines() if line.startswith("-m eval probe")]


def test_a_probed_model_is_skipped_until_it_or_the_options_change(probed, tmp_path):
    everything = ["states", *PROBES, "off-target"]
    assert probed() == everything
    assert not (tmp_path / "out/states/system1-seed1").exists()
    assert probed() == ["off-target"]
    assert probed("--probe-lines", "5", "--keep-states") == everything
    assert (tmp_path / "out/states/system1-seed1").exists()
    finished = tmp_path / "out/probes/system1-seed1/finished"
    os.utime(
        tmp_path / "out/models/system1-seed1/checkpoint_best.pt", ns=(finished.stat().st_mtime_ns + 1,) * 2
    )
    assert probed("--probe-lines", "5") == everything
    sets = tmp_path / "out/data/iwslt/preparation.json"  # of which only the test set may have changed
    sets.parent.mkdir(parents=True)
    sets.touch()
    assert probed("--probe-lines", "5") == everything
    assert probed("--probe-lines", "5") == ["off-target"]


@pytest.mark.parametrize(
    ("name", "system", "model", "stage", "place"),
    [
        ("zero_shot", "1", "system1-seed1", "probe", "out/models/system1-seed1: is being probed"),
        ("word_contrastive", "mlsc", "mlsc-seed1", "probe", "out/models/mlsc-seed1: is being probed"),
        ("zero_shot", "1", "system1-seed1", "curves", "out/curves/system1-seed1/160: is being measured"),
        ("word_contrastive", "mlsc", "mlsc-seed1", "curves", "out/curves/mlsc-seed1/160: is being measured"),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_model_is_probed_once_at_a_time(probed, tmp_path, name, system, model, stage, place, jobs):
    """Two would remove the states under each other's hands."""
    folder = tmp_path / "out/models" / model
    folder.mkdir(exist_ok=True)
    for checkpoint in ("checkpoint_best.pt", "checkpoint_1_160.pt"):
        (folder / checkpoint).touch()
    calls = tmp_path / "calls"
    calls.write_text("")
    options = ("--config", "phrasebook", "--jobs", jobs)
    given = {"name": name, "system": system, "stages": stage}
    wait = "llr" if (name, stage) == ("zero_shot", "curves") else "retrieval"
    (tmp_path / f"wait-{wait}").touch()
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(run_probes, tmp_path, *options, **given)
        try:
            wait_for(lambda: [one for one in probes_called(calls) if one == wait], 1)
            second = run_probes(tmp_path, *options, **given)
        finally:
            (tmp_path / f"wait-{wait}").unlink()
    assert second.returncode == 2
    assert f"error: {place} by another process; wait for its end" in second.stderr
    assert first.result().returncode == 0, first.result().stderr
    assert probes_called(calls).count("states") == 1
    assert run_probes(tmp_path, *options, **given).returncode == 0


def test_probes_that_are_asked_for_later_join_those_of_the_same_settings(probed, tmp_path):
    """All results of a folder are of one checkpoint, layers and lines; others go."""
    results = tmp_path / "out/probes/system1-seed1"
    assert probed("--probes", "llr") == ["states", "llr", "off-target"]
    assert probed("--probes", "llr,similarity") == ["states", "similarity", "off-target"]
    assert probed("--probes", "similarity") == ["off-target"]
    assert {path.name for path in results.iterdir()} == {"llr.json", "similarity.json", "finished"}
    assert probed("--probes", "llr", "--probe-lines", "5") == ["states", "llr", "off-target"]
    assert {path.name for path in results.iterdir()} == {"llr.json", "finished"}
    assert probed("--probe-lines", "5") == ["states", *(one for one in PROBES if one != "llr"), "off-target"]


def test_a_result_that_is_gone_is_made_again(probed, tmp_path):
    probed()
    (tmp_path / "out/probes/system1-seed1/cosine.json").unlink()
    assert probed() == ["states", "cosine", "off-target"]
    assert probed() == ["off-target"]


def test_learning_curves_are_of_every_checkpoint_that_a_configuration_keeps(probed, tmp_path):
    """States are removed, and not extracted again before another checkpoint is there."""
    config = ["--config", "phrasebook"]
    models = tmp_path / "out/models/system1-seed1"
    for name in ("checkpoint_1_160.pt", "checkpoint_2_320.pt"):
        (models / name).touch()
    assert probed(*config, stages="curves") == [*["states", "llr"] * 2, "learning-curves"]
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    translated = [words for words in calls if words[2] == "translate"]
    assert [words[words.index("--checkpoint") + 1] for words in translated] == [
        "out/models/system1-seed1/checkpoint_1_160.pt", "out/models/system1-seed1/checkpoint_2_320.pt",
    ]  # fmt: skip
    assert all(words[words.index("--split") + 1] == "valid" for words in translated)
    folders = [f"out/curves/system1-seed1/{updates}" for updates in (160, 320)]
    assert calls[-1] == [
        "-m", "eval", "probe", "learning-curves", *folders,
        "--llr", *(f"{folder}/llr" for folder in folders), "--output", "out/curves",
    ]  # fmt: skip
    assert not (tmp_path / folders[0] / "states").exists()
    assert probed(*config, stages="curves") == ["learning-curves"]
    unfinished = tmp_path / folders[1] / "llr/.llr.unfinished"
    unfinished.touch()  # a kill before its tables were written
    assert probed(*config, stages="curves") == ["states", "llr", "learning-curves"]
    unfinished.unlink()
    (models / "checkpoint_2_320.pt").touch()
    assert probed(*config, stages="curves") == ["states", "llr", "learning-curves"]
    assert probed(stages="curves") == []  # of the papers' configurations


def test_learning_curves_reach_the_end_of_a_training(probed, tmp_path):
    """Where that is no multiple of the updates between two checkpoints."""
    models = tmp_path / "out/models/system1-seed1"
    for name in ("checkpoint_1_160.pt", "checkpoint_2_320.pt", "checkpoint_last.pt"):
        (models / name).touch()
    options = ("--config", "phrasebook", "--curve-llr", "last")
    for end, measured in ((320, ["160", "320"]), (400, ["160", "320", "400"])):
        (models / "train.log").write_text(f"valid | num_updates 320 | x\ntrain | num_updates {end} | lr 0\n")
        probed(*options, stages="curves")
        *_, made = (tmp_path / "calls").read_text().splitlines()
        folders = [f"out/curves/system1-seed1/{updates}" for updates in measured]
        assert made.split()[4:] == [*folders, "--llr", f"{folders[-1]}/llr", "--output", "out/curves"]


def test_learning_curves_of_a_configuration_that_says_nothing_of_lines_are_of_all(tmp_path):
    text = (ROOT / "recipes/zero_shot/configs/iwslt.sh").read_text()
    (tmp_path / "mine.sh").write_text(f"{text}\nKEEP_UPDATES=-1\n")
    checkpoint = tmp_path / "out/models/system1-seed1/checkpoint_1_160.pt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    own = ["--config", str(tmp_path / "mine.sh"), "--output", str(tmp_path / "out"), "--seeds", "1"]
    for words in dry_run("zero_shot", *own, "--systems", "1", "--stages", "curves"):
        assert "--max-lines" not in words
        if words[0] != "rm":
            parse_command(words)


def test_fewer_probes_and_fewer_recognitions(probed, tmp_path):
    """What was measured with all probes is not measured again for some."""
    models = tmp_path / "out/models/system1-seed1"
    for name in ("checkpoint_9_960.pt", "checkpoint_10_1200.pt"):
        (models / name).touch()
    config = ["--config", "phrasebook"]
    assert probed(*config, "--curve-llr", "none", stages="curves") == ["learning-curves"]
    assert "--llr" not in (tmp_path / "calls").read_text()
    assert probed(*config, "--curve-llr", "last", stages="curves") == ["states", "llr", "learning-curves"]
    assert (
        (tmp_path / "calls")
        .read_text()
        .endswith(" --llr out/curves/system1-seed1/1200/llr --output out/curves\n")
    )
    some = ["--probes", "similarity,llr"]
    assert probed(*some) == ["states", "similarity", "llr", "off-target"]
    assert probed(*some) == ["off-target"]
    others = [one for one in PROBES if one not in ("similarity", "llr")]
    assert probed() == ["states", *others, "off-target"]
    assert probed(*some) == ["off-target"]


def test_the_papers_protocol_of_language_recognition(probed, tmp_path):
    """Results of the other protocol are neither taken for these nor mixed with them."""
    (tmp_path / "out/models/system1-seed1/checkpoint_10_1200.pt").touch()
    config, some = ["--config", "phrasebook"], ["--probes", "llr"]
    assert probed(*some) == ["states", "llr", "off-target"]
    paper = [*some, "--llr-protocol", "paper"]
    assert probed(*paper) == ["states", "llr", "off-target"]
    assert "probe llr out/states/system1-seed1 --protocol paper" in (tmp_path / "calls").read_text()
    assert probed(*paper) == ["off-target"]
    assert probed(*config, stages="curves") == ["states", "llr", "learning-curves"]
    assert probed(*config, *paper, stages="curves") == ["states", "llr", "learning-curves"]
    assert "--llr out/curves/system1-seed1/1200/llr-paper " in (tmp_path / "calls").read_text()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--probes", "llr,x"], "--probes: found 'x', expected one of: llr similarity retrieval cosine"),
        (["--curve-llr", "some"], "--curve-llr: found 'some', expected one of: all last none"),
        (["--llr-protocol", "x"], "--llr-protocol: found 'x', expected one of: optimum early-stopping paper"),
    ],
)
def test_unknown_probes(options, error):
    result = recipe("zero_shot", "--config", "phrasebook", "--dry-run", *options)
    assert result.returncode == 2 and error in result.stderr


def test_learning_curves_without_checkpoints_say_so(tmp_path):
    options = ["--systems", "1", "--seeds", "1", "--stages", "curves", "--output", str(tmp_path / "out")]
    result = recipe("zero_shot", "--config", "phrasebook", *options)
    assert result.returncode == 2
    assert result.stderr.endswith("no checkpoints for learning curves; run the stage train first\n")


def test_the_report_is_given_what_the_probes_found(probed, tmp_path):
    probed(stages="probe,report")
    (report,) = [line for line in (tmp_path / "calls").read_text().splitlines() if " report " in line]
    found = [word for word in report.split() if word.startswith("out/probes/")]
    assert found == [
        *(f"out/probes/system1-seed1/{name}.json" for name in PROBES),
        "out/probes/off-target.json",
    ]


# --- train(), with a stand-in for fairseq-train -----------------------------

FAIRSEQ_TRAIN = (
    """#!/bin/bash
folder=$(sed 's/.*--save-dir \\([^ ]*\\).*/\\1/' <<< "$*")
echo started >> "$folder/calls"
echo "2026-01-01 | INFO | train_inner | epoch 001: loss=1"
cp "$(dirname "$0")/whole.pt" "$folder/checkpoint_last.pt"
[[ ! -e $folder/../wait ]] || { echo $$ > "$folder/pid"; """
    + STAYS
    + """; }
[[ ! -e $folder/../fail ]] || { cat "$folder/../fail"; exit 1; }
"""
    + TRAINED
)


@pytest.fixture
def models(tmp_path):
    write_trainer(tmp_path / "bin", FAIRSEQ_TRAIN, tmp_path / "out/data/iwslt")
    (tmp_path / "out/models").mkdir()
    return tmp_path / "out/models"


def training(models: Path, *options: str) -> list:
    script = str(ROOT / "recipes/zero_shot/run.sh")
    own = ["--config", "iwslt", "--seeds", "1", "--stages", "train", "--output", str(models.parent)]
    return ["bash", script, *own, *options]


def environment(models: Path) -> dict:
    return {**os.environ, "PATH": f"{models.parents[1] / 'bin'}:{os.environ['PATH']}"}


def run_training(models: Path, *options: str) -> subprocess.CompletedProcess:
    command = training(models, *options)
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(models), timeout=hanging.SECONDS
    )


def test_a_finished_training_is_skipped(models):
    result = run_training(models, "--systems", "1")
    assert result.returncode == 0, result.stderr
    assert "system1-seed1: epoch 001: loss=1" in result.stderr
    written = {path: path.stat().st_mtime_ns for path in models.rglob("*")}
    result = run_training(models, "--systems", "1")
    assert "trained, skipped" in result.stderr
    assert {path: path.stat().st_mtime_ns for path in models.rglob("*")} == written
    assert (models / "system1-seed1/calls").read_text() == "started\n"


def test_a_training_has_a_place_among_those_of_its_stage(models):
    result = run_training(models, "--systems", "1,2")
    assert result.returncode == 0, result.stderr
    for number in (1, 2):
        assert f"== {models}/system{number}-seed1: {number} of 2\n" in result.stderr


@pytest.mark.parametrize("last", ["terminate called", "2026-01-01 | ERROR | error: no memory"])
def test_a_failed_training_is_an_error_and_runs_again(models, last):
    """What ended it is shown once, whether it is an error of ours or not."""
    (models / "fail").write_text(f"{last}\n")
    result = run_training(models, "--systems", "1")
    assert result.returncode == 2
    assert result.stderr.endswith(
        "system1-seed1: training failed with status 1, see " + f"{models}/system1-seed1/train.log\n"
    )
    assert result.stderr.count(last.split(" | ")[-1]) == 1
    (models / "fail").unlink()
    assert run_training(models, "--systems", "1").returncode == 0
    assert (models / "system1-seed1/calls").read_text() == "started\n" * 2


BUSY = "python3 -c 'import time\nwhile time.process_time() < 1.2: pass'\n"


def test_processor_seconds_of_every_start_are_noted(models):
    """Of the trainer and what it starts, also where it fails; not of the recipe's own commands."""
    program = models.parents[1] / "bin/fairseq-train"
    program.write_text(FAIRSEQ_TRAIN.replace("echo started", BUSY + "echo started", 1))
    (models / "fail").touch()
    run_training(models, "--systems", "1")
    (models / "fail").unlink()
    program.write_text(FAIRSEQ_TRAIN)
    assert run_training(models, "--systems", "1").returncode == 0
    failed, finished = map(float, (models / "system1-seed1/cpu_seconds.txt").read_text().splitlines())
    assert failed >= 1.2 and 0 <= finished < failed


def test_other_options_train_anew_only_by_force(models):
    run_training(models, "--systems", "1")
    result = run_training(models, "--systems", "1", "--force", "--", "--lr", "1")
    assert result.returncode == 0, result.stderr
    assert "trained, skipped" in run_training(models, "--systems", "1", "--", "--lr", "1").stderr
    assert (models / "system1-seed1/calls").read_text() == "started\n" * 2


def test_a_precision_that_a_full_disk_left_unsaid_is_said_again(models):
    (models / "fail").touch()
    run_training(models, "--systems", "1", "--precision", "float32")
    said = models / "system1-seed1/precision.txt"
    said.write_text("")
    run_training(models, "--systems", "1", "--precision", "float32")
    assert said.read_text() == "float32\n"
    other = run_training(models, "--systems", "1", "--precision", "bf16")
    assert "began with --precision float32, found bf16; give that or auto" in other.stderr


@pytest.mark.slow
def test_several_trainings_at_a_time_and_a_failure_of_all(models):
    assert run_training(models, "--systems", "1,2,3", "--jobs", "2").returncode == 0
    assert [is_finished(path) for path in models.iterdir()] == [True] * 3
    (models / "fail").touch()
    result = run_training(models, "--systems", "4,5", "--jobs", "2")
    assert result.returncode == 2
    assert "error: 2 trainings failed; the same command continues where they were" in result.stderr
    result = run_training(models, "--systems", "4,5", "--jobs", "2", "--force")
    assert "error: 2 trainings failed; the same command trains all anew; without --force" in result.stderr


JOBS_OF_A_RECIPE = """
source {root}/recipes/shared/jobs.sh
die() {{ echo "error: $*"; exit 2; }}
DRY_RUN=no JOBS=2 THREADS=1 LAUNCHER=cpu FORCE=no GPUS_OF_JOB=()
start_job '' false
while [[ -n $(jobs -pr) ]]; do sleep 0.05; done
start_job '' true
echo "failed so far: $FAILED_JOBS"
finish_jobs trainings
"""


def test_how_a_job_ended_is_noted_before_its_number_can_be_anothers():
    """A shell forgets the status of a process when a later one of its own gets the same number."""
    script = JOBS_OF_A_RECIPE.format(root=ROOT)
    result = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=hanging.SECONDS)
    assert result.stdout.splitlines()[0] == "failed so far: 1", result.stderr
    assert "error: 1 trainings failed" in result.stdout and result.returncode == 2


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_stopping_the_recipe_stops_the_training(models, jobs):
    (models / "wait").touch()
    pid = wait_for_training(models, jobs)
    process, training_pid = pid
    second = run_training(models, "--systems", "1", "--jobs", "1")
    assert second.returncode == 2
    assert "system1-seed1: is being trained by another process" in second.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=hanging.SECONDS) != 0
    deadline = time.monotonic() + hanging.SECONDS
    while os.path.exists(f"/proc/{training_pid}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{training_pid}")
    assert not is_finished(models / "system1-seed1")


def is_finished(folder: Path) -> bool:
    return bool(json.loads((folder / "training.json").read_text())["outputs"])


def wait_for_training(models: Path, jobs: str) -> tuple[subprocess.Popen, int]:
    process = subprocess.Popen(
        training(models, "--systems", "1", "--jobs", jobs),
        env=environment(models),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    path, deadline = models / "system1-seed1/pid", time.monotonic() + hanging.SECONDS
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, "the training did not start"
        time.sleep(0.05)
    return process, int(path.read_text())
