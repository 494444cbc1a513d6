"""`recipes/sentence_embedding`: rows of Table 2.14, the systems LaBSE-EMS, hyperparameters of 2.3.3."""

import json
import math
import textwrap
from argparse import Namespace
from pathlib import Path

import pytest

from tests.our_commands import parse_command
from tests.recipes.commands import ROOT, assert_refused, configurations, dry_run, parse_trainings, recipe

RECIPE = "sentence_embedding"
CONFIGS = configurations(RECIPE)
LOSSES = {
    "ems": "token_reconstruction,sentence_contrast",
    "margin-vanilla": "additive_margin",
    "no-xtr": "sentence_contrast",
    "no-contrast": "token_reconstruction",
    "no-mlp": "token_reconstruction,sentence_contrast",
    "no-language": "token_reconstruction,sentence_contrast",
    "shared-embedding": "token_reconstruction,sentence_contrast",
    "margin-scaled": "additive_margin",
    "margin-joint": "token_reconstruction,additive_margin",
    "decoder": "translation,sentence_contrast",
    "ugt": "unified_generation,sentence_contrast",
}
OWN = {"save_dir", "losses"}
CASE = (ROOT / "recipes/sentence_embedding/case.en").read_text()


def commands(*options: str, stages: str) -> list[list[str]]:
    return dry_run(RECIPE, *options, "--stages", stages, "--output", "out")


def trainings(config: str, *options: str) -> dict[str, Namespace]:
    """System -> fairseq's view of its training."""
    return parse_trainings(commands("--config", config, *options, stages="train"))


def differences(system: Namespace, ems: Namespace) -> dict:
    """Options that a system is trained with and `ems` is not; those of losses that it lacks do nothing."""
    others = {loss for losses in LOSSES.values() for loss in losses.split(",")} - {*system.losses.split(",")}
    return {
        name: value for name, value in vars(system).items()
        if name not in OWN and value != getattr(ems, name, None) and not name.startswith(tuple(others))
    }  # fmt: skip


@pytest.mark.parametrize("late", [False, True])
def test_a_test_set_that_came_after_the_training_text_is_said(late, tmp_path):
    """It may be in what the models have read."""
    for name in ("deu", "eng"):
        (tmp_path / f"tatoeba.deu-eng.{name}").write_text("eins\n", encoding="utf-8")
    kept_out = ["tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng"][: 1 if late else 2]
    settings = {"settings": {"exclude_text": [str(tmp_path / name) for name in kept_out]}}
    (tmp_path / "out/text").mkdir(parents=True)
    (tmp_path / "out/text/clean.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    words = ["--config", "l10n", "--tatoeba", str(tmp_path), "--output", str(tmp_path / "out")]
    said = recipe(RECIPE, *words, "--stages", "evaluate").stderr
    assert ("tatoeba.deu-eng.eng: not kept out of the text of the stage prepare" in said) is late


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], f"--config: expected one of {','.join(CONFIGS)}, or a file"),
        (["--config", "l10n", "--systems", "esm"], "--systems: found 'esm', expected one of: ems margin-van"),
        (["--config", "l10n", "--tatoeba", "/no/such"], "--tatoeba: /no/such: no such folder"),
        (["--config", "l10n", "--flores", "/no/such"], "--flores: /no/such: no such folder"),
        (["--config", "l10n", "--keep-out", "/no/such"], "--keep-out: /no/such: no such folder"),
        (["--config", "l10n", "--output", "a:b"], "--output: a:b: has a colon"),
        (["--config", "ems", "--united-nations", "/tmp"], "--united-nations: ems trains on UNPC, which has"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused(RECIPE, options, message, tmp_path)


@pytest.mark.parametrize("config", CONFIGS)
def test_systems_differ_in_what_they_are_called_after(config):
    found = trainings(config)
    assert {system: args.losses for system, args in found.items()} == LOSSES
    ems = found["ems"]
    different = {system: differences(args, ems) for system, args in found.items()}
    for system in ("ems", "no-xtr", "no-contrast", "margin-vanilla"):
        assert different[system] == {}, system
    assert found["ugt"].unified_generation_language_dim == ems.token_reconstruction_language_dim
    assert different["ugt"].keys() <= {"unified_generation_language_dim"}
    assert (ems.additive_margin_margin, ems.additive_margin_temperature, ems.additive_margin_dim) == (
        0.3,
        1,
        0,
    )
    assert different["no-mlp"] == {"sentence_contrast_dim": 0}
    assert different["no-language"] == {"token_reconstruction_without_language": True}
    assert different["shared-embedding"] == {"token_reconstruction_shared_embedding": True}
    scaled = {"additive_margin_temperature": 0.1, "additive_margin_dim": ems.sentence_contrast_dim}
    assert different["margin-scaled"] == different["margin-joint"] == scaled
    assert different["decoder"].items() >= {"random_sides": True, "fused_vocabulary_loss": True}.items()
    assert different["decoder"].keys() - {"decoder_layers"} == {"random_sides", "fused_vocabulary_loss"}


def test_hyperparameters_of_the_paper():
    args = trainings("ems", "--systems", "ems", "--launcher", "gpu", "--gpus", "2")["ems"]
    assert (args.encoder_layers, args.encoder_embed_dim, args.encoder_ffn_embed_dim) == (6, 1024, 4096)
    assert (args.encoder_attention_heads, args.dropout, args.attention_dropout) == (16, 0.1, 0.1)
    assert (args.lr, args.warmup_updates, args.weight_decay, args.max_epoch) == ([3e-4], 10000, 1e-5, 3)
    assert (args.lr_scheduler, args.max_source_positions) == ("fixed", 120)
    assert (args.batch_size, args.batches_per_update, args.update_freq) == (152, 4, [2])  # 152 per GPU
    assert (args.token_reconstruction_language_dim, args.sentence_contrast_dim) == (128, 128)
    assert args.sentence_contrast_temperature == 0.1
    pairs = args.pairs.split(",")
    assert len(pairs) == 61 and {"af-en", "en-zh"} <= set(pairs)


def test_the_data_of_the_paper():
    """Every language has training text, capped as in 2.3.1, and a validation set."""
    download, _, tokenize, subword, _ = map(parse_command, commands("--config", "ems", stages="prepare"))
    assert len(download.langs) == 62 and download.name == "mtdata"
    assert len(download.train) == len(set(download.train)) and len(download.valid) == 61
    capped = {name: cap for name, _, cap in (each.partition("@") for each in download.train) if cap}
    assert capped["OPUS-opensubtitles-v2018-deu-eng"] == "2000000"
    assert capped["OPUS-unpc-v1.0-ara-eng"] == "2000000" and capped["OPUS-unpc-v1.0-eng-rus"] == "5000000"
    assert {name.split("-")[1] for name in capped} == {"opensubtitles", "unpc"}
    names = {each.split("-")[1] for each in download.train}
    assert not names & {"jw300", "tatoeba"} and len(names) == 7
    assert tokenize.tokenizer == ["moses", "ja=jumanpp", "zh=jieba"] and tokenize.lowercase
    assert (subword.type, subword.vocabulary_size) == ("sentencepiece", 60000)


def test_the_small_configuration():
    args = trainings("l10n", "--systems", "ems")["ems"]
    assert args.pairs == "cs-en,de-en,en-es,en-fr,en-it,en-ja,en-pl,en-pt,en-ru,en-zh"
    assert (args.encoder_layers, args.encoder_embed_dim, args.max_epoch) == (4, 192, 2)
    assert args.best_checkpoint_metric == "retrieval" and args.maximize_best_checkpoint_metric
    assert args.eval_retrieval and args.max_source_positions == 120
    assert args.random_batches  # the contrast is between the sentences of a batch


def test_evaluation_sets_are_kept_out_of_the_training_text(tmp_path):
    for name in (
        "v1/tatoeba.deu-eng.deu",
        "v1/tatoeba.deu-eng.eng",
        "f/dev/deu_Latn.dev",
        "f/devtest/deu_Latn.devtest",
        "b/de-en.training.de",
        "b/de-en.training.en",
        "b/de-en.training.gold",
        "b/de-en.test.de",
        "k/mldoc/english.test",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("eins\n")
    common = ["--config", "l10n", "--data-root", str(tmp_path)]
    sets = ["--tatoeba", f"{tmp_path}/v1", "--flores", f"{tmp_path}/f", "--bucc", f"{tmp_path}/b"]
    (tmp_path / "link").symlink_to(tmp_path / "k")
    sets += ["--keep-out", f"{tmp_path}/link"]
    download, clean, tokenize, subword, _ = map(parse_command, commands(*common, *sets, stages="prepare"))
    assert (download.train_pairs, download.from_folder) == (20000, tmp_path)
    assert sorted(path.name for _, path in clean.exclude_text) == [
        "de-en.test.de", "de-en.training.de", "de-en.training.en",
        "deu_Latn.dev", "deu_Latn.devtest", "english.test", "tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng",
    ]  # fmt: skip
    assert {language for language, _ in clean.exclude_text} == {""}  # whatever the language
    assert tokenize.lowercase and clean.ignore_case
    assert clean.max_length == 256  # words, however many tokens the encoder reads of them
    assert (subword.type, subword.vocabulary_size) == ("sentencepiece", 16000)
    assert not parse_command(commands(*common, stages="prepare")[1]).exclude_text


def test_options_of_clean_in_a_configuration_stay(tmp_path):
    config = tmp_path / "own.sh"
    settings = "CLEAN_OPTIONS=(--keep-duplicates)\nTOKENIZER_OPTIONS=()\n"
    config.write_text(f'source "$ROOT/recipes/{RECIPE}/configs/l10n.sh"\n{settings}')
    (tmp_path / "tatoeba.deu-eng.deu").write_text("eins\n")
    sets = ["--data-root", str(tmp_path), "--tatoeba", str(tmp_path)]
    clean = parse_command(commands("--config", str(config), *sets, stages="prepare")[1])
    assert clean.keep_duplicates and clean.exclude_text and not clean.ignore_case


def test_retrieval_in_every_test_set_and_one_report():
    options = ["--config", "l10n", "--systems", "ems,ugt", "--tatoeba", "v1", "--flores", "flores"]
    *encode, speed, compare, report = commands(*options, stages="evaluate,report")
    found = [parse_command(words) for words in encode if "retrieve" in words]
    assert [str(args.output) for args in found] == [
        f"out/retrieval/{system}-seed1/{name}"
        for system in ("ems", "ugt") for name in ("multiway", "tatoeba", "flores")
    ]  # fmt: skip
    multiway, tatoeba, flores = found[:3]
    names = [path.name for path in multiway.parallel]
    assert len(names) == 11 and {"test.de-en.de", "test.cs-en.en", "test.en-zh.zh"} <= set(names)
    assert (str(tatoeba.tatoeba), str(flores.flores)) == ("v1", "flores")
    assert all(args.cpu and str(args.model_data) == "out/data/l10n" for args in found)
    assert str(multiway.model) == "out/models/ems-seed1/checkpoint_best.pt"
    results = [word for word in report if word.endswith("sentence-retrieval.json")]
    assert results == [f"{args.output}/sentence-retrieval.json" for args in found]
    cases = [parse_command(words) for words in encode if "neighbours" in words]
    assert [str(args.output) for args in cases] == [
        f"out/retrieval/{one}-seed1/case" for one in ("ems", "ugt")
    ]
    assert {args.text.read_text() for args in cases} == {CASE}
    assert {f"{args.output}/neighbours.json" for args in cases} < set(report)
    logs = [(name, f"out/models/{name}-seed1/train.log") for name in ("ems", "ugt")]
    assert [(name, str(log)) for name, log in parse_command(speed).logs] == logs
    assert "out/speed/training-speed.json" in report
    compared = parse_command(compare)
    assert [str(path) for path in compared.systems] == results and compared.against_first
    assert str(compared.output) == "out/comparison.json" and "out/comparison.json" in report
    assert [args.encoder_name for args in found] == ["ems"] * 3 + ["ugt"] * 3


def test_one_system_is_compared_with_none():
    options = ["--config", "l10n", "--systems", "ems", "--seeds", "1,2"]
    found = commands(*options, stages="report")
    assert not [words for words in found if "compare" in words]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_translation_model_of_the_same_encoder_batches_and_updates(config):
    """Half the epochs, which have every pair twice; its encoder reads no language tag."""
    found = trainings(config, "--systems", "ems,translation")
    ems, translation = found["ems"], found["translation"]
    assert (translation.task, translation.language_tags) == ("multilingual_nmt", "t-dec")
    assert len(translation.lang_pairs.split(",")) == 2 * len(ems.pairs.split(","))
    assert translation.max_epoch == math.ceil(ems.max_epoch / 2)
    for option in (
        *("encoder_layers", "encoder_embed_dim", "encoder_ffn_embed_dim", "encoder_attention_heads"),
        *("norm_placement", "dropout", "attention_dropout", "max_source_positions"),
        *(
            "batch_size",
            "batches_per_update",
            "update_freq",
            "lr",
            "warmup_updates",
            "weight_decay",
            "lr_scheduler",
        ),
    ):
        assert getattr(translation, option) == getattr(ems, option), option


def test_the_case_has_almost_the_same_words_twice():
    """The thesis says the same; two verbs are in another form."""
    first, second = (set(line.rstrip("?").split()) for line in CASE.splitlines())
    assert (first - second, second - first) == ({"steal", "saved"}, {"stole", "save"})


def test_vectors_are_computed_on_a_gpu_of_slurm():
    options = ["--config", "l10n", "--systems", "ems", "--launcher", "slurm"]
    for words in commands(*options, stages="evaluate"):
        assert words[:7] == ["srun", "--nodes", "1", "--ntasks", "1", "--gpus-per-node", "1"]
        assert "--cpu" not in words


def test_the_settings_for_own_text_on_the_recipes_page(tmp_path):
    page = (ROOT / "recipes/README.md").read_text(encoding="utf-8")
    block = page[page.index("    CORPUS=text") : page.index("Its `run.sh`")]
    (tmp_path / "own.sh").write_text(textwrap.dedent(block), encoding="utf-8")
    options = ["--config", str(tmp_path / "own.sh"), "--data-root", str(tmp_path), "--systems", "ems"]
    clean, _, subword, _, *others = dry_run(RECIPE, *options, "--tatoeba", "v1")
    assert parse_command(clean).input == tmp_path
    assert parse_command(subword).vocabulary_size == 32000
    (args,) = parse_trainings(others).values()
    assert (args.pairs, args.batch_size) == ("de-en,en-fr", 152)


def test_what_is_measured_of_tasks_is_reported():
    """Tables 2.10 to 2.13, of trained encoders and of those that are compared with them."""
    options = ["--mldoc", "m", "--amazon", "a", "--reviews", "r", "--paracrawl", "p", "--compared", "LASER=l"]
    options += ["--config", "ems", "--tatoeba", "t", "--systems", "ems", "--stages", "evaluate,report"]
    *measured, report = map(parse_command, dry_run("sentence_embedding", *options))
    folders = {str(args.output) for args in measured}
    assert {path.parent for path in report.results} == {Path(folder) for folder in folders}
    names = [Path(folder).name for folder in folders if "/compared/LASER/" in folder]
    expected = {"mldoc", "reviews", "amazon-books", "amazon-dvd", "amazon-music", "paracrawl-sv"}
    assert expected < set(names) and len(names) == len(set(names))
    assert sum(name.startswith("paracrawl-") for name in names) == 21
