"""`python -m eval probe similarity` on planted states, what all probes of parallel sentences refuse, and both
measures against independent implementations.
"""

import csv
import json

import numpy as np
import pytest
import scipy.linalg

from eval.probes.similarity import VARIANCE, Sentences, compare, principal_directions
from tests.eval.probes.conftest import refused
from tests.eval.probes.planted import sentence_states, write_store
from tests.eval.rows import rows_of

PAIRS = {("de", "en"): 0.5, ("en", "de"): 0.5, ("de", "fr"): 1.5, ("fr", "de"): 1.5}
N, C = 120, 6
IMAGES = dict.fromkeys(("png", "svg", "pdf"), b"")


def measures_of(x, y, variance: float = VARIANCE) -> dict[str, float]:
    rows = compare(None, Sentences.of(x, variance), Sentences.of(y, variance), permutations=0)
    return {row["measure"]: row["value"] for row in rows}


def svcca(x, y, variance: float = VARIANCE) -> float:
    return measures_of(x, y, variance)["svcca"]


def linear_cka(x, y) -> float:
    return measures_of(x, y)["cka"]


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


# --- the measures, against independent implementations, and their invariances


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def related(rng, n=200, c=12, d=9, noise=0.5):
    """Two views of the same random factors, with variances of very different sizes."""
    factors = rng.normal(size=(n, 6))
    scales = 10.0 ** -np.linspace(0, 3, c)
    x = (factors @ rng.normal(size=(6, c)) + noise * rng.normal(size=(n, c))) * scales + 5
    y = factors @ rng.normal(size=(6, d)) + noise * rng.normal(size=(n, d)) - 3
    return x, y


def svcca_by_eigenvalues(x, y, variance=0.99):
    """SVD by the eigenvectors of the covariance, CCA as its textbook's generalized eigenvalue problem."""

    def reduced(a):
        a = a - a.mean(0)
        values, vectors = scipy.linalg.eigh(a.T @ a)
        order = np.argsort(values)[::-1]
        k, total = 0, 0.0
        while total < variance * values.sum():
            total += values[order[k]]
            k += 1
        return a @ vectors[:, order[:k]]

    a, b = reduced(x), reduced(y)
    k, n = a.shape[1], a.shape[1] + b.shape[1]
    covariance = np.cov(np.hstack([a, b]).T)
    across, within = np.zeros((n, n)), np.zeros((n, n))
    across[:k, k:], across[k:, :k] = covariance[:k, k:], covariance[k:, :k]
    within[:k, :k], within[k:, k:] = covariance[:k, :k], covariance[k:, k:]
    correlations = np.sort(scipy.linalg.eigh(across, within, eigvals_only=True))[::-1]
    return correlations[: min(k, n - k)].mean()


def cka_by_grams(x, y):
    """HSIC of centred n x n Gram matrices, as the definition has it."""
    n = len(x)
    centre = np.eye(n) - 1 / n
    k, m = centre @ (x @ x.T) @ centre, centre @ (y @ y.T) @ centre
    return np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))


@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
def test_svcca_is_the_generalized_eigenvalue_problem(rng, noise):
    x, y = related(rng, noise=noise)
    assert svcca(x, y) == pytest.approx(svcca_by_eigenvalues(x, y), abs=1e-8)


@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
def test_cka_is_the_ratio_of_hsic(rng, noise):
    x, y = related(rng, noise=noise)
    assert linear_cka(x, y) == pytest.approx(cka_by_grams(x, y), abs=1e-10)


def test_one_canonical_correlation_is_pearsons(rng):
    x, y = rng.normal(size=(50, 1)), rng.normal(size=(50, 1))
    assert svcca(x, y) == pytest.approx(abs(np.corrcoef(x[:, 0], y[:, 0])[0, 1]))
    assert linear_cka(x, y) == pytest.approx(np.corrcoef(x[:, 0], y[:, 0])[0, 1] ** 2)


def test_99_percent_of_the_variance_is_kept():
    """Orthogonal columns with squared lengths 90, 9.5 and 0.5: two of them are 99.5%."""
    columns = np.linalg.qr(np.column_stack([np.ones(8), np.random.default_rng(0).normal(size=(8, 3))]))[0][
        :, 1:
    ]
    states = columns * np.sqrt([90, 9.5, 0.5])
    assert principal_directions(states).shape == (8, 2)
    assert principal_directions(states, variance=0.9).shape == (8, 1)
    assert principal_directions(states, variance=0.999).shape == (8, 3)


@pytest.mark.parametrize("seed", range(4))
def test_directions_that_are_rounding_are_none(seed):
    """Outputs of layer normalization have no variance along the direction of all ones."""
    states = np.random.default_rng(seed).normal(size=(500, 16))
    states -= states.mean(axis=1, keepdims=True)
    assert principal_directions(states, variance=1).shape == (500, 15)


@pytest.mark.parametrize("measure", [svcca, linear_cka])
class TestInvariances:
    def test_rotation_scale_and_shift_do_not_matter(self, rng, measure):
        x, y = related(rng)
        rotation = np.linalg.qr(rng.normal(size=(x.shape[1], x.shape[1])))[0]
        assert measure(3 * x @ rotation + 7, y) == pytest.approx(measure(x, y), abs=1e-9)

    def test_the_same_states_are_1_and_the_order_of_the_sides_does_not_matter(self, rng, measure):
        x, y = related(rng)
        assert measure(x, x) == pytest.approx(1)
        assert measure(x, y) == pytest.approx(measure(y, x))

    def test_lines_that_do_not_belong_together_are_far_below_those_that_do(self, rng, measure):
        x, y = related(rng, n=2000)
        assert measure(x, y[rng.permutation(len(y))]) < 0.2 * measure(x, y)

    def test_equal_states_are_refused(self, rng, measure):
        with pytest.raises(ValueError, match="all states are equal"):
            measure(np.full((9, 3), 0.1, dtype=np.float16), rng.normal(size=(9, 3)))


def test_without_truncation_any_invertible_map_keeps_svcca_but_not_cka(rng):
    x, y = related(rng)
    mapped = x @ rng.normal(size=(x.shape[1], x.shape[1]))
    assert svcca(mapped, y, variance=1.0) == pytest.approx(svcca(x, y, variance=1.0), abs=1e-6)
    assert abs(linear_cka(mapped, y) - linear_cka(x, y)) > 0.01


def test_nearly_dependent_columns_do_no_harm(rng):
    """A covariance with a condition number of 1e20 would be inverted into noise."""
    x, y = related(rng)
    doubled = np.hstack([x, x + 1e-10 * rng.normal(size=x.shape)])
    assert svcca(doubled, y) == pytest.approx(svcca(x, y), abs=1e-6)
