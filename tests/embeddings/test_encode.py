"""`embeddings encode`: lines to vectors, in windows, again after a kill, and what is refused."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.formats.vectors import VectorsFile
from embeddings import encode_tokens, windows
from embeddings.encoders.checkpoint import CheckpointEncoder
from embeddings.encoders.options import EncoderOptions
from tests.kill_points import sweep
from tests.our_commands import run_command

LINES = ["w1 w2 w3", "w4", "", "w5 w6 w7 w8 w9", "w1 w2 w3", "w2", " ", "w7 w8"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "test.de"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


@pytest.fixture
def expected(checkpoint_options):
    _, model, _, data = checkpoint_options
    return EncoderOptions(Path(model), model_data=Path(data)).load().encode(LINES, "de")


@pytest.mark.parametrize("window", [1, 3, 1000])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_one_vector_per_line_in_windows_of_any_size(
    monkeypatch, command, checkpoint_options, text, expected, tmp_path, window, ending
):
    monkeypatch.setattr(windows, "WINDOW", window)
    if ending:
        with gzip.open(f"{text}.gz", "wb") as stream:
            stream.write(text.read_bytes().removesuffix(b"\n").replace(b"\n", b"\r\n"))
        text = text.with_name("test.de.gz")
    done = command("encode", text, *checkpoint_options, "--output", tmp_path / "out")
    assert (done.status, done.out) == (0, f"{tmp_path}/out/test.de.npy\n"), done.err
    assert "lines/s" in done.err
    stored = VectorsFile.open(tmp_path / "out/test.de.npy", width=32, lines=len(LINES))
    np.testing.assert_allclose(stored.stored, expected, atol=1e-5)
    assert stored.stored.dtype == np.float32 and not stored.stored[2].any() and not stored.stored[6].any()
    record = stored.record
    assert record["text"] == {"path": str(text), "sha256": checksum(text), "lines": 8}
    assert (record["width"], record["dtype"], record["language"]) == (32, "float32", "de")
    assert record["encoder"]["weights"] == {"model.pt": checksum(checkpoint_options[1])}
    assert record["vectors_sha256"] == checksum(tmp_path / "out/test.de.npy")
    assert record["lines_per_second"] > 0


def test_vectors_that_have_changed_since_are_refused(command, checkpoint_options, text, tmp_path):
    """Of a copy, for instance, whose end has not come yet: the file is as long, and full of zeros."""
    assert command("encode", text, *checkpoint_options, "--output", tmp_path / "out").status == 0
    path = tmp_path / "out/test.de.npy"
    stored = np.load(path)
    stored[-2:] = 0
    np.save(path, stored)
    with pytest.raises(InputError, match=r"test\.de\.npy: has changed since test\.de\.npy\.json was written"):
        VectorsFile.open(path)


def test_lengths_of_1_and_half_precision(command, checkpoint_options, text, expected, tmp_path):
    options = ("--normalize", "--dtype", "float16", "--output", tmp_path / "out")
    assert command("encode", text, *checkpoint_options, *options).status == 0
    stored = VectorsFile.open(tmp_path / "out/test.de.npy")
    assert stored.stored.dtype == np.float16 and stored.record["normalized"]
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(stored.read(), expected / np.where(norms, norms, 1), atol=1e-3)


@pytest.mark.parametrize("dtype", ["int8", "binary"])
def test_fewer_bits_of_vectors_of_length_1(command, checkpoint_options, text, expected, tmp_path, dtype):
    options = ("--dtype", dtype, "--output", tmp_path / "out")
    assert command("encode", text, *checkpoint_options, *options).status == 0
    stored = VectorsFile.open(tmp_path / "out/test.de.npy", width=32, lines=len(LINES))
    assert stored.record["normalized"] and stored.record["dtype"] == dtype
    assert stored.stored.shape == (len(LINES), 32 if dtype == "int8" else 4)
    words = [row for row, line in enumerate(LINES) if line.strip()]
    unit = expected[words] / np.linalg.norm(expected[words], axis=1, keepdims=True)
    if dtype == "int8":
        step = 4 / (127 * np.sqrt(32))
        np.testing.assert_allclose(stored.read()[words], np.clip(unit, -127 * step, 127 * step), atol=step)
    else:
        assert (np.sign(stored.read()[words]) == np.where(unit > 0, 1, -1)).mean() > 0.99


def test_what_is_done_is_skipped_and_other_text_encoded_again(command, checkpoint_options, text, tmp_path):
    words = ("encode", text, *checkpoint_options, "--output", tmp_path / "out")
    assert command(*words).status == 0
    assert "complete, skipped" in command(*words).err
    assert "lines/s" in command(*words, "--batch-tokens", 7).err
    text.write_text("w1\nw2\n")
    assert command(*words).status == 0
    assert len(VectorsFile.open(tmp_path / "out/test.de.npy")) == 2


def test_several_texts_with_one_encoder(command, refusal, checkpoint_options, text, tmp_path):
    other = tmp_path / "x" / "test.de"
    other.parent.mkdir()
    other.write_text("w1\n")
    english = tmp_path / "test.de-en.en"
    english.write_text("w1\n")
    words = ("encode", text, english, *checkpoint_options, "--output", tmp_path / "out")
    assert command(*words).status == 0
    assert VectorsFile.open(tmp_path / "out/test.de-en.en.npy").record["language"] == "en"
    refused = refusal("encode", text, other, other, *checkpoint_options, "--output", tmp_path / "out")
    assert f"{other}: its vectors would be named as those of {text}" in refused


def vectors_only(found: dict) -> dict:
    """Records say how long it took."""
    return {name: content for name, content in found.items() if name.endswith(".npy")}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "binary"])
def test_killed_at_any_change_it_ends_with_the_same_bytes(
    monkeypatch, command, checkpoint_options, text, tmp_path, dtype
):
    monkeypatch.setattr(windows, "WINDOW", 3)
    output = tmp_path / "output"
    options = [*checkpoint_options, "--dtype", dtype, "--output", str(output)]
    sweep(
        lambda: run_command(["embeddings", "encode", str(text), *options]),
        [output],
        lambda: shutil.rmtree(output, ignore_errors=True),
        lambda: VectorsFile.open(output / "test.de.npy").read(),
        InputError,
        comparable=vectors_only,
    )


def test_it_continues_at_the_window_where_it_was(monkeypatch, command, checkpoint_options, text, tmp_path):
    monkeypatch.setattr(windows, "WINDOW", 3)
    words = ("encode", text, *checkpoint_options, "--output")
    assert command(*words, tmp_path / "whole").status == 0
    seen, plain = [], CheckpointEncoder.encode

    def stopped(encoder, sentences, language):
        if sentences:  # not only asked whether it knows the language
            seen.append(sentences)
        if sentences and len(seen) == 3:
            raise KeyboardInterrupt
        return plain(encoder, sentences, language)

    monkeypatch.setattr(CheckpointEncoder, "encode", stopped)
    with pytest.raises(KeyboardInterrupt):
        command(*words, tmp_path / "out")
    with pytest.raises(InputError, match=r"`encode test.de.npy` did not finish here; run it again"):
        VectorsFile.open(tmp_path / "out/test.de.npy")
    unfinished = tmp_path / "out/.test.de.npy.unfinished.npy"
    stored = np.lib.format.open_memmap(unfinished, mode="r+")
    stored[4] = 0  # the disk has lost a window
    del stored
    assert command(*words, tmp_path / "out").status == 0
    assert seen == [LINES[:3], LINES[3:6], LINES[6:], LINES[3:6], LINES[6:]]
    files = [tmp_path / folder / "test.de.npy" for folder in ("whole", "out")]
    assert files[0].read_bytes() == files[1].read_bytes()


# --- what is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "test.de: is empty, expected lines of text"),
        (b"w1\nw2\xff\n", "test.de:2: byte 0xff is not UTF-8"),
        (b"w1\0\n", "test.de:1: a NUL byte"),
    ],
)
def test_text(refusal, checkpoint_options, text, tmp_path, content, message):
    text.write_bytes(content)
    assert message in refusal("encode", text, *checkpoint_options, "--output", tmp_path / "out")
    assert not (tmp_path / "out/test.de.npy").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_vectors_that_are_no_numbers(monkeypatch, refusal, checkpoint_options, text, tmp_path, value):
    def broken(encoder, output):
        vectors, (_, read) = plain(encoder, output), output
        for row, tokens in zip(vectors, read, strict=True):
            if (tokens != encoder.dictionary.pad()).sum() == 7:  # the fourth line, with tag and </s>
                row[3] = value
        return vectors

    plain = CheckpointEncoder.vectors
    monkeypatch.setattr(CheckpointEncoder, "vectors", broken)
    line = refusal("encode", text, *checkpoint_options, "--output", tmp_path / "out", "--dtype", "float16")
    assert f"{text}:4: its vector is " in line
    assert ("beyond float16; give --dtype float32" if value == 1e30 else "NaN or infinite") in line
    assert not (tmp_path / "out/test.de.npy").exists()


def test_no_such_text(refusal, checkpoint_options, tmp_path):
    line = refusal("encode", tmp_path / "x", *checkpoint_options, "--output", tmp_path / "out")
    assert f"{tmp_path}/x: no such file" in line


# --- stored vectors


def test_stored_vectors_are_an_encoder(command, checkpoint_options, text, expected, tmp_path):
    assert command("encode", text, *checkpoint_options, "--output", tmp_path / "out").status == 0
    encoder = EncoderOptions(tmp_path / "out").load()
    assert (encoder.width, encoder.record()["kind"]) == (32, "checkpoint")
    np.testing.assert_allclose(encoder.encode([LINES[3], LINES[0]], "de"), expected[[3, 0]], atol=1e-5)
    with pytest.raises(InputError, match="no stored vector of the sentence 'w1 w2' of de"):
        encoder.encode(["w1 w2"], "de")
    for language in (
        "deu",
        None,
        "fr",
    ):  # German by another code, any text, and a language that no text is in
        np.testing.assert_allclose(encoder.encode([LINES[0]], language), expected[:1], atol=1e-5)
    english = tmp_path / "test.en"
    english.write_text("w1 w2 w3\n")
    assert command("encode", english, *checkpoint_options, "--output", tmp_path / "out").status == 0
    encoder = EncoderOptions(tmp_path / "out").load()
    np.testing.assert_allclose(encoder.encode([LINES[0]], "de"), expected[:1], atol=1e-5)
    assert abs(encoder.encode([LINES[0]], "en") - expected[:1]).max() > 1e-3  # the tag is another
    with pytest.raises(InputError, match="no stored vector of the sentence 'w2' of en"):
        encoder.encode(["w2"], "en")
    (tmp_path / "out/.partial-here-1.test.fr.npy.json").write_text("{")  # of a command that was killed
    assert EncoderOptions(tmp_path / "out").load().width == 32
    text.write_text("w1\n")
    with pytest.raises(InputError, match=r"test\.de: is gone, or has changed since"):
        EncoderOptions(tmp_path / "out").load()


def test_stored_vectors_of_equal_texts_are_those_of_the_language(command, checkpoint_options, text, tmp_path):
    """Or else of the place."""
    english = shutil.copy(text, tmp_path / "test.en")
    assert command("encode", text, english, *checkpoint_options, "--output", tmp_path / "out").status == 0
    encoder = EncoderOptions(tmp_path / "out").load()
    rows = np.array([0, 3])
    lines = [LINES[row] for row in rows]
    for path, language, own in (
        (text, "de", "de"),
        (english, "eng", "en"),
        (text, "en", "en"),
        (english, "fr", "en"),
        (english, None, "en"),
    ):
        vectors = encoder.encode_lines(path, rows, lines, language)
        assert vectors.path.name == f"test.{own}.npy"
        np.testing.assert_allclose(vectors.read(0, 2), encoder.encode(lines, own), atol=1e-5)


def test_stored_vectors_are_of_the_training_of_their_encoder(command, checkpoint_options, text, tmp_path):
    """With its seed and axes, so that two of one training are not taken for two seeds."""
    assert command("encode", text, *checkpoint_options, "--output", tmp_path / "out").status == 0
    encoder = EncoderOptions(tmp_path / "out").load()
    system = encoder.record()["system"]
    assert encoder.system == system and {"name", "seed", "norm_placement"} <= set(system)
    record = tmp_path / "out/test.de.npy.json"
    content = json.loads(record.read_text())
    record.write_text(json.dumps(content | {"size": content["size"] | {"experts": 8}}))  # of a later version
    assert EncoderOptions(tmp_path / "out").load().size == encoder.size
    content["encoder"]["weights"] = {"model.pt": 7}
    record.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"field 'encoder\.weights.* is 7, expected a string"):
        EncoderOptions(tmp_path / "out").load()


def test_stored_vectors_have_the_same_numbers_throughout(command, checkpoint_options, text, tmp_path):
    english = tmp_path / "test.en"
    english.write_text("w1\n")
    for path, dtype in ((text, "float16"), (english, "float32")):
        words = ("encode", path, *checkpoint_options, "--output", tmp_path / "out", "--dtype", dtype)
        assert command(*words).status == 0
    assert EncoderOptions(tmp_path / "out").load().name.count("float") == 0
    words = ("encode", english, *checkpoint_options, "--output", tmp_path / "out", "--dtype", "binary")
    assert command(*words).status == 0
    with pytest.raises(InputError, match=r"test\.en\.npy: its numbers are binary, those of .* float16"):
        EncoderOptions(tmp_path / "out").load()


def test_stored_vectors_are_of_one_encoder(command, checkpoint_options, text, tmp_path):
    english = tmp_path / "test.en"
    english.write_text("w1\n")
    assert command("encode", text, *checkpoint_options, "--output", tmp_path / "out").status == 0
    words = ("encode", english, *checkpoint_options, "--output", tmp_path / "out", "--pooling", "words")
    assert command(*words).status == 0
    with pytest.raises(InputError, match=r"test\.en\.npy: has another encoder than .*test\.de\.npy"):
        EncoderOptions(tmp_path / "out").load()


def test_stored_vectors_find_their_text_from_another_working_directory(
    monkeypatch, command, checkpoint_options, text, expected, tmp_path
):
    monkeypatch.chdir(tmp_path)
    words = ("encode", text.name, *checkpoint_options, "--output", "out", "--token-states")
    assert command(*words).status == 0
    monkeypatch.chdir("/")
    encoder = EncoderOptions(tmp_path / "out").load()
    np.testing.assert_allclose(encoder.encode([LINES[3]], "de"), expected[[3]], atol=1e-5)
    assert encoder.encode_tokens([LINES[3]], "de").states[0].shape == (7, 32)


def test_a_cluster_makes_the_same_vectors(
    completed, checkpoint_options, text, expected, tmp_path, cluster, monkeypatch
):
    monkeypatch.setattr(windows, "WINDOW", 3)
    monkeypatch.setattr(encode_tokens, "WINDOW", 3)
    for name, options in (("alone", ()), ("cluster", ("--dask", cluster.scheduler_address))):
        words = ("encode", text, *checkpoint_options, *options, "--token-states", "--output", tmp_path / name)
        completed(*words)
        monkeypatch.setattr(CheckpointEncoder, "encode_tokens", None)  # of this process, not of the workers
    for what in ("states", "tokens"):
        files = [tmp_path / name / f"test.de.{what}.npy" for name in ("alone", "cluster")]
        assert files[0].read_bytes() == files[1].read_bytes()
    vectors = [tmp_path / name / "test.de.npy" for name in ("alone", "cluster")]
    assert vectors[0].read_bytes() == vectors[1].read_bytes()
    np.testing.assert_allclose(np.load(vectors[1]), expected, atol=1e-5)
    records = [json.loads(path.with_name("test.de.npy.json").read_text()) for path in vectors]
    assert records[0]["vectors_sha256"] == records[1]["vectors_sha256"]
