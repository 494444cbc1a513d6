"""`recipes/jass_enss`: the systems of Table 4.2 with the hyperparameters of thesis 4.4 and B.2."""

import pytest

from fairseq_ext.data.noising.tasks import parse_mixtures
from tests.our_commands import parse_command
from tests.recipes.commands import ROOT, assert_refused, dry_run, parse_trainings, recipe, write_training

CONFIGS = {
    "aspec-ja-en": ("en,ja", 26),
    "aspec-ja-zh": ("ja,zh", 15),
    "wikipedia-ja-zh": ("ja,zh", 15),
    "news-en-ko": ("en,ko", 13),
    "enja": ("en,ja", 26),
}
TABLE_4_2 = {  # the other language has MASS
    "mass": "mass", "bart": "infilling", "bmass": "bmass", "brss": "brss.f", "brss-r": "brss.r",
    "jass": "bmass+brss.f", "mass+bmass": "mass+bmass", "mass+brss": "mass+brss.f",
    "mass+jass": "mass+bmass+brss.f", "multimass-ja": "multimass", "deshuffling-ja": "deshuffling",
    "mass+deshuffling-ja": "mass+deshuffling",
}  # fmt: skip


def commands(config: str, *options: str, stages: str) -> list[list[str]]:
    common = ["--config", config, "--stages", stages]
    common += ["--spacy-model", "model"] if config == "enja" else []
    common += [] if "--seeds" in options else ["--seeds", "1"]
    return dry_run("jass_enss", *common, "--data-root", str(ROOT), "--monolingual", str(ROOT), *options)


def trainings(config: str, *options: str, stages: str) -> dict:
    return parse_trainings(commands(config, *options, stages=stages))


def after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of aspec-ja-en-large,aspec-ja-en,aspec-ja-zh-large,aspec-ja-zh,enja,"),
        (["--config", "news-en-ko", "--systems", "jass"], "--systems: found 'jass', expected one of: mass"),
        (["--config", "enja", "--sizes", "5"], "--sizes: found '5', expected one of: 3000 10000"),
        (
            ["--config", "enja", "--directions", "ja-zh"],
            "--directions: found 'ja-zh', expected one of: en-ja",
        ),
        (["--config", "enja"], "--config enja: give an English spaCy pipeline with --spacy-model"),
        (
            ["--config", "aspec-ja-en", "--spacy-model", "model", "--stages", "parse"],
            "--spacy-model: --config aspec-ja-en has no phrases by spaCy; leave it out",
        ),
        (["--config", "aspec-ja-en"], "--config aspec-ja-en: give the pairs with --data-root"),
        (
            ["--config", "aspec-ja-en", "--data-root", "."],
            "--config aspec-ja-en: give the text for pre-training with --monolingual",
        ),
        (["--config", "enja", "--monolingual", "/no"], "--monolingual: /no: no such folder"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused("jass_enss", options, message, tmp_path)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_row_of_the_tables_is_a_pretraining(config):
    languages, count = CONFIGS[config]
    found = trainings(config, "--systems", "all", stages="pretrain")
    assert len(found) == count - 2  # two are without pre-training
    for args in found.values():
        mixtures = parse_mixtures(args.pretraining_tasks, "x")
        assert ",".join(mixtures) == languages
        assert (args.task, args.best_checkpoint_metric) == ("linguistic_pretraining", "ppl")


def test_mixtures_of_table_4_2():
    found = trainings("aspec-ja-en", "--systems", "all", stages="pretrain")
    for system, tasks in TABLE_4_2.items():
        other = "infilling" if system == "bart" else "mass"
        assert found[system].pretraining_tasks == f"en={other},ja={tasks}", system
    for system, tasks in {
        "pmass": "en=pmass.p,ja=mass", "pmass-s": "en=pmass.s,ja=mass", "hfss": "en=hfss,ja=mass",
        "enss": "en=mass+hfss,ja=mass", "multimass-en": "en=multimass,ja=mass",
        "jass+enss": "en=mass+hfss,ja=bmass+brss.f",
        "mass+deshuffling": "en=mass+deshuffling,ja=mass+deshuffling",
    }.items():  # fmt: skip
        assert found[system].pretraining_tasks == tasks, system


def test_hyperparameters_of_the_paper():
    options = ["--systems", "none,jass", "--sizes", "3000", "--directions", "ja-en"]
    options += ["--launcher", "gpu", "--gpus", "2"]
    (pretraining,) = trainings("aspec-ja-en", *options, stages="pretrain").values()
    finetuning = trainings("aspec-ja-en", *options, stages="finetune")
    for args in (pretraining, *finetuning.values()):
        assert (args.arch, args.dropout, args.lr, args.max_tokens) == (
            "mnmt_transformer_big", 0.3, [1e-4], 4096,
        )  # fmt: skip
        assert args.patience > 0 and args.norm_placement == "pre"  # that of OpenNMT
    assert (pretraining.best_checkpoint_metric, pretraining.inverted_mask) == ("ppl", True)  # equation 4.1
    for args in finetuning.values():  # 4.4.3: "using 1-gram accuracy and perplexity"
        assert (args.improvement_metrics, args.report_accuracy) == ("accuracy,ppl", True)
        assert (args.best_checkpoint_metric, args.maximize_best_checkpoint_metric) == ("improvements", True)
    assert pretraining.update_freq == [2]  # two GPUs accumulate what the paper's four had at once
    none, jass = finetuning["none-3000-ja-en"], finetuning["jass-3000-ja-en"]
    assert (none.pretrained_checkpoint, jass.lang_pairs, jass.update_freq) == (None, "ja-en", [1])
    assert jass.pretrained_checkpoint == f"{pretraining.save_dir}/checkpoint_best.pt"
    optimized = trainings("aspec-ja-en", "--systems", "optimized", *options[2:], stages="finetune")
    assert [args.norm_placement for args in optimized.values()] == ["pre"]  # B.2 changes other things


def test_settings_of_a_configuration_reach_their_commands(tmp_path):
    config = tmp_path / "mine.sh"
    settings = "SEARCH_OPTIONS=(--max-len-b 20) CLEAN_OPTIONS=(--max-ratio 3) MAX_WORDS=100"
    config.write_text(
        f"source {ROOT}/recipes/jass_enss/configs/enja.sh\n{settings} CORPUS_OPTIONS=(--train-pairs 5000)\n"
    )
    options = ["--config", str(config), "--spacy-model", "model", "--systems", "mass", "--seeds", "1"]
    found = dry_run("jass_enss", *options, "--stages", "prepare,translate")
    commands = [parse_command(words) for words in found if words[3] in ("download", "clean", "translate")]
    download, text, monolingual, *translations = commands
    assert download.train_pairs == 5000
    assert (text.max_length, text.max_ratio) == (monolingual.max_length, monolingual.max_ratio) == (100, 3)
    assert {args.max_len_b for args in translations} == {20}


def test_the_cost_is_of_pretrainings_too(tmp_path):
    for folder in ("pretrained/jass-seed1", "models/jass-3000-ja-en-seed1"):
        write_training(tmp_path / folder, {})
        (tmp_path / folder / "train.log").touch()
    write_training(tmp_path / "pretrained/mass-seed1", None)
    (tmp_path / "pretrained/mass-seed1/train.log").touch()
    options = ["--systems", "jass", "--sizes", "3000", "--directions", "ja-en", "--output", str(tmp_path)]
    (cost,) = [words for words in commands("enja", *options, stages="report") if words[4:5] == ["cost"]]
    logs = dict(word.split("=") for word in cost if word.endswith("train.log"))
    assert logs == {
        "jass-3000-ja-en": f"{tmp_path}/models/jass-3000-ja-en-seed1/train.log",
        "pretrained-jass": f"{tmp_path}/pretrained/jass-seed1/train.log",
    }


def test_batches_of_finetuning_may_be_smaller():
    found = [
        args.max_tokens
        for stage in ("pretrain", "finetune")
        for args in trainings("enja", "--systems", "jass", stages=stage).values()
    ]
    assert found == [2000] + 4 * [1000]


def test_the_small_configuration_predicts_masked_tokens_only():
    (args,) = trainings("enja", "--systems", "jass", stages="pretrain").values()
    assert not args.inverted_mask and args.norm_placement == "post"


@pytest.mark.parametrize(
    ("config", "size", "merges", "width", "smoothing", "tokens"),
    [
        ("aspec-ja-en", "3000", "5000", 512, 0.6, 4096),
        ("aspec-ja-en", "10000", "10000", 1024, 0.5, 4096),
        ("aspec-ja-zh", "20000", "10000", 1024, 0.5, 4096),
        ("wikipedia-ja-zh", "50000", "12000", 2048, 0.5, 4096),
        ("news-en-ko", "all", "15000", 2048, 0.4, 8192),
    ],
)
def test_optimized_transformers_of_table_b_1(config, size, merges, width, smoothing, tokens):
    from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
    from tests.fairseq_ext.models import ToyTask, toy_dictionary

    options = ["--systems", "optimized", "--sizes", size]
    args = next(iter(trainings(config, *options, stages="finetune").values()))
    assert (args.label_smoothing, args.max_tokens, args.dropout) == (smoothing, tokens, 0.3)
    assert args.pretrained_checkpoint is None
    for side in ("encoder", "decoder"):
        found = {name: getattr(args, f"{side}_{name}") for name in ("layers", "attention_heads", "embed_dim")}
        assert found == {"layers": 2, "attention_heads": 2, "embed_dim": 512}
        assert getattr(args, f"{side}_ffn_embed_dim") == width
    subword = [words for words in commands(config, *options, stages="prepare") if "--merges" in words][-1]
    assert after(subword, "--merges") == merges
    assert args.data == after(subword, "--output").replace("pairs/", "data/").removesuffix("/subword")
    MnmtTransformerModel.build_model(args, ToyTask(toy_dictionary()))


def test_every_step_is_understood():
    options = ["--systems", "optimized,jass", "--adequacy-model", "m"]
    for words in commands("enja", *options, stages="prepare,parse,translate,score,report"):
        parse_command(words)


def test_the_accuracies_of_pretraining_are_reported():
    words = commands("enja", "--systems", "none,mass,jass", stages="report")
    probe, report = (next(one for one in words if one[3] == name) for name in ("probe", "report"))
    assert probe[5:7] == [
        "MASS=outputs/jass_enss/enja/pretrained/mass-seed1/train.log",
        "JASS=outputs/jass_enss/enja/pretrained/jass-seed1/train.log",
    ]
    assert "outputs/jass_enss/enja/probes/pretraining-accuracy.json" in report
    assert "probe" not in [one[3] for one in commands("enja", "--systems", "none", stages="report")]


def test_the_monolingual_text_is_without_the_evaluation_sets():
    clean = [words for words in commands("enja", stages="prepare") if words[3] == "clean"][-1]
    assert after(clean, "--also-exclude").endswith("enja/text")
    assert "--max-ratio" not in clean  # of lines that are no pairs


def test_one_model_per_system_size_direction_and_seed():
    words = commands("enja", "--systems", "none,jass", "--seeds", "1,10", stages="translate")
    assert len(words) == 2 * 2 * 2 * 2
    assert {after(one, "--directions") for one in words} == {"ja-en", "en-ja"}
    first = words[0]
    assert (after(first, "--name"), after(first, "--dataset")) == ("w/o pre-training", "enja-3000-ja-en")


def test_a_stage_without_the_one_before_says_so(tmp_path):
    options = ["--config", "enja", "--systems", "jass", "--seeds", "1", "--output", str(tmp_path / "out")]
    for stage, before in (("finetune", "pretrain"), ("translate", "finetune")):
        result = recipe("jass_enss", *options, "--stages", stage)
        assert result.stderr.endswith(f"checkpoint_best.pt: no such file; run the stage {before} first\n")
