"""`llm instruct`: which instructions it writes of which text, what it refuses, and what a kill leaves."""

import functools
import json
import re
import shutil
from pathlib import Path

import pytest

from command_line.dispatch import run
from command_line.errors import InputError
from llm.__main__ import COMMANDS
from llm.instructions.folder import InstructionFolder, Instructions
from tests.kill_points import sweep
from tests.llm.toy_text import EMPTY, LINES, sentences, text_of, write_lines, write_texts

ALL = "mt,align,hint,revise,mono-full,mono-half"


def options(texts: Path, output: Path, *others) -> list[str]:
    folders = ("--text", texts / "text", "--words", texts / "words", "--alignments", texts / "alignments")
    return [str(word) for word in ("instruct", *folders, "--workers", 1, "--output", output, *others)]


@pytest.fixture
def own(tmp_path) -> Path:
    """A text that a test may change."""
    return write_texts(tmp_path / "own", pairs=["de-en"])


def files(folder: Path) -> dict[str, list[dict]]:
    return {path.name: list(map(json.loads, open(path, encoding="utf-8"))) for path in folder.glob("*.jsonl")}


def test_every_pair_gives_one_instruction_of_each_task_and_direction(instructions):
    written = files(instructions)
    tasks = ALL.split(",")
    assert set(written) == {
        f"{split}.{task}.{pair}.jsonl"
        for split in ("train", "valid") for task in tasks for pair in ("de-en", "en-fr")
    }  # fmt: skip
    for name, lines in written.items():
        split, task, pair, _ = name.split(".")
        first, second = pair.split("-")
        other = first if second == "en" else second
        directions = [f"en-{other}"] if "mono" in task else [f"{first}-{second}", f"{second}-{first}"]
        kept = LINES[split] - (split == "train")  # but the empty one
        assert [line["direction"] for line in lines] == directions * kept


def test_texts_keep_their_order_and_empty_lines_are_left_out(instructions):
    lines = files(instructions)["train.mt.de-en.jsonl"]
    expected = [sentence for sentence in sentences("train", "de-en") if sentence]
    assert len(expected) == LINES["train"] - 1 and LINES["train"] >= EMPTY
    assert [line["output"] for line in lines[::2]] == [text_of(one, "en") for one in expected]
    german = text_of(expected[5], "de")
    assert lines[10]["input"] == f"Translate from German to English.\nGerman: {german}\nEnglish:"


def test_the_index_says_what_there_is(instructions):
    folder = InstructionFolder.load(instructions)
    assert folder.languages == {"de": "German", "en": "English", "fr": "French"}
    assert folder.directions == ["de-en", "en-de", "en-fr", "fr-en"]
    counts = {name: len(lines) for name, lines in files(instructions).items()}
    assert {name: entry["instructions"] for name, entry in folder.files.items()} == counts
    assert [path.name for path in Instructions([folder]).paths("valid", ["align", "mono-half"])] == [
        "valid.align.de-en.jsonl", "valid.align.en-fr.jsonl", "valid.mono-half.de-en.jsonl",
        "valid.mono-half.en-fr.jsonl",
    ]  # fmt: skip


def test_workers_do_not_change_it(texts, instructions, tmp_path, completed, monkeypatch):
    monkeypatch.setattr("llm.instruct.LINES", 3)  # in every block
    for workers in (1, 2):
        completed(*options(texts, tmp_path / f"{workers}", "--tasks", ALL, "--workers", workers))
    single, two, whole = files(tmp_path / "1"), files(tmp_path / "2"), files(instructions)
    assert single == two
    # wrong phrases of revise are of the lines of a block
    assert {name for name in whole if single[name] != whole[name]} <= {n for n in whole if ".revise." in n}


def test_errors_of_the_same_sentence_are_an_option(texts, instructions, tmp_path, completed):
    """Each is then twice in its sentence; otherwise none is, unless no other phrase fits."""
    completed(*options(texts, tmp_path / "own", "--tasks", "revise", "--errors", "same-sentence"))
    shares = []
    for folder in (tmp_path / "own", instructions):
        twice = []
        for line in files(folder)["train.revise.de-en.jsonl"]:
            wrong = re.search(r'translated word is "(.+)"\. It', line["output"])[1]
            translation = line["input"].splitlines()[-1]
            twice.append(len(re.findall(rf"\b{re.escape(wrong)}\b", translation, re.IGNORECASE)) > 1)
        shares.append(sum(twice) / len(twice))
    assert shares[0] > 0.9 and shares[1] < 0.1, shares


def test_another_seed_makes_other_choices_of_the_same_text(texts, instructions, tmp_path, command):
    assert command(*options(texts, tmp_path / "out", "--tasks", ALL, "--seed", 2)).status == 0
    first, others = files(instructions), files(tmp_path / "out")
    for name, lines in first.items():
        assert len(lines) == len(others[name])
        drawn = name.split(".")[1] in ("align", "revise")
        assert (lines != others[name]) == drawn or ".hint." in name or name.startswith("valid")


def test_choices_differ_from_line_to_line_and_between_directions(instructions):
    lines = files(instructions)["train.align.de-en.jsonl"]
    for half in (lines[::2], lines[1::2]):
        assert {line["output"] for line in half} == {"True", "False"}
    assert [line["output"] for line in lines[::2]] != [line["output"] for line in lines[1::2]]


def test_directions(texts, tmp_path, command):
    given = ("--tasks", "mt,mono-full", "--directions", "en-de,fr-en")
    assert command(*options(texts, tmp_path / "out", *given)).status == 0
    directions = {
        name: {line["direction"] for line in lines} for name, lines in files(tmp_path / "out").items()
    }
    assert directions == {
        "train.mt.de-en.jsonl": {"en-de"}, "train.mt.en-fr.jsonl": {"fr-en"},
        "train.mono-full.de-en.jsonl": {"en-de"}, "valid.mt.de-en.jsonl": {"en-de"},
        "valid.mt.en-fr.jsonl": {"fr-en"}, "valid.mono-full.de-en.jsonl": {"en-de"},
    }  # fmt: skip
    assert InstructionFolder.load(tmp_path / "out").directions == ["en-de", "fr-en"]


def test_what_is_not_instructed_is_not_read(tmp_path, completed):
    """Neither words nor links of the other pairs are needed; their languages keep their names."""
    own = write_texts(tmp_path / "own")
    for path in own.glob("*/*.en-fr.*"):
        if path.parent.name != "text":
            path.unlink()
    (own / "text/train.en-fr.fr").write_bytes(b"\xff\n" * LINES["train"])
    words = options(own, tmp_path / "out", "--tasks", "mt,align", "--directions", "de-en,en-de")
    completed(*words)
    assert {name.split(".")[2] for name in files(tmp_path / "out")} == {"de-en"}
    folder = InstructionFolder.load(tmp_path / "out")
    assert folder.languages == {"de": "German", "en": "English", "fr": "French"}
    assert folder.directions == ["de-en", "en-de"]


def test_languages_of_monolingual_tasks(texts, tmp_path, command):
    given = ("--tasks", "mono-full", "--mono-languages", "en,fr")
    assert command(*options(texts, tmp_path / "out", *given)).status == 0
    directions = {
        name: {line["direction"] for line in lines} for name, lines in files(tmp_path / "out").items()
    }
    assert directions["train.mono-full.de-en.jsonl"] == {"de-en"}
    assert directions["train.mono-full.en-fr.jsonl"] == {"en-fr", "fr-en"}


def test_nothing_to_instruct(texts, tmp_path, refusal):
    given = ("--tasks", "mono-full,mono-half", "--directions", "de-en,fr-en")
    line = "--tasks mono-full,mono-half: are of the languages that --directions translate into and"
    assert line in refusal(*options(texts, tmp_path / "out", *given))
    assert not (tmp_path / "out").exists()


def test_only_pairs_with_training_text(own, tmp_path, command):
    """The test set is not looked at."""
    shutil.copy(own / "text/valid.de-en.de", own / "text/valid.de-fr.de")
    shutil.copy(own / "text/valid.de-en.en", own / "text/valid.de-fr.fr")
    (own / "text/test.de-en.de").write_bytes(b"\xff\n")
    assert command(*options(own, tmp_path / "out", "--tasks", "mt")).status == 0
    assert set(files(tmp_path / "out")) == {"train.mt.de-en.jsonl", "valid.mt.de-en.jsonl"}
    assert set(InstructionFolder.load(tmp_path / "out").languages) == {"de", "en"}


def test_tasks_without_words_need_none(own, tmp_path, command):
    words = ("instruct", "--text", own / "text", "--workers", 1, "--output", tmp_path / "out")
    assert command(*words, "--tasks", "mt,mono-full,mono-half").status == 0


def test_halves_follow_the_language_of_the_text(own, tmp_path, command):
    for path in own.glob("text/*.de"):
        path.rename(path.with_name(path.name.replace("de-en.de", "en-my.my")))
    for path in own.glob("text/*.de-en.en"):
        path.rename(path.with_name(path.name.replace("de-en", "en-my")))
    write_lines(own / "text/train.en-my.my", ["က ကာကာကာ"])
    write_lines(own / "text/train.en-my.en", ["It is a house"])
    given = ("--tasks", "mono-half", "--mono-languages", "en,my")
    assert command(*options(own, tmp_path / "out", *given)).status == 0
    made = [line["output"] for line in files(tmp_path / "out")["train.mono-half.en-my.jsonl"]]
    assert sorted(made) == ["a house", "ကာကာကာ"]


def write_pair(own, texts: tuple[str, str], links: str, words: tuple[str, str] | None = None) -> None:
    """The only sentence pair of training; in words it is as in the text, unless they are given."""
    for language, text, of_text in zip(("de", "en"), texts, words or texts, strict=True):
        write_lines(own / f"text/train.de-en.{language}", [text])
        write_lines(own / f"words/train.de-en.{language}", [of_text])
    write_lines(own / "alignments/train.de-en.align", [links])


def test_raw_text_is_asserted_whatever_the_words_look_like(own, tmp_path, command):
    """Escaped by Moses, joined by links, and spaces in places where words have none."""
    write_pair(
        own,
        ("Müllers  R&D ist's.", "It's ours (R&D)."),
        "0-2 1:4-4:7 4-0 5-1 6-8",
        words=("Müllers R &amp; D ist &apos;s .", "It &apos;s ours ( R &amp; D ) ."),
    )
    given = ("--tasks", "hint", "--directions", "de-en")
    assert command(*options(own, tmp_path / "out", *given)).status == 0
    (line,) = files(tmp_path / "out")["train.hint.de-en.jsonl"]
    hints = re.findall(r"^- \((.+), (.+)\),$", line["input"], re.MULTILINE)
    assert hints == [("ours", "Müllers"), ("R&D", "R&D"), ("It", "ist"), ("'s", "'s")]


def test_a_word_that_the_raw_line_does_not_spell_moves_no_phrase(own, tmp_path, command):
    """An invisible character, for example, that was only removed from the text."""
    words = ("ein \u200b Haus", "a house \u200b")
    write_pair(own, ("ein Haus", "a house"), "0-0 1-1 2-1 2-2", words)
    given = ("--tasks", "hint", "--directions", "de-en")
    assert command(*options(own, tmp_path / "out", *given)).status == 0
    (line,) = files(tmp_path / "out")["train.hint.de-en.jsonl"]
    assert "- (a, ein),\n- (house, Haus),\n" in line["input"]


def test_the_longest_phrase(own, tmp_path, command):
    write_pair(own, ("eins zwei drei vier", "one two three four"), "0:2-0 2-1 3-2:4")
    for longest, expected in ((1, ["(two, drei)"]), (2, ["(one, eins zwei)", "(two, drei)"])):
        given = ("--tasks", "hint", "--directions", "de-en", "--longest-phrase", longest)
        assert command(*options(own, tmp_path / f"{longest}", *given)).status == 0
        (line,) = files(tmp_path / f"{longest}")["train.hint.de-en.jsonl"]
        assert re.findall(r"\(.+\)", line["input"])[: len(expected)] == expected


def test_what_is_done_is_skipped_until_the_text_changes(own, tmp_path, command):
    words = options(own, tmp_path / "out")
    assert command(*words).status == 0
    assert "complete, skipped" in command(*words).err
    with open(own / "text/train.de-en.en", "r+b") as stream:
        stream.write(b"X")
    with open(own / "words/train.de-en.en", "r+b") as stream:
        stream.write(b"X")
    assert command(*words).status == 0
    assert files(tmp_path / "out")["train.mt.de-en.jsonl"][0]["output"].startswith("X")


def test_tasks_that_are_no_longer_asked_for_go(own, tmp_path, command):
    assert command(*options(own, tmp_path / "out")).status == 0
    assert command(*options(own, tmp_path / "out", "--tasks", "mono-full")).status == 0
    assert set(files(tmp_path / "out")) == {"train.mono-full.de-en.jsonl", "valid.mono-full.de-en.jsonl"}


@pytest.mark.parametrize(
    ("gone", "line"),
    [
        (
            "alignments/valid.de-en.align",
            "alignments/valid.de-en.align: no such file; expected the output of",
        ),
        ("words/train.de-en.*", "words: no train text of de-en, expected that of"),
        ("text/train.de-en.*", "text: no training text, expected files train.A-B.LANG"),
    ],
)
def test_missing_files(own, tmp_path, refusal, gone, line):
    for path in own.glob(gone):
        path.unlink()
    assert line in refusal(*options(own, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "lines", "line"),
    [
        ("words/train.de-en.de", ["x x x x x"] * 12, "words/train.de-en.de:1: the words spell 'xxxxx' where"),
        (
            "alignments/train.de-en.align",
            ["0-0"] * 11 + ["0-9"],
            ".align:12: found a link to word 0 of A and",
        ),
        ("alignments/train.de-en.align", ["0-0"] * 3 + ["0,0"] * 9, "train.de-en.align:4: found '0,0', exp"),
        ("alignments/train.de-en.align", ["0-0"] * 3, "train.de-en.align: ends after 3 lines but"),
    ],
)
def test_files_that_do_not_belong_together(own, tmp_path, refusal, name, lines, line):
    write_lines(own / name, lines)
    assert line in refusal(*options(own, tmp_path / "out"))


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (["--tasks", "mt,nothing"], "--tasks: found 'nothing', expected one of mt, align"),
        (["--directions", "en-ja"], "--directions: 'ja' is no language of"),
        (["--directions", "de-fr"], "--directions: no text of de-fr in"),
        (["--mono-languages", "ja"], "--mono-languages: 'ja' is no language of"),
    ],
)
def test_refusals(texts, tmp_path, refusal, others, line):
    assert line in refusal(*options(texts, tmp_path / "out", *others))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--words", "--alignments"])
def test_a_folder_that_the_tasks_need(texts, tmp_path, refusal, option):
    words = options(texts, tmp_path / "out")
    place = words.index(option)
    line = refusal(*words[:place], *words[place + 2 :])
    assert line == f"{option}: is missing; --tasks align need aligned words"


def test_an_index_of_another_version_or_with_names_that_lead_elsewhere(instructions, tmp_path):
    folder = shutil.copytree(instructions, tmp_path / "out")
    index = json.loads((folder / "instructions.json").read_text())
    (folder / "instructions.json").write_text(json.dumps(index | {"format": 2}))
    with pytest.raises(InputError, match=r"instructions\.json: is of another version, expected format 1"):
        InstructionFolder.load(folder)
    entry = next(iter(index["files"].values()))
    (folder / "instructions.json").write_text(json.dumps(index | {"files": {"../train.jsonl": entry}}))
    with pytest.raises(InputError, match=r"a name in files is '\.\./train\.jsonl'"):
        InstructionFolder.load(folder)


def test_a_file_that_was_cut_at_the_end_of_a_line(instructions, tmp_path):
    folder = shutil.copytree(instructions, tmp_path / "out")
    path = folder / "train.mt.de-en.jsonl"
    write_lines(path, path.read_text(encoding="utf-8").splitlines()[:-1])
    with pytest.raises(
        InputError, match=r"out: train\.mt\.de-en\.jsonl has changed since; expected all files"
    ):
        InstructionFolder.load(folder)


def test_a_task_without_instructions_is_no_objective(own, tmp_path, command):
    write_lines(own / "alignments/valid.de-en.align", [""] * LINES["valid"])
    assert command(*options(own, tmp_path / "out")).status == 0
    folder = InstructionFolder.load(tmp_path / "out")
    assert folder.files["valid.align.de-en.jsonl"]["instructions"] == 0
    with pytest.raises(
        InputError,
        match=r"out: valid instructions of align: there are none; make them by .* --tasks align` of text with"
        " a valid set, and give one folder that has them",
    ):
        Instructions([folder]).paths("valid", ["align"])


def test_objectives_may_lie_in_different_folders(own, tmp_path, command):
    for task in ("mt", "align"):
        assert command(*options(own, tmp_path / task, "--tasks", task)).status == 0
    instructions = Instructions.load([tmp_path / "mt", tmp_path / "align"])
    together = InstructionFolder.load(tmp_path / "mt")
    assert (instructions.languages, instructions.directions(["mt"])) == (
        together.languages,
        together.directions,
    )
    assert [path.parent.name for path in instructions.paths("train", ["align", "mt"])] == ["align", "mt"]
    with pytest.raises(InputError, match="train instructions of mt: two folders have them"):
        Instructions.load([tmp_path / "mt", tmp_path / "mt"]).paths("train", ["mt"])


def test_folders_that_call_a_language_by_two_names_are_not_taken_together(own, tmp_path, command):
    for name in ("one", "other"):
        assert command(*options(own, tmp_path / name)).status == 0
    index = tmp_path / "other/instructions.json"
    index.write_text(index.read_text().replace('"German"', '"Deutsch"'))
    (tmp_path / "other/instruct.json").unlink()  # the record of a step that wrote another index
    with pytest.raises(InputError, match="de is called 'Deutsch', but 'German' in another folder"):
        Instructions.load([tmp_path / "one", tmp_path / "other"])


@pytest.mark.slow
def test_killed_half_way_nothing_is_complete(own, tmp_path):
    work = tmp_path / "work"

    def reset() -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()

    sweep(
        functools.partial(run, "llm", "", COMMANDS, options(own, work / "out")),
        [work],
        reset,
        lambda: InstructionFolder.load(work / "out"),
        InputError,
        most=9,
    )
