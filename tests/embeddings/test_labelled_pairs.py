"""Pairs of sentences with labels, in every layout."""

import gzip
import json

import pytest

from command_line.errors import InputError
from embeddings.labelled_pairs import LabelledPair, read_labelled_pairs
from tests.embeddings.test_retrieve import write


def found(path, language=None) -> list[tuple]:
    return [(pair.first, pair.second, pair.label, pair.line) for pair in read_labelled_pairs(path, language)]


def test_tables_that_name_their_columns(tmp_path):
    xnli = write(
        tmp_path / "xnli.test.tsv",
        [
            "language\tgold_label\tsentence1_binary_parse\tsentence1\tsentence2\tgenre",
            "ar\tneutral\t( a )\tA  b.\tC.\tface",
            'de\tentailment\t( a )\t"Eins.\tZwei.\tface',
            "de\t-\t( a )\tDrei.\tVier.\tface",
        ],
    )
    assert found(xnli, "de") == [('"Eins.', "Zwei.", "entailment", 3), ("Drei.", "Vier.", "-", 4)]
    assert found(xnli)[0] == ("A b.", "C.", "neutral", 2)
    translated = write(
        tmp_path / "multinli.train.de.tsv",
        ["premise\thypo\tlabel", "Eins .\tZwei .\tcontradictory", "Drei .\t\tneutral"],
    )
    assert found(translated, "de") == [("Eins .", "Zwei .", "contradiction", 2), ("Drei .", "", "neutral", 3)]
    pawsx = write(tmp_path / "test_2k.tsv", ["id\tsentence1\tsentence2\tlabel", "1\tEins.\tZwei.\t0"])
    assert found(pawsx, "de") == [("Eins.", "Zwei.", "0", 2)]


def test_a_table_without_names(tmp_path):
    packed = tmp_path / "dev-de.tsv.gz"
    packed.write_bytes(gzip.compress(b"Eins.\tZwei.\tentailment\nDrei.\tVier.\tcontradiction\n"))
    assert found(packed) == [("Eins.", "Zwei.", "entailment", 1), ("Drei.", "Vier.", "contradiction", 2)]


def test_objects_of_several_languages(tmp_path):
    rows = [
        {
            "language": language,
            "sentence1": "a",
            "sentence2": language,
            "gold_label": "neutral",
            "pairID": "1",
        }
        for language in ("en", "de", "en")
    ]
    path = write(tmp_path / "xnli.dev.jsonl", map(json.dumps, rows))
    assert list(read_labelled_pairs(path, "en")) == [
        LabelledPair("a", "en", "neutral", 1), LabelledPair("a", "en", "neutral", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a\tb"], "x.tsv:1: found 'a.*expected sentence, sentence, label"),
        (["a\tb\tneutral", "a\tb"], "x.tsv:2: found 'a"),
        (["premise\thypo\tlabel", "a\tb"], "x.tsv:2: found .*expected the columns premise, hypo, label"),
    ],
)
def test_lines_that_are_refused(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        list(read_labelled_pairs(write(tmp_path / "x.tsv", lines)))


def test_labels_are_one_string_each(tmp_path):
    """However many pairs there are in memory: XNLI's training sets have 6 million."""
    rows = [f"a {n}\tb\t{label}" for n in range(4) for label in ("contradictory", "neutral")]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(["premise\thypo\tlabel", *rows]) + "\n")
    assert len({id(pair.label) for pair in list(read_labelled_pairs(path))}) == 2
