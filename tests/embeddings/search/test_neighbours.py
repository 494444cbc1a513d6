import shutil
import tempfile

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.vectors import VectorsFile
from embeddings.search import inverted, neighbours, on_gpu
from embeddings.search.neighbours import Search, nearest


def vectors(rows, width=8, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32) * 3


def brute_force(queries, candidates, k):
    def cosine(one, other):
        return one @ other / np.linalg.norm(one) / np.linalg.norm(other)

    table = np.array([[cosine(query, candidate) for candidate in candidates] for query in queries])
    rows = np.argsort(-table, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(table, rows, axis=1), rows


@pytest.mark.parametrize("rows_in_memory", [1, 5, 1000])
def test_neighbours_are_those_of_a_comparison_one_by_one(rows_in_memory):
    queries, candidates = vectors(13), vectors(17, seed=1)
    memory = rows_in_memory * 4 * 8 * 6 / 2**30
    neighbours = nearest(queries, candidates, 3, Search(memory=memory))
    cosines, rows = brute_force(queries, candidates, 3)
    assert (neighbours.rows == rows).all()
    np.testing.assert_allclose(neighbours.cosines, cosines, atol=1e-6)
    np.testing.assert_allclose(neighbours.means, cosines.mean(axis=1), atol=1e-6)


def test_arrays_of_the_caller_stay_as_they_are():
    queries, candidates = vectors(4), vectors(5, seed=1)
    before = queries.copy(), candidates.copy()
    nearest(queries, candidates, 2)
    assert (queries == before[0]).all() and (candidates == before[1]).all()


def test_half_precision_and_vectors_of_zeros():
    queries = vectors(4).astype(np.float16)
    queries[2] = 0
    neighbours = nearest(queries, vectors(5, seed=1), 1)
    assert np.isfinite(neighbours.cosines).all() and neighbours.cosines[2] == 0


def test_equal_candidates_come_in_the_order_of_their_lines():
    single = vectors(1)
    assert nearest(single, np.concatenate([single, -single, single, single]), 3).rows.tolist() == [[0, 2, 3]]


def test_other_widths_and_too_few_candidates_are_refused():
    with pytest.raises(InputError, match="vectors of 9 numbers, but those of an array have 8"):
        nearest(vectors(3), vectors(3, width=9), 1)
    with pytest.raises(InputError, match="3 vectors, expected at least as many as neighbours: 4"):
        nearest(vectors(3), vectors(3), 4)


@pytest.mark.parametrize("rows_in_memory", [70, 1000])
def test_inverted_lists_are_exact_where_all_are_looked_at(tmp_path, rows_in_memory):
    queries, candidates = vectors(31), vectors(300, seed=1)
    memory = rows_in_memory * 4 * 8 * 6 / 2**30
    exact = nearest(queries, candidates, 3)
    np.save(tmp_path / "some.npy", candidates)
    for given in (candidates, VectorsFile.open(tmp_path / "some.npy")):
        neighbours = nearest(queries, given, 3, Search("ivf", lists=6, probes=6, memory=memory))
        assert (neighbours.rows == exact.rows).all()
        np.testing.assert_allclose(neighbours.cosines, exact.cosines, atol=1e-6)


def test_nothing_is_printed(capfd):
    nearest(vectors(31), vectors(300, seed=1), 3, Search("ivf", lists=6))
    print("ours")
    assert capfd.readouterr().out == "ours\n"


def test_centroids_are_learned_from_64_candidates_of_each_list(monkeypatch):
    sizes, sample = [], inverted._sample

    def counted(candidates, size):
        sizes.append(size)
        return sample(candidates, size)

    monkeypatch.setattr(inverted, "_sample", counted)
    nearest(vectors(3), vectors(300, seed=1), 1, Search("ivf", lists=4))
    assert sizes == [256]


def test_a_few_lists_find_most_neighbours_and_always_k():
    queries, candidates = vectors(200), vectors(400, seed=1)
    exact, few = nearest(queries, candidates, 1), nearest(queries, candidates, 1, Search("ivf", None, 3))
    assert 0.5 < (few.rows == exact.rows).mean() < 1
    most = nearest(queries, candidates, 390, Search("ivf", 10, 1))
    assert (np.sort(most.rows)[:, 0] >= 0).all() and np.isfinite(most.cosines).all()


def test_rows_of_a_file_are_read_when_they_are_looked_at(tmp_path):
    candidates = vectors(9)
    candidates[4, 2] = np.nan
    np.save(tmp_path / "some.npy", candidates)
    chosen = VectorsFile.open(tmp_path / "some.npy").only(np.array([8, 1, 5])).only(np.array([2, 0]))
    assert len(chosen) == 2 and (chosen.read() == candidates[[5, 8]]).all()
    assert nearest(candidates[[8]], chosen, 1).rows.tolist() == [[1]]
    with pytest.raises(InputError, match="vector 5 has numbers that are NaN"):
        VectorsFile.open(tmp_path / "some.npy").only(np.array([0, 4])).read()


@pytest.fixture
def processor_as_gpu(monkeypatch):
    """The search on a GPU, its code and its blocks, on the processor."""
    monkeypatch.setattr(neighbours, "check_gpu", lambda: None)
    monkeypatch.setattr(
        neighbours,
        "all_candidates_on",
        lambda device, candidates, rows: on_gpu.all_candidates_on("cpu", candidates, rows),
    )


@pytest.mark.parametrize("rows_in_memory", [1, 5, 1000])
@pytest.mark.parametrize("products", [1, 20, 1 << 20])
@pytest.mark.parametrize("k", [1, 3, 17])
def test_all_candidates_on_a_gpu(processor_as_gpu, monkeypatch, rows_in_memory, products, k):
    monkeypatch.setattr(on_gpu, "PRODUCTS", products)
    queries, candidates = vectors(13), vectors(17, seed=1)
    memory = rows_in_memory * 4 * 8 * 6 / 2**30
    neighbours = nearest(queries, candidates, k, Search("gpu", memory=memory))
    cosines, rows = brute_force(queries, candidates, k)
    assert (neighbours.rows == rows).all()
    np.testing.assert_allclose(neighbours.cosines, cosines, atol=1e-6)


def test_on_a_gpu_the_first_of_equal_candidates_is_nearest(processor_as_gpu):
    single = vectors(1)
    candidates = np.concatenate([-single, *[single] * 40])
    for rows in (1, 7, 100):
        neighbours = nearest(single, candidates, 1, Search("gpu", memory=rows * 4 * 8 * 6 / 2**30))
        assert neighbours.rows.tolist() == [[1]]


def test_without_a_gpu_its_search_is_refused(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match="--index gpu: torch finds no GPU here; choose exact"):
        Search("gpu")


def test_a_disk_that_inverted_lists_would_fill(monkeypatch, tmp_path):
    """100 vectors of 8 floats and a number of 8 bytes, twice."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    usage = shutil._ntuple_diskusage
    candidates, search = vectors(100), Search("ivf", lists=6)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**6, 0, 7_999))
    with pytest.raises(InputError, match=f"^{tmp_path}: inverted lists of 100 vectors need .* set TMPDIR"):
        nearest(vectors(3), candidates, 1, search)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**6, 0, 8_000))
    assert len(nearest(vectors(3), candidates, 1, search).rows) == 3
    assert not list(tmp_path.iterdir())
