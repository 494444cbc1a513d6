"""`python -m eval probe data-size`: P@1 against sizes of encoders' and of languages' data."""

import json

import pytest

from eval.probes import data_size
from tests.eval.retrieved import first_hits, write_retrieval
from tests.eval.rows import rows_of

RESULTS = {  # encoder -> direction -> P@1
    "one": {"de-en": 0.6, "en-de": 0.8, "de-fr": 0.5, "fr-de": 0.3, "en-fr": 0.9, "fr-en": 0.7},
    "two": {"de-en": 0.2, "en-de": 0.4, "de-fr": 0.1, "fr-de": 0.1, "en-fr": 0.3, "fr-en": 0.5},
}


def write_result(folder, name: str, directions: dict[str, float], seed: int = 1, dataset: str = "toy"):
    outcomes = {direction: {"cosine": first_hits(p)} for direction, p in directions.items()}
    groups = {"rich": [pair for pair in ("de-en",) if pair in directions]}
    write_retrieval(folder, outcomes, name, seed, dataset, groups)
    return folder


@pytest.fixture
def probe(command, tmp_path):
    folders = [write_result(tmp_path / name, name, of) for name, of in RESULTS.items()]

    def run(sizes: str, *words):
        (tmp_path / "sizes.tsv").write_text(sizes)
        out = tmp_path / "out"
        return command(
            "probe", "data-size", *folders, "--sizes", tmp_path / "sizes.tsv", *words, "--output", out
        )

    return run


def record_of(tmp_path) -> dict:
    return json.loads((tmp_path / "out/data-size.json").read_text())


def points(tmp_path) -> dict:
    """Encoder, and language if the points are of languages -> size and P@1."""
    by_place: dict = {}
    for row in rows_of(tmp_path / "out/data-size.csv").itertuples():
        by_place.setdefault((row.system, row.part), {})[row.measure] = row.value
    return {key: (values["size"], values["p_at_1"]) for key, values in by_place.items()}


def test_a_point_per_encoder(probe, tmp_path):
    """Figure 1: encoders that the table lacks are named."""
    assert probe("one\t1,000\nthree\t7\n").status == 0
    assert points(tmp_path) == {("one", ""): (1000, pytest.approx(3.8 / 6))}
    assert record_of(tmp_path)["without_size"] == ["two"]


def test_of_a_group_of_languages(probe, tmp_path):
    assert probe("one\t10\ntwo\t20\n", "--group", "rich").status == 0
    measured = points(tmp_path)
    assert measured["one", ""] == (10, pytest.approx(0.7))
    assert measured["two", ""] == (20, pytest.approx(0.3))


def test_a_point_per_language(probe, tmp_path):
    """Figure 2: the mean over all pairs that the language is in, whatever the standard of its code."""
    assert probe("deu\t5.5\nen\t300\n", "--of", "languages", "--unit", "GB").status == 0
    measured = points(tmp_path)
    assert measured.keys() == {(name, code) for name in RESULTS for code in ("de", "en")}
    assert measured[("one", "de")] == (5.5, pytest.approx((0.6 + 0.8 + 0.5 + 0.3) / 4))
    assert measured[("two", "en")] == (300, pytest.approx((0.2 + 0.4 + 0.3 + 0.5) / 4))
    assert record_of(tmp_path)["without_size"] == ["fr"]


def test_no_language_has_the_size_of_another(command, tmp_path):
    """Malay and Indonesian are one macro-language of ISO 639-3; Mandarin is what is called Chinese."""
    directions = dict.fromkeys(["ms-ind", "cmn-ms", "yue-cmn", "nob-arz", "xa-xb"], 0.5)
    folder = write_result(tmp_path / "one", "one", directions)
    for table, expected in {
        "id\t7\nzh\t5\nno\t4\nar\t3\nxa\t2\n": {"ind": 7, "cmn": 5, "nob": 4, "xa": 2},
        "zsm\t8\n": {"ms": 8},
    }.items():
        (tmp_path / "sizes.tsv").write_text(table)
        words = ("--sizes", tmp_path / "sizes.tsv", "--of", "languages", "--output", tmp_path / "out")
        assert command("probe", "data-size", folder, *words).status == 0
        assert {name: size for (_, name), (size, _) in points(tmp_path).items()} == expected


def test_of_one_direction_and_all_seeds(command, tmp_path):
    """Figure 1 in the paper's direction: from the language of all pairs."""
    seeds = {
        1: {"en-de": 0.8, "de-en": 0.6, "en-fr": 0.4, "fr-en": 0.2},
        2: {"en-de": 0.6, "de-en": 0.2, "en-fr": 0.2, "fr-en": 0.0},
    }
    folders = [write_result(tmp_path / f"{seed}", "one", values, seed) for seed, values in seeds.items()]
    (tmp_path / "sizes.tsv").write_text("one\t10\n")
    words = ["probe", "data-size", *folders, "--sizes", tmp_path / "sizes.tsv", "--output", tmp_path / "out"]
    for options, expected in (
        (["--direction", "from"], 0.5),
        (["--direction", "to"], 0.25),
        (["--direction", "from", "--group", "rich"], 0.7),
        (["--direction", "to", "--group", "rich"], 0.4),
    ):
        assert command(*words, *options).status == 0
        assert points(tmp_path) == {("one", ""): (10, pytest.approx(expected))}


def test_languages_of_two_test_sets_together(command, tmp_path):
    """Figure 2: all pairs of a language, those with English and those without."""
    other = {"de-fr": 0.5, "fr-de": 0.3}
    english = {"de-en": 0.6, "en-de": 0.8}
    folders = [write_result(tmp_path / "english", "one", english)]
    folders.append(write_result(tmp_path / "others", "one", other, dataset="others"))
    (tmp_path / "sizes.tsv").write_text("de\t10\nen\t30\n")
    words = ["probe", "data-size", *folders, "--sizes", tmp_path / "sizes.tsv", "--output", tmp_path / "out"]
    assert command(*words, "--of", "languages", "--together", "New-Tatoeba").status == 0
    expected = (0.6 + 0.8 + 0.5 + 0.3) / 4
    assert points(tmp_path) == {
        ("one", "de"): (10, pytest.approx(expected)),
        ("one", "en"): (30, pytest.approx(0.7)),
    }
    assert set(rows_of(tmp_path / "out/data-size.csv").dataset) == {"New-Tatoeba"}
    assert record_of(tmp_path)["without_size"] == ["fr"]


def test_figures_of_the_report(probe, command, tmp_path, draws):
    assert probe("de\t5\nen\t300\nfr\t40\n", "--of", "languages", "--unit", "GB of text").status == 0
    assert next((tmp_path / "out").rglob("data_size*.png")).read_bytes().startswith(b"\x89PNG")
    numbers = next((tmp_path / "out").rglob("data_size*.csv")).read_text()
    assert numbers.splitlines()[0] == "Encoder,Language,GB of text,P@1"
    assert command("report", tmp_path / "out", "--output", tmp_path / "report").status == 0
    assert "Retrieval against the size of data" in (tmp_path / "report/report.md").read_text()


@pytest.mark.parametrize(
    ("sizes", "words", "line"),
    [
        ("one\n", [], "sizes.tsv:1: 'one'; expected a name, a tab and a number above 0"),
        ("one\t5\ntwo\t-1\n", [], "sizes.tsv:2: 'two\\t-1'; expected a name"),
        ("one\t5\none\t6\n", [], "sizes.tsv:2: 'one\\t6'; expected a name"),
        ("three\t5\n", [], "no size of any of the encoders one, two"),
        ("one\t5\n", ["--similarity", "ratio"], "--similarity ratio: no P@1 of one on toy; measure it"),
        ("one\t5\n", ["--group", "poor"], "no P@1 of the group poor of one on toy"),
        ("de\t5\n", ["--of", "languages", "--group", "rich"], "--group rich: needs --of encoders"),
        ("one\t5\n", ["--direction", "from"], "no P@1 from a language of all pairs of one on toy"),
        ("de\t5\n", ["--of", "languages", "--direction", "to"], "--direction to: needs --of encoders"),
        ("one\t5\n", ["--together", "both"], "--together both: needs --of languages; leave it out"),
    ],
)
def test_refusals(probe, sizes, words, line):
    result = probe(sizes, *words)
    assert result.status == 2
    assert line in result.err and result.err.count("\n") == 1


def test_checkpoints_of_an_encoder_are_a_series(completed, tmp_path, monkeypatch):
    """As Figure 2 of "Is Cross-lingual Evaluation Only About Cross-lingual?" has them."""
    names = {"a, 10% of it": 10, "a, 20% of it": 20, "b, 10% of it": 10, "c": 30}
    folders = [write_result(tmp_path / name, name, RESULTS["one"]) for name in names]
    (tmp_path / "sizes.tsv").write_text("".join(f"{name}\t{size}\n" for name, size in names.items()))
    words = ("--sizes", tmp_path / "sizes.tsv", "--unit", "% of it", "--output", tmp_path / "out")
    completed("probe", "data-size", *folders, *words)
    drawn = {}
    monkeypatch.setattr(data_size, "scatter", lambda series, *axes, **options: drawn.update(series) or {})
    completed("report", tmp_path / "out", "--output", tmp_path / "report")
    labels = {name: [(size, label) for size, _, label in points] for name, points in drawn.items()}
    assert labels == {"a": [(10, "10"), (20, "20")], "b": [(10, "10")], "toy": [(30, "c")]}
