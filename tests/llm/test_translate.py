"""`llm translate`: what is asked, what is written, and that the commands of translation models take it."""

import json
import os
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from eval.__main__ import COMMANDS as EVAL
from llm.generation import Answers
from tests.eval.scored import read_scores
from tests.llm.toy_text import LINES, sentences, text_of, write_lines, write_texts

DIRECTIONS = ["de-en", "en-de", "en-fr", "fr-en"]


@pytest.fixture
def options(bloom, texts):
    """The words of a small translation."""

    def words(output: Path, *others) -> list[str]:
        given = ("--model", bloom, "--data", texts, "--max-output", 4, "--cpu", "--output", output)
        return [str(word) for word in ("translate", *given, *others)]

    return words


@pytest.fixture
def asked(monkeypatch) -> dict[str, list[str]]:
    """Task -> prompts, of a model that answers with the last but one line, in brackets."""
    by_task = {}

    def to(self, prompts, journal, task):
        by_task[task] = list(prompts)
        return [f"<{prompt.splitlines()[-2].rpartition(': ')[2]}>" for prompt in prompts]

    monkeypatch.setattr(Answers, "to", to)
    return by_task


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def record_of(folder: Path) -> dict:
    return json.loads((folder / "translate.json").read_text())


def kinds(folder: Path) -> dict[str, str]:
    return {name: entry["kind"] for name, entry in record_of(folder)["directions"].items()}


def score(*words) -> int:
    from command_line.dispatch import run

    return run("eval", "", EVAL, [str(word) for word in words])


@pytest.fixture
def three(tmp_path) -> Path:
    """A test set of de-en, de-fr and en-fr whose second line is empty."""
    data = write_texts(tmp_path / "three", pairs=["de-en", "de-fr", "en-fr"], splits=["test"])
    for path in (data / "text").iterdir():
        first, _, *others = lines_of(path)
        write_lines(path, [first, "", *others])
    return data


def test_hypotheses_line_up_with_their_sources(options, command, asked, three, tmp_path):
    assert command(*options(tmp_path / "out", "--data", three)).status == 0
    for direction in ("de-en", "fr-de"):
        source = direction[:2]
        pair = "-".join(sorted(direction.split("-")))
        expected = [f"<{text_of(sentence, source)}>" for sentence in sentences("test", pair)]
        assert lines_of(tmp_path / f"out/{direction}.txt") == [expected[0], "", *expected[2:]]
    entries = record_of(tmp_path / "out")["directions"]
    assert list(entries) == ["de-en", "de-fr", "en-de", "en-fr", "fr-de", "fr-en"]
    assert {entry["lines"] for entry in entries.values()} == {LINES["test"]}


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("default", "Translate from German to English.\nGerman: Das Haus.\nEnglish:"),
        ("1", "German: Das Haus.\nEnglish:"),
        ("2", "Das Haus.\nEnglish:"),
        ("3", "Translate to English.\nGerman: Das Haus.\nEnglish:"),
        ("4", "Translate from German to English.\nDas Haus.\nEnglish:"),
        ("5", "Translate to English.\nDas Haus.\nEnglish:"),
    ],
)
def test_prompts_are_those_of_the_thesis(options, command, asked, tmp_path, prompt, text):
    (tmp_path / "text").mkdir()
    write_lines(tmp_path / "text/test.de-en.de", ["  Das Haus. "])
    write_lines(tmp_path / "text/test.de-en.en", ["The house."])
    given = ("--data", tmp_path, "--directions", "de-en", "--prompt", prompt)
    assert command(*options(tmp_path / "out", *given)).status == 0
    assert asked == {"translate": [text]}
    name = "tiny-bloom w/o fine-tuning" + (f", prompt {prompt}" if prompt != "default" else "")
    assert record_of(tmp_path / "out")["system"]["name"] == name


def test_zero_shot_directions_through_a_language(options, command, asked, three, tuned, tmp_path):
    given = ("--data", three, "--tuned", tuned, "--pivot", "en")
    assert command(*options(tmp_path / "out", *given)).status == 0
    assert kinds(tmp_path / "out") == {"de-fr": "zero-shot", "fr-de": "zero-shot"}
    german = [text_of(sentence, "de") for sentence in sentences("test", "de-fr")]
    assert asked["to en"][0] == f"Translate from German to English.\nGerman: {german[0]}\nEnglish:"
    assert asked["from en"][0] == f"Translate from English to French.\nEnglish: <{german[0]}>\nFrench:"
    assert len(asked["to en"]) == len(asked["from en"]) == 2 * (LINES["test"] - 1)
    assert lines_of(tmp_path / "out/de-fr.txt") == [
        f"<<{german[0]}>>",
        "",
        *(f"<<{one}>>" for one in german[2:]),
    ]
    assert record_of(tmp_path / "out")["pivot"] == "en"


def test_prompts_that_lose_their_ends_are_counted_and_said(options, command, three, tmp_path):
    german = lines_of(three / "text/test.de-fr.de")
    write_lines(three / "text/test.de-fr.de", [*german[:-1], "Haus " * 200])
    given = ("--data", three, "--directions", "de-fr,fr-de", "--max-output", 2)
    done = command(*options(tmp_path / "out", *given))
    entries = record_of(tmp_path / "out")["directions"]
    assert {name: entry["cut_prompts"] for name, entry in entries.items()} == {"de-fr": 1, "fr-de": 0}
    assert [line for line in done.err.splitlines() if "max-input" in line] == [
        "warning: 1 of 6 prompts are longer than --max-input 384 and lost their ends; give a larger one"
    ]
    assert "max-input" not in command(*options(tmp_path / "whole", *given, "--max-input", 999)).err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--directions supervised", {"de-en", "en-de", "en-fr", "fr-en"}),
        ("--directions zero-shot", {"de-fr", "fr-de"}),
        ("--directions zero-shot --supervised de-en,fr-de", {"de-fr", "en-de", "en-fr", "fr-en"}),
        ("--directions fr-de,de-en", {"de-en", "fr-de"}),
        ("--pivot en --supervised de-fr", {"fr-de"}),
    ],
)
def test_directions(options, command, asked, three, tuned, tmp_path, words, expected):
    given = ("--data", three, "--tuned", tuned, *words.split())
    assert command(*options(tmp_path / "out", *given)).status == 0
    assert set(kinds(tmp_path / "out")) == expected


def test_supervised_directions_without_a_set_are_said(options, command, asked, three, tmp_path):
    given = ("--data", three, "--supervised", "de-ne,de-en,en-ja")
    done = command(*options(tmp_path / "out", *given))
    assert (
        f"warning: --supervised: de-ne, en-ja: no test set in {three / 'text'}, which has"
        " de-en, de-fr, en-de, en-fr, fr-de, fr-en\n"
    ) in done.err
    assert [name for name, kind in kinds(tmp_path / "out").items() if kind == "supervised"] == ["de-en"]
    complete = command(*options(tmp_path / "known", "--data", three, "--supervised", "de-en"))
    assert "--supervised" not in complete.err


def test_languages_are_called_as_they_were_in_tuning(
    options, command, asked, texts, tuned, tmp_path, monkeypatch
):
    names = {"de": "Deutsch", "en": "English", "fr": "French"}
    monkeypatch.setattr("llm.prompted_model.PromptedModel.languages", lambda self: names)
    given = ("--tuned", tuned, "--directions", "de-en,en-de")
    assert command(*options(tmp_path / "out", *given)).status == 0
    assert {prompt.splitlines()[0] for prompt in asked["translate"]} == {
        "Translate from Deutsch to English.", "Translate from English to Deutsch.",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["tuned", "tuned_whole"])
def test_what_was_tuned_translates(options, command, bloom, tmp_path, request, kind):
    folder = request.getfixturevalue(kind)
    assert command(*options(tmp_path / "out", "--tuned", folder)).status == 0
    assert kinds(tmp_path / "out") == dict.fromkeys(DIRECTIONS, "supervised")
    record = record_of(tmp_path / "out")
    assert record["system"] == {
        "name": "tiny-bloom MT", "seed": 1, "language_model": "tiny-bloom", "instructions": "MT",
        "lora_rank": 4 if kind == "tuned" else 0, "prompt": "default",
    }  # fmt: skip
    assert record["checkpoint"]["path"] == str(folder / "stage-1")
    assert command(*options(tmp_path / "plain")).status == 0
    assert kinds(tmp_path / "plain") == dict.fromkeys(DIRECTIONS, "zero-shot")


def test_an_adapter_alone_is_named_by_its_folder(options, command, tuned, tmp_path):
    given = ("--tuned", tuned / "stage-1", "--supervised", "de-en", "--name", "ours")
    assert command(*options(tmp_path / "out", *given)).status == 0
    record = record_of(tmp_path / "out")
    assert (record["system"]["name"], record["system"]["instructions"]) == ("ours", "stage-1")
    assert (
        kinds(tmp_path / "out")["de-en"] == "supervised" and kinds(tmp_path / "out")["en-de"] == "zero-shot"
    )


def test_scores_and_comparisons_take_it(options, command, texts, tuned, tmp_path):
    for name, given in (("a", ()), ("b", ("--tuned", tuned))):
        words = options(tmp_path / name, *given, "--supervised", "de-en", "--name", name)
        assert command(*words).status == 0
        assert score("score", tmp_path / name, "--workers", 1) == 0
    scores = read_scores(tmp_path / "b/scores.json")
    assert set(scores["directions"]) == set(DIRECTIONS)
    assert set(scores["averages"]) >= {"all", "supervised", "zero-shot"}
    compared = ("--output", tmp_path / "compared")
    assert score("compare", tmp_path / "a", tmp_path / "b", *compared) == 0


@pytest.mark.parametrize("kind", ["tuned", "tuned_whole"])
def test_scores_of_a_model_that_was_tuned_anew_are_named(options, command, tmp_path, request, kind, capsys):
    folder = shutil.copytree(request.getfixturevalue(kind), tmp_path / "tuned")
    assert command(*options(tmp_path / "out", "--tuned", folder)).status == 0
    assert score("score", tmp_path / "out", "--workers", 1) == 0
    report = ("report", tmp_path / "out", "--output", tmp_path / "report")
    (path,) = (folder / "stage-1").glob("*.safetensors")
    later = (tmp_path / "out/translate.json").stat().st_mtime_ns + 1
    os.utime(path, ns=(later, later))  # a copy of the same
    capsys.readouterr()
    assert score(*report) == 0
    assert capsys.readouterr().err == ""
    save_file({name: weight + 1 for name, weight in load_file(path).items()}, path, {"format": "pt"})
    os.utime(path, ns=(later, later))
    assert score(*report) == 0
    assert capsys.readouterr().err == (
        f"warning: {tmp_path}/out/scores.json: is of an earlier {folder}/stage-1, which was trained anew or"
        " further since; translate and score again to report on that one\n"
    )


def test_a_killed_run_goes_on(options, command, tmp_path, monkeypatch):
    assert command(*options(tmp_path / "whole", "--batch-sentences", 5)).status == 0
    answer, batches = Answers._answer, []

    def killed(self, batch):
        batches.append(len(batch))
        if len(batches) == 3:
            raise KeyboardInterrupt
        return answer(self, batch)

    monkeypatch.setattr(Answers, "_answer", killed)
    words = options(tmp_path / "out", "--batch-sentences", 5)
    with pytest.raises(KeyboardInterrupt):
        command(*words)
    assert not list((tmp_path / "out").glob("*.txt")) and not (tmp_path / "out/translate.json").exists()
    assert command(*words).status == 0
    assert sum(batches) == 16 + batches[2]  # the one that was lost
    for direction in DIRECTIONS:
        texts = [(tmp_path / place / f"{direction}.txt").read_bytes() for place in ("whole", "out")]
        assert texts[0] == texts[1]
    assert not (tmp_path / "out/.journal.jsonl").exists()
    assert "complete, skipped" in command(*words).err
    assert command(*words, "--max-output", 3).status == 0
    assert sum(batches) == 32 + batches[2]


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (["--directions", "de-fr"], "text: no test set of de-fr"),
        (["--directions", "supervised"], "text: no test set for supervised directions"),
        (["--pivot", "en"], "text: no test set for all directions"),
        (
            ["--pivot", "fr", "--directions", "de-en,en-fr"],
            "--pivot fr: en-fr of --directions was taught or has",
        ),
        (
            ["--pivot", "fr", "--directions", "en-de,de-en", "--supervised", "de-en"],
            "--pivot fr: de-en of --directions was taught or has fr in it; expected zero-shot directions",
        ),
        (["--pivot", "ja"], "--pivot: 'ja' is no language of the test sets of"),
        (["--pivot", "ja"], "text, nor taught: de, en, fr"),
        (["--pivot", "en de"], "--pivot: found 'en de', expected a language code such as en or zho_Hans"),
        (["--prompt", "6"], "--prompt"),
        (["--tuned", "/nothing"], "--tuned /nothing: no such folder; expected one with"),
        (["--model", "/nothing"], "--model /nothing: no such folder"),
        (["--spread"], "--spread: puts layers on GPUs, which --cpu does not use"),
    ],
)
def test_refusals(options, refusal, tmp_path, others, line):
    assert line in refusal(*options(tmp_path / "out", *others))
    assert not (tmp_path / "out/translate.json").exists()


def test_folders_that_are_read_are_not_written(options, refusal, bloom, texts, tuned, tuned_whole):
    """Results among the files of a model would be taken for a part of it; a killed run would close it."""
    for output in (bloom, texts / "text", tuned / "stage-1", tuned_whole / "stage-1"):
        whose = tuned_whole if output.parent == tuned_whole else tuned
        before = sorted(output.iterdir())
        assert f"--output {output}: is a folder that is read" in refusal(*options(output, "--tuned", whose))
        assert sorted(output.iterdir()) == before
