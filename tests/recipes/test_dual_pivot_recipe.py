"""`recipes/dual_pivot`: Tables 2 to 5 and Figure 2 of dual-pivot transfer, hyperparameters of 5.2 and 5.3."""

from argparse import Namespace

import pytest

from tests.our_commands import parse_command
from tests.recipes.commands import assert_refused, configurations, dry_run, parse_trainings

RECIPE = "dual_pivot"
CONFIGS = configurations(RECIPE)
L10N = ["--config", "l10n", "--encoder", "mlm"]
SEVERAL = "ar bg de el es fa fr hi id ru sw th tr ur vi zh"  # footnote 3
PIVOTS = {"xlm_r": ("de-en", "ar-en", "ar-de"), "l10n": ("de-en", "ru-en", "ja-en", "de-fr")}


def commands(*options: str, stages: str) -> list[list[str]]:
    return dry_run(RECIPE, *options, "--stages", stages, "--output", "out")


def trainings(config: str, *options: str) -> dict[str, Namespace]:
    return parse_trainings(commands("--config", config, "--encoder", "mlm", *options, stages="train"))


def unpaired_of(args: Namespace) -> tuple:
    """Margin, n, lambda, kappa."""
    return (
        args.cycle_consistency_margin,
        args.cycle_consistency_random_negatives + 1,
        args.cycle_consistency_weight,
        args.adversarial_alignment_steps,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], f"--config: expected one of {','.join(CONFIGS)}, or a file"),
        (["--config", "l10n"], "--encoder: expected a folder of transformers"),
        ([*L10N, "--stages", "pretrain"], "--stages: found 'pretrain', expected one of: prepare untrained"),
        ([*L10N[:3], "/tmp", "--systems", "paired"], "--systems: found 'paired', expected one of: paired-de"),
        (
            [*L10N[:3], "/tmp", "--systems", "unpaired-bucc-de-en"],
            "--systems: found 'unpaired-bucc-de-en', expected",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused(RECIPE, options, message, tmp_path)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_pivot_pair_with_and_without_translations(config):
    found = trainings(config)
    assert all(args.random_batches for args in found.values())
    assert list(found) == [f"{kind}-{pair}" for pair in PIVOTS[config] for kind in ("paired", "unpaired")]
    for name, args in found.items():
        kind, _, pair = name.partition("-")
        assert args.pairs == pair and args.freeze_encoder and args.pretrained_encoder == "mlm"
        assert (str(args.pooling), str(args.pooling_layer), args.sentence_width) == ("sum", "mix", 1024)
        assert (args.batch_size, args.unpaired) == (32, kind == "unpaired")
        assert args.lr == [1e-4 if (config, kind) == ("l10n", "unpaired") else 0.001]
        if kind == "paired":
            assert args.losses == "triplet_ranking"
            assert args.triplet_ranking_margin == (0.2 if config == "l10n" else 0)
            assert args.triplet_ranking_random_negatives == 0
        else:
            assert args.losses == "adversarial_alignment,cycle_consistency"
            assert unpaired_of(args) == (0.2, 2, 10, 2)  # 5.3
            bound = "clipping" if config == "l10n" else "none"  # the published code has none
            assert str(args.adversarial_alignment_bound) == bound
    assert (found["paired-de-en"].pair_budget == 9_000_000) == (config == "xlm_r")


def test_bucc_has_hyperparameters_of_its_own():
    found = trainings("xlm_r", "--bucc", "bucc18")
    for pair in PIVOTS["xlm_r"]:
        assert unpaired_of(found[f"unpaired-bucc-{pair}"]) == (0, 1, 5, 2)  # 5.2
    options = [
        "--config", "xlm_r", "--encoder", "mlm", "--bucc", "bucc18", "--systems", "unpaired-bucc-de-en",
    ]  # fmt: skip
    (words,) = commands(*options, stages="evaluate")
    args = parse_command(words)
    assert (args.tuned, args.tested, args.universal_threshold) == ("training", "training", False)
    assert args.threshold_from == "de-en"  # Table 6
    assert (args.margin, args.neighbours, args.pairs) == ("ratio", 4, ["de-en", "fr-en", "ru-en", "zh-en"])


def test_the_ablation_of_losses_and_parts_is_table_4():
    parts = {"mixture": ("mix", None), "map": ("average", 1024), "both": ("mix", 1024)}
    losses = {
        "adversarial": "adversarial_alignment",
        "cycle": "cycle_consistency",
        "unpaired": "adversarial_alignment,cycle_consistency",
        "paired": "triplet_ranking",
    }
    rows = [
        (kind, part) for kind in losses for part in parts
        if part != "both" or kind in ("adversarial", "cycle")  # else the system itself
    ]  # fmt: skip
    found = trainings("l10n", "--systems", ",".join(f"{kind}-{part}" for kind, part in rows))
    for kind, part in rows:
        args = found[f"{kind}-{part}"]
        assert (args.losses, args.pairs) == (losses[kind], "de-en")
        assert (str(args.pooling_layer), args.sentence_width) == parts[part]
        assert args.unpaired == (kind != "paired")
        if kind in ("cycle", "unpaired"):
            assert unpaired_of(args)[:3] == (0.2, 2, 10)


def test_single_layers_and_several_pairs():
    layers = (0, 4, 8, 12, 16, 20, 24)
    names = [f"{kind}-layer-{layer}" for layer in layers for kind in ("paired", "unpaired")]
    found = trainings("xlm_r", "--systems", ",".join(names))
    assert [str(args.pooling_layer) for args in found.values()] == [str(n) for n in layers for _ in range(2)]
    counts = (2, 4, 8, 16)
    found = trainings("xlm_r", "--systems", ",".join(f"unpaired-{count}-pairs" for count in counts))
    for count, args in zip(counts, found.values(), strict=True):
        pairs = args.pairs.split(",")
        assert len(pairs) == count and all(pair.endswith("-en") for pair in pairs)
        assert args.pair_budget == 8_000_000  # 16 million sentences
    languages = {pair.split("-")[0] for pair in pairs}
    assert languages == set(SEVERAL.split())


def test_bags_of_embeddings_of_every_fourth_layer_are_the_baseline():
    options = ["--config", "xlm_r", "--encoder", "xlmr", "--tatoeba", "v1"]
    found = [parse_command(words) for words in commands(*options, stages="untrained")]
    assert [args.layer for args in found] == ["0", "4", "8", "12", "16", "20", "24", "average"]
    for args in found:
        assert (args.similarity, args.normalize, args.groups.name) == (["cosine"], None, "dual_pivot.toml")
        assert args.encoder == "transformers"  # also of a folder of sentence-transformers


@pytest.mark.parametrize("config", CONFIGS)
def test_systems_are_compared_with_the_average_of_all_layers_untrained(config):
    """With which the mixture begins (6.1); and the first with all others."""
    pairs = PIVOTS[config][:2]
    names = [f"{kind}-{pair}" for pair in pairs for kind in ("paired", "unpaired")]
    options = ["--config", config, "--encoder", "xlmr", "--tatoeba", "v1", "--systems", ",".join(names)]
    compare, _ = commands(*options, stages="report")
    args = parse_command(compare)
    folders = [path.parts[-3] for path in args.systems if path.parts[-2] == "tatoeba"]
    assert folders == ["xlmr-layer-average", *(f"{name}-seed1" for name in names)]
    assert args.pairs == [(names[0], name) for name in names[1:]]
    assert (args.against_first, args.metric, args.measures) == (True, ["cosine"], [])


def test_similarity_of_sentences_is_measured_of_systems_and_layers(tmp_path):
    """6.5, Table 7."""
    names = ("STS.ar.tsv", "STS.en-ar.tsv", "STS.en-tr.txt")
    for name in names:
        (tmp_path / name).touch()
    options = ["--config", "xlm_r", "--encoder", "mlm", "--tatoeba", "v1", "--systems", "paired-de-en"]
    words = commands(*options, "--sts", str(tmp_path), stages="untrained,evaluate,report")
    found = [parse_command(each) for each in words if each[3] == "sts"]
    assert [args.encoder_name for args in found] == [
        *(f"mlm layer {layer}" for layer in (0, 4, 8, 12, 16, 20, 24, "average")), "paired-de-en",
    ]  # fmt: skip
    for args in found:
        assert ([path.name for path in args.files], args.dataset) == (list(names), "STS 2017")
        assert f"{args.output}/sts.json" in words[-1]
    assert parse_command(words[-1]).direction == "from"  # English (5.3)


def test_a_folder_without_rated_pairs_is_one_line(tmp_path):
    (tmp_path / "here").mkdir()
    message = f"--sts: {tmp_path}: no files STS.*; expected STS.en-ar.tsv"
    assert_refused(RECIPE, [*L10N[:3], "/tmp", "--sts", str(tmp_path)], message, tmp_path / "here")


def test_frozen_layers_are_stored_once_and_trained_on():
    systems = "paired-de-en,unpaired-layer-2,paired-2-pairs"
    encode, *training = commands("--config", "l10n", "--encoder", "mlm", "--systems", systems, stages="train")
    args = parse_command(encode)
    assert (args.layer_sums, args.name, str(args.model), args.max_tokens) == (True, "frozen", "mlm", 100)
    assert args.pairs == ["de-en", "ru-en"]  # of these systems alone
    assert not args.force
    for args in parse_trainings(training).values():
        assert (args.layer_sums, args.freeze_encoder, args.max_source_positions) == ("frozen", True, 100)
    assert {args.layer_sums for args in trainings("xlm_r").values()} == {None}  # terabytes
    encode, *_ = commands(*L10N, "--systems", systems, "--force", stages="train")
    assert parse_command(encode).force  # of an encoder that was trained anew, perhaps


def test_encoders_with_a_name_are_measured_as_they_are():
    """Beside the layers of further folders; LASER and LaBSE of Tables 2, 3 and 7."""
    options = (
        *L10N,
        "--systems", "paired-de-en", "--compared", "models/mbert,LASER=vectors", "--tatoeba", "v1",
    )  # fmt: skip
    *measured, report = dry_run(RECIPE, *options, "--stages", "untrained,report")
    named = [words for words in measured if "LASER" in words]
    assert {(str(args.model), args.layer) for args in map(parse_command, named)} == {("vectors", None)}
    assert {word for word in report if "/compared/LASER/" in word} == {
        f"{words[-1]}/sentence-retrieval.json" for words in named
    }
    assert any("models/mbert" in words and "--layer" in words for words in measured)
