"""Numbers that can be counted by hand."""

import csv
import json
from collections import Counter

from command_line.outputs import partial_prefix
from data_prep.corpus_stats import overview, percentile, plot, shares_of_lengths, size_rows, summarize


def test_table_json_and_plot(step, tmp_path, write_corpus):
    files = {"train.de-en.de": ["a", "a b c", "", "a b"], "train.de-en.en": ["x y"] * 4}
    files |= {
        "train.en-fr.en": ["x"],
        "train.en-fr.fr": ["u v"],
        "test.de-fr.de": ["a"],
        "test.de-fr.fr": ["u"],
    }
    write_corpus(tmp_path / "in", files)
    assert (
        step("corpus-stats", "--input", tmp_path / "in", "--output", tmp_path / "out", "--workers", 1)[0] == 0
    )
    with open(tmp_path / "out/corpus_stats.csv", newline="") as stream:
        rows = {(row["split"], row["direction"], row["language"]): row for row in csv.DictReader(stream)}
    row = rows["train", "de-en", "de"]
    assert [row[name] for name in ("lines", "tokens", "mean", "median", "longest", "empty", "ratio")] == [
        "4", "6", "1.5", "1", "3", "1", "1.333",
    ]  # fmt: skip
    assert rows["train", "en-de", "en"]["ratio"] == "0.75"
    assert (rows["train", "all", "en"]["lines"], rows["train", "all", "en"]["tokens"]) == ("5", "9")
    assert ("test", "fr-de", "fr") in rows and len(rows) == 6 + 3 + 2
    stored = json.loads((tmp_path / "out/corpus_stats.json").read_text())
    assert stored["histograms"]["train.de-en.de"] == {"0": 1, "1": 1, "2": 1, "3": 1}
    markdown = (tmp_path / "out/corpus_stats.md").read_text()
    assert "| train | de-en | de | 4 | 6 | 1.5 | 1 | 3 | 3 | 1 | 1.333 |" in markdown
    assert markdown.startswith("""\
| languages | supervised | zero-shot | train | valid | test |
| --- | ---: | ---: | ---: | --- | --- |
| de, en, fr | 4 | 2 | 10 |  | 1 |

| text | languages | scripts | train | valid | test |
""")
    assert "| de-en | German – English | Latn – Latn | 4 |  |  |\n" in markdown
    assert "| all |  |  | 5 | 0 | 1 |\n" in markdown
    assert (tmp_path / "out/corpus_stats.png").read_bytes().startswith(b"\x89PNG")


def test_the_rows_of_table_7_1():
    """Both directions of a pair are counted, and evaluation sets per pair."""
    opus = {
        f"{code}-en" if code < "en" else f"en-{code}": {"train": 1_000_000, "valid": 2_000, "test": 2_000}
        for code in ("ar", "de", "fr", "nl", "ru", "zh")
    }
    (row,) = overview(opus)
    assert [row[name] for name in ("supervised", "zero-shot", "train", "valid", "test")] == [
        12, 30, 12_000_000, "2,000", "2,000",
    ]  # fmt: skip
    opus["de-fr"] = {"test": 500}  # of a direction that is not trained
    assert overview(opus)[0]["test"] == "500 to 2,000"
    assert overview({"ja": {"train": 7}}) == []


def test_a_size_has_the_language_and_its_script():
    *rows, total = size_rows({"en-tt": {"train": 100_843}, "xq": {"train": 1}})
    assert [list(row.values())[:4] for row in rows] == [
        ["en-tt", "English – Tatar", "Latn – Cyrl", 100_843], ["xq", "?", "?", 1],
    ]  # fmt: skip
    assert total["train"] == 100_844


def test_percentiles():
    histogram = Counter({1: 98, 7: 1, 300: 1})
    assert [percentile(histogram, share) for share in (0.5, 0.98, 0.99, 1.0)] == [1, 1, 7, 300]
    assert summarize(histogram)["mean"] == 4.05


def test_shares_of_lengths_are_cut_where_few_lines_are_longer():
    assert shares_of_lengths(Counter({0: 1, 2: 3})) == [25, 0, 75]
    assert shares_of_lengths(Counter({1: 199, 300: 1})) == [0, 99.5]
    assert shares_of_lengths(Counter({0: 5})) == [100, 0]  # a point is no curve


def test_leftovers_of_dead_processes_go(step, tmp_path, write_corpus):
    write_corpus(tmp_path / "in", {"train.de-en.de": ["a"], "train.de-en.en": ["b"]})
    (tmp_path / "out").mkdir()
    (tmp_path / f"out/{partial_prefix(2**22 + 1)}.corpus_stats.md").touch()
    words = ("corpus-stats", "--input", tmp_path / "in", "--output", tmp_path / "out", "--no-plot")
    assert step(*words, "--workers", 1)[0] == 0
    assert not list((tmp_path / "out").glob(".*"))


def test_names_with_dollars_are_text_in_the_plot(tmp_path):
    totals = {("train", "a$b_$"): Counter({1: 2, 3: 1}), ("train", "$\\frac$"): Counter({2: 2})}
    plot(totals, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
