"""`recipes/post_pretraining`: Tables 1, 2, 4 and 5 of post-pretraining alignment, hyperparameters of 3.3."""

import os

import pytest

from tests.our_commands import parse_command
from tests.recipes.commands import (
    assert_refused,
    dry_run,
    parse_trainings,
    recipe,
    write_program,
    write_training,
)

RECIPE = "post_pretraining"
PPA = ["--config", "ppa", "--encoder", "mbert", "--xnli", "xnli", "--mlqa", "mlqa"]
SIZES = {"250k": (250_000, 1.75e7), "600k": (600_000, 4.067e7), "2M": (2_000_000, 5 * 1.05e7)}
XNLI = ["en", "fr", "es", "de", "bg", "ar", "zh", "hi"]  # Table 2
MLQA = ["en", "ar", "de", "es", "hi", "zh"]  # Table 4


def test_a_size_with_a_hyphen_is_refused(tmp_path):
    own = tmp_path / "own.sh"
    own.write_text('source "$ROOT/recipes/post_pretraining/configs/ppa.sh"\nsize first-9k 9000 700\n')
    refused = recipe(RECIPE, "--config", str(own), *PPA[2:], "--stages", "train", "--dry-run")
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"error: {own}: size first-9k: has a hyphen")


def commands(*options: str, stages: str) -> list[list[str]]:
    return dry_run(RECIPE, *PPA, *options, "--stages", stages, "--output", "out")


def finetunings(*options: str) -> list:
    found = commands(*options, stages="finetune")
    assert all(words[:4] == ["python", "-m", "embeddings", "finetune"] for words in found)
    return [parse_command(words) for words in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of phrasebook,ppa, or a file"),
        (["--config", "ppa"], "--encoder: expected a folder of transformers"),
        (["--config", "ppa", "--encoder", "/tmp"], "--xnli, --mlqa: expected at least one of them"),
        (["--config", "ppa", "--encoder", "/tmp", "--xnli", "nowhere"], "--xnli: nowhere: no such folder"),
        ([*PPA[:3], "/tmp", "--systems", "ppa"], "--systems: found 'ppa', expected one of: unaligned no-cs-"),
        ([*PPA[:3], "/tmp", "--stages", "report"], "--xnli, --mlqa: expected at least one of them"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused(RECIPE, options, message, tmp_path)


def test_the_bitext_of_table_1():
    download, *_ = commands(stages="prepare")
    args = parse_command(download)
    assert sorted(args.train) == [
        "OPUS-eubookshop-v2-bul-eng", "OPUS-europarl-v8-bul-eng", "OPUS-europarl-v8-deu-eng",
        "OPUS-europarl-v8-eng-fra", "OPUS-europarl-v8-eng-spa", "OPUS-iitb-v2.0-eng-hin",
        "OPUS-multiun-v1-ara-eng@4000000", "OPUS-multiun-v1-eng-zho@4000000",
    ]  # fmt: skip


def test_alignment_has_the_hyperparameters_of_3_3_and_the_rows_of_table_5():
    found = parse_trainings(commands("--systems", "all", stages="train"))
    assert list(found) == [
        f"{name}-{size}" for size in SIZES for name in ("ppa", "printed", "no-moco", "no-tlm", "mlm")
    ]  # no training without code-switching
    for name, args in found.items():
        system, _, size = name.rpartition("-")
        first, pairs = SIZES[size]
        assert (args.first_pairs, args.min_tokens, args.max_pair_tokens) == (first, 10, 128)
        assert (args.lr, args.weight_decay, args.batch_size) == ([3e-5], 0.01, 128)
        assert (args.optimizer, args.lr_scheduler, args.pooling) == ("adam", "polynomial_decay", "cls")
        assert args.random_sides and args.random_batches and args.pretrained_encoder == "mbert"
        assert args.max_update == int(args.total_num_update) == pytest.approx(pairs / 128, rel=0.01)
        assert args.warmup_updates == args.max_update // 10
        losses = set(args.losses.split(","))
        assert ("momentum_contrast" in losses) == (system != "no-moco")
        assert ("translation_language_modelling" in losses) == (system != "no-tlm")
        assert args.translation_language_modelling_apart == (system == "mlm")
        assert args.momentum_contrast_any_length == (system == "printed")
        if system != "no-moco":
            assert args.momentum_contrast_queue == 32000
            assert (args.momentum_contrast_temperature, args.momentum_contrast_momentum) == (0.05, 0.999)
            assert args.momentum_contrast_dim == 300


@pytest.mark.parametrize("system", ["unaligned", "ppa-250k"])
def test_english_for_all_languages_and_each_other_language_for_itself(system):
    """Translate-train has the English of zero-shot (Tables 2 and 4): 82.4 and 80.0 in both."""
    found = finetunings("--systems", system)
    trained = [(args.task, [language for language, _ in args.train]) for args in found]
    assert trained == [("pairs", [one]) for one in XNLI] + [("answers", [one]) for one in MLQA]
    for args in found:
        languages = XNLI if args.task == "pairs" else MLQA
        (language, path), tested = args.train[0], [each for each, _ in args.test]
        assert tested == (languages if language == "en" else [language])
        assert [each for each, _ in args.valid] == [language]
        assert (args.code_switching is None) == (language == "en") and path not in (args.code_switching or ())
        assert (args.epochs, args.batch_size, args.learning_rate) == (None, None, None)  # the paper's
        model = "mbert" if system == "unaligned" else "out/encoders/ppa-250k-seed1"
        assert str(args.model) == model and args.encoder_name == system
        assert (args.pooler is None) == (system == "unaligned" or args.task == "answers")
    chinese = next(args for args in found if args.task == "answers" and args.train[0][0] == "zh")
    assert str(chinese.train[0][1]) == "mlqa/squad/squad.translate.train.en-zh.json"
    assert str(chinese.test[0][1]) == "mlqa/MLQA_V1/test/test-context-zh-question-zh.json"
    assert [str(path) for path in chinese.code_switching] == ["mlqa/squad/train-v1.1.json"]


def test_folders_may_have_the_name_of_what_stands_for_a_language():
    given = ["--config", "ppa", "--encoder", "mbert", "--mlqa", "LANG/mlqa", "--systems", "unaligned"]
    english, *_ = dry_run(RECIPE, *given, "--stages", "finetune", "--output", "out")
    assert [str(path) for _, path in parse_command(english).test] == [
        f"LANG/mlqa/MLQA_V1/test/test-context-{one}-question-{one}.json" for one in MLQA
    ]


@pytest.mark.parametrize(
    "lacking",
    [
        "xnli/XNLI-MT-1.0/multinli/multinli.train.hi.tsv",
        "xnli/XNLI-MT-1.0/multinli/multinli.train.en.tsv",
        "mlqa/MLQA_V1/test/test-context-zh-question-zh.json",
    ],
)
def test_what_fine_tunings_read_is_there_before_anything_is_aligned(tmp_path, lacking):
    words = (word for one in commands("--systems", "unaligned", stages="finetune") for word in one)
    names = (word.rpartition("=")[2] for word in words)
    for file in (tmp_path / name for name in names if name.startswith(("xnli/", "mlqa/"))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "mbert").mkdir()
    (tmp_path / lacking).unlink()
    refused = recipe(RECIPE, *PPA, "--output", "out", cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (2, f"error: {lacking}: no such file\n")
    assert not (tmp_path / "out").exists()


def test_without_code_switching_it_is_the_same_encoder():
    found = finetunings("--systems", "no-cs-250k")
    assert [args.train[0][0] for args in found] == [*XNLI[1:], *MLQA[1:]]
    assert {args.code_switching for args in found} == {None}
    assert {str(args.model) for args in found} == {"out/encoders/ppa-250k-seed1"}


def test_every_system_is_exported_but_the_one_that_is_not_aligned():
    found = commands("--systems", "unaligned,ppa-250k", stages="export")
    assert [words[-1] for words in found] == ["out/encoders/ppa-250k-seed1"]


def test_the_report_has_every_fine_tuning():
    transfer, report = commands("--systems", "unaligned,ppa-250k", stages="report")
    results = [word for word in report if word.endswith("finetuning.json")]
    assert len(results) == len(set(results)) == 2 * (len(XNLI) + len(MLQA))
    assert [word for word in transfer if word.endswith("finetuning.json")] == results


def test_without_alignment_no_bitext_is_prepared():
    found = commands("--systems", "unaligned", stages="prepare,train,export,finetune")
    assert {tuple(words[:4]) for words in found} == {("python", "-m", "embeddings", "finetune")}


def test_a_report_without_english_has_no_transfer():
    (report,) = commands("--systems", "no-cs-250k", stages="report")
    assert report[:4] == ["python", "-m", "eval", "report"]
    results = len(XNLI) + len(MLQA) - 2
    assert sum(word.endswith("finetuning.json") for word in report) == results
    assert not [word for word in report if word.endswith("transfer.json")]


# --- --finished-only


def finished(folder, stages: str, systems: str = "unaligned,ppa-250k,ppa-600k") -> set[str]:
    """Systems that something is done with."""
    options = [*PPA[:-2], "--systems", systems, "--finished-only", "--stages", stages]
    found = dry_run(RECIPE, *options, "--output", str(folder / "out"), cwd=folder)
    known = systems.split(",")
    return {one for words in found for word in words for one in known if f"/{one}-seed1" in word}


def test_the_encoder_as_it_is_needs_no_training_to_be_finished(tmp_path):
    assert finished(tmp_path, "finetune,report", systems="unaligned") == {"unaligned"}
    write_training(tmp_path / "out/models/ppa-250k-seed1", {})
    write_training(tmp_path / "out/models/ppa-600k-seed1", None)
    assert finished(tmp_path, "export,finetune,report") == {"unaligned", "ppa-250k"}
    for system in ("unaligned", "ppa-250k"):
        for language in XNLI:
            folder = tmp_path / f"out/finetuned/{system}-seed1/pairs-{language}"
            folder.mkdir(parents=True)
            (folder / "finetuning.json").touch()
    assert finished(tmp_path, "report") == {"unaligned", "ppa-250k"}
    (tmp_path / "out/finetuned/unaligned-seed1/pairs-hi/finetuning.json").unlink()
    assert finished(tmp_path, "report") == {"ppa-250k"}


def test_only_what_the_stages_read_must_be_there(tmp_path):
    write_training(tmp_path / "out/models/ppa-250k-seed1", {})
    assert finished(tmp_path, "export") == {"ppa-250k"}
    assert finished(tmp_path, "finetune") == {"unaligned"}
    (tmp_path / "out/encoders/ppa-250k-seed1").mkdir(parents=True)
    assert finished(tmp_path, "finetune") == {"unaligned", "ppa-250k"}


def test_the_encoder_as_it_is_does_not_count_among_trainings(tmp_path):
    for folder in ("mbert", "out/data/ppa"):
        (tmp_path / folder).mkdir(parents=True)
    for program in ("python", "fairseq-train"):
        write_program(tmp_path / "bin" / program, "#!/bin/sh\n")
    own = ("--config", "ppa", "--encoder", "mbert", "--output", "out", "--stages", "train")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    result = recipe(RECIPE, *own, "--systems", "unaligned,ppa-250k", cwd=tmp_path, env=environment)
    assert result.stderr == "== train: ppa\n== out/models/ppa-250k-seed1: 1 of 1\n"
