"""`python -m eval probe off-target`: counts and worst lines of texts whose languages are known."""

import csv
import json
import re

import pytest

from command_line.lines import read_lines
from command_line.measurements import Measured, read_examples, write_examples
from eval.probes.word_scripts import words_by_script
from eval.reporting.example_tables import in_order
from eval.systems import Run, System
from tests.data_prep.fasttext_models import write_identifier
from tests.eval.rows import rows_of


@pytest.fixture
def probe(command, tmp_path):
    def run(*arguments, folder="probe"):
        return command("probe", "off-target", *arguments, "--output", tmp_path / folder)

    return run


@pytest.fixture
def numbers_of(tmp_path):
    """Function of a direction: its numbers, each with its part where it has one."""

    def find(direction: str) -> dict:
        rows = rows_of(tmp_path / "probe/off-target.csv", direction=direction)
        keys = [
            (measure, part) if part else measure
            for measure, part in zip(rows.measure, rows.part, strict=True)
        ]
        return dict(zip(keys, rows.value, strict=True))

    return find


@pytest.fixture
def worst(tmp_path):
    """Function of a direction: its examples."""

    def find(direction: str, folder="probe") -> list[dict]:
        examples = read_examples(tmp_path / folder / "off-target.examples.jsonl")
        return [example for example in examples if example["direction"] == direction]

    return find


def places(numbers: dict) -> dict[str, int]:
    """Off-target lines of four by where they are."""
    names = ("source", "english", "empty", "other", "no_letters")
    return {name: 4 * numbers[f"off_target_{name}"] for name in names}


@pytest.fixture
def mixed(translated, texts):
    """de-fr: one line each in French, German and English, and an empty one."""
    lines = [texts["fr"][0], texts["de"][1], texts["en"][2], ""]
    return lambda seed=1: translated("A", {"de-fr": lines, "en-de": texts["de"]}, seed=seed)


def test_confusion_of_known_lines(mixed, probe, numbers_of, worst):
    result = probe(mixed())
    assert result.status == 0, result.err
    french = numbers_of("de-fr")
    identified = {key[1]: lines for key, lines in french.items() if key[0] == "identified"}
    assert identified == {"(empty)": 1, "de": 1, "en": 1, "fr": 1}
    assert places(french) == {"source": 1, "english": 1, "empty": 1, "other": 0, "no_letters": 0}
    assert (french["off_target"], french["identifier_error"], french["lines"]) == (0.75, 0, 4)
    assert french["identified_reference", "fr"] == 4
    assert numbers_of("en-de")["off_target"] == 0
    assert worst("en-de") == []


def test_english_is_the_source_where_it_is_the_source(translated, texts, probe, numbers_of):
    assert probe(translated("A", {"en-de": [texts["en"][0], *texts["de"][1:3], texts["fr"][3]]})).status == 0
    assert places(numbers_of("en-de")) == {"source": 1, "english": 0, "empty": 0, "other": 1, "no_letters": 0}


def test_the_worst_lines_are_the_surest_and_empty_ones_are_last(mixed, probe, worst, texts):
    assert probe(mixed()).status == 0
    lines = worst("de-fr")
    assert [example["line"] for example in lines][-1] == 4
    assert {example["line"]: example["identified"] for example in lines} == {2: "de", 3: "en", 4: "(empty)"}
    assert lines[0]["confidence"] >= lines[1]["confidence"] > 0.5
    example = next(example for example in lines if example["line"] == 2)
    assert (example["source"], example["reference"], example["hypothesis"]) == (
        texts["de"][1], texts["fr"][1], texts["de"][1],
    )  # fmt: skip
    assert probe(mixed(), "--worst", 1, folder="one").status == 0
    assert worst("de-fr", "one") == lines[:1]
    assert probe(mixed(), "--worst", 0, folder="one").status == 0
    assert worst("de-fr", "one") == []  # nothing of the earlier run is left


def test_lines_whose_reference_is_misidentified_come_later(translated, texts, probe, numbers_of, worst, data):
    path = data / "text" / "test.de-fr.fr"
    references = [*texts["de"][:1], *texts["fr"][1:]]  # the identifier "errs" on the first reference
    path.write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    assert probe(translated("A", {"de-fr": texts["de"]})).status == 0
    assert numbers_of("de-fr")["identifier_error"] == 0.25
    assert [example["identified_reference"] for example in worst("de-fr")] == ["fr", "fr", "fr", "de"]


def test_an_empty_hypothesis_is_a_warning_that_names_the_line(mixed, probe, tmp_path):
    (line,) = [line for line in probe(mixed()).err.splitlines() if line.startswith("warning")]
    assert line == (
        f"warning: {tmp_path}/A-1/de-fr.txt:4: empty, as are 1 of 4 lines; they count as off-target"
    )


def test_tables_and_figure_add_the_seeds_up(mixed, probe, tmp_path, draws):
    assert probe(mixed(), mixed(seed=2)).status == 0
    with open(tmp_path / "probe" / "confusion_toy_A.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    french = [row for row in rows if (row["direction"], row["measure"]) == ("de-fr", "identified")]
    assert {(row["seed"], row["part"], row["value"]) for row in french} == {
        (seed, language, "1.0") for seed in "12" for language in ("de", "en", "fr", "(empty)")
    }
    assert (tmp_path / "probe" / "confusion_toy_A.png").read_bytes().startswith(b"\x89PNG")
    header, *lines = read_lines(tmp_path / "probe" / "worst_lines_toy_A.csv")
    assert header.startswith("Direction,Seed,Line")
    listed = [line.split(",")[:3] for line in lines]  # as many as one seed has, of all seeds: 3
    assert len(listed) == 3 and [seed for _, seed, _ in listed] == ["1", "2", "1"]


def test_the_report_shows_it(mixed, probe, report, tmp_path, texts):
    assert probe(mixed()).status == 0
    html = (report(tmp_path / "probe/off-target.json") / "report.html").read_text(encoding="utf-8")
    assert "Languages of the output" in html and texts["de"][1] in html
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", html, flags=re.S)]
    expected = "A 1 de-fr zero-shot 4 75.00% 0.00% 25.00% 25.00% 25.00% 0.00% 0.00%"
    assert expected.split() in rows
    shares = "de-fr 4 25.0 25.0 25.0 0.0 0.0 25.0"  # of de, en and fr, others, without letters, empty
    of_references = "[fr] 4 0.0 0.0 100.0 0.0 0.0 0.0"
    assert shares.split() in rows and of_references.split() in rows


def test_a_language_that_the_identifier_does_not_know(
    translated, texts, probe, numbers_of, worst, data, tmp_path
):
    for language in ("ha", "en"):
        (data / "text" / f"test.en-ha.{language}").write_text("x y\n" * 4)
    assert probe(translated("A", {"en-ha": texts["en"]})).status == 0
    assert numbers_of("en-ha").keys() & {"off_target", "identifier_error", "off_target_source"} == set()
    assert worst("en-ha") == []
    (run,) = json.loads((tmp_path / "probe/off-target.json").read_text("utf-8"))["runs"]
    assert run["notes"] == ["Into ha: the identifier does not know Hausa (ha)."]


def test_lines_without_letters_are_off_target_before_empty_ones(
    translated, texts, probe, numbers_of, worst, data
):
    path = data / "text" / "test.de-fr.fr"
    references = [*texts["fr"][:2], "12 : 34", texts["fr"][3]]
    path.write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    assert probe(translated("A", {"de-fr": ["", "2015 !", "12 : 34", texts["de"][3]]})).status == 0
    french = numbers_of("de-fr")
    assert (french["off_target"], french["identifier_error"]) == (0.75, 0)
    assert places(french) == {"source": 1, "english": 0, "empty": 1, "other": 0, "no_letters": 1}
    assert [example["identified"] for example in worst("de-fr")] == ["de", "(no letters)", "(empty)"]


TRADITIONAL = ["今天的天氣非常好，我們一起去公園散步吧。", "這本書的內容非常有趣。"]
SIMPLIFIED = ["今天的天气非常好，我们一起去公园散步吧。", "这本书的内容非常有趣。"]


def test_tables_call_languages_as_the_test_set_does(translated, texts, probe, command, data, tmp_path):
    sides = {"zho_Hans": SIMPLIFIED, "zho_Hant": TRADITIONAL, "eng_Latn": texts["en"][:2]}
    pairs = [("eng_Latn", "zho_Hans"), ("eng_Latn", "zho_Hant"), ("zho_Hans", "zho_Hant")]
    for pair in pairs:
        for language in pair:
            path = data / "text" / f"test.{'-'.join(pair)}.{language}"
            path.write_text("".join(f"{line}\n" for line in sides[language]), encoding="utf-8")
    outputs = {
        "eng_Latn-zho_Hans": TRADITIONAL,  # cannot be told from Simplified Chinese
        "zho_Hans-zho_Hant": SIMPLIFIED,  # a copy, which cannot be told either
        "zho_Hant-eng_Latn": [texts["en"][0], TRADITIONAL[1]],
    }
    out = translated("A", outputs)
    assert probe(out).status == 0
    assert command("score", out, "--workers", "1").status == 0
    result = command("report", out, tmp_path / "probe/off-target.json", "--output", tmp_path / "report")
    assert result.status == 0, result.err
    report = (tmp_path / "report/report.md").read_text(encoding="utf-8").replace("\\", "")
    for note in (
        "Into zho_Hans: zho_Hant would count as zho_Hans: the identifier's 'zh' covers both.",
        "Into zho_Hant: the identifier cannot tell zho_Hant from zho_Hans: both are its 'zh'.",
    ):
        shown = re.sub(r"<details>.*?</details>", "", report, flags=re.S)
        assert shown.count(note) >= 2  # beside the rates, and beside the confusion matrix
    rows = [[text.strip() for text in line.strip("|").split("|")] for line in report.splitlines()]
    assert ["zho_Hant-eng_Latn", "zho_Hans/zho_Hant 50.0%"] in rows
    assert any(row[:4] == ["zho_Hant-eng_Latn", "1", "2", "zho_Hans/zho_Hant"] for row in rows)  # worst lines
    rates = list(read_lines(tmp_path / "report/tables/off_target_toy.csv"))
    rates = {tuple(row.split(",")[-3:]) for row in rates[1:]}
    assert rates == {
        ("eng_Latn-zho_Hans", "off_target", "0.0"),
        ("eng_Latn-zho_Hans", "identifier_error", "0.0"),
        ("zho_Hant-eng_Latn", "off_target", "0.5"),
        ("zho_Hant-eng_Latn", "identifier_error", "0.0"),
    }


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda out, data: (out / "de-fr.txt").unlink(),
            "de-fr.txt: no such file, needed to score direction de-fr",
        ),
        (lambda out, data: (out / "de-fr.txt").write_text("x\n"), "de-fr.txt: 1 lines, expected 4 as in "),
        (lambda out, data: (out / "translate.json").unlink(), "translate.json: no such file"),
        (lambda out, data: (data / "text" / "test.de-fr.fr").unlink(), "test.de-fr.fr: no such file"),
    ],
)
def test_bad_input(mixed, probe, data, damage, message):
    out = mixed()
    damage(out, data)
    result = probe(out)
    assert result.status == 2
    assert message in result.err and result.err.count("\n") == 1 + result.err.count("\nidentify")


def test_of_several_seeds_the_worst_lines_of_each_come_first(tmp_path):
    """Not the surest of all: the order of each seed's own is by its references, too. As many as of one."""
    measured = Measured()
    for seed, confidences in ((1, (0.5, 0.9)), (2, (0.7, 0.6))):
        examples = [
            {"direction": direction, "kind": kind, "confidence": confidence}
            for direction, kind in (("en-de", "supervised"), ("de-fr", "zero-shot"))
            for confidence in confidences
        ]
        measured.add({"system": {"name": "A", "seed": seed}, "dataset": "toy"}, [], examples)
    write_examples(tmp_path / "x.examples.jsonl", measured.examples)
    runs = (Run(tmp_path / "x.json", run, {}, number) for number, run in enumerate(measured.runs))
    ordered = in_order(System("A", "toy", tuple(runs)), "confidence")
    assert [(direction, seed, example["confidence"]) for direction, seed, example in ordered] == [
        ("de-fr", "2", 0.7), ("de-fr", "1", 0.5), ("en-de", "2", 0.7), ("en-de", "1", 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), [("[1]", "expected"), ("{", "JSON"), ('{"a": 1}', "run")])
def test_a_damaged_example_is_named(mixed, probe, command, tmp_path, line, message):
    assert probe(mixed()).status == 0
    file = tmp_path / "probe/off-target.examples.jsonl"
    file.write_text(f'{{"run": 1}}\n{line}\n')
    result = command("report", file.with_name("off-target.json"), "--output", tmp_path / "report")
    assert result.status == 2 and result.err.count("\n") == 1
    assert result.err.startswith(f"error: {file}:2: ") and message in result.err


def test_seeds_that_were_searched_in_other_ways_are_not_put_together(translated, texts, probe):
    outs = [translated("A", {"de-fr": texts["fr"]}, seed=seed, beam=beam) for seed, beam in ((1, 5), (2, 1))]
    result = probe(*outs)
    assert result.status == 2 and "search.beam is 1, but 5 in " in result.err


@pytest.mark.parametrize(
    ("fields", "what"),
    [({"beam": 1}, "search"), ({"checkpoint": {"sha256": "ef" * 32}}, "checkpoint")],
)
def test_the_report_shows_no_languages_of_an_earlier_translation(
    translated, scored, texts, probe, command, tmp_path, fields, what
):
    out = translated("A", {"de-fr": texts["en"]})
    assert probe(out).status == 0
    report = ("report", out, tmp_path / "probe/off-target.json", "--output", tmp_path / "report")
    assert command("score", out, "--workers", "1").status == 0
    assert command(*report).status == 0
    scored("A", {"de-fr": texts["fr"]}, **fields)
    assert command(*report).err == (
        f"error: {tmp_path}/probe/off-target.json: is of another {what} of 'A' than {out}/scores.json; probe"
        " that one again\n"
    )


def test_another_identifier(mixed, texts, probe, numbers_of, worst, tmp_path):
    """It takes the first German reference for English, as its own error says."""
    words = {
        "deu_Latn": " ".join(texts["de"][1:]).split(),
        "eng_Latn": [*" ".join(texts["en"]).split(), *texts["de"][0].split()],
        "fra_Latn": " ".join(texts["fr"]).split(),
    }
    model = write_identifier(tmp_path / "glotlid.bin", words)
    result = probe(mixed(), "--identifier", model)
    assert result.status == 0, result.err
    assert numbers_of("de-fr")["off_target"] == 0.75 and numbers_of("de-fr")["identified", "eng_Latn"] == 1
    assert places(numbers_of("de-fr")) == {"source": 1, "english": 1, "empty": 1, "other": 0, "no_letters": 0}
    assert (numbers_of("en-de")["off_target"], numbers_of("en-de")["identifier_error"]) == (0.25, 0.25)
    assert {example["line"]: example["identified"] for example in worst("de-fr")} == {
        2: "de",
        3: "en",
        4: "(empty)",
    }
    (run,) = json.loads((tmp_path / "probe/off-target.json").read_text())["runs"]
    assert run["identifier_labels"] == {"de": "deu_Latn", "en": "eng_Latn", "fr": "fra_Latn"}
    assert run["identifier"].startswith("glotlid.bin (")


def test_an_identifier_without_a_language_of_the_test_set_is_refused(mixed, probe, tmp_path):
    model = write_identifier(tmp_path / "lid.bin", {"deu_Latn": ["das"], "eng_Latn": ["the"]})
    result = probe(mixed(), "--identifier", model)
    assert (result.status, result.err) == (
        2,
        f"error: --identifier {model}: has no label for French (fr); expected an identifier of all languages"
        " of the test set\n",
    )


def test_words_by_script(translated, texts, probe, numbers_of):
    """Two lines of four mix scripts: 1 of 2 and 1 of 4 words; one of two words is in another script alone."""
    lines = ["Das слово", "ein Haus и Hund", "другой язык", "Das Haus ist 12 m²."]
    assert probe(translated("A", {"en-de": lines})).status == 0
    german = numbers_of("en-de")
    assert german["words_in_script", "Cyrl"] == pytest.approx(4 / 12)
    assert german["other_script"] == pytest.approx(4 / 12)
    assert german["words_in_script", "Latn"] == pytest.approx(8 / 12)
    assert german["mixed_lines"] == 0.5
    assert german["other_script_reference"] == german["mixed_lines_reference"] == 0


@pytest.mark.parametrize(
    ("line", "script", "counts"),
    [
        ("猫はカーで来た。", "Jpan", {"Jpan": 1}),
        ("猫はCDで来た。", "Jpan", {"Jpan": 2, "Latn": 1}),
        ("猫は来た", "Hans", {"Hans": 2, "Hira": 2}),
        ("한국어 漢字 text", "Kore", {"Kore": 2, "Latn": 1}),
        ("don't 12:30 —", "Latn", {"Latn": 1}),
        ("", "Latn", {}),
        ("дом", None, {"Cyrl": 1}),
    ],
)
def test_runs_of_letters_in_one_script(line, script, counts):
    assert words_by_script(line, script) == counts
