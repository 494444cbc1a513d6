"""`phrases`, `bunsetsu`, `position-changes` and `structures` as a user runs them."""

import json

import pytest

from data_prep.formats.structures import PHRASES, Structures
from data_prep.parsing import step as parsing_step
from tests.data_prep.parsing.toy_texts import CONLLU, ENGLISH, ENJU, counts_of, phrases, reordered


def test_phrases_by_spacy(step, corpus, model, tmp_path):
    status, error = phrases(step, corpus, tmp_path / "out", "--model", model)
    assert status == 0, error
    assert reordered(tmp_path / "out/train.en-ja.en.phrases", PHRASES, ENGLISH) == [
        "the man the ball hit .",
        None,
        "... ! ?",
        None,
        "he the man saw &quot; &quot;",
        "john eats",
    ]
    counts = counts_of(tmp_path / "out", "phrases.en")
    assert (counts["lines"], counts["analysed"], counts["empty"], counts["unparsed"]) == (6, 4, 1, 1)
    assert (counts["words"], counts["moved"]) == (17, 7)
    status, error = phrases(step, corpus, tmp_path / "out", "--model", model)
    assert status == 0
    assert "complete, skipped" in error


def test_the_parser_may_read_the_text_before_tokenization(step, corpus, model, tmp_path, write_corpus):
    raw = ["the man hit the  ball.", "", "...!?", "crash", 'he saw "the man"', "john likes"]
    write_corpus(tmp_path / "raw", {"train.en-ja.en": raw})
    status, error = phrases(step, corpus, tmp_path / "out", "--model", model, "--text", tmp_path / "raw")
    assert status == 0, error
    found = reordered(tmp_path / "out/train.en-ja.en.phrases", PHRASES, ENGLISH)
    assert found[0] == "the man the ball hit ."
    assert found[5] is None  # other words
    assert counts_of(tmp_path / "out", "phrases.en")["unmapped"] == 1


def test_workers_and_shards_do_not_change_the_result(step, tmp_path, write_corpus, model, monkeypatch):
    lines = [f"john{number} hit ball{number % 7} ." for number in range(50)]
    corpus = write_corpus(tmp_path / "tok", {"train.en": lines, "valid.en": lines[:7]})
    for name, size, workers in (("a", 1_000, 1), ("b", 3, 1), ("c", 4, 2)):
        monkeypatch.setattr(parsing_step, "LINES_PER_SHARD", size)
        status, error = step(
            "phrases", "--input", corpus, "--output", tmp_path / name, "--model", model, "--workers", workers
        )
        assert status == 0, error
    for file in ("train.en.phrases", "valid.en.phrases"):
        first = (tmp_path / "a" / file).read_bytes()
        assert (tmp_path / "b" / file).read_bytes() == first == (tmp_path / "c" / file).read_bytes()
    assert reordered(tmp_path / "a/train.en.phrases", PHRASES, lines)[9] == "john9 ball2 hit ."


def test_a_killed_step_goes_on_where_it_was(step, tmp_path, write_corpus, model, monkeypatch):
    lines = [f"john{number} hit ball ." for number in range(20)]
    corpus = write_corpus(tmp_path / "tok", {"train.en": lines})
    monkeypatch.setattr(parsing_step, "LINES_PER_SHARD", 4)
    parse, done = parsing_step.structures_of_shard, []

    def dies(choice, shard):
        if shard.number == 3:
            raise KeyboardInterrupt
        done.append(shard.number)
        return parse(choice, shard)

    monkeypatch.setattr(parsing_step, "structures_of_shard", dies)
    with pytest.raises(KeyboardInterrupt):
        phrases(step, corpus, tmp_path / "out", "--model", model)
    assert not (tmp_path / "out/train.en.phrases").exists()

    def works(choice, shard):
        done.append(shard.number)
        return parse(choice, shard)

    monkeypatch.setattr(parsing_step, "structures_of_shard", works)
    shards = tmp_path / "out/.shards-phrases.en/train.en.phrases"
    (shards / ".partial-deadbeef-4711.0000003.json").write_text("{")  # of a kill on another machine
    assert phrases(step, corpus, tmp_path / "out", "--model", model)[0] == 0
    assert done == [0, 1, 2, 3, 4]
    assert reordered(tmp_path / "out/train.en.phrases", PHRASES, lines)[19] == "john19 ball hit ."
    assert counts_of(tmp_path / "out", "phrases.en")["analysed"] == 20
    assert not (tmp_path / "out/.shards-phrases.en").exists()
    assert phrases(step, corpus, tmp_path / "out", "--model", model, "--force")[0] == 0
    assert done == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]


def test_languages_share_a_folder(step, tmp_path, write_corpus):
    """Whatever is done again, the other language's stays."""
    corpus = write_corpus(tmp_path / "tok", {"train.de-en.de": ["er"], "train.de-en.en": ["he"]})
    out, row = tmp_path / "out", "1\t{}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    for language, word in (("de", "er"), ("en", "he")):
        (tmp_path / f"train.de-en.{language}.conllu").write_text(row.format(word))

    def parse(language, *words):
        options = ("--parser", "conllu", "--parses", tmp_path, "--lang", language)
        status, error = phrases(step, corpus, out, *options, *words)
        assert status == 0, error
        return error

    parse("de")
    parse("en")
    for words in ((), ("--force",), ()):
        found = sorted(path.name for path in out.iterdir())
        assert [name for name in found if name.endswith(".phrases")] == [
            "train.de-en.de.phrases", "train.de-en.en.phrases"
        ]  # fmt: skip
        for language in ("de", "en"):
            assert ("complete, skipped" in parse(language, *words)) == (not words)
    assert {path.name for path in out.glob("*.json")} == {
        "phrases.de.json", "phrases.de-report.json", "phrases.en.json", "phrases.en-report.json"
    }  # fmt: skip


def test_shards_of_another_text_are_not_used(step, tmp_path, write_corpus, model, monkeypatch):
    monkeypatch.setattr(parsing_step, "join_structures", lambda *_: 1 / 0)
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["john hit ball"]})
    with pytest.raises(ZeroDivisionError):
        phrases(step, corpus, tmp_path / "out", "--model", model)
    monkeypatch.undo()
    write_corpus(corpus, {"train.en": ["john sleeps", "he eats fish"]})
    assert phrases(step, corpus, tmp_path / "out", "--model", model)[0] == 0
    lines = ["john sleeps", "he eats fish"]
    assert reordered(tmp_path / "out/train.en.phrases", PHRASES, lines) == ["sleeps john", "he fish eats"]


def test_a_line_of_ten_thousand_words(step, tmp_path, write_corpus):
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["x " * 10_000, "x " * 65_536, "x"]})
    rows = [f"{place}\tx\t_\t_\t_\t_\t{place - 1}\tobj\t_\t_" for place in range(1, 10_001)]
    short = "1\tx\t_\t_\t_\t_\t0\troot\t_\t_"
    (tmp_path / "train.en.conllu").write_text("\n".join([*rows, "", short, "", short, ""]))
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", "conllu", "--parses", tmp_path)
    assert status == 0, error
    counts = counts_of(tmp_path / "out", "phrases.en")
    assert (counts["analysed"], counts["too-long"], counts["words"]) == (2, 1, 10_001)
    structures = Structures(tmp_path / "out/train.en.phrases", PHRASES)
    assert structures[0].order.tolist() == list(range(9_999, -1, -1))
    assert structures[1] is None


@pytest.mark.parametrize(
    ("parser", "name", "content", "expected"),
    [
        ("conllu", "train.en.conllu", CONLLU, ["john fish eats", None, "he"]),
        ("enju-xml", "train.en.xml", ENJU, ["john fish eats", None, None]),
    ],
)
def test_parses_from_files(step, tmp_path, write_corpus, monkeypatch, parser, name, content, expected):
    lines = ["john eats fish", "", "he"]
    corpus = write_corpus(tmp_path / "tok", {"train.en": lines})
    monkeypatch.setattr(parsing_step, "LINES_PER_SHARD", 1)
    (tmp_path / name).write_text(content, encoding="utf-8")
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", parser, "--parses", tmp_path)
    assert status == 0, error
    assert reordered(tmp_path / "out/train.en.phrases", PHRASES, lines) == expected


@pytest.mark.parametrize(
    ("parser", "name", "content", "message"),
    [
        ("conllu", "train.en.conllu", CONLLU.partition("\n\n")[0], "ends 1 sentences before line 3 of"),
        ("conllu", "train.en.conllu", CONLLU + CONLLU, "conllu:9: a sentence beyond the last line of"),
        ("enju-xml", "train.en.xml", ENJU.partition("\n")[0], "ends 2 sentences before line 3 of"),
        ("enju-xml", "train.en.xml", ENJU.replace("</cons>", ""), "xml:1: not Enju's XML"),
        ("enju-xml", "train.en.xml", ENJU + ENJU, "xml:4: a sentence beyond the last line of"),
    ],
)
def test_files_of_parses_that_do_not_fit(step, tmp_path, write_corpus, parser, name, content, message):
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["john eats fish", "", "he"]})
    (tmp_path / name).write_text(content, encoding="utf-8")
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", parser, "--parses", tmp_path)
    assert status == 2
    assert message in error


def test_parses_of_another_text_are_noticed(step, tmp_path, write_corpus):
    corpus = write_corpus(tmp_path / "tok", {"train.en": [f"line {number}" for number in range(30)]})
    (tmp_path / "train.en.conllu").write_text("1\tjohn\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 30)
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", "conllu", "--parses", tmp_path)
    assert status == 2
    assert "train.en:1: the parse is of another text, as are 30 of 30" in error


def test_bad_input(step, tmp_path, write_corpus, corpus, model):
    from tests.data_prep.parsing.toy_parser import save_toy_pipeline

    out = tmp_path / "out"
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/train.en").write_bytes(b"john eats\nfish \xff\n")
    cases = [
        ((tmp_path / "bad", "--model", model), "train.en:2: byte 0xff is not UTF-8"),
        ((corpus, "--model", tmp_path / "none"), "not a spaCy pipeline"),
        ((corpus, "--model", save_toy_pipeline(tmp_path / "blank", "")), "no dependency parser"),
        ((corpus,), "--model is missing"),
        ((corpus, "--parser", "enju", "--model", "no-such-enju"), "no program `no-such-enju`"),
        ((corpus, "--parser", "enju-xml"), "--parser enju-xml: needs --parses DIR"),
        ((corpus, "--parses", corpus), "--parser spacy: parses itself"),
        (
            (corpus, "--parser", "conllu", "--parses", corpus, "--model", model),
            "--parser conllu reads parses; leave it out",
        ),
        ((corpus, "--parser", "conllu", "--parses", corpus), "train.en-ja.en.conllu: no such file"),
        ((corpus, "--model", model, "--text", tmp_path / "bad"), "expected what belongs to"),
        ((corpus, "--model", model, "--text", out), "`phrases.en` did not finish here; run it again"),
        ((corpus, "--model", model, "--lang", "de"), "no files named SPLIT.….de"),
        ((tmp_path / "nothing", "--model", model), "no such folder"),
    ]
    for (folder, *words), message in cases:
        status, error = phrases(step, folder, out, *words)
        assert (status, error.count("\n")) == (2, 1), error
        assert message in error


@pytest.mark.parametrize("option", ["--input", "--text", "--parses"])
def test_folders_that_are_read_are_not_written(step, tmp_path, write_corpus, option):
    """Interrupted, it would leave them unfinished, to itself, too."""
    lines = {"train.en": ["john eats"]}
    folders = {name: write_corpus(tmp_path / name[2:], lines) for name in ("--input", "--text", "--parses")}
    (folders["--parses"] / "train.en.conllu").write_text("1\tjohn\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    words = [word for name in ("--text", "--parses") for word in (name, folders[name])]
    status, error = phrases(step, folders["--input"], folders[option], "--parser", "conllu", *words)
    assert status == 2 and f"--output {folders[option]}: is the input folder, expected another one" in error
    assert not [path for path in folders[option].iterdir() if path.name.startswith(".")]


def test_a_pipeline_that_always_fails_is_an_error(step, tmp_path, write_corpus, model):
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["crash", "crash again"] * 10})
    status, error = phrases(step, corpus, tmp_path / "out", "--model", model)
    assert status == 2
    assert "train.en:1: --parser spacy fails on every line: ValueError: this sentence cannot be" in error


def test_a_few_lines_that_cannot_be_parsed_are_counted(step, tmp_path, write_corpus, model):
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["crash", "crash again"]})
    assert phrases(step, corpus, tmp_path / "out", "--model", model)[0] == 0
    counts = json.loads((tmp_path / "out/phrases.en-report.json").read_text())["train.en.phrases"]
    assert (counts["unparsed"], counts["analysed"]) == (2, 0)


def test_position_changes(step, tmp_path, corpus, model, capsys):
    assert phrases(step, corpus, tmp_path / "out", "--model", model)[0] == 0
    capsys.readouterr()
    from data_prep.__main__ import DESCRIPTION, STEPS, run

    run("data_prep", DESCRIPTION, STEPS, ["position-changes", "--input", str(tmp_path / "out")])
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("| train.en-ja.en | 17 | HFSS | 41.18% | ")
    assert step("position-changes", "--input", tmp_path)[0] == 2
