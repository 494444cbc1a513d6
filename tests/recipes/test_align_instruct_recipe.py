"""The recipe of chapter 6: the thesis's settings reach the commands, whatever the number of devices."""

import os
import re
import subprocess

import pytest

from command_line.completion import unfinished_mark
from embeddings.groups import read_groups
from eval.scoring.scoring_options import Tokenization
from tests.our_commands import parse_command
from tests.recipes.commands import ROOT, assert_refused, dry_run, recipe, write_program

BLOOMZ = ["--config", "bloomz24", "--model", "bloomz-1b1", "--output", "out"]


def commands(*options: str, step: str, config: list[str] = BLOOMZ) -> list[list[str]]:
    return [words for words in dry_run("align_instruct", *config, *options) if step in words]


def tunings(*options: str, config: list[str] = BLOOMZ) -> dict[str, list[str]]:
    """Name of the model's folder -> its command."""
    found = commands("--stages", "tune", *options, step="tune", config=config)
    return {value(words, "--output").split("/")[-1].removesuffix("-seed1"): words for words in found}


def value(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def parsed(words: list[str]):
    """What our parser makes of a command, without what starts it."""
    start = words.index("llm")
    return parse_command(["python", "-m", *words[start:]])


def test_all_systems_have_the_settings_of_6_3_2():
    found = tunings("--systems", "all")
    assert len(found) == 17
    for words in found.values():
        args = parsed(words)
        assert (args.lora_rank, args.lora_alpha, args.lora_dropout) == (8, 32, 0.1)
        assert (args.epochs, args.warmup_ratio, args.max_input, args.max_output) == (5, 0.03, 384, 384)
        assert args.learning_rate == [1e-4, 3e-4, 1e-3]


CURRICULA = {
    "mt": [["mt"]],
    "align": [["align"]],
    "mt+align": [["mt", "align"]],
    "align-mt": [["align"], ["mt"]],
    "mt+align-mt": [["mt", "align"], ["mt"]],
}


def test_table_6_2_is_the_default():
    assert {name: parsed(words).curriculum for name, words in tunings().items()} == CURRICULA


def test_a_system_is_given_the_instructions_of_its_objectives():
    args = parsed(tunings("--systems", "mt+align-mt")["mt+align-mt"])
    assert list(map(str, args.instructions)) == ["out/instructions/mt", "out/instructions/align"]
    made = commands("--stages", "prepare", "--systems", "mt+align-mt,mt+hint", step="instruct")
    assert [parsed(words).tasks for words in made] == [["align"], ["hint"], ["mt"]]


def test_a_configuration_may_keep_what_is_cleaned_away(tmp_path):
    """As the page says."""
    page = (ROOT / "recipes/align_instruct/README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"`(CLEAN_OPTIONS=\(.+?\))`", page)
    config = tmp_path / "raw.sh"
    config.write_text(f'source "$ROOT/recipes/align_instruct/configs/bloomz24.sh"\n{line}\n')
    given = ["--config", str(config), "--model", "m", "--output", "out"]
    (words,) = commands("--stages", "prepare", step="clean", config=given)
    args = parse_command(words)
    assert (args.keep_duplicates, args.max_ratio, args.max_length, args.max_characters) == (
        True,
        1000,
        256,
        5000,
    )


def test_sizes_of_a_model_are_told_apart_in_one_report():
    """Figure 6.1: one test set, and names of its own for each model."""
    names = set()
    for name in ("bloomz24_1b1", "bloomz24", "bloomz24_7b1"):
        config = ["--config", name, "--model", f"models/{name[9:] or '3b'}/", "--output", "out"]
        options = ("--stages", "translate", "--systems", "base,mt")
        translations = commands(*options, step="translate", config=config)
        assert {parsed(words).dataset for words in translations} == {"OPUS-100"}
        names |= {value(words, "--name") for words in translations}
    titles = ("w/o fine-tuning", "MTInstruct")
    assert names == {f"{title}, {size}" for title in titles for size in ("1b1", "3b", "7b1")}


def test_a_folder_of_any_name_has_instructions():
    config = [*BLOOMZ[:4], "--output", "R&D #1"]
    args = parsed(tunings("--systems", "mt+align", config=config)["mt+align"])
    assert list(map(str, args.instructions)) == ["R&D #1/instructions/mt", "R&D #1/instructions/align"]


def test_the_model_as_it_is_is_tuned_on_nothing(tmp_path):
    (tmp_path / "bloomz-1b1").mkdir()
    options = [*BLOOMZ, "--stages", "tune", "--systems"]
    result = recipe("align_instruct", *options, "base", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "== tune: bloomz24\n")
    result = recipe("align_instruct", *options, "base,mt-pivot", cwd=tmp_path)
    assert result.returncode == 2
    assert "error: out/instructions: no such folder; run the stage prepare first" in result.stderr


def test_instructions_are_drawn_once_for_all_seeds():
    options = ("--systems", "mt+align", "--seeds", "2,3")
    made = commands("--stages", "prepare", *options, step="instruct")
    assert [(parsed(words).tasks, parsed(words).seed) for words in made] == [(["align"], 1), (["mt"], 1)]
    assert [parsed(words).seed for words in commands("--stages", "tune", *options, step="tune")] == [2, 3]


def test_phrases_need_links_of_several_words():
    (words,) = [words for words in commands("--stages", "prepare", step="align") if "data_prep" in words]
    assert not parse_command(words).one_to_one
    assert parse_command(words).train_sample == 0


@pytest.mark.parametrize(("gpus", "nodes"), [(1, 1), (2, 1), (8, 1), (8, 4), (8, 16)])
@pytest.mark.parametrize(("name", "size"), [("bloomz24", 1024), ("bloomz24_7b1", 512), ("bloomz3", 128)])
def test_an_update_has_the_instructions_of_the_thesis_on_any_number_of_gpus(gpus, nodes, name, size):
    """As long as these are no more than the thesis had."""
    options = ["--launcher", "slurm", "--gpus", str(gpus), "--nodes", str(nodes), "--systems", "mt"]
    config = ["--config", name, "--model", "m", "--output", "out"]
    args = parsed(tunings(*options, config=config)["mt"])
    assert args.batch_sentences * args.batches_per_update * gpus * nodes == max(size, 4 * gpus * nodes)


@pytest.mark.parametrize(
    ("words", "sentences", "batches"),
    [
        (["--batch-sentences", "2"], 2, 512 // 8),
        (["--batch-sentences=16"], 16, 64 // 8),
        (["--batch-sentences", "2", "--batches-per-update", "3"], 2, 3),
    ],
)
def test_other_batches_make_the_same_update(words, sentences, batches):
    args = parsed(tunings("--systems", "mt", "--launcher", "gpu", "--gpus", "8", "--", *words)["mt"])
    assert (args.batch_sentences, args.batches_per_update) == (sentences, batches)


def test_devices_that_do_not_share_an_update_evenly_are_named():
    options = [
        *BLOOMZ,
        "--stages", "tune", "--systems", "mt", "--launcher", "gpu", "--gpus", "3", "--dry-run",
    ]  # fmt: skip
    result = recipe("align_instruct", *options)
    assert "out/models/mt-seed1: 3 devices of 8 instructions: 1008 in an update, not 1024" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "python -m llm tune"),
        (["--launcher", "gpu"], "python -m llm tune"),
        (["--launcher", "gpu", "--gpus", "8"], "torchrun --standalone --nproc-per-node 8 -m llm tune"),
        (["--gpus", "2"], "torchrun --standalone --nproc-per-node 2 -m llm tune"),
        (["--launcher", "slurm"], "--gpus-per-node 1 --job-name mt-seed1 python -m llm tune"),
        (["--launcher", "slurm", "--nodes", "4", "--gpus", "8"], "--nnodes 4 --nproc-per-node 8 -m llm tune"),
    ],
)
def test_a_process_for_every_device(options, words):
    assert words in " ".join(tunings("--systems", "mt", *options)["mt"])


@pytest.mark.parametrize(
    ("options", "precision", "on_cpu"),
    [
        ([], "float32", True),
        (["--launcher", "gpu"], "float16", False),
        (["--launcher", "gpu", "--precision", "bf16"], "bfloat16", False),
    ],
)
def test_half_precision_is_of_gpus(options, precision, on_cpu):
    args = parsed(tunings("--systems", "mt", *options)["mt"])
    assert (args.precision, args.cpu) == (precision, on_cpu)
    (words,) = commands("--stages", "translate", "--systems", "mt", *options, step="translate")
    assert (parsed(words).precision, parsed(words).cpu) == (precision, on_cpu)


def test_nodes_of_a_step_of_slurm_meet_on_the_first_one(tmp_path):
    write_program(tmp_path / "scontrol", "#!/bin/bash\necho first; echo second\n")
    write_program(tmp_path / "torchrun", '#!/bin/bash\necho "$@"\n')
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n[1-2]",
    }
    script = ROOT / "recipes/align_instruct/on_nodes.sh"
    words = ["bash", str(script), "29500", "--nnodes", "2", "-m", "llm", "tune"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "--rdzv-backend", "c10d", "--rdzv-endpoint", "first:29500", "--rdzv-id", "7",
        "--nnodes", "2", "-m", "llm", "tune",
    ]  # fmt: skip


def translations(*options: str, config: list[str] = BLOOMZ) -> dict[str, object]:
    found = commands("--stages", "translate", *options, step="translate", config=config)
    return {str(args.output).removeprefix("out/translations/"): args for args in map(parsed, found)}


def test_prompts_and_pivots_have_the_model_of_their_system():
    found = translations("--systems", "mt,mt-prompt-3,mt-pivot,base")
    models = {name: args.tuned and str(args.tuned) for name, args in found.items()}
    assert models == {
        "mt-seed1": "out/models/mt-seed1",
        "mt-prompt-3-seed1": "out/models/mt-seed1",
        "mt-pivot-seed1": "out/models/mt-seed1",
        "base-seed1": None,
    }
    assert found["mt-prompt-3-seed1"].prompt == "3"
    assert (found["mt-pivot-seed1"].pivot, found["mt-pivot-seed1"].directions) == ("en", "zero-shot")
    assert found["base-seed1"].supervised == found["mt-seed1"].supervised


def test_the_model_as_it_is_has_one_translation_whatever_the_seeds():
    assert sorted(translations("--systems", "base,mt", "--seeds", "1,2")) == [
        "base-seed1",
        "mt-seed1",
        "mt-seed2",
    ]


def test_flores_is_a_test_set_of_the_taught_directions():
    found = translations("--systems", "mt", "--flores", "flores200_dataset")
    assert set(found) == {"mt-seed1", "flores/mt-seed1"}
    args = found["flores/mt-seed1"]
    assert (str(args.data), args.dataset) == ("out/flores", "Flores-200")
    assert args.directions.split(",") == found["mt-seed1"].supervised
    assert len(args.directions.split(",")) == 48
    (words,) = commands("--stages", "prepare", "--flores", "flores200_dataset", step="flores200")
    assert parse_command(words).langs == sorted(parse_command(words).langs)


def test_other_prompts_and_pivots_are_of_opus_alone():
    """Also in scores and the report."""
    options = ("--systems", "mt,mt-prompt-1,mt-prompt-5,mt-pivot", "--flores", "flores200_dataset")
    flores = [name for name in translations(*options) if name.startswith("flores/")]
    assert flores == ["flores/mt-seed1"]
    (words,) = commands("--stages", "score", *options, step="score")
    assert [one for one in words if "/flores/" in one] == ["out/translations/flores/mt-seed1"]


def test_zero_shot_test_sets_are_of_all_six_languages():
    config = ["--config", "bloomz3", "--model", "m", "--output", "out"]
    (words,) = commands("--stages", "prepare", step="opus100", config=config)
    assert parse_command(words).langs == ["ar", "de", "en", "fr", "nl", "ru", "zh"]
    assert parse_command(words).train_pairs == 200_000
    assert translations("--systems", "mt", config=config)["mt-seed1"].directions == "all"
    made = commands("--stages", "prepare", "--systems", "mt", step="instruct", config=config)
    assert parsed(made[0]).directions == ["en-de", "de-en", "en-nl", "nl-en", "en-ru", "ru-en"]


def test_directions_with_english_are_supervised_whatever_is_taught():
    """12 of them and 30 zero-shot ones are the averages of Table 6.6 (thesis 6.3.1)."""
    with_english = {
        f"{a}-{b}" for one in ("ar", "de", "fr", "nl", "ru", "zh") for a, b in ((one, "en"), ("en", one))
    }
    for config in ("bloomz3", "bloomz6"):
        given = ["--config", config, "--model", "m", "--output", "out"]
        found = translations("--systems", "base,mt,mt-pivot", config=given)
        assert {frozenset(args.supervised) for args in found.values()} == {frozenset(with_english)}


def test_khmer_and_burmese_are_scored_by_words_between_spaces():
    """So are Tables D.5 to D.7; Chinese, of the other configurations, is scored as sacreBLEU scores it."""
    (words,) = commands("--stages", "score", "--systems", "mt", step="score")
    tokenization = Tokenization(parse_command(words).tokenize)
    assert [tokenization.of(language) for language in ("km", "my", "de")] == ["13a"] * 3
    config = ["--config", "bloomz3", "--model", "m", "--output", "out"]
    (words,) = commands("--stages", "score", "--systems", "mt", step="score", config=config)
    assert Tokenization(parse_command(words).tokenize).of("zh") == "zh"


def test_the_toy_setting_makes_its_model_of_other_languages_than_it_teaches():
    config = ["--config", "phrasebook", "--output", "out"]
    made = dry_run("align_instruct", *config, "--stages", "base")
    assert [words[words.index("llm") + 1] for words in made] == ["new-model", "instruct", "tune"]
    assert parsed(made[2]).lora_rank == 0
    args = parsed(tunings("--systems", "mt", config=config)["mt"])
    assert str(args.model) == "out/base/stage-1"
    taught = translations("--systems", "mt", config=config)["mt-seed1"].supervised
    assert not set(parsed(made[1]).directions) & set(taught)


def test_groups_of_table_6_6_are_of_the_languages_that_are_tested():
    for config, model in (("bloomz3", ["--model", "m"]), ("bloomz6", ["--model", "m"]), ("phrasebook", [])):
        given = ["--config", config, *model, "--output", "out"]
        (words,) = commands("--stages", "probe", step="language-groups", config=given)
        groups = read_groups(parse_command(words).groups)
        text = next(words for words in commands("--stages", "prepare", step="--langs", config=given))
        assert sorted(["en", *groups["seen"], *groups["unseen"]]) == value(text, "--langs").split(",")


def test_only_finished_models_are_evaluated(tmp_path):
    """Not one whose tuning has been begun anew, beside the record of the one before."""
    for seed in (1, 2, 3):
        (tmp_path / f"out/models/mt-seed{seed}").mkdir(parents=True)
    for seed in (2, 3):
        (tmp_path / f"out/models/mt-seed{seed}/tuning.json").write_text("{}")
    unfinished_mark(tmp_path / "out/models/mt-seed3", "tune").touch()
    (tmp_path / "bloomz-1b1").mkdir()
    options = ["--systems", "mt,align", "--seeds", "1,2,3", "--stages", "translate", "--finished-only"]
    found = dry_run("align_instruct", *BLOOMZ, *options, cwd=tmp_path)
    assert [value(words, "--output") for words in found] == ["out/translations/mt-seed2"]


def test_layers_are_of_the_first_seed_that_has_finished(tmp_path):
    for name in ("mt-seed2", "mt+align-seed1", "mt+align-seed2"):
        (tmp_path / "out/models" / name).mkdir(parents=True)
        (tmp_path / "out/models" / name / "tuning.json").write_text("{}")
    (tmp_path / "bloomz-1b1").mkdir()
    options = ["--systems", "base,mt,mt+align,align", "--seeds", "1,2", "--stages", "translate,probe"]
    found = dry_run("align_instruct", *BLOOMZ, *options, "--finished-only", cwd=tmp_path)
    tuned = [parsed(words).tuned for words in found if "states" in words]
    assert list(map(str, tuned)) == ["None", "out/models/mt-seed2", "out/models/mt+align-seed1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--config", "bloomz24"], "--model: expected a folder of transformers"),
        (["--config", "bloomz24", "--model", "nowhere"], "--model: nowhere: no such folder"),
        (
            ["--config", "bloomz24", "--model", ".", "--stages", "base"],
            "--stages base: makes the model of a toy",
        ),
        (["--config", "phrasebook", "--model", "m"], "--model m: --config phrasebook makes its own"),
        (["--config", "phrasebook", "--systems", "mt+hints"], "--systems: found 'mt+hints', expected one of"),
    ],
)
def test_a_wrong_command_line(options, message, tmp_path):
    assert_refused("align_instruct", options, message, tmp_path)


def test_comparisons_are_of_systems_that_there_are():
    (words,) = commands("--stages", "report", step="compare")
    pairs = words[words.index("--pairs") + 1 : words.index("--output")]
    assert pairs == [
        f"out/translations/{first}-seed1:out/translations/{second}-seed1"
        for first, second in (
            ("base", "mt"), ("mt", "align"), ("mt", "mt+align"), ("mt", "align-mt"), ("mt", "mt+align-mt"),
        )
    ]  # fmt: skip


def test_every_system_is_compared_with_mtinstruct():
    """In Tables 6.2 to 6.5; in Table D.3, by the same prompt."""
    (words,) = commands("--stages", "report", "--systems", "all", step="compare")
    pairs = words[words.index("--pairs") + 1 : words.index("--output")]
    compared = {tuple(one.split("/")[-1].removesuffix("-seed1") for one in pair.split(":")) for pair in pairs}
    trained = set(tunings("--systems", "all")) - {"mt"}
    assert {("mt", system) for system in trained} <= compared
    assert {(f"mt-prompt-{one}", f"mt+align-prompt-{one}") for one in range(1, 6)} <= compared
