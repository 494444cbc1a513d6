"""`recipes/word_contrastive`: the systems of Tables 5.2 and C.1 to C.3, hyperparameters of thesis 5.2.3."""

import os

import pytest
from langcodes import Language

from tests.our_commands import parse_command
from tests.recipes.commands import (
    ROOT,
    assert_refused,
    configurations,
    dry_run,
    parse_training,
    parse_trainings,
)

CONFIGS = configurations("word_contrastive")
PAPER = {
    "222_en-ja": (2, 1000),
    "626_en-it-ja-nl-tr-vi": (10, 2000),
    "626_en-tr-ro-et-my-kk": (10, 2000),
}  # directions, updates between validations
METHODS = ["", "+align", "+w2w", "+FA", "+sent"]
LOSSES = {
    "": None, "+align": "attention_alignment", "+w2w": "word_contrastive", "+FA": "word_contrastive",
    "+sent": "sentence_contrastive",
}  # fmt: skip
ALIGNERS = {"align": "fast_align-all", "w2w": "word2word", "FA": "fast_align"}


def commands(tmp_path, *options: str, stages: str) -> list[list[str]]:
    """The commands of a dry run, with a folder in place of data and mBART."""
    common = ["--data-root", str(tmp_path), "--output", "out", "--stages", stages]
    found = dry_run("word_contrastive", *options, *common, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    return found


def trainings(tmp_path, *options: str) -> dict:
    """System -> fairseq's view of its training."""
    return parse_trainings(commands(tmp_path, *options, stages="train"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of 222_en-ja,626_en-it-ja-nl-tr-vi,626_en-tr-ro-et-my-kk,enja,l10n-8,l"),
        (["--config", "enja", "--systems", "mlsc+w3w"], "--systems: found 'mlsc+w3w', expected one of: ml"),
        (["--config", "enja", "--systems", "mbart"], "--systems: mbart starts from mBART; give its folder"),
        (["--config", "enja", "--mbart", "/no/such"], "--mbart: /no/such: no such folder"),
        (["--config", "enja", "--out-of-domain", "/no/such"], "--out-of-domain: /no/such: no such folder"),
        (["--config", "222_en-ja"], "--config 222_en-ja: give your text with --data-root, README.md says"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused("word_contrastive", options, message, tmp_path)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_training_is_understood_by_fairseq(config, tmp_path):
    found = trainings(tmp_path, "--config", config, "--mbart", str(tmp_path))
    assert list(found) == [baseline + method for baseline in ("mlsc", "mbart") for method in METHODS]
    for system, args in found.items():
        loss = LOSSES[system.removeprefix("mlsc").removeprefix("mbart")]
        assert getattr(args, "losses", None) == (loss and f"translation,{loss}"), system
        assert args.best_checkpoint_metric == ("nmt_loss" if loss else "loss")
        assert args.data == f"out/data/{config}"  # two aligners, one binarized corpus
        assert args.alignments == ALIGNERS.get(system.partition("+")[2])
        assert args.label_smoothing == (0.2 if system.startswith("mbart") else 0.1)


@pytest.mark.parametrize("config", PAPER)
def test_hyperparameters_of_the_paper(config, tmp_path):
    systems = "mlsc,mlsc+FA,mbart+w2w"
    options = (
        "--config",
        config,
        "--mbart",
        str(tmp_path),
        "--systems",
        systems,
        "--launcher",
        "gpu",
        "--gpus",
        "4",
    )
    found = trainings(tmp_path, *options)
    directions, interval = PAPER[config]
    for args in found.values():
        assert len(args.lang_pairs.split(",")) == directions
        assert (args.max_tokens, args.update_freq, args.sampling_temperature) == (1024, [2], 1.5)
        assert (args.save_interval_updates, args.patience, args.dropout) == (interval, 8, 0.3)
    scratch, contrastive, tuned = found.values()
    assert (scratch.arch, scratch.encoder_layers, scratch.encoder_embed_dim) == ("mnmt_transformer", 6, 512)
    for args in (contrastive, tuned):
        assert (args.word_contrastive_weight, args.word_contrastive_temperature) == (0.1, 0.2)
        assert (args.word_contrastive_dim, args.word_contrastive_dropout) == (128, 0.2)
    assert (tuned.arch, tuned.language_tags, tuned.encoder_layers) == ("mnmt_transformer_mbart", "mbart", 12)
    assert (tuned.max_source_positions, tuned.lr, tuned.lr_scheduler) == (1024, [3e-5], "polynomial_decay")
    assert tuned.finetune_from_model == "out/mbart/start.pt"
    assert scratch.finetune_from_model is None
    assert tuned.langs.split(",") == sorted(tuned.langs.split(","))


@pytest.mark.parametrize("config", [config for config in PAPER if config.startswith("626")])
def test_text_that_is_not_given_is_downloaded_for_every_pair(config):
    """Ids of mtdata end with the languages; the text of --data-root comes first."""
    download, *_ = dry_run("word_contrastive", "--config", config, "--stages", "prepare")
    job = parse_command(download)
    languages = {Language.get(code).to_alpha3() for code in job.langs}
    for ids in (job.train, job.valid, job.test):
        assert {code for identifier in ids for code in identifier.split("-")[-2:]} == languages


@pytest.mark.parametrize("config", ["multi30k", "l10n", "l10n-8", "phrasebook"])
def test_the_small_configurations_are_those_of_zero_shot(config, tmp_path):
    ours = trainings(tmp_path, "--config", config, "--systems", "mlsc")["mlsc"]
    options = ("--config", config, "--systems", "2", "--seeds", "1", "--stages", "train")
    (theirs,) = map(parse_training, dry_run("zero_shot", *options))
    different = {name for name, value in vars(theirs).items() if getattr(ours, name) != value}
    assert different <= {"data", "save_dir"}


def test_both_directions_of_enja_in_words_of_mecab(tmp_path):
    args = trainings(tmp_path, "--config", "enja", "--systems", "mlsc")["mlsc"]
    assert (args.lang_pairs, args.max_update, args.encoder_embed_dim) == ("en-ja,ja-en", 1200, 192)
    prepare = commands(tmp_path, "--config", "enja", "--systems", "mlsc", stages="prepare")
    (tokenize,) = [words for words in prepare if "tokenize" in words]
    assert tokenize[4:7] == ["--tokenizer", "en=none", "ja=mecab"]


def test_the_last_options_are_the_users(tmp_path):
    common = ["--config", "enja", "--mbart", str(tmp_path), "--systems", "mlsc,mbart", "--stages", "train"]
    commands = dry_run("word_contrastive", *common, "--", "--lr", "0.5")
    assert [parse_training(words).lr for words in commands] == [[0.5], [0.5]]


def steps(found) -> list[str]:
    return [" ".join(words[3:6] if words[3] == "align" else words[3:4]) for words in found]


def test_preparation_aligns_what_the_systems_need(tmp_path):
    plain = ["download", "clean", "tokenize", "subword", "binarize"]
    lexicon = ["align --aligner word2word"]
    fast = ["align --aligner fast_align"]  # of +FA, and once more for all links of +align
    for systems, expected in (
        ("mlsc,mlsc+w2w,mlsc+sent", [*plain, *lexicon]),
        ("mlsc+FA", [*plain, *fast, *lexicon]),
        ("mlsc+align", [*plain, *fast, *lexicon]),
        ("mlsc+align,mlsc+FA", [*plain, *fast, *fast, *lexicon]),
    ):
        assert (
            steps(commands(tmp_path, "--config", "enja", "--systems", systems, stages="prepare")) == expected
        )
    options = ("--config", "enja", "--systems", "mbart+FA", "--mbart", str(tmp_path))
    options += ("--out-of-domain", str(tmp_path))
    found = commands(tmp_path, *options, stages="prepare")
    assert steps(found) == [*plain, "tokenize", *fast, *lexicon, "trim-mbart"]
    (subword,) = [words for words in found if words[3] == "subword"]
    assert subword[4:6] == ["--pretrained", str(tmp_path)]
    assert found[6][found[6].index("--out-of-domain") + 1] == "out/out-of-domain"
    folders = {words[words.index("--data") + 1] for words in found if words[3] == "align"}
    assert folders == {"out/data/enja"}


def test_supervised_attention_has_all_links_and_contrast_words_with_one(tmp_path):
    found = commands(tmp_path, "--config", "enja", "--systems", "mlsc+align,mlsc+FA", stages="prepare")
    aligned = [parse_command(words) for words in found if words[3] == "align"]
    links = {args.name or args.aligner: args.one_to_one for args in aligned}
    assert links == {"fast_align": True, "fast_align-all": False, "word2word": True}
    assert len({args.output for args in aligned}) == 3


def test_text_of_ones_own_needs_no_download(tmp_path):
    found = commands(tmp_path, "--config", "222_en-ja", "--systems", "mlsc", stages="prepare")
    assert steps(found)[0] == "clean"
    assert found[0][found[0].index("--input") + 1] == str(tmp_path)


@pytest.mark.parametrize("output", ["R&D", "out [1]*", "a,b"])
def test_correlations_are_of_the_probes_of_the_same_models_wherever_they_lie(output):
    common = ("--config", "multi30k", "--systems", "mlsc,mlsc+w2w", "--stages", "probe", "--output", output)
    found = [words for words in dry_run("word_contrastive", *common) if "correlate" in words]
    assert len(found) == 2
    for words in found:
        retrieval = words[words.index("--retrieval") + 1 : words.index("--measure")]
        assert retrieval == [f"{output}/probes/mlsc-seed1", f"{output}/probes/mlsc+w2w-seed1"]


def test_probes_reports_and_comparisons_are_per_baseline(tmp_path):
    options = ("--config", "multi30k", "--systems", "mlsc,mlsc+w2w,mbart,mbart+FA", "--mbart", str(tmp_path))
    found = commands(tmp_path, *options, stages="probe,report")
    states = [words for words in found if words[3:5] == ["probe", "states"]]
    names = [words[words.index("--name") + 1] for words in states]
    assert names == ["MLSC", "MLSC +w2w", "mBART FT", "mBART FT +FA"]
    assert all(words[words.index("--valid-directions") + 1] == "all" for words in states)  # 5.3.3
    words = [each[each.index("--words") + 1] for each in found if "retrieval" in each]
    assert words == ["out/data/multi30k"] * 4
    expected = [
        [f"out/translations/{baseline}-seed1", f"out/translations/{baseline}{method}-seed1"]
        for baseline, method in (("mlsc", "+w2w"), ("mbart", "+FA"))
    ]
    correlations = [each for each in found if each[3:5] == ["probe", "correlate"]]
    assert [each[5:7] for each in correlations] == [one for one in expected for _ in range(2)]
    measures = [(each[each.index("--measure") + 1], each[-1]) for each in correlations]
    assert measures == [
        (measure, f"out/probes/{baseline}-{measure}")
        for baseline in ("mlsc", "mbart")
        for measure in ("sentence", "word")
    ]
    compared = [each[4:6] for each in found if "compare" in each]
    assert compared == expected
    reports = [each[each.index("--output") + 1] for each in found if "report" in each]
    assert reports == ["out/mlsc/report", "out/mbart/report"]


READINGS = ["mlsc+w2w", "mlsc-less-dropout", "mlsc-less-dropout+w2w"]


@pytest.mark.parametrize(("config", "whole", "less"), [("phrasebook", 0.1, 0.0667), ("222_en-ja", 0.3, 0.2)])
def test_both_readings_of_the_dropout_lower_that_of_the_projection_or_of_the_model(
    tmp_path, config, whole, less
):
    projection, control, model = trainings(
        tmp_path, "--config", config, "--systems", ",".join(READINGS)
    ).values()
    assert (projection.dropout, projection.word_contrastive_dropout) == (whole, 0.2)
    assert projection.word_contrastive_model_dropout is None
    assert (model.dropout, model.word_contrastive_dropout) == (whole, 0)
    assert control.dropout == model.word_contrastive_model_dropout == less
    assert "losses" not in control
    assert projection.losses == model.losses == "translation,word_contrastive"


def test_the_other_reading_of_the_dropout_is_in_a_report_of_its_own(tmp_path):
    options = ("--config", "multi30k", "--systems", ",".join(["mlsc", *READINGS]))
    found = commands(tmp_path, *options, stages="translate,report")
    names = [words[words.index("--name") + 1] for words in found if "translate" in words]
    assert len(set(names)) == 4  # dropout is on no axis: without names of their own they would be seeds
    compared = [words[words.index("compare") + 1 :] for words in found if "compare" in words]
    folders = [f"out/translations/{system}-seed1" for system in ["mlsc", *READINGS]]
    assert compared[0][:2] == folders[:2]
    assert compared[1][:2] == folders[2:]
    assert compared[1][compared[1].index("--pairs") + 1] == f"{folders[2]}:{folders[3]}"
    reports = [words[words.index("--output") + 1] for words in found if "report" in words]
    assert reports == ["out/mlsc/report", "out/mlsc-less-dropout/report"]


def test_curves_are_of_retrieval_of_every_checkpoint_that_is_kept(tmp_path):
    out = tmp_path / "out"
    for system, updates in (("mlsc", 240), ("mlsc", 480), ("mlsc+FA", 240), ("mlsc-less-dropout", 240)):
        folder = out / f"models/{system}-seed1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"checkpoint_1_{updates}.pt").touch()
    done = out / "curves/mlsc-seed1/480"
    done.mkdir(parents=True)
    (done / "retrieval.json").touch()
    os.utime(done / "retrieval.json", (2e9, 2e9))  # later than the checkpoint
    unfinished = out / "curves/mlsc-seed1/240"  # a kill before its tables were written
    unfinished.mkdir(parents=True)
    (unfinished / "retrieval.json").touch()
    (unfinished / ".retrieval.unfinished").touch()
    options = ["--systems", "mlsc,mlsc+FA,mlsc-less-dropout", "--stages", "curves", "--output", str(out)]
    found = dry_run("word_contrastive", "--config", "phrasebook", *options)
    states = [words for words in found if words[3:5] == ["probe", "states"]]
    assert [words[words.index("--checkpoint") + 1].split("/models/")[1] for words in states] == [
        f"{system}-seed1/checkpoint_1_240.pt" for system in ("mlsc", "mlsc+FA", "mlsc-less-dropout")
    ]
    names = [words[words.index("--name") + 1] for words in states]
    assert names == ["MLSC", "MLSC +FA", "MLSC, dropout 0.0667"]
    assert all(words[words.index("--splits") + 1] == "valid" for words in states)
    assert all(words[words.index("--valid-directions") + 1] == "all" for words in states)
    curves = [words[5:] for words in found if words[4:5] == ["retrieval-curves"]]
    assert curves == [
        [*(f"{out}/curves/{name}" for name in names), "--output", f"{out}/curves/{baseline}"]
        for baseline, names in (
            ("mlsc", ["mlsc-seed1/240", "mlsc-seed1/480", "mlsc+FA-seed1/240"]),
            ("mlsc-less-dropout", ["mlsc-less-dropout-seed1/240"]),
        )
    ]
    for words in found:
        if words[0] != "rm":
            parse_command(words)


@pytest.mark.parametrize(("languages", "correlated"), [("en ja", 0), ("de en ja", 2)])
def test_two_languages_have_no_correlation(tmp_path, languages, correlated):
    """Three have three pairs, which is as few as the probe takes."""
    text = (ROOT / "recipes/word_contrastive/configs/enja.sh").read_text()
    (tmp_path / "mine.sh").write_text(f"{text}\nLANGUAGES=({languages})\n")
    options = ["--config", str(tmp_path / "mine.sh"), "--systems", "mlsc,mlsc+w2w", "--stages", "probe"]
    found = dry_run("word_contrastive", *options, "--output", str(tmp_path / "out"))
    assert len([words for words in found if "correlate" in words]) == correlated


def test_every_command_is_understood(tmp_path):
    options = ("--config", "multi30k", "--mbart", str(tmp_path), "--out-of-domain", str(tmp_path))
    for words in commands(tmp_path, *options, stages="prepare,translate,score,probe,report"):
        if words[0] != "rm":
            parse_command(words)


def test_blanks_in_the_output_are_no_options(tmp_path):
    options = ("--config", "enja", "--mbart", str(tmp_path), "--systems", "mbart", "--seeds", "1")
    commands = dry_run("word_contrastive", *options, "--stages", "train", "--output", "my out")
    (command,) = (words for words in commands if "--finetune-from-model" in words)
    assert command[command.index("--finetune-from-model") + 1] == "my out/mbart/start.pt"
