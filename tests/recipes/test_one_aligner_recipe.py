"""`recipes/one_aligner`: pairs of Tables 3 to 7, hyperparameters of section 3, the grid of Table 1."""

import json
import os
import shlex
import sys
from argparse import Namespace

import pytest

from eval.probes.data_size import read_sizes, size_of
from tests.our_commands import parse_command
from tests.recipes.commands import (
    assert_refused,
    configurations,
    dry_run,
    parse_trainings,
    recipe,
    write_program,
)

RECIPE = "one_aligner"
CONFIGS = configurations(RECIPE)
L10N = ["--config", "l10n", "--encoder", "mlm"]
ALL_OF_L10N = "cs-en,de-en,es-en,fr-en,it-en,ja-en,pl-en,pt-en,ru-en,zh-en"
ABLATION = ("pooled", "pooled-unnormalized", "unnormalized", "one-dimensional", "cosine")
OWN = {"save_dir", "pairs", "pair_budget"}
# Footnote 19, in descending order of data.
RANKED = "es fr de pt it nl ru pl cs sv sh el ro da zh no ar ms hu bg tr fi sl vi he ja et lt lv fa ko uk"
TOP = "es fr de pt it nl ru pl cs sv el ro da zh no ar"  # Table 4


def commands(*options: str, stages: str) -> list[list[str]]:
    return dry_run(RECIPE, *options, "--stages", stages, "--output", "out")


def trainings(config: str, *options: str) -> dict[str, Namespace]:
    return parse_trainings(
        commands("--config", config, "--encoder", "mlm", "--data-root", ".", *options, stages="train")
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], f"--config: expected one of {','.join(CONFIGS)}, or a file"),
        (["--config", "opus100"], "--encoder: expected a folder of transformers"),
        (["--config", "l10n"], "--data-root: expected the folder of the corpus"),
        (
            ["--config", "l10n", "--data-root", "/tmp", "--stages", "train"],
            "outputs/one_aligner/l10n/mlm/update-13000: no such folder; run the stage pretrain first",
        ),
        (["--config", "l10n", "--encoder", "/no/such"], "--encoder: /no/such: no such folder"),
        ([*L10N[:3], "/tmp", "--compared", "/tmp,/no"], "--compared: /no: no such folder"),
        ([*L10N[:3], "/tmp", "--bucc", "/no/such"], "--bucc: /no/such: no such folder"),
        ([*L10N[:3], "/tmp", "--systems", "en-de"], "--systems: found 'en-de', expected one of: de-en ru-en"),
        (["--config", "opus100", "--encoder", "/tmp"], "--tatoeba: opus100 has no test set of its own"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused(RECIPE, options, message, tmp_path)


def test_hyperparameters_are_the_papers():
    found = trainings("opus100")
    assert list(found) == [*(f"{language}-en" for language in TOP.split()), "all-pairs", "unlimited"]
    for name, args in found.items():
        assert (args.losses, args.arch, args.pretrained_encoder) == (
            "global_ranking", "sentence_encoder", "mlm",
        )  # fmt: skip
        assert (args.lr, args.lr_scheduler, args.max_epoch, args.batch_size) == ([3e-6], "fixed", 3, 64)
        assert (args.max_source_positions, args.min_tokens) == (100, 5)
        assert (args.global_ranking_temperature, args.global_ranking_normalization) == (5, 0.75)
        assert (str(args.global_ranking_similarity), str(args.pooling_layer)) == ("bert-score", "top")
        assert not args.freeze_encoder and not args.unpaired
        assert args.pair_budget == (None if name == "unlimited" else 1_000_000)
    every = found["all-pairs"].pairs.split(",")
    assert every == found["unlimited"].pairs.split(",")
    assert len(every) == 82 and all(pair.endswith("-en") for pair in every)  # Table 9; no English negatives


def test_several_pairs_share_one_budget():
    found = trainings("tatoeba_challenge")
    for count in (2, 4, 8, 16, 32):
        args = found[f"top-{count}"]
        languages = [pair.removesuffix("-en") for pair in args.pairs.split(",")]
        assert languages == RANKED.split()[:count] and args.pair_budget == 1_000_000
    without_english = [args.pairs for name, args in found.items() if "top" not in name and "en" not in name]
    assert len(without_english) == 16  # Table 5
    assert {"fr-es", "ca-es", "pl-pt", "ru-es"} <= set(without_english)


def test_the_challenge_is_downloaded_with_the_pairs_of_table_5():
    own = ("--config", "tatoeba_challenge", "--encoder", "e", "--tatoeba", "t", "--stages", "prepare")
    download, *_ = dry_run(RECIPE, *own)
    job = parse_command(download)
    assert job.name == "challenge" and len(job.langs) == 34
    assert len(job.further_pairs) == 16 and not any("en" in pair.split("-") for pair in job.further_pairs)


def test_the_small_configuration_compares_pairs_and_sizes():
    found = trainings("l10n")
    assert {name: args.pairs for name, args in found.items() if "size" not in name} == {
        **{pair: pair for pair in ("de-en", "ru-en", "ja-en", "de-fr")},
        "four-pairs": "de-en,fr-en,ja-en,ru-en",
        "all-pairs": ALL_OF_L10N,
    }
    assert {args.pair_budget for name, args in found.items() if "size" not in name} == {20_000}
    sizes = {name: (args.pairs, args.pair_budget) for name, args in found.items() if "size" in name}
    assert sizes == {f"size-{size}": ("de-en", size) for size in (1000, 2000, 5000, 10000, 50000)}
    download = parse_command(commands(*L10N, stages="prepare")[0])
    assert download.further_pairs == ["de-fr"]


def test_few_sentences_may_be_read_as_long_as_many():
    sizes = (1000, 2000, 5000, 10000)
    names = [f"size-{size}-as-long" for size in sizes]
    found = trainings("l10n", "--systems", ",".join(names))
    assert [found[name].pair_budget * found[name].max_epoch for name in names] == [3 * 20_000] * 4
    assert all(args.max_epoch == 3 * args.validate_interval for args in found.values())
    options = [*L10N, "--systems", f"de-en,size-1000,{names[0]}", "--tatoeba", "v1"]
    plotted = parse_command(commands(*options, stages="report")[-3])
    assert [path.parent.name for path in plotted.retrieval] == ["de-en-seed1", "size-1000-seed1"]


@pytest.mark.parametrize("config", CONFIGS)
def test_checkpoints_are_chosen_by_what_is_tested(config):
    """Normalized BERT-score (2.2); negatives are of any length."""
    for args in trainings(config).values():
        chosen_by = str(args.eval_retrieval_similarity), args.eval_retrieval_normalization
        assert chosen_by == ("bert-score", 0.75)
        assert args.global_ranking_normalization == 0.75 and args.random_batches


def test_the_ablation_differs_in_what_it_is_called_after_and_is_chosen_by_what_it_trains():
    found = trainings("l10n", "--systems", "de-en," + ",".join(ABLATION))
    whole = vars(found["de-en"])
    different = {
        name: {key: str(value) for key, value in vars(found[name]).items()
               if key not in OWN and value != whole[key]}
        for name in ABLATION
    }  # fmt: skip
    assert different == {
        "pooled": {"global_ranking_similarity": "dot", "eval_retrieval_similarity": "cosine"},
        "pooled-unnormalized": {
            "global_ranking_similarity": "dot",
            "eval_retrieval_similarity": "cosine",
            "global_ranking_normalization": "0.0",
            "eval_retrieval_normalization": "0.0",
        },
        "unnormalized": {"global_ranking_normalization": "0.0", "eval_retrieval_normalization": "0.0"},
        "one-dimensional": {"global_ranking_one_dimensional": "True"},
        "cosine": {"global_ranking_similarity": "bert-score-cosine"},
    }


def test_the_vocabulary_is_the_encoders_and_test_sentences_are_left_out():
    _, clean, subword, binarize = map(parse_command, commands(*L10N, "--tatoeba", "v1", stages="prepare"))
    assert [str(path) for _, path in clean.exclude_text] == ["v1/tatoeba.*"]  # no such files here
    assert clean.max_length == 256  # words, however many tokens the encoder reads of them
    assert (str(subword.tokenizer), subword.only_used) == ("mlm", False)  # languages that nobody trains on
    assert (str(subword.input), str(binarize.text)) == ("out/text", "out/text")


@pytest.mark.parametrize("layout", ["de-en/", ""])
def test_sentences_of_bucc_are_left_out_in_either_layout(layout, tmp_path):
    files = [tmp_path / f"{layout}de-en.training.{ending}" for ending in ("de", "en", "gold")]
    files[0].parent.mkdir(exist_ok=True)
    for path in files:
        path.touch()
    clean = parse_command(commands(*L10N, "--bucc", str(tmp_path), stages="prepare")[1])
    assert [path for _, path in clean.exclude_text] == files[:2]


def test_a_folder_without_bucc_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "here").mkdir()
    options = ["--config", "l10n", "--encoder", "/tmp", "--bucc", str(tmp_path / "empty")]
    message = f"--bucc: {tmp_path}/empty: no files; expected PAIR.PART.LANG of BUCC"
    assert_refused(RECIPE, options, message, tmp_path / "here")


def test_encoders_of_one_name_would_have_one_result(tmp_path):
    options = ["--config", "l10n", "--encoder", "/tmp", "--compared", "other/tmp", "--dry-run"]
    message = (
        "--compared: two encoders are called tmp, as their results would be; rename a folder, or link it"
    )
    assert_refused(RECIPE, options, message, tmp_path)


def test_every_layer_of_every_encoder_by_pooling_and_normalization():
    options = [*L10N, "--compared", "run/update-1300", "--tatoeba", "v1"]
    found = [parse_command(words) for words in commands(*options, stages="untrained")]
    layers = [*map(str, range(5)), "average"]
    assert [(str(args.model), args.layer) for args in found if args.tatoeba] == [
        (folder, layer) for folder in ("mlm", "run/update-1300") for layer in layers
    ]
    for args in found:
        assert args.similarity == ["cosine", "bert-score"] and args.normalize == 0.75
        assert args.groups.name == "l10n_one_pair.toml"  # languages seen and unseen, and Tatoeba-36
    assert found[-1].encoder_name == "update-1300 layer average"
    assert sum(args.parallel is not None for args in found) == len(found) / 2
    assert {len(args.parallel) for args in found if args.parallel} == {11}  # 110 directions


def test_the_paper_has_a_layer_for_every_depth(tmp_path):
    """2.3: the 8th of mBERT and XLM-R base, the 17th of XLM-R large; and the last, which is trained."""
    for name, depth in (("large", 24), ("base", 12), ("small", 6)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(f'{{\n  "num_hidden_layers": {depth}\n}}\n')
    large, base, small = (str(tmp_path / name) for name in ("large", "base", "small"))
    options = ["--config", "opus100", "--encoder", large, "--compared", base, "--tatoeba", "v1"]
    found = [parse_command(words) for words in commands(*options, stages="untrained")]
    assert [(str(args.model), args.layer) for args in found] == [(large, "17"), (large, "24"), (base, "8")]
    assert {(args.normalize_batch, args.parallel) for args in found} == {(256, None)}
    (tmp_path / "here").mkdir()
    message = f"{small}: has 6 layers; expected, in the configuration, 6:LAYER among LAYERS (12:8 24:17)"
    options = ["--config", "tatoeba_challenge", "--data-root", "/tmp", "--tatoeba", "/tmp"]
    assert_refused(RECIPE, [*options, "--encoder", small], message, tmp_path / "here")


def test_what_is_trained_is_measured_the_same_way_and_reported_beside_it():
    options = [*L10N, "--systems", "de-en,ja-en", "--tatoeba", "v1", "--bucc", "bucc18"]
    *measured, compare, _, sizes, between, report = commands(*options, stages="evaluate,report")
    found = [parse_command(words) for words in measured]
    assert [(args.encoder_name, args.output.name) for args in found] == [
        (name, test) for name in ("de-en", "ja-en") for test in ("multiway", "tatoeba", "bucc")
    ]
    assert found[0].similarity == ["cosine", "bert-score"] and found[0].normalize == 0.75
    assert found[2].universal_threshold and found[2].margin == "absolute"
    assert (found[2].tuned, found[2].tested) == ("sample", "training")  # XTREME's; test parts have no gold
    assert (found[2].rescore, found[2].normalize, found[2].neighbours) == ("bert-score", 0.75, 16)
    results = [word for word in report if word.endswith("sentence-retrieval.json")]
    assert results[:4] == [
        f"{args.output}/sentence-retrieval.json" for args in found if args.output.name != "bucc"
    ]
    assert results[4:] == [
        f"out/untrained/mlm-layer-{layer}/{test}/sentence-retrieval.json"
        for layer in (*range(5), "average")
        for test in ("multiway", "tatoeba")
    ]
    untrained = [
        f"out/untrained/mlm-layer-4/{test}/sentence-retrieval.json" for test in ("multiway", "tatoeba")
    ]
    assert [word for word in compare if word.endswith("retrieval.json")] == [*untrained, *results[:4]]
    plotted = parse_command(sizes)
    assert [str(path) for path in plotted.retrieval] == [
        f"out/retrieval/{name}-seed1/tatoeba" for name in ("de-en", "ja-en")
    ]
    assert (plotted.of, plotted.similarity) == ("encoders", "bert-score-normalized")
    assert (plotted.group, plotted.direction) == ("ten core languages", "from")
    between = parse_command(between)
    assert [path.name for path in between.retrieval] == ["multiway"] * 2
    assert (between.group, between.direction) == (None, None)
    assert "out/data-size/data-size.json" in report
    tested, shown = parse_command(compare), parse_command(report)
    assert tested.metric == [shown.similarity] == ["bert-score-normalized"]
    assert shown.direction == "from"


def test_figure_1_has_the_systems_of_one_pair():
    options = [*L10N, "--systems", ",".join([*trainings("l10n"), "pooled"]), "--tatoeba", "v1"]
    tatoeba, multiway = commands(*options, stages="report")[-3:-1]
    shown = [
        "de-en",
        "ru-en",
        "ja-en",
        "de-fr",
        *(f"size-{size}" for size in (1000, 2000, 5000, 10000, 50000)),
    ]
    for words, test_set in ((tatoeba, "tatoeba"), (multiway, "multiway")):
        assert [str(path) for path in parse_command(words).retrieval] == [
            f"out/retrieval/{name}-seed1/{test_set}" for name in shown
        ]


def test_systems_are_compared_with_the_encoder_that_they_began_with():
    """Its last layer, which the training pools; and the first with all others, in one family of tests."""
    options = ["--config", "opus100", "--encoder", "xlmr", "--tatoeba", "v1", "--seeds", "1,2"]
    compare, *_ = commands(*options, "--systems", "es-en,fr-en,all-pairs", stages="report")
    args = parse_command(compare)
    folders = ["untrained/xlmr-layer-24"]
    folders += [f"retrieval/{name}-seed{seed}" for name in ("es-en", "fr-en", "all-pairs") for seed in (1, 2)]
    assert [str(path) for path in args.systems] == [
        f"out/{folder}/tatoeba/sentence-retrieval.json" for folder in folders
    ]
    assert args.against_first and args.pairs == [("es-en", "fr-en"), ("es-en", "all-pairs")]
    alone, *_ = commands(*options, "--systems", "es-en", stages="report")
    assert parse_command(alone).pairs == [] and "out/untrained/xlmr-layer-24/tatoeba" in alone[4]


def test_a_report_of_mining_alone_compares_nothing():
    options = ["--config", "opus100", "--encoder", "xlmr", "--systems", "es-en,fr-en", "--bucc", "bucc18"]
    (report,) = commands(*options, stages="report")
    assert {
        "out/retrieval/es-en-seed1/bucc/mining.json",
        "out/retrieval/fr-en-seed1/bucc/mining.json",
    } <= set(report)


def test_measures_of_untrained_encoders_are_compared():
    """Table 1's columns, of every row; each layer with itself."""
    options = [*L10N, "--systems", "de-en", "--compared", "run/update-1300", "--tatoeba", "v1"]
    *_, compare, _ = (words for words in commands(*options, stages="report") if "data-size" not in words)
    args = parse_command(compare)
    assert args.measures == [
        ("cosine", "bert-score-normalized"),
        ("cosine", "cosine-normalized"),
        ("bert-score", "bert-score-normalized"),
    ]
    assert list(dict.fromkeys(path.parts[2] for path in args.systems)) == [
        f"{name}-layer-{layer}" for name in ("mlm", "update-1300") for layer in (*range(5), "average")
    ]
    assert (args.direction, str(args.output)) == ("from", "out/comparison-of-measures.json")
    *_, report = commands(*options, stages="report")
    assert {"out/comparison.json", "out/comparison-of-measures.json"} <= set(report)


@pytest.fixture
def report(tmp_path):
    """Runs the report of some systems below `tmp_path/out`, with programs that only show their command."""
    (tmp_path / "mlm").mkdir()
    (tmp_path / "mlm/config.json").write_text('{"num_hidden_layers": 4}')
    python = f'#!/bin/sh\n[ "$3" != layers ] || exec {sys.executable} "$@"\necho "$@"\n'
    write_program(tmp_path / "bin/python", python)
    write_program(tmp_path / "bin/fairseq-train", "#!/bin/sh\n")
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    options = ("--config", "l10n", "--encoder", str(tmp_path / "mlm"), "--stages", "report")

    def run(systems: str):
        return recipe(
            RECIPE, *options, "--systems", systems, "--output", str(tmp_path / "out"), env=environment
        )

    return run


def measured(folder, *parts: str) -> None:
    for part in parts:
        (folder / part).mkdir(parents=True)
        (folder / part / "sentence-retrieval.json").touch()


def test_an_encoder_that_was_not_measured_is_no_loss_to_the_report(report, tmp_path):
    """The first system is compared with the others, as long as there are some."""
    measured(tmp_path / "out/retrieval", "de-en-seed1/multiway", "ja-en-seed1/multiway")
    result = report("de-en,ja-en")
    assert result.returncode == 0, result.stderr
    compare, *others = (shlex.split(line) for line in result.stdout.splitlines() if "eval compare" in line)
    args = parse_command(["python", *compare])
    assert [path.parts[-3] for path in args.systems] == ["de-en-seed1", "ja-en-seed1"]
    assert args.pairs == [] and not others
    result = report("de-en")
    assert result.returncode == 0 and "eval compare" not in result.stdout, result.stderr


@pytest.mark.parametrize(
    ("unfinished", "stage"), [("retrieval/de-en-seed1", "evaluate"), ("untrained/mlm-layer-2", "untrained")]
)
def test_a_result_that_is_missing_is_said_with_the_stage_that_makes_it(report, tmp_path, unfinished, stage):
    measured(tmp_path / "out", "retrieval/de-en-seed1/multiway", "untrained/mlm-layer-2/multiway")
    missing = tmp_path / "out" / unfinished / "multiway/sentence-retrieval.json"
    missing.unlink()
    result = report("de-en")
    assert result.returncode == 2
    assert result.stderr.endswith(f"{missing}: no such file; run the stage {stage} first\n")


def test_all_seeds_are_in_the_figures():
    """Figure 1 of all systems; Figure 2 of the first, over pairs with English and without."""
    options = ["--systems", "es-en,de-en", "--seeds", "1,2", "--tatoeba", "v1", "--new-tatoeba", "new"]
    *_, sizes, languages, report = commands(
        "--config", "opus100", "--encoder", "xlmr", *options, stages="report"
    )
    of_encoders, of_languages = map(parse_command, (sizes, languages))
    assert [str(path) for path in of_encoders.retrieval] == [
        f"out/retrieval/{name}-seed{seed}/tatoeba" for name in ("es-en", "de-en") for seed in (1, 2)
    ]
    assert [str(path) for path in of_languages.retrieval] == [
        f"out/retrieval/es-en-seed{seed}/new-tatoeba-{part}"
        for part in ("english", "others")
        for seed in (1, 2)
    ]
    assert (of_languages.of, of_languages.together) == ("languages", "New-Tatoeba")
    assert "GiB" in of_languages.unit
    sizes = read_sizes(of_languages.sizes)
    assert sizes["en"] == 300.8 and sizes["zh"] == pytest.approx(46.9 + 16.6)
    trained = [
        language
        for pair in trainings("opus100", "--systems", "unlimited")["unlimited"].pairs.split(",")
        for language in pair.split("-")
    ]
    assert not {language for language in trained if size_of(language, sizes, "languages") is None}
    assert "out/language-size/data-size.json" in report


def test_without_an_encoder_the_small_configuration_trains_its_own():
    """Of monolingual text without test sentences; its checkpoints are compared, the last one is trained."""
    options = ["--config", "l10n", "--data-root", "table", "--tatoeba", "v1", "--new-tatoeba", "new"]
    clean, pretrain = map(parse_command, commands(*options, stages="pretrain"))
    excluded = [str(path) for _, path in clean.exclude_text]
    assert excluded == ["table/multiway/test.*", "v1/tatoeba.*", "new/*/tatoeba.*"]  # no such files here
    assert (pretrain.layers, pretrain.width, pretrain.updates) == (4, 256, 13000)
    assert pretrain.languages == ["cs", "de", "en", "es", "fr", "it", "ja", "pl", "pt", "ru", "zh"]
    assert (str(pretrain.text), str(pretrain.output)) == (str(clean.output), "out/mlm")
    found = commands(*options, stages="untrained")
    assert [args.model.name for args in map(parse_command, found)][::24] == [
        "update-13000", "update-1300", "update-5200",
    ]  # fmt: skip
    args = parse_trainings(commands(*options, "--systems", "de-en", stages="train"))["de-en"]
    assert args.pretrained_encoder == "out/mlm/update-13000"
    assert not commands(*L10N, stages="pretrain")
    *_, languages, _ = commands(*options[:4], "--systems", "de-en", stages="report")
    args = parse_command(languages)  # of pre-training, between all of them
    assert (str(args.sizes), args.unit) == ("out/language-sizes.tsv", "bytes of text")
    assert [str(path) for path in args.retrieval] == ["out/retrieval/de-en-seed1/multiway"]


@pytest.mark.parametrize(("forced", "expected"), [([], False), (["--force"], True)])
def test_its_own_encoder_is_trained_anew_like_the_systems(forced, expected):
    options = ["--config", "l10n", "--data-root", "table", "--tatoeba", "v1", *forced]
    _, pretrain = map(parse_command, commands(*options, stages="pretrain"))
    assert pretrain.force is expected


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("stage", ["untrained", "evaluate"])
def test_a_test_set_that_the_pre_training_was_not_given_is_said(late, stage, tmp_path):
    """Also where the trainings were: the encoder may have read it before."""
    sets, out = tmp_path / "sets", tmp_path / "out"
    names = [sets / f"tatoeba.deu-eng.{language}" for language in ("deu", "eng")]
    (out / "mlm/update-13000").mkdir(parents=True)
    sets.mkdir()
    for name in names:
        name.write_text("eins\n", encoding="utf-8")
    for folder, kept_out in (("text", names), ("monolingual", names[: 1 if late else 2])):
        (out / folder).mkdir()
        settings = {"settings": {"exclude_text": [["", str(name)] for name in kept_out]}}
        (out / folder / "clean.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    options = ["--config", "l10n", "--data-root", str(tmp_path), "--tatoeba", str(sets), "--output", str(out)]
    said = recipe(RECIPE, *options, "--compared", str(sets), "--stages", stage).stderr
    line = (
        f"{names[1]}: not kept out of the text of the stage pretrain, and perhaps in it; give its folder to"
    )
    assert (line in said) is late and "stage prepare" not in said


def test_new_tatoeba_is_measured_with_and_without_english():
    options = [*L10N, "--systems", "de-en", "--new-tatoeba", "new"]
    *measured, report = commands(*options, stages="evaluate,report")
    found = [parse_command(words) for words in measured if "new/" in " ".join(words)]
    assert [(str(args.tatoeba), args.dataset) for args in found] == [
        ("new/english", "New-Tatoeba, english"), ("new/others", "New-Tatoeba, others"),
    ]  # fmt: skip
    for part in ("english", "others"):
        assert f"out/retrieval/de-en-seed1/new-tatoeba-{part}/sentence-retrieval.json" in report


def test_own_encoders_lie_in_any_folder():
    """Those that are given are a list with commas."""
    own = ("--config", "l10n", "--data-root", ".", "--stages", "untrained", "--output", "a, b")
    found = dry_run(RECIPE, *own)
    encoders = dict.fromkeys(words[words.index("--model") + 1] for words in found)
    assert list(encoders) == [f"a, b/mlm/update-{updates}" for updates in (13000, 1300, 5200)]
    (given,) = {
        words[words.index("--model") + 1]
        for words in dry_run(RECIPE, *own, "--compared", "x/mlm")
        if "update-" not in words[words.index("--model") + 1]
    }
    assert given == "x/mlm"
