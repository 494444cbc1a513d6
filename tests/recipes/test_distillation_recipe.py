"""`recipes/distillation`: students of LEALLA, losses and hyperparameters (thesis 3.3.2, 3.5), one teacher."""

import json
from argparse import Namespace

import pytest

from fairseq_ext.models.lealla_architectures import ROWS
from tests.our_commands import parse_command
from tests.recipes.commands import assert_refused, configurations, dry_run, parse_trainings, recipe

RECIPE = "distillation"
CONFIGS = configurations(RECIPE)
AMS, FD, LD = "additive_margin", "feature_distillation", "logit_distillation"
COMBINATIONS = {
    "ams": [AMS], "fd": [FD], "ld": [LD], "ams-fd": [AMS, FD], "ams-ld": [AMS, LD], "fd-ld": [FD, LD],
    "all": [AMS, FD, LD],
}  # fmt: skip
TEACHER = {"lealla": ["--teacher", "LaBSE"], "l10n": ["--teacher", "ems.pt", "--teacher-data", "data/l10n"]}


def commands(config: str, *options: str, stages: str) -> list[list[str]]:
    return dry_run(
        RECIPE, "--config", config, *TEACHER[config], *options, "--stages", stages, "--output", "out"
    )


def trainings(config: str, *options: str) -> dict[str, Namespace]:
    return parse_trainings(commands(config, *options, stages="train"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], f"--config: expected one of {','.join(CONFIGS)}, or a file"),
        (["--config", "l10n"], "--teacher: expected a folder of transformers or sentence-transformers, or a"),
        (["--config", "l10n", "--teacher", "/no/such.pt"], "--teacher: /no/such.pt: no such file or folder"),
        (
            ["--config", "l10n", "--systems", "small-all"],
            "--systems: found 'small-all', expected one of: thin",
        ),
        (
            ["--config", "l10n", "--teacher", "/dev/null", "--teacher-data", "/no"],
            "--teacher-data: /no: no su",
        ),
        (
            ["--config", "l10n", "--teacher", "/tmp", "--teacher-data", "/tmp"],
            "--teacher-data /tmp: --teacher",
        ),
        (
            ["--config", "l10n", "--teacher", "/tmp"],
            "--systems: reduced-N of --config l10n begins with a checkpoint, --teacher /tmp is none",
        ),
        (
            ["--config", "lealla", "--teacher", "/dev/null.pt"],
            "--teacher: /dev/null.pt: no such file or folder",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused(RECIPE, options, message, tmp_path)


def test_a_checkpoint_needs_its_data(tmp_path):
    (tmp_path.parent / "teacher.pt").touch()
    options = ["--config", "l10n", "--teacher", str(tmp_path.parent / "teacher.pt")]
    message = (
        f"--teacher {tmp_path.parent}/teacher.pt: a checkpoint needs --teacher-data, the binarized folder"
    )
    assert_refused(RECIPE, options, message, tmp_path)


def test_the_students_of_the_paper_and_their_hyperparameters():
    found = trainings("lealla")
    widths = (512, 384, 256, 192, 128, 64, 32)
    assert set(found) == {
        f"{name}-{losses}" for name in ("small", "base", "large") for losses in COMBINATIONS
    } | {f"reduced-{width}" for width in widths}
    for width in widths:  # 3.2.2: LaBSE's own pooler below a dense layer, which alone is trained
        args = found[f"reduced-{width}"]
        assert (args.pretrained_encoder, str(args.pooling), args.freeze_encoder) == ("LaBSE", "pooler", True)
        assert (args.sentence_width, args.max_update, args.lr, args.losses) == (width, 5000, [1e-3], AMS)
        assert (args.encoder_vectors, args.teacher) == ("pooler", None)
        assert args.batch_size * args.batches_per_update == 8192
    for name, width, beta, updates in (
        ("small", 128, 1e3, 100_000), ("base", 192, 1e3, 100_000), ("large", 256, 1e4, 200_000),
    ):  # fmt: skip
        for losses, expected in COMBINATIONS.items():
            args = found[f"{name}-{losses}"]
            assert args.losses.split(",") == expected
            assert (args.encoder_layers, args.encoder_embed_dim, str(args.pooling)) == (24, width, "pooler")
            assert args.teacher == (None if losses == "ams" else "teacher")
            assert (args.max_update, args.lr, args.max_source_positions) == (updates, [5e-4], 128)
            assert args.batch_size * args.batches_per_update == 8192
            if LD in expected:
                assert (args.logit_distillation_weight, args.logit_distillation_temperature) == (1e-2, 100)
            if FD in expected:
                assert args.feature_distillation_weight == beta
        assert found[f"{name}-all"].additive_margin_weight == 1
    (first,) = trainings("lealla", "--systems", "base-ams-df").values()
    assert first.feature_distillation_pattern == "distillation-first"
    assert (first.pooler_width, first.sentence_width) == (768, 192)


def test_the_other_rows_of_tables_3_1_and_a_3_are_students_with_additive_margin():
    """Row 0 is the teacher, rows 6 to 8 are the three that are distilled."""
    rows = {number: row for number, row in ROWS.items() if number not in (0, 6, 7, 8)}
    found = trainings("lealla", "--systems", ",".join(f"{name}-ams" for name, _ in rows.values()))
    assert len(found) == len(rows)
    for name, shape in rows.values():
        args = found[f"{name}-ams"]
        assert (args.encoder_layers, args.encoder_embed_dim, args.encoder_ffn_embed_dim) == shape[:3]
        assert (args.losses, args.teacher, args.batch_size * args.batches_per_update) == (AMS, None, 8192)
        assert args.lr == [1e-3 if shape.width >= 384 else 5e-4]
        assert args.max_update == (200_000 if shape.width >= 256 else 100_000)


def test_synchronized_distillation_learns_from_the_reduced_teacher():
    """A.1: which is trained first, and stores its vectors, whatever the order of --systems."""
    printed = commands("l10n", "--systems", "thin-half-ams-syn,reduced-96", stages="train")
    _, encode, _ = printed
    found = trainings("l10n", "--systems", "thin-half-ams-syn,reduced-96")
    assert list(found) == ["reduced-96", "thin-half-ams-syn"]
    args = parse_command(encode)
    assert (str(args.model), args.name) == (
        "out/models/reduced-96-seed1/checkpoint_best.pt",
        "reduced-96-seed1",
    )
    assert (str(args.data), args.split, args.dtype) == ("data/l10n", ["train", "valid"], "float16")
    own = found["thin-half-ams-syn"]
    assert (own.teacher, own.losses) == ("reduced-96-seed1", f"{AMS},{FD}")
    assert (own.feature_distillation_pattern, own.encoder_embed_dim) == ("synchronized", 96)
    found = trainings("lealla", "--systems", "small-ams-syn,reduced-128,large-ams-syn,reduced-256")
    assert [args.teacher for args in found.values()] == [None, None, "reduced-128-seed1", "reduced-256-seed1"]
    assert found["large-ams-syn"].feature_distillation_weight == 1e4


@pytest.mark.parametrize("forced", [False, True])
def test_vectors_are_stored_anew_for_trainings_anew(forced):
    """Those of a teacher that was trained anew are of another encoder, and refused otherwise."""
    options = ["--systems", "thin-half-ams-syn,thin-half-all,reduced-96", *(["--force"] if forced else [])]
    found = commands("l10n", *options, stages="encode,train")
    stored = [parse_command(words) for words in found if "encode" in words]
    assert [(args.name, args.force) for args in stored] == [("teacher", forced), ("reduced-96-seed1", forced)]


@pytest.mark.parametrize(
    ("config", "systems", "names"),
    [
        ("l10n", "thin-half-ams,thin-half-ams-syn", []),
        ("l10n", "thin-half-ams,reduced-96", ["teacher"]),
        ("l10n", "thin-half-ams-df", ["teacher"]),
        ("lealla", "small-ams,reduced-128", ["pooler"]),
        ("lealla", "small-fd,reduced-128", ["teacher", "pooler"]),
    ],
)
def test_vectors_that_no_system_reads_are_not_stored(config, systems, names):
    """They take days, and made anew they would be others to the systems that read them."""
    found = commands(config, "--systems", systems, "--force", stages="encode")
    assert [parse_command(words).name for words in found] == names


@pytest.mark.parametrize(
    ("systems", "forced", "said"),
    [("", ["--force"], True), (",reduced-96", ["--force"], False), ("", [], False)],
)
def test_a_reduced_teacher_that_force_does_not_reach_is_said(systems, forced, said):
    """It is a system of its own, perhaps reduced from a teacher that is no more."""
    options = ["--config", "l10n", *TEACHER["l10n"], "--systems", f"thin-half-ams-syn{systems}", *forced]
    done = recipe(RECIPE, "--dry-run", *options, "--stages", "train", "--output", "out")
    assert done.returncode == 0
    line = "== --force: reduced-96, which students learn from, is not among --systems and stays as it is;"
    assert (line in done.stderr) == said


def test_a_configuration_without_reduced_teachers(tmp_path):
    config = tmp_path / "own.sh"
    config.write_text('source "$HERE/configs/l10n.sh"\nREDUCTIONS=()\n')
    options = ["--config", str(config), *TEACHER["l10n"], "--stages", "train", "--output", "out"]
    result = recipe(RECIPE, "--dry-run", *options)
    assert (result.returncode, result.stderr) == (0, "== train: own\n")
    assert "models/thin-half-all-seed1" in result.stdout and "reduced-" not in result.stdout


def test_a_synchronized_student_without_its_teacher(tmp_path):
    (tmp_path.parent / "data").mkdir(exist_ok=True)
    (tmp_path.parent / "teacher.pt").touch()
    options = ["--config", "l10n", "--teacher", str(tmp_path.parent / "teacher.pt")]
    options += ["--teacher-data", str(tmp_path.parent / "data"), "--systems", "thin-half-ams-syn"]
    message = (
        "--systems: thin-half-ams-syn learns from reduced-96 of seed 2, the first of --seeds, which is not"
    )
    assert_refused(RECIPE, [*options, "--seeds", "2,1"], message, tmp_path)
    report = recipe(RECIPE, *options, "--seeds", "2", "--stages", "report", "--output", "out", cwd=tmp_path)
    expected = "error: out/retrieval/teacher/multiway/sentence-retrieval.json: no such file; run the stage"
    assert expected in report.stderr  # which comes after trainings


@pytest.mark.parametrize("late", [False, True])
def test_a_test_set_that_the_text_of_the_teacher_may_have_is_said(late, tmp_path):
    """Students learn from what the teacher has read, which this recipe does not prepare."""
    (tmp_path / "tatoeba.deu-eng.deu").write_text("eins\n", encoding="utf-8")
    data, text = tmp_path / "ems/data/l10n", tmp_path / "ems/text"
    for folder in (data, text):
        folder.mkdir(parents=True)
    settings = {"settings": {"exclude_text": [] if late else [str(tmp_path / "tatoeba.deu-eng.deu")]}}
    (text / "clean.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    (tmp_path / "teacher.pt").touch()
    words = ["--config", "l10n", "--teacher", str(tmp_path / "teacher.pt"), "--teacher-data", str(data)]
    said = recipe(RECIPE, *words, "--tatoeba", str(tmp_path), "--output", str(tmp_path / "out")).stderr
    assert ("tatoeba.deu-eng.deu: not kept out of the text of --teacher-data" in said) is late


def test_fewer_gpus_than_the_batch_has_compare_fewer_pairs():
    """3.1 and 3.4 are over a batch of 8,192 pairs: 16 GPUs with 512 each."""

    def said(*options: str) -> str:
        words = ["--config", "lealla", "--teacher", "LaBSE", "--stages", "train", "--output", "out"]
        return recipe(RECIPE, "--dry-run", *words, "--launcher", "slurm", *options).stderr

    assert "4096 pairs are compared with each other (N of 3.1 and 3.4), not 8192: 8 of 16" in said(
        "--gpus", "8"
    )
    assert "are compared with" not in said("--nodes", "2", "--gpus", "8")


def test_the_small_configuration_trains_four_students_and_six_reductions():
    found = trainings("l10n")
    students = {f"thin-half-{losses}" for losses in COMBINATIONS} | {
        f"{name}-{losses}"
        for name in ("thin-quarter", "shallow-half", "shallow-quarter")
        for losses in ("ams", "all")
    }
    reduced = {f"reduced-{width}" for width in (128, 96, 64, 48, 32, 16)}
    assert set(found) == students | reduced
    for name, losses in COMBINATIONS.items():
        assert found[f"thin-half-{name}"].losses.split(",") == losses
    for name in students:
        assert found[name].data == "data/l10n"
        assert found[name].pairs == "cs-en,de-en,en-es,en-fr,en-it,en-ja,en-pl,en-pt,en-ru,en-zh"
        assert found[name].max_epoch == 2 and found[name].eval_retrieval
    for name in reduced:
        args = found[name]
        assert (args.finetune_from_model, args.freeze_encoder, args.losses) == ("ems.pt", True, AMS)
        assert args.sentence_width == int(name.split("-")[1])
        assert args.encoder_vectors == "teacher"  # what the stage encode stores
        assert (args.encoder_layers, args.encoder_embed_dim, args.teacher) == (4, 192, None)


def encoder_parameters(args: Namespace) -> int:
    """P_E of Table 3.1, by hand."""
    width, inner = args.encoder_embed_dim, args.encoder_ffn_embed_dim
    layer = 4 * (width * width + width) + 2 * width * inner + width + inner + 4 * width
    return args.encoder_layers * layer


def test_students_have_a_half_and_a_quarter_of_the_teachers_parameters():
    found = trainings(
        "l10n", "--systems", "thin-half-all,thin-quarter-all,shallow-half-all,shallow-quarter-all,reduced-16"
    )
    teacher = encoder_parameters(found["reduced-16"])
    shares = {name: encoder_parameters(args) / teacher for name, args in found.items()}
    for kind in ("thin", "shallow"):
        assert shares[f"{kind}-half-all"] == pytest.approx(0.5, abs=0.01)
        assert shares[f"{kind}-quarter-all"] == pytest.approx(0.25, abs=0.01)


def test_a_checkpoint_teaches_on_the_data_of_its_training():
    assert commands("l10n", stages="prepare") == []
    (words,) = commands("l10n", stages="encode")
    args = parse_command(words)
    assert (str(args.data), args.split, args.name, args.dtype) == (
        "data/l10n",
        ["train", "valid"],
        "teacher",
        "float16",
    )
    assert (str(args.model), str(args.model_data), args.cpu, args.text) == ("ems.pt", "data/l10n", True, None)
    expected = "cs-en,de-en,en-es,en-fr,en-it,en-ja,en-pl,en-pt,en-ru,en-zh"  # of 28 languages
    assert ",".join(args.pairs) == expected


def test_a_folder_of_transformers_gives_its_vocabulary_and_reads_raw_text():
    download, *_, subword, binarize = map(parse_command, commands("lealla", stages="prepare"))
    corpora = {each.split("-")[1] for each in download.train}
    assert len(corpora) == 6 and "unpc" not in corpora  # UN is a test set (thesis 3.2.1)
    assert str(subword.tokenizer) == "LaBSE" and str(subword.input) == str(binarize.text) == "out/text"
    encoded = [parse_command(words) for words in commands("lealla", stages="encode")]
    for args in encoded:
        assert (str(args.model), args.model_data, str(args.text)) == ("LaBSE", None, "out/text")
        assert str(args.data) == "out/data/lealla"
    assert [(args.name, args.encoder, args.pooling) for args in encoded] == [
        ("teacher", None, None),
        ("pooler", "transformers", "pooler"),
    ]
    assert len(commands("lealla", "--systems", "small-all", stages="encode")) == 1


def test_teacher_and_students_are_measured_in_one_report():
    options = ["--systems", "thin-half-all,reduced-16", "--tatoeba", "v1"]
    *retrieve, speed, report = commands("l10n", *options, stages="evaluate,report")
    found = [parse_command(words) for words in retrieve]
    assert [(args.encoder_name, str(args.output).split("/")[-1]) for args in found] == [
        (name, test)
        for name in ("teacher", "thin-half-all", "reduced-16")
        for test in ("multiway", "tatoeba")
    ]
    assert str(found[0].model) == "ems.pt"
    for args in found:  # a table of what vectors of fewer bits lose
        assert args.vectors == ["int8", "int8+rescored", "binary", "binary+rescored"]
    assert str(found[2].model) == "out/models/thin-half-all-seed1/checkpoint_best.pt"
    results = [word for word in report if word.endswith("sentence-retrieval.json")]
    assert results == [f"{args.output}/sentence-retrieval.json" for args in found]
    timed = parse_command(speed)  # of all in one run, on two cores
    assert {name: str(model) for name, model in timed.encoders} == {
        "teacher": "ems.pt",
        **{
            f"{name}-seed1": f"out/models/{name}-seed1/checkpoint_best.pt"
            for name in ("thin-half-all", "reduced-16")
        },
    }
    assert (timed.threads, str(timed.text)) == (2, "data/l10n/text/test.de-en.de")
    assert f"{timed.output}/encoding-speed.json" in report


@pytest.mark.parametrize(
    ("config", "width", "nested", "whole"),
    [("l10n", 128, "16,32,48,64,96", 192), ("lealla", 512, "32,64,128,192,256,384", 768)],
)
def test_one_layer_for_all_sizes_is_measured_at_each_beside_the_teacher(config, width, nested, whole):
    options = ["--systems", "reduced-nested,reduced-32", "--tatoeba", "v1"]
    found = trainings(config, *options)
    own, other = found["reduced-nested"], found["reduced-32"]
    assert (own.sentence_width, own.additive_margin_nested_widths) == (width, nested)
    assert (other.sentence_width, other.additive_margin_nested_widths) == (32, "")
    same = ("freeze_encoder", "encoder_vectors", "losses", "lr", "max_update", "batch_size")
    assert all(getattr(own, name) == getattr(other, name) for name in same)
    *retrieve, _ = map(parse_command, commands(config, *options, stages="evaluate"))
    widths = {args.encoder_name: args.widths for args in retrieve}
    sizes = [int(each) for each in nested.split(",")]
    assert widths == {
        "teacher": [*sizes, width, whole], "reduced-nested": [*sizes, width], "reduced-32": None,
    }  # fmt: skip
    assert all("float32" in args.vectors for args in retrieve if args.widths)


def test_all_benchmarks_of_3_2_1_when_their_folders_are_given():
    options = ["--systems", "small-all", "--tatoeba", "v1", "--united-nations", "6way", "--bucc", "bucc2018"]
    *found, report = commands("lealla", *options, stages="evaluate,report")
    of_teacher = [
        words for words in found if words[words.index("--output") + 1].startswith("out/retrieval/teacher")
    ]
    assert [words[3] for words in of_teacher] == ["retrieve", "retrieve", "encode", "retrieve", "bucc"]
    *_, encode, retrieve, bucc = map(parse_command, of_teacher)
    assert [str(text) for text in encode.texts] == [
        f"6way/UNv1.0.6way.{language}" for language in ("en", "es", "fr", "ru", "zh")
    ]
    assert retrieve.model == encode.output and (str(retrieve.un), retrieve.index) == ("6way", "ivf")
    assert (retrieve.probes, retrieve.vectors) == (256, [])  # a fiftieth of the candidates, all on disk
    assert retrieve.languages == ["es", "fr", "ru", "zh"]
    assert (bucc.pairs, bucc.tuned, bucc.tested) == (
        ["de-en", "fr-en", "ru-en", "zh-en"],
        "training",
        "training",
    )
    results = [word for word in report if word.startswith("out/retrieval/small-all-seed1")]
    assert [word.split("/")[3] for word in results] == ["multiway", "tatoeba", "un", "bucc"]


def test_the_un_is_searched_on_a_gpu_where_trainings_have_one():
    options = ["--systems", "small-all", "--united-nations", "6way", "--launcher", "torchrun"]
    found = [words for words in commands("lealla", *options, stages="evaluate") if "--un" in words]
    assert {(args.index, args.memory) for args in map(parse_command, found)} == {("gpu", 32)}


def test_a_teacher_inside_the_training_has_no_files_but_those_that_reductions_read():
    options = ["--systems", "small-ams,small-all,small-fd,reduced-32", "--teacher-in-training"]
    (encode,) = map(parse_command, commands("lealla", *options, stages="encode"))
    assert encode.name == "pooler"
    found = trainings("lealla", *options)
    teachers = {name: (args.teacher, args.teacher_checkpoint) for name, args in found.items()}
    assert teachers == {
        "small-ams": (None, None), "small-all": (None, "LaBSE"), "small-fd": (None, "LaBSE"),
        "reduced-32": (None, None),
    }  # fmt: skip
    assert found["small-all"].teacher_pooling is None  # as of a folder of sentence-transformers
    assert not commands("l10n", "--systems", "thin-half-all", "--teacher-in-training", stages="encode")
    (args,) = trainings("l10n", "--systems", "thin-half-all", "--teacher-in-training").values()
    assert (args.teacher_checkpoint, args.teacher_pooling) == ("ems.pt", None)


def test_a_folder_of_transformers_is_pooled_as_labse_is(tmp_path):
    """One of sentence-transformers says itself how it is."""
    options = ["--config", "lealla", "--systems", "small-all", "--teacher-in-training", "--output", "out"]
    for name, pooling in (("plain", "pooler"), ("modules", None)):
        folder = tmp_path / name
        folder.mkdir()
        if pooling is None:
            (folder / "modules.json").touch()
        teacher = ["--teacher", str(folder)]
        (encode,) = map(parse_command, dry_run(RECIPE, *options[:4], *teacher, "--stages", "encode"))
        assert (encode.name, encode.pooling) == ("teacher", pooling)
        (args,) = parse_trainings(dry_run(RECIPE, *options, *teacher, "--stages", "train")).values()
        assert (args.teacher_checkpoint, args.teacher_pooling) == (str(folder), pooling)
    (tmp_path / "empty").mkdir()
    options = ["--config", "l10n", "--teacher", str(tmp_path / "plain"), "--systems", "thin-half-all"]
    message = f"--teacher {tmp_path}/plain: a folder of transformers says not how it is pooled; expected one"
    assert_refused(RECIPE, options, message, tmp_path / "empty")


def test_a_teacher_whose_name_has_a_blank():
    options = ["--config", "lealla", "--teacher", "my models/LaBSE", "--systems", "reduced-32"]
    printed = dry_run(RECIPE, *options, "--stages", "train", "--output", "out")
    (args,) = parse_trainings(printed).values()
    assert args.pretrained_encoder == "my models/LaBSE"


def test_the_settings_for_own_text(tmp_path):
    """Those that the page of all recipes has in words."""
    lines = [
        'source "$HERE/configs/lealla.sh"', "CORPUS=text", "CORPUS_OPTIONS=()", "LANGUAGES=(de en fr)",
        "MULTIWAY=()", "SPEED_TEXT=test.de-en.de", "SUBWORD_OPTIONS+=(--only-used)",
    ]  # fmt: skip
    (tmp_path / "own.sh").write_text("\n".join(lines) + "\n")
    options = ["--config", str(tmp_path / "own.sh"), "--data-root", str(tmp_path), "--teacher", "LaBSE"]
    clean, subword, _, _, *others = dry_run(RECIPE, *options, "--systems", "small-all", "--tatoeba", "v1")
    assert parse_command(clean).input == tmp_path
    assert parse_command(subword).only_used
    (args,) = parse_trainings(others).values()
    assert (args.pairs, args.arch) == ("de-en,en-fr", "lealla_small")
