import json

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from command_line.outputs import checksum
from embeddings.encoders.options import EncoderOptions
from embeddings.sts import Similarity, measure
from tests.embeddings.test_retrieve import encoder_of, sentences, write
from tests.eval.rows import by_name


def rated(first, second, ratings):
    return [f"{left},{right},{rating}" for left, right, rating in zip(first, second, ratings, strict=True)]


@pytest.fixture
def files(tmp_path):
    ratings = [0.5, 4, 2, 3.2, 1]
    return [
        write(
            tmp_path / f"sts-{language}-dev.csv", rated(sentences(5, seed), sentences(5, seed + 1), ratings)
        )
        for seed, language in ((1, "de"), (5, "en"))
    ]


def sts(command, one_space, output, *argv):
    result = command("sts", *one_space, "--output", output, *argv)
    assert result.status == 0, result.err
    return {
        measure: by_name(output / "sts.csv", "direction", measure=measure)
        for measure in ("lines", "spearman", "pearson")
    }


def test_correlations_are_those_of_scipy_over_cosines(command, one_space, files, tmp_path):
    correlations = sts(command, one_space, tmp_path / "out", *files, "--crossed")
    assert set(correlations["spearman"]) == {"de", "en", "de-en", "en-de"}
    (run,) = json.loads((tmp_path / "out/sts.json").read_text())["runs"]
    de, en = map(checksum, files)
    assert run["texts"] == {"de": de, "en": en, "de-en": f"{de} {en}", "en-de": f"{en} {de}"}
    encoder = encoder_of(one_space)
    first, second = encoder.encode(sentences(5, 1), "de"), encoder.encode(sentences(5, 6), "en")
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(first, second, strict=True)]
    ratings = [0.5, 4, 2, 3.2, 1]
    assert correlations["spearman"]["de-en"] == pytest.approx(100 * spearmanr(cosines, ratings).statistic)
    assert correlations["pearson"]["de-en"] == pytest.approx(
        100 * pearsonr(cosines, ratings).statistic, abs=1e-4
    )
    stored = np.load(tmp_path / "out/sts.npz")["cosine-and-rating/de-en"]
    assert stored == pytest.approx(np.stack([cosines, ratings], axis=1), abs=1e-6)


@pytest.mark.parametrize("ending", ["tsv", "txt"])
def test_files_of_two_languages(command, one_space, tmp_path, ending):
    """As those of STS 2017: its own ratings, first and second sentences each in their language."""
    ratings, english, arabic = [3, 1, 0.5, 4, 2], sentences(5, 1), sentences(5, 7)
    rows = ["\t".join([*pair, str(rating)]) for *pair, rating in zip(english, arabic, ratings, strict=True)]
    mixed = write(tmp_path / f"STS.en-ar.{ending}", rows)
    same = write(tmp_path / f"STS.ar-ar.{ending}", rows)
    plain = write(tmp_path / "STS.es-test.csv", rated(english, arabic, ratings))
    correlations = sts(command, one_space, tmp_path / "out", mixed, same, plain, "--crossed")
    assert set(correlations["spearman"]) == {"en-ar", "ar", "es", "ar-es", "es-ar"}
    encoder = encoder_of(one_space)
    first, second = encoder.encode(english, "en"), encoder.encode(arabic, "ar")
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(first, second, strict=True)]
    assert correlations["spearman"]["en-ar"] == pytest.approx(100 * spearmanr(cosines, ratings).statistic)


def test_languages_reach_the_encoder(asked, tmp_path):
    paths = [write(tmp_path / f"STS.{name}.tsv", ["a\tb\t1", "c\td\t2"]) for name in ("en-tr", "es-es")]
    measure(Similarity(encoder=EncoderOptions(tmp_path), files=paths, output=tmp_path))
    assert asked == [("a", "en"), ("b", "tr"), ("a", "es"), ("b", "es")]


def test_a_second_file_of_the_same_languages_is_one_line(refusal, one_space, tmp_path):
    files = [write(tmp_path / name, ["a\tb\t1", "a\tc\t2"]) for name in ("STS.en-ar.tsv", "other.en-ar.tsv")]
    refused = refusal("sts", *one_space, "--output", tmp_path / "out", *files)
    assert "other.en-ar.tsv: a second file of en-ar, besides" in refused


def test_equal_vectors_correlate_with_nothing(command, one_space, tmp_path):
    same = ["w1 w2"] * 3
    path = write(tmp_path / "sts-de.csv", rated(same, same, [1, 2, 3]))
    assert sts(command, one_space, tmp_path / "out", path)["spearman"]["de"] == 0


def test_quoted_fields_and_tabs(command, one_space, tmp_path):
    quoted = write(tmp_path / "sts-de.csv", ['"w1, w2",w1,3', 'w3,"w4, ""w5""",1', "w6,w6,5"])
    tabs = write(tmp_path / "sts-en.tsv", ["w1, w2\tw1\t3", 'w3\tw4, "w5"\t1', "w6\tw6\t5"])
    correlations = sts(command, one_space, tmp_path / "out", quoted, tabs)
    assert correlations["lines"] == {"de": 3, "en": 3}
    assert correlations["spearman"]["de"] == correlations["spearman"]["en"]
    assert correlations["pearson"]["de"] == correlations["pearson"]["en"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b,1", "a,b"], ":2: 2 fields, expected sentence, sentence, rating"),
        (["a,b,1", "a,b,high"], ":2: rating 'high', expected a number"),
        (["a,b,1"], "1 rated pairs; expected at least two"),
        (["a,b,1", "a,c,nan", "a,d,2"], ":2: rating 'nan', expected a number"),
    ],
)
def test_bad_ratings_are_one_line(refusal, one_space, tmp_path, lines, message):
    path = write(tmp_path / "sts-de.csv", lines)
    assert message in refusal("sts", *one_space, "--output", tmp_path / "out", path)


def test_crossed_files_must_be_row_parallel(refusal, one_space, files, tmp_path):
    rows = files[1].read_text().splitlines()
    files[1].write_text("\n".join([rows[1], rows[0], *rows[2:]]) + "\n")
    refused = refusal("sts", *one_space, "--output", tmp_path / "out", *files, "--crossed")
    assert "row 1 is rated 4, but 0.5 in" in refused


def test_files_that_cannot_be_crossed(refusal, one_space, files, tmp_path):
    rows = ["w1 w2\tw1\t3", "w3\tw4 w5\t1", "w6\tw6\t5"]
    mixed = write(tmp_path / "STS.de-en.tsv", rows)
    for given, message in (
        ([mixed], "--crossed: pairs of files of one language each; expected at least two"),
        ([*files, mixed], f"{mixed}: --crossed makes de-en of the files of both, too"),
    ):
        refused = refusal("sts", *one_space, "--output", tmp_path / "out", *given, "--crossed")
        assert message in refused, refused
