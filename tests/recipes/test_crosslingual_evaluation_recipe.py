"""`recipes/crosslingual_evaluation`: Tables 1 to 4 of the paper, hyperparameters of Table 10 and A.2, XNLI
Manual of 4.1.
"""

import itertools
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.our_commands import parse_command
from tests.recipes.commands import assert_refused, dry_run, recipe, write_program

RECIPE = "crosslingual_evaluation"
ENCODERS = "mbert=m/mbert,xlm-r-base=m/base,xlm-r=m/large,labse=m/LaBSE"
DATA = {
    "--xnli": "xnli", "--tatoeba": "tatoeba", "--sts17": "sts17", "--wikiann": "wikiann", "--wmt20": "wmt20",
    "--squad": "squad", "--nli": "snli", "--sts": "stsb.tsv",
}  # fmt: skip
XNLI = [
    "en", "fr", "es", "de", "el", "bg", "ru", "tr", "ar", "vi", "th", "zh", "hi", "sw", "ur",
]  # Tables 2 and 8  # fmt: skip
LAYERS = {"mbert": 8, "xlm-r-base": 7, "xlm-r": 13, "labse": None}  # 3.2
VARIANTS = ("original", "answers", "calibrated")
NAMES = {"original": "{}", "answers": "{}, question answering", "calibrated": "{}, calibrated"}
WMT20 = [
    [f"wmt20/en-{one}.en", f"wmt20/en-{one}.{one}"] for one in ("cs", "de", "ja", "pl", "ru", "ta", "zh")
]


def arguments(*options: str, encoders: str = ENCODERS, data: dict = DATA) -> list[str]:
    given = itertools.chain.from_iterable(data.items())
    return ["--config", "paper", "--encoders", encoders, *given, "--output", "out", *options]


def commands(stages: str, *options: str, **keywords) -> list[list[str]]:
    return dry_run(RECIPE, *arguments("--stages", stages, *options, **keywords))


def parsed(stages: str, name: str, *options: str, **keywords) -> list:
    """The commands of stages, all of which are of one name."""
    found = commands(stages, *options, **keywords)
    assert found and all(words[3] == name for words in found)
    return [parse_command(words) for words in found]


def finetunings(*options: str, **keywords) -> dict:
    """Folder below `finetuned` -> the options of a fine-tuning."""
    found = parsed("finetune", "finetune", *options, **keywords)
    by_folder = {str(args.output).removeprefix("out/finetuned/"): args for args in found}
    assert len(by_folder) == len(found)
    return by_folder


def paths(files) -> list[list[str]]:
    return [[str(path) for path in each] for each in files]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--config: expected one of paper,phrasebook, or a file"),
        (["--config", "paper"], "--encoders: expected NAME=FOLDER,... with names of "),
        (arguments(encoders="mbert"), "--encoders: found 'mbert', expected NAME=FOLDER"),
        (
            arguments(encoders="bert=m"),
            "--encoders: found 'bert', expected one of: mbert xlm-r-base xlm-r la",
        ),
        (arguments(encoders="mbert=m,mbert=n"), "--encoders: found 'mbert' twice, expected every one once"),
        (
            arguments("--systems", "labse", encoders="mbert=m"),
            "--systems: found 'labse', expected one of: mbe",
        ),
        (arguments(encoders="mbert=nowhere", data={"--xnli": "/tmp"}), "--encoders: nowhere: no such folder"),
        (arguments(), "--xnli: xnli: no such folder"),
        (arguments(data={"--xnli": "/tmp", "--sts": "none.tsv"}), "--sts: none.tsv: no such file"),
        (
            arguments(encoders="mbert=/tmp", data={"--nli": "/tmp"}),
            "--xnli, --tatoeba, --sts17, --wikiann: ex",
        ),
        (
            arguments("--precision", "fp16", encoders="mbert=/tmp", data={"--xnli": "/tmp"}),
            "--precision fp16",
        ),
        (arguments("--gpus", "2"), "unknown option '--gpus'"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_nothing_runs(options, message, tmp_path):
    assert_refused(RECIPE, options, message, tmp_path)


def test_calibration_has_the_hyperparameters_of_table_10():
    found = {args.output.name: args for args in parsed("calibrate", "calibrate")}
    rates = {
        name: (args.learning_rate, args.batch_size, args.warmup, args.nli_epochs, args.sts_epochs)
        for name, args in found.items()
    }
    assert rates == {
        "mbert": (2e-5, 128, 0.1, 1, 10),
        "xlm-r-base": (2e-5, 128, 0.1, 1, 5),
        "xlm-r": (5e-6, 64, 0.1, 1, 5),
        "labse": (2e-5, 128, 0.1, 1, 10),
    }
    assert {name: args.layer for name, args in found.items()} == LAYERS
    for args in found.values():
        assert paths([args.nli]) == [
            ["snli/snli_1.0_train.jsonl", "xnli/multinli_1.0/multinli_1.0_train.jsonl"]
        ]
        assert str(args.sts) == "stsb.tsv" and paths(args.valid_parallel) == WMT20


def test_question_answering_is_that_of_a_2_and_chosen_by_retrieval():
    found = {args.output.name: args for args in parsed("answers", "finetune")}
    assert {name: args.layer for name, args in found.items()} == LAYERS
    for args in found.values():
        assert (args.task, args.valid, args.learning_rate, args.batch_size, args.epochs) == (
            "answers", None, 3e-5, 12, 2,
        )  # fmt: skip
        assert paths(args.valid_parallel) == WMT20
        assert [(language, str(path)) for language, path in args.train] == [("en", "squad/train-v1.1.json")]
        updates = 2 * 90_000 / 12  # windows of 87,599 questions
        assert updates / args.checkpoints == pytest.approx(500, rel=0.05)


def test_three_variants_of_every_encoder_are_measured_by_their_layers():
    found = [parse_command(words) for words in commands("retrieve")][:24]
    of_tatoeba, of_sts = found[::2], found[1::2]
    expected = list(itertools.product(LAYERS, VARIANTS))
    for measured in (of_tatoeba, of_sts):
        assert [args.encoder_name for args in measured] == [
            NAMES[kind].format(name) for name, kind in expected
        ]
        for (name, kind), args in zip(expected, measured, strict=True):
            folder = {"answers": f"out/answers/{name}/model", "calibrated": f"out/calibrated/{name}/encoder"}
            assert str(args.model) == folder.get(
                kind, dict(one.split("=") for one in ENCODERS.split(","))[name]
            )
            layer = None if kind == "calibrated" else LAYERS[name]  # it ends with its layer
            assert args.layer == (layer and str(layer))
    assert {str(args.tatoeba) for args in of_tatoeba} == {"tatoeba"}
    assert paths(args.files for args in of_sts) == 12 * [
        [f"sts17/STS.{one}.tsv" for one in ("ar", "en", "es")]
    ]
    assert len({args.output for args in found}) == 24


def test_two_encoders_are_measured_along_their_calibration(tmp_path):
    """Figure 2: after every tenth, in the order of the updates."""
    calibrated = {Path(str(args.model)).name: args for args in parsed("calibrate", "calibrate")}
    assert {name for name, args in calibrated.items() if args.keep_checkpoints} == {"mbert", "LaBSE"}
    for update in (9, 18, 100):
        (tmp_path / f"out/calibrated/mbert/encoder-{update}").mkdir(parents=True)
    given = arguments("--systems", "mbert", "--stages", "retrieve")
    found = [parse_command(words) for words in dry_run(RECIPE, *given, cwd=tmp_path)][6::2]
    assert [(args.encoder_name, Path(args.model).name) for args in found] == [
        (f"mbert, {10 * (place + 1)}% of the calibration", f"encoder-{update}")
        for place, update in enumerate((9, 18, 100))
    ]


def test_xnli_is_learned_in_english_in_all_languages_and_in_urdu():
    found = finetunings("--systems", "mbert", "--seeds", "1")
    for name, learned in {"en": ["en"], "all": XNLI, "ur": ["ur"]}.items():
        args = found[f"mbert-seed1/xnli-{name}"]
        assert (args.task, args.encoder_name, args.dataset) == ("pairs", "mbert", None)
        files = {"en": "xnli/multinli_1.0/multinli_1.0_train.jsonl"}
        of_others = "xnli/XNLI-MT-1.0/multinli/multinli.train.{}.tsv"
        assert [(language, str(path)) for language, path in args.train] == [
            (language, files.get(language, of_others.format(language))) for language in learned
        ]
        assert [(one, str(path)) for one, path in args.valid] == [
            (one, "xnli/XNLI-1.0/xnli.dev.tsv") for one in XNLI
        ]
        assert [(one, str(path)) for one, path in args.test] == [
            (one, "xnli/XNLI-1.0/xnli.test.tsv") for one in XNLI
        ]
        assert (args.epochs, args.checkpoints) == (10, 20)
    manual = found["mbert-seed1/manual-ur"]
    assert manual.dataset == "XNLI Manual"
    files = [(one, str(path)) for one, path in [*manual.train, *manual.valid, *manual.test]]
    assert files == [
        ("ur", "out/xnli-manual/train.tsv"),
        *((one, f"out/xnli-manual/{part}.tsv") for part in ("valid", "test") for one in XNLI),
    ]
    assert manual.warmup * 10 == pytest.approx(10 * 6000 / manual.batch_size, rel=0.05)


def test_every_encoder_and_seed_has_a_rate_and_a_batch_that_was_searched():
    found = finetunings()
    kinds = ["xnli-en", "xnli-all", "xnli-ur", "manual-ur", *(f"names-{kind}" for kind in VARIANTS)]
    assert list(found) == [
        f"{name}-seed{seed}/{kind}" for name in LAYERS for seed in range(1, 6) for kind in kinds
    ]
    for folder, args in found.items():
        assert args.learning_rate in (5e-6, 1e-5, 2e-5) and args.epochs == 10
        assert args.batch_size in ((32, 128) if args.task == "names" else (16, 32, 128))
        assert folder.split("/")[0].endswith(f"-seed{args.seed}")


GRID = "learning-rate=5e-6,1e-5:batch-size=16,128"
POINTS = {"learning-rate~5e-6": 5e-6, "learning-rate~1e-5": 1e-5}


def points_of(found: dict) -> dict:
    return {name: (args.learning_rate, args.batch_size) for name, args in found.items()}


def searched(name: str) -> dict:
    """Folder below a stage's -> learning rate and batch of the grid."""
    points = {
        f"mbert~{rate}~batch-size~{size}": (POINTS[rate], size) for rate in POINTS for size in (16, 128)
    }
    return {name.format(point): values for point, values in points.items()}


def tables(stage: str) -> dict[str, list[str]]:
    """Folder of a table of --search -> the trainings in it."""
    found = commands(stage, "--systems", "mbert", "--seeds", "1", "--search", GRID)
    made = [parse_command(words) for words in found if "search-table" in words]
    return {str(args.output): list(map(str, args.trainings)) for args in made}


def test_fine_tunings_are_searched_over_options():
    words = ("--systems", "mbert", "--seeds", "1", "--search", GRID)
    found = [parse_command(line) for line in commands("finetune", *words) if line[3] == "finetune"]
    by_folder = {str(args.output).removeprefix("out/finetuned/"): args for args in found}
    kinds = ["xnli-en", "xnli-all", "xnli-ur", "manual-ur", *(f"names-{kind}" for kind in VARIANTS)]
    assert points_of(by_folder) == {k: v for kind in kinds for k, v in searched(f"{{}}-seed1/{kind}").items()}
    assert {str(args.model) for name, args in by_folder.items() if "xnli" in name} == {"m/mbert"}
    assert by_folder["mbert~learning-rate~5e-6~batch-size~16-seed1/xnli-en"].encoder_name == (
        "mbert, learning-rate 5e-6, batch-size 16"
    )
    assert tables("finetune") == {
        f"out/search/{kind}": [f"out/finetuned/{name}" for name in searched(f"{{}}-seed1/{kind}")]
        for kind in kinds
    }


def test_calibrations_are_searched_over_options():
    words = ("--systems", "mbert", "--search", GRID)
    found = [parse_command(line) for line in commands("calibrate", *words) if line[3] == "calibrate"]
    assert points_of({args.output.name: args for args in found}) == searched("{}")
    assert {args.layer for args in found} == {LAYERS["mbert"]}
    assert tables("calibrate") == {
        "out/search/calibration": [f"out/calibrated/{name}" for name in searched("{}")]
    }


def test_names_are_learned_by_all_variants_of_an_encoder():
    found = finetunings("--systems", "xlm-r", "--seeds", "3")
    for kind in VARIANTS:
        args = found[f"xlm-r-seed3/names-{kind}"]
        assert (args.task, args.encoder_name) == ("names", NAMES[kind].format("xlm-r"))
        folder = {
            "answers": "out/answers/xlm-r/model",
            "calibrated": "out/calibrated/xlm-r/encoder-all-layers",
        }
        assert str(args.model) == folder.get(kind, "m/large")
        assert [str(path) for _, path in [*args.train, *args.valid]] == [
            "wikiann/train-en.tsv",
            "wikiann/dev-en.tsv",
        ]
        assert len({one for one, _ in args.test}) == 40  # 3.1
        assert all(str(path) == f"wikiann/test-{one}.tsv" for one, path in args.test)
        updates = 10 * 20_000 / args.batch_size
        assert updates / args.checkpoints == pytest.approx(300, rel=0.05)


def test_a_calibrated_encoder_whose_last_layer_is_read_has_all_layers():
    args = finetunings("--systems", "labse", "--seeds", "1")["labse-seed1/names-calibrated"]
    assert str(args.model) == "out/calibrated/labse/encoder"


@pytest.fixture
def own(tmp_path):
    """A configuration with an encoder that reads a prefix."""
    file = tmp_path / "own.sh"
    line = 'encoder e5 last 2e-5 --prefix "query: " --sts-epochs 3'
    file.write_text(f'source "$ROOT/recipes/crosslingual_evaluation/configs/paper.sh"\n{line}\n')
    return file


def test_the_prefix_of_an_encoder_is_in_one_place(own):
    """It is calibrated and measured with it; what is calibrated knows it."""
    given = ["--config", str(own), *arguments("--stages", "calibrate,retrieve", encoders="e5=m/e5")[2:]]
    calibrate, *measured = map(parse_command, dry_run(RECIPE, *given))
    assert (calibrate.prefix, calibrate.sts_epochs) == ("query: ", 3)
    assert [args.prefix for args in measured] == 4 * ["query: "] + 2 * [None]
    assert [parse_command(words).prefix for words in commands("retrieve", encoders="labse=m")] == 8 * [None]


def test_a_layer_of_a_folder_of_sentence_transformers_is_refused_before_anything_runs(tmp_path):
    for folder in ("model", "tatoeba"):
        (tmp_path / folder).mkdir()
    (tmp_path / "model/modules.json").write_text("[]")
    given = ["--config", "paper", "--encoders", "mbert=model", "--tatoeba", "tatoeba", "--output", "out"]
    done = recipe(RECIPE, *given, cwd=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    expected = (
        "error: --encoders mbert=model: has modules.json, by which sentence-transformers makes vectors;"
    )
    assert done.stderr.splitlines()[-1].startswith(expected)


def test_retrieval_is_reported_without_fine_tunings(tmp_path):
    """XNLI is given for calibration; nothing was fine-tuned."""
    for folder in ("model", "tatoeba", "xnli"):
        (tmp_path / folder).mkdir()
    write_program(tmp_path / "bin/python", '#!/bin/bash\necho "$@" >> calls\n')
    result = tmp_path / "out/retrieval/mbert-original/tatoeba/sentence-retrieval.json"
    result.parent.mkdir(parents=True)
    result.write_text("{}")
    given = ["--config", "paper", "--encoders", "mbert=model", "--tatoeba", "tatoeba", "--xnli", "xnli"]
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = recipe(
        RECIPE,
        *given,
        "--stages",
        "report",
        "--output",
        "out",
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "== left out: fine-tuned encoders, for want of the stage finetune\n" in done.stderr
    reports = [line for line in (tmp_path / "calls").read_text().splitlines() if " report " in line]
    assert len(reports) == 1 and "sentence-retrieval.json" in reports[0] and "transfer" not in reports[0]


def test_what_follows_is_for_the_fine_tunings_of_tasks_alone():
    options = ("--systems", "mbert", "--seeds", "1", "--", "--learning-rate", "1e-5")
    assert {args.learning_rate for args in finetunings(*options).values()} == {1e-5}
    assert [args.learning_rate for args in parsed("answers", "finetune", *options)] == [3e-5]


def test_the_report_has_all_results_and_compares_transfer_with_calibrated_retrieval():
    along, english, urdu, report = map(parse_command, commands("report", "--seeds", "1,2"))
    assert len(along.retrieval) == 2  # of mbert and labse
    folders = [f"out/finetuned/{name}-seed{seed}" for name in LAYERS for seed in (1, 2)]
    assert [str(path) for path in english.results] == [
        f"{folder}/{kind}/finetuning.json" for folder in folders for kind in ("xnli-en", "xnli-all")
    ]
    assert [str(path) for path in english.retrieval] == [
        f"out/retrieval/{name}-calibrated/tatoeba/sentence-retrieval.json" for name in LAYERS
    ]
    assert english.retrieved_as == [(name, f"{name}, calibrated") for name in LAYERS]
    assert [str(path) for path in urdu.results] == [
        f"{folder}/{kind}/finetuning.json" for folder in folders for kind in ("xnli-ur", "manual-ur")
    ]
    assert not urdu.retrieval
    kinds = Counter(path.name for path in report.results)
    assert kinds == {
        "finetuning.json": 8 * 7, "sentence-retrieval.json": 4 * 3, "sts.json": 4 * 3 + 2,
        "transfer.json": 2, "data-size.json": 1,
    }  # fmt: skip


def test_two_encoders_are_not_correlated():
    _, english, *_ = [parse_command(words) for words in commands("report", "--systems", "mbert,labse")]
    assert not english.retrieval and not english.retrieved_as


@pytest.mark.parametrize(
    ("data", "steps", "left_out"),
    [
        (
            ["--xnli"],
            {"xnli-manual": 1, "finetune": 4, "probe": 2, "report": 1},
            [
                "question answering, for want of --squad --wmt20",
                "calibration, for want of --nli --sts --wmt20",
            ],
        ),
        (["--tatoeba"], {"retrieve": 1, "report": 1}, ["XNLI, transfer rates, for want of --xnli"]),
        (
            ["--wikiann", "--squad", "--wmt20"],
            {"finetune": 3, "report": 1},
            ["calibration, for want of --nli --xnli --sts", "sentence retrieval, for want of --tatoeba"],
        ),
    ],
)
def test_what_no_data_is_given_for_is_left_out_and_named(data, steps, left_out):
    some = {option: DATA[option] for option in data}
    given = arguments("--seeds", "1", "--dry-run", encoders="mbert=m", data=some)
    done = recipe(RECIPE, *given)
    assert done.returncode == 0, done.stderr
    names = (words[3] for words in dry_run(RECIPE, *given[:-1]) if words[0] == "python")
    assert Counter(names) == steps
    for line in left_out:
        assert f"== left out: {line}\n" in done.stderr


# --- XNLI Manual


def write_xnli(folder, rows: dict[str, list[tuple[str, str]]], languages: list[str] = XNLI) -> None:
    """`xnli.dev.tsv` and `xnli.test.tsv`: labels and sentences, of which every language has its own."""
    folder.mkdir(parents=True)
    for split, lines in rows.items():
        table = [("language", "gold_label", "sentence1", "sentence2")]
        table += [(one, label, f"{text} {one}", "so") for one in languages for label, text in lines]
        (folder / f"xnli.{split}.tsv").write_text("".join("\t".join(row) + "\n" for row in table))


LABELS = ("entailment", "neutral", "contradiction")
ROWS = {
    "dev": [(LABELS[number % 3], f"dev {number}") for number in range(33)],
    "test": [(LABELS[number % 3], f"test {number}") for number in range(67)],
}


def make_manual(folder, *options: str):
    (folder / "model").mkdir(exist_ok=True)
    given = ["--config", "paper", "--encoders", "mbert=model", "--xnli", "xnli", "--stages", "prepare"]
    return recipe(RECIPE, *given, *options, "--output", "out", cwd=folder)


@pytest.mark.parametrize("source", ["en", "pl"])
def test_gaps_are_from_another_language_of_xnli_than_english(tmp_path, source):
    own = tmp_path / "own.sh"
    own.write_text(f'source "$ROOT/recipes/crosslingual_evaluation/configs/paper.sh"\nGAP_SOURCE={source}\n')
    refused = recipe(RECIPE, "--config", str(own), *arguments("--dry-run")[2:])
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"error: {own}: GAP_SOURCE is {source}; expected one of XNLI_LANGUAGES")


@pytest.fixture
def published(tmp_path):
    """Empty files of XNLI and WikiANN, and other folders."""
    write_xnli(tmp_path / "xnli/XNLI-1.0", ROWS)
    names = [*commands("finetune", "--seeds", "1", encoders="mbert=m")]
    words = (word.partition("=")[2] for one in names for word in one)
    for file in (tmp_path / path for path in words if path.startswith(("xnli/", "wikiann/"))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for folder in ("squad", "wmt20", "model"):
        (tmp_path / folder).mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ("xnli/XNLI-MT-1.0/multinli/multinli.train.sw.tsv", "{}: no such file"),
        ("wikiann/test-sw.tsv", "{}: no such file"),
        ("out/xnli-manual/test.tsv", "{}: no such file; run the stage prepare first"),
        ("out/answers/mbert/model", "{}: no such folder; run the stage answers first"),
    ],
)
def test_what_is_read_is_there_before_anything_is_learned(published, removed, message):
    given = ["--config", "paper", "--encoders", "mbert=model", "--output", "out", "--stages", "finetune"]
    data = [word for name in ("xnli", "wikiann", "squad", "wmt20") for word in (f"--{name}", name)]
    make_manual(published)
    (published / "out/answers/mbert/model").mkdir(parents=True)
    (published / removed).rename(published / "away")
    done = recipe(RECIPE, *given, *data, cwd=published)
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if not line.startswith("== ")]
    assert errors == [f"error: {message.format(removed)}"]


def test_stages_need_those_before(tmp_path):
    write_xnli(tmp_path / "xnli/XNLI-1.0", ROWS)
    done = make_manual(tmp_path, "--wikiann", ".", "--wmt20", ".", "--squad", ".")
    assert done.returncode == 0, done.stderr
    given = ["--config", "paper", "--encoders", "mbert=model", "--output", "out", "--seeds", "1"]
    for options, message in (
        (["--xnli", "xnli", "--stages", "report"], "xnli-en/finetuning.json: no such file; run"),
        (["--sts17", ".", "--stages", "report"], "sts/sts.json: no such file; run the stage retrieve first"),
        (["--xnli", "xnli", "--finished-only"], "--finished-only: out: no system and seed is there yet"),
    ):  # fmt: skip
        found = recipe(RECIPE, *given, *options, cwd=tmp_path)
        assert found.returncode == 2 and message in found.stderr
