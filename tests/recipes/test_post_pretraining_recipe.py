"""`recipes/post_pretraining`: Tables 1, 2, 4 and 5 of post-pretraining alignment, hyperparameters of 3.3."""

import pytest

from tests.our_commands import parse_command
from tests.recipes.commands import assert_refused, dry_run, parse_trainings

RECIPE = "post_pretraining"
PPA = ["--config", "ppa", "--encoder", "mbert", "--xnli", "xnli", "--mlqa", "mlqa"]
SIZES = {"250k": (250_000, 1.75e7), "600k": (600_000, 4.067e7), "2M": (2_000_000, 5 * 1.05e7)}
XNLI = ["en", "fr", "es", "de", "bg", "ar", "zh", "hi"]  # Table 2
MLQA = ["en", "ar", "de", "es", "hi", "zh"]  # Table 4


def commands(*options: str, stages: str) -> list[list[str]]:
    return dry_run(RECIPE, *PPA, *options, "--stages", stages, "--output", "out")


def finetunings(*options: str) -> list:
    found = commands(*options, stages="finetune")
    assert all(words[:4] == ["python", "-m", "embeddings", "finetune"] for words in found)
    return [parse_command(words) for words in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of ppa, or a file"),
        (["--config", "ppa"], "--encoder: expected a folder of transformers"),
        (["--config", "ppa", "--encoder", "/tmp"], "--xnli, --mlqa: expected at least one of them"),
        (["--config", "ppa", "--encoder", "/tmp", "--xnli", "nowhere"], "--xnli: nowhere: no such folder"),
        ([*PPA[:3], "/tmp", "--systems", "ppa"], "--systems: found 'ppa', expected one of: unaligned ppa-2"),
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
        f"{name}-{size}" for size in SIZES for name in ("ppa", "no-moco", "no-tlm", "mlm")
    ]  # no training without code-switching
    for name, args in found.items():
        system, _, size = name.rpartition("-")
        first, pairs = SIZES[size]
        assert (args.first_pairs, args.min_tokens, args.max_pair_tokens) == (first, 10, 128)
        assert (args.lr, args.weight_decay, args.batch_size) == ([3e-5], 0.01, 128)
        assert (args.optimizer, args.lr_scheduler, args.pooling) == ("adam", "polynomial_decay", "cls")
        assert args.random_sides and args.pretrained_encoder == "mbert"
        assert args.max_update == int(args.total_num_update) == pytest.approx(pairs / 128, rel=0.01)
        assert args.warmup_updates == args.max_update // 10
        losses = set(args.losses.split(","))
        assert ("momentum_contrast" in losses) == (system != "no-moco")
        assert ("translation_language_modelling" in losses) == (system != "no-tlm")
        assert args.translation_language_modelling_apart == (system == "mlm")
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
