"""`python -m eval probe similarity` on planted states, and what all probes of parallel sentences refuse."""

import csv
import json

import numpy as np
import pytest

from tests.eval.probes.conftest import refused
from tests.eval.probes.planted import sentence_states, write_store
from tests.eval.probes.test_svcca_and_cka import linear_cka, svcca
from tests.eval.rows import rows_of

PAIRS = {("de", "en"): 0.5, ("en", "de"): 0.5, ("de", "fr"): 1.5, ("fr", "de"): 1.5}
N, C = 120, 6
IMAGES = dict.fromkeys(("png", "svg", "pdf"), b"")


@pytest.fixture
def vectors():
    """Direction -> layers x N x C: unrelated in L0, related in L1, the same up to a rotation at the top."""
    rng = np.random.default_rng(5)
    meaning = rng.normal(size=(N, C))

    def of(noise: float) -> np.ndarray:
        rotation = np.linalg.qr(rng.normal(size=(C, C)))[0]
        related = meaning + noise * rng.normal(size=(N, C))
        return np.stack([rng.normal(size=(N, C)), related, meaning @ rotation])

    return {direction: of(noise) for direction, noise in PAIRS.items()}


@pytest.fixture
def store(tmp_path, vectors):
    def write(folder="states", keep=tuple(PAIRS), **options):
        states = {direction: sentence_states(vectors[direction]) for direction in keep}
        return write_store(tmp_path / folder, states, **options)

    return write


@pytest.fixture
def probe(command, tmp_path):
    return lambda *arguments: command("probe", "similarity", *arguments, "--output", tmp_path / "out")


@pytest.fixture
def rows(tmp_path):
    return lambda **wanted: rows_of(tmp_path / "out/similarity.csv", **wanted)


def test_it_measures_the_means_of_every_layer_and_pair(store, vectors, probe, rows):
    result = probe(store())
    assert result.status == 0, result.err
    for name, kind in (("de-en", "supervised"), ("de-fr", "zero-shot")):
        pair = tuple(name.split("-"))
        sides = vectors[pair], vectors[pair[::-1]]
        for measure, function in (("svcca", svcca), ("cka", linear_cka)):
            measured = rows(direction=name, measure=measure, kind=kind)
            assert list(measured.layer) == ["L0", "L1", "output"]
            expected = [function(sides[0][layer], sides[1][layer]) for layer in range(3)]
            assert list(measured.value) == pytest.approx(expected, abs=1e-5)
    supervised, zero_shot = (
        list(rows(kind=kind, measure="svcca").value) for kind in ("supervised", "zero-shot")
    )
    assert supervised[0] < zero_shot[1] < 0.5 < supervised[1] < supervised[2] == pytest.approx(1, abs=1e-5)
    assert rows(kind="supervised", measure="svcca_by_chance", layer="output").value.max() < 0.3


def test_seeds_make_one_curve_and_the_numbers_behind_it(store, probe, tmp_path, draws):
    assert probe(store("one"), store("two", seed=2), store("three", name="B")).status == 0
    with open(tmp_path / "out/similarity_svcca_layers_toy.csv", encoding="utf-8", newline="") as stream:
        shown = [row for row in csv.DictReader(stream) if row["measure"] == "svcca"]
    assert len(shown) == 3 * 2 * 3  # runs, pairs, layers
    assert {(row["system"], row["seed"]) for row in shown} == {("A", "1"), ("A", "2"), ("B", "1")}
    assert {row["layer"] for row in shown} == {"L0", "L1", "output"}
    for ending, start in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        assert (tmp_path / f"out/similarity_cka_layers_toy.{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize(("measure", "function"), [("svcca", svcca), ("cka", linear_cka)])
def test_chance_is_that_of_permuted_sentences_in_the_same_axes(
    store, vectors, probe, rows, tmp_path, command, monkeypatch, measure, function
):
    assert probe(store("one"), store("two", seed=2), "--permutations", "6").status == 0
    by_chance = rows(run=0, direction="de-fr", layer="L1", measure=f"{measure}_by_chance")
    assert list(by_chance.repeat) == list(range(6))
    by_chance_values = list(by_chance.value)
    one, other = vectors["de", "fr"][1], vectors["fr", "de"][1]
    rng = np.random.default_rng(99)
    expected = [function(one, other[rng.permutation(N)]) for _ in range(200)]
    assert len(set(by_chance_values)) == 6
    assert np.mean(by_chance_values) == pytest.approx(
        np.mean(expected), abs=3 * np.std(expected) / np.sqrt(6)
    )
    assert max(by_chance_values) < rows(run=0, direction="de-fr", layer="L1", measure=measure).value.item()
    drawn = {}
    monkeypatch.setattr(
        "eval.reporting.layers.lines", lambda *a, **options: drawn.update({a[2]: options}) or IMAGES
    )
    assert command("report", tmp_path / "out/similarity.json", "--output", tmp_path / "report").status == 0
    name = f"similarity_{measure}_layers_toy.csv"
    with open(tmp_path / "report/tables" / name, encoding="utf-8", newline="") as stream:
        folded = [row for row in csv.DictReader(stream) if row["measure"] == f"{measure}_by_chance"]
    (row,) = [row for row in folded if (row["seed"], row["direction"], row["layer"]) == ("1", "de-fr", "L1")]
    assert row["repetitions"] == "6" and float(row["value"]) == pytest.approx(
        np.mean(by_chance_values), rel=1e-3
    )
    assert float(row["deviation"]) == pytest.approx(np.std(by_chance_values, ddof=1), rel=1e-3)
    title = "SVCCA" if measure == "svcca" else "linear CKA"
    drawn_level = drawn[title]["baselines"]["Zero-shot pairs"]["A"][1]
    assert drawn_level.mean == pytest.approx(np.mean(by_chance_values))
    both = np.concatenate(
        [by_chance_values, rows(run=1, direction="de-fr", layer="L1", measure=f"{measure}_by_chance").value]
    )
    assert drawn_level.std == pytest.approx(np.std(both, ddof=1))
    assert "A, by chance" in (tmp_path / "report/report.html").read_text(encoding="utf-8")


def test_the_report_shows_it(store, probe, report, tmp_path):
    assert probe(store()).status == 0
    html = (report(tmp_path / "out/similarity.json") / "report.html").read_text(encoding="utf-8")
    assert html.count("<figure>") == html.count('download="') == 2


def test_tags_can_be_left_out(store, probe, rows):
    folder = store()
    assert probe(folder).status == 0
    everything = list(rows(direction="de-en", measure="cka").value)
    assert probe(folder, "--only-words").status == 0
    assert list(rows(direction="de-en", measure="cka").value) != everything


def test_a_final_norm_or_none_both_end_in_the_output(store, probe, rows):
    assert probe(store(), store("post", layers=("L0", "L1", "L2"), name="B")).status == 0
    pre, post = (rows(run=run, direction="de-en", measure="svcca") for run in (0, 1))
    assert (list(pre.layer), list(post.layer)) == (["L0", "L1", "output"], ["L0", "L1", "L2", "output"])
    assert post.value.iloc[2] == post.value.iloc[3]


def test_too_few_sentences_are_a_warning(tmp_path, vectors, store, probe):
    assert "warning" not in probe(store()).err
    few = {direction: sentence_states(vectors[direction][:, :14]) for direction in PAIRS}
    (line,) = [
        line for line in probe(write_store(tmp_path / "few", few)).err.splitlines() if "warning" in line
    ]
    assert "few: SVCCA of 1.00 on top of the encoder, but 0." in line
    assert "14 are few for 6 directions; use more sentences" in line


def test_directions_without_their_opposite(store, probe, rows):
    lonely = (("de", "en"), ("de", "fr"))
    message = refused(probe(store("one", keep=lonely)))
    assert message.endswith(
        "one: no pair of languages in both directions in the set 'test', only de-en, de-fr;"
        " extract the states of the opposite directions too"
    )
    result = probe(store("two", keep=(*lonely, ("en", "de"))))
    assert result.status == 0
    assert "two: without the opposite direction, left out: de-fr" in result.err
    assert set(rows().direction) == {"de-en"}


def test_sides_of_different_length(tmp_path, vectors, probe):
    states = {("de", "en"): sentence_states(vectors["de", "en"])}
    states["en", "de"] = sentence_states(vectors["en", "de"][:, :7])
    message = refused(probe(write_store(tmp_path / "states", states)))
    assert "120 sentences of de-en but 7 of en-de, expected parallel ones" in message


def test_states_without_variance(tmp_path, vectors, probe):
    vectors["de", "en"][1] = 3
    states = {d: [v[:, i, None] for i in range(N)] for d, v in vectors.items()}
    message = refused(probe(write_store(tmp_path / "states", states, tagged=False)))
    assert message.endswith("test.encoder.de-en: layer L1: all states are equal")


def test_a_store_without_the_output_of_the_encoder(tmp_path, store, probe):
    folder = store()
    record = json.loads((folder / "states.json").read_text())
    (folder / "states.json").write_text(json.dumps(record | {"encoder_output": "L9"}))
    assert "has no states of the encoder's output, L9" in refused(probe(folder))
