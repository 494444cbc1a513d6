"""`embeddings encode --data`: a teacher's vectors beside binarized sentences."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from data_prep.formats.teacher_vectors import TeacherVectors, encoder_identity, teachers
from data_prep.model_folders.identity import files_of
from embeddings import windows
from embeddings.encoders.checkpoint import CheckpointEncoder
from embeddings.encoders.options import EncoderOptions
from tests.fairseq_ext.folders import write_preparation, write_sentences, write_toy_folder
from tests.fairseq_ext.models import toy_dictionary
from tests.fairseq_ext.test_pretrained_encoder import write_model
from tests.kill_points import sweep
from tests.our_commands import run_command

NAMES = ["train.de-en.de", "train.de-en.en", "train.en-fr.en", "train.en-fr.fr"]
DICTIONARY = toy_dictionary()


@pytest.fixture
def data(tmp_path):
    """A copy of the folder of the checkpoint, with sentences of several lengths, and its raw text."""
    data = write_toy_folder(tmp_path / "data")
    for name in NAMES:
        write_sentences(data / name, [[4 + i % 20] * (1 + i % 4) + [2] for i in range(8)])
    write_preparation(data)
    return data


def write_text(folder: Path) -> Path:
    folder.mkdir()
    for name in NAMES:
        lines = [" ".join(DICTIONARY[4 + i % 20] for _ in range(1 + i % 4)) for i in range(8)]
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def expected(options, name: str) -> np.ndarray:
    lines = [" ".join([DICTIONARY[4 + i % 20]] * (1 + i % 4)) for i in range(8)]
    encoder = EncoderOptions(Path(options[1]), model_data=Path(options[3])).load()
    return encoder.encode(lines, name.rpartition(".")[2])


def stored(data, name: str, teacher: str = "teacher") -> TeacherVectors:
    vectors = TeacherVectors(data / f"{name}.{teacher}.vectors")
    vectors.check(data / name)
    return vectors


def stopped_at(monkeypatch, window: int) -> list[int]:
    """The sizes of windows that are encoded from now on; the one of this number is interrupted."""
    seen, plain = [], CheckpointEncoder.encode_binarized

    def stopped(encoder, sentences, language):
        seen.append(len(sentences))
        if len(seen) == window:
            raise KeyboardInterrupt
        return plain(encoder, sentences, language)

    monkeypatch.setattr(CheckpointEncoder, "encode_binarized", stopped)
    return seen


def rows(vectors: TeacherVectors) -> np.ndarray:
    return np.stack([vectors[line] for line in range(len(vectors))])


@pytest.mark.parametrize("window", [3, 1000])
@pytest.mark.parametrize("reads", ["tokens", "text"])
def test_every_side_of_every_pair(
    monkeypatch, command, completed, checkpoint_options, data, tmp_path, window, reads
):
    monkeypatch.setattr(windows, "WINDOW", window)
    options = ["--text", write_text(tmp_path / "text")] if reads == "text" else []
    done = completed("encode", "--data", data, *checkpoint_options, *options)
    assert done.out.split() == [f"{data}/{name}.teacher.vectors" for name in NAMES]
    for name in NAMES:
        vectors = stored(data, name)
        np.testing.assert_allclose(rows(vectors), expected(checkpoint_options, name), atol=1e-5)
        assert vectors.description["read"]["kind"] == reads
        assert vectors.description["encoder"]["width"] == vectors.width == 32
    assert "complete, skipped" in command("encode", "--data", data, *checkpoint_options, *options).err


@pytest.fixture
def same_on_cluster(monkeypatch, completed, checkpoint_options, data, cluster):
    """Encode alone and on the cluster, and compare the vectors."""
    monkeypatch.setattr(windows, "WINDOW", 3)

    def compare(*options) -> None:
        for name, where in (("alone", ()), ("shared", ("--dask", cluster.scheduler_address))):
            completed("encode", "--data", data, *checkpoint_options, *options, "--name", name, *where)
        for name in NAMES:
            alone, shared = (data / f"{name}.{teacher}.vectors" for teacher in ("alone", "shared"))
            assert alone.read_bytes() == shared.read_bytes()

    return compare


def test_a_cluster_stores_the_same_vectors(same_on_cluster):
    same_on_cluster()


def test_a_cluster_that_loses_a_worker_stores_the_same_vectors(same_on_cluster, tmp_path, deaths):
    same_on_cluster("--text", write_text(tmp_path / "text"))
    assert deaths


@pytest.mark.parametrize("dtype", ["int8", "binary"])
def test_teachers_are_stored_as_floats(refusal, checkpoint_options, data, dtype):
    refused = refusal("encode", "--data", data, *checkpoint_options, "--dtype", dtype)
    assert f"--dtype {dtype}: losses compare a teacher's vectors number by" in refused
    assert not list(data.glob("*.vectors"))


def test_several_teachers_sets_and_half_precision(command, checkpoint_options, data):
    words = ("encode", "--data", data, *checkpoint_options, "--split", "train,valid", "--normalize")
    assert command(*words, "--dtype", "float16", "--name", "half").status == 0
    assert command(*words, "--pooling", "words", "--name", "words").status == 0
    assert teachers(data) == ["half", "words"]
    half, words = stored(data, NAMES[0], "half"), stored(data, NAMES[0], "words")
    assert (half.description["dtype"], half.description["normalized"]) == ("float16", True)
    np.testing.assert_allclose(np.linalg.norm(rows(half), axis=1), 1, atol=1e-3)
    assert (data / "valid.de-fr.fr.half.vectors").is_file()
    assert encoder_identity(half.description["encoder"]) != encoder_identity(words.description["encoder"])


def test_other_sentences_are_encoded_again(command, checkpoint_options, data):
    words = ("encode", "--data", data, *checkpoint_options)
    assert command(*words).status == 0
    write_sentences(data / NAMES[0], [[9, 2]] * 8)
    assert command(*words).err.count("skipped") == 3
    assert np.ptp(rows(stored(data, NAMES[0])), axis=0).max() < 1e-6


def test_the_vectors_of_another_encoder_are_replaced_by_force_alone(
    command, refusal, checkpoint_options, data
):
    """Students that learn from them cannot go on without."""
    words = ("encode", "--data", data, *checkpoint_options)
    assert command(*words).status == 0
    before = (data / f"{NAMES[0]}.teacher.vectors").read_bytes()
    other = refusal(*words, "--pooling", "words")
    assert f"{data}/{NAMES[0]}.teacher.vectors: has vectors of the encoder" in other
    assert other.rstrip().endswith("choose another --name, or replace them by --force")
    assert (data / f"{NAMES[0]}.teacher.vectors").read_bytes() == before
    assert command(*words, "--pooling", "words", "--force").status == 0
    assert (data / f"{NAMES[0]}.teacher.vectors").read_bytes() != before


def test_an_encoder_that_was_moved_is_the_same(monkeypatch, command, checkpoint_options, data, tmp_path):
    """What was stored, and what was half stored, when it lay elsewhere."""
    monkeypatch.setattr(windows, "WINDOW", 3)
    model, moved = Path(checkpoint_options[1]), tmp_path / "elsewhere" / Path(checkpoint_options[1]).name
    words = ("encode", "--data", data, *checkpoint_options)
    assert command(*words).status == 0
    shutil.copytree(model.parent, moved.parent)
    again = ("encode", "--data", data, "--model", moved, *checkpoint_options[2:])
    assert command(*again).err.count("complete, skipped") == 4
    seen = stopped_at(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        command(*words, "--name", "killed")
    assert command(*again, "--name", "killed").status == 0
    assert seen == [3, 3, 3, 2] + [3, 3, 2] * 3


def test_a_folder_whose_settings_have_changed_is_another_encoder(tmp_path):
    folder = write_model(tmp_path / "bert", "bert")
    before = files_of(folder)
    assert {"config.json", "model.safetensors", "vocab.txt"} <= set(before)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    files_of.cache_clear()
    assert [name for name, sha256 in files_of(folder).items() if sha256 != before[name]] == ["config.json"]


@pytest.mark.slow
def test_killed_at_any_change_it_ends_with_the_same_bytes(monkeypatch, command, checkpoint_options, data):
    """No half of a file is ever read, and nothing of the data is touched."""
    monkeypatch.setattr(windows, "WINDOW", 3)
    for name in NAMES[2:]:
        for ending in ("bin", "idx"):
            (data / f"{name}.{ending}").unlink()

    def reset():
        for path in data.glob("*.vectors*"):
            path.unlink()
        for path in data.glob(".*"):
            path.unlink()

    sweep(
        lambda: run_command(["embeddings", "encode", "--data", str(data), *checkpoint_options]),
        [data],
        reset,
        lambda: [rows(stored(data, name)).shape for name in NAMES[:2]],
        InputError,
        comparable=lambda found: {name: content for name, content in found.items() if "/." not in name},
    )
    assert not list(data.glob(".*"))


def test_it_continues_at_the_window_where_it_was(monkeypatch, command, checkpoint_options, data):
    monkeypatch.setattr(windows, "WINDOW", 3)
    words = ("encode", "--data", data, *checkpoint_options, "--name")
    assert command(*words, "whole").status == 0
    seen = stopped_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        command(*words, "killed")
    assert not list(data.glob("*.killed.vectors"))
    assert command(*words, "killed").status == 0
    assert seen == [3, 3, 2, 2] + [3, 3, 2] * 3
    whole, killed = ((data / f"{NAMES[0]}.{name}.vectors").read_bytes() for name in ("whole", "killed"))
    assert whole == killed


# --- what is refused


def refused(command, *words) -> str:
    done = command("encode", *words)
    assert done.status == 2, done.err
    *said, line = done.err.splitlines()
    assert all(one.endswith(("/s", "(--force redoes it)")) for one in said)
    return line


def test_options_that_do_not_go_together(command, checkpoint_options, data, tmp_path):
    assert "FILE: --data" in refused(command, "x", "--data", data, *checkpoint_options)
    for option in ("--output", "--language"):
        line = refused(command, "--data", data, option, "de", *checkpoint_options)
        assert f"{option}: --data {data} is encoded in its place" in line
    for option in ("--split", "--pairs", "--name", "--text"):
        line = refused(command, "x", "--output", tmp_path / "o", option, "a", *checkpoint_options)
        assert line.endswith(f"{option}: belongs to --data, which is not given")
    assert "expected FILE" in refused(command, *checkpoint_options)


def test_a_folder_without_the_set(command, checkpoint_options, data, tmp_path):
    line = refused(command, "--data", data, "--split", "dev", *checkpoint_options)
    assert f"{data}: no dev.A-B.LANG.idx" in line
    assert "no train.A-B.LANG.idx" in refused(command, "--data", tmp_path / "x", *checkpoint_options)


def test_chosen_pairs_alone(command, checkpoint_options, data):
    """In either order of their languages."""
    done = command("encode", "--data", data, *checkpoint_options, "--pairs", "fr-en")
    assert done.out.split() == [f"{data}/{name}.teacher.vectors" for name in NAMES[2:]]
    assert len(list(data.glob("*.vectors"))) == 2
    line = refused(command, "--data", data, *checkpoint_options, "--pairs", "de-en,de-xx")
    assert line.endswith(f"--pairs de-xx: {data} has no such pair in train")


def test_raw_text_of_other_sentences(command, checkpoint_options, data, tmp_path):
    text = write_text(tmp_path / "text")
    words = ("--data", data, *checkpoint_options, "--text", text)
    lines = (text / NAMES[1]).read_text().splitlines(keepends=True)
    (text / NAMES[1]).write_text("".join(lines[:1] + lines[:1] + lines[2:]))
    assert f"{text}/{NAMES[1]}:2: is not the text of sentence 2 of {NAMES[1]}" in refused(command, *words)
    (text / NAMES[1]).write_text("".join(lines[:-1]))
    assert "7 lines, but" in refused(command, *words)
    (text / NAMES[1]).unlink()
    assert "has no other side" in refused(command, *words)


def test_an_encoder_of_another_dictionary_reads_raw_text(
    monkeypatch, command, completed, checkpoint_options, data
):
    """Of evaluation sets that lies in the folder."""
    monkeypatch.setattr(
        CheckpointEncoder, "dictionary_fingerprint", property(lambda self: "0" * 64, lambda *_: 0)
    )
    line = refused(command, "--data", data, *checkpoint_options)
    assert f"{data}/text: no text train.de-en.de in it" in line and "give --text" in line
    (data / "text").mkdir()
    for path in data.glob("valid.*.idx"):
        sentences = [f"{DICTIONARY[4 + i]} {DICTIONARY[5 + i]}" for i in range(6)]
        if path.stem in ("valid.de-en.en", "valid.en-fr.fr", "valid.de-fr.fr"):
            sentences = [DICTIONARY[6 + i] for i in range(6)]
        (data / "text" / path.stem).write_text("".join(f"{line}\n" for line in sentences))
    completed("encode", "--data", data, "--split", "valid", *checkpoint_options)
    assert stored(data, "valid.de-fr.fr").description["read"]["kind"] == "text"
    assert Preparation.load(data).pairs["valid"]  # nothing of the data is touched
