"""Vectors of another program in the commands, against the program's own numbers."""

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.vectors import VectorsFile
from embeddings import import_vectors
from embeddings.encoders.options import EncoderOptions
from tests.embeddings.test_retrieve import p_at_1, retrieve, sentences, write


@pytest.fixture
def made(tmp_path):
    """Texts of two languages, and arrays that numpy has saved of them."""
    random = np.random.default_rng(5)
    arrays = {"de": random.normal(size=(9, 6)).astype(np.float32)}
    arrays["en"] = (arrays["de"] + random.normal(size=(9, 6))).astype(np.float16)
    for seed, (language, array) in enumerate(arrays.items()):
        write(tmp_path / f"test.{language}", sentences(9, seed=seed))
        np.save(tmp_path / f"{language}-made.npy", array)
    return arrays


def take(command, folder, *words, languages=("de", "en"), name="LASER"):
    pairs = [f"{folder}/test.{language}={folder}/{language}-made.npy" for language in languages]
    return command("import", *pairs, "--encoder-name", name, "--output", folder / "vectors", *words)


def test_any_command_reads_them(command, completed, made, tmp_path, monkeypatch):
    monkeypatch.setattr(import_vectors, "ROWS", 4)
    assert take(command, tmp_path).status == 0
    files = [tmp_path / "test.de", tmp_path / "test.en"]
    model = ["--model", tmp_path / "vectors"]
    retrieved = retrieve(command, model, tmp_path / "out", "--parallel", *files)
    expected = {"de-en": (made["de"], made["en"]), "en-de": (made["en"], made["de"])}
    for direction, (queries, candidates) in expected.items():
        value = p_at_1(queries.astype(float), candidates.astype(float))
        assert retrieved.p_at_1()[direction] == pytest.approx(value)
    assert retrieved.run["system"]["name"] == "LASER"
    assert retrieved.record["cut"] is None  # who knows
    completed("mine", *files, *model, "--output", tmp_path / "mined")
    vectors = EncoderOptions(tmp_path / "vectors").load().encode(sentences(9, seed=1)[:2], "en")
    np.testing.assert_array_equal(vectors, made["en"][:2].astype(np.float32))


def test_the_raw_format_of_laser(command, refusal, made, tmp_path):
    (tmp_path / "de.emb").write_bytes(made["de"].tobytes())
    words = [f"{tmp_path}/test.de={tmp_path}/de.emb", "--encoder-name", "LASER2"]
    words += ["--output", tmp_path / "raw"]
    done = command("import", *words)
    assert done.status == 0 and "6 numbers for each of 9 lines, but LASER's vectors have 1024" in done.err
    np.testing.assert_array_equal(VectorsFile.open(tmp_path / "raw/test.de.npy").read(), made["de"])
    (tmp_path / "de.emb").write_bytes(np.ones((9, 1024), dtype=np.float32).tobytes())
    assert "warning" not in command("import", *words, "--force").err
    (tmp_path / "de.emb").write_bytes(made["de"].tobytes()[:-4])
    assert "de.emb: 212 bytes, expected float32 vectors of 9 lines" in refusal("import", *words, "--force")


def test_what_is_done_is_skipped_and_what_has_changed_is_not(command, made, tmp_path):
    assert take(command, tmp_path).status == 0
    assert "complete, skipped" in take(command, tmp_path).err
    np.save(tmp_path / "de-made.npy", 2 * made["de"])
    assert "complete, skipped" in take(command, tmp_path).err  # English alone
    np.testing.assert_array_equal(VectorsFile.open(tmp_path / "vectors/test.de.npy").read(), 2 * made["de"])


def test_an_encoder_of_another_name_is_another_encoder(command, made, tmp_path):
    assert take(command, tmp_path, languages=["de"]).status == 0
    assert take(command, tmp_path, languages=["en"], name="other").status == 0
    with pytest.raises(InputError, match=r"test\.en\.npy: has another encoder than .*test\.de\.npy"):
        EncoderOptions(tmp_path / "vectors").load()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((8, 6), dtype=np.float32), "8 vectors, expected 9, one per line"),
        (np.ones(9, dtype=np.float32), "an array of shape (9,) of float32, expected lines x C of float16 or"),
        (np.ones((9, 6), dtype=np.int8), "of int8, expected lines x C of float16 or float32"),
        (np.full((9, 6), np.nan, dtype=np.float32), "vector 1 has numbers that are NaN or infinite"),
        (None, "de-made.npy: no such file"),
        ("record", "has a record already; give its folder"),
        ("text", "damaged, or no array of numbers"),
    ],
)
def test_what_is_no_array_of_the_text_is_one_line(command, made, tmp_path, array, message):
    path = tmp_path / "de-made.npy"
    if isinstance(array, np.ndarray):
        np.save(path, array)
    elif array == "record":
        (tmp_path / "de-made.npy.json").write_text("{}")
    elif array == "text":
        path.write_text("0.1 0.2\n")
    else:
        path.unlink()
    done = take(command, tmp_path, languages=["de"])
    assert done.status == 2 and message in done.err and str(path) in done.err
    assert not list((tmp_path / "vectors").glob(".*.npy"))
    assert len(done.err.splitlines()) <= 2
    with pytest.raises(InputError):
        EncoderOptions(tmp_path / "vectors").load()


def test_an_array_is_not_replaced_by_its_copy(refusal, made, tmp_path):
    source = tmp_path / "test.de.npy"
    np.save(source, made["de"])
    words = ["import", f"{tmp_path}/test.de={source}", "--encoder-name", "x", "--output", tmp_path]
    assert f"{source}: --output {tmp_path} would replace it" in refusal(*words)
    np.testing.assert_array_equal(np.load(source), made["de"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["test.de"], "expected NAME=VALUE, for example test.de=german.npy"),
        (["none.de=de-made.npy"], "none.de: no such file"),
        (["test.de=de-made.npy", "x/test.de=de-made.npy"], "its vectors would be named as those of test.de"),
    ],
)
def test_bad_words(refusal, made, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in refusal("import", *words, "--encoder-name", "x", "--output", "vectors")
