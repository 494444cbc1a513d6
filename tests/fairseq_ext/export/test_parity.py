"""What the comparison of an exported encoder with its checkpoint finds: other ids, directions, lengths."""

from types import SimpleNamespace

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.commands.export import export
from fairseq_ext.export.parity import check_parity, check_texts, our_vectors
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.export.folders import LANGUAGES, write_data, write_encoder
from tests.fairseq_ext.export.test_sentence_transformers import exported_vectors, job


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "data")


@pytest.fixture
def compared(tmp_path, data):
    """Function that compares the checkpoint with a changed copy of its own vectors."""
    loaded = load_for_inference(write_encoder(tmp_path / "model.pt", data), data, translates=False)
    (text, *_) = check_texts(Preparation.load(data), loaded.task.dictionary, [], 4, 40)

    def ids_of(lines, **options):
        return {"input_ids": text.ids[: len(lines)]}

    rows = np.arange(len(loaded.task.dictionary))
    tokenizer = SimpleNamespace(tokenizer=ids_of, rows=rows, has_cls=False, longest=40)
    return lambda change, least: check_parity(
        [text], tokenizer, loaded, lambda _: change(our_vectors(loaded, text.ids)), least
    )


def test_equal_vectors_pass(compared):
    found = compared(lambda vectors: vectors, 0.9999)
    assert found["lowest_cosine"] == pytest.approx(1, abs=1e-5)
    assert (found["lines"], found["languages"]) == (4, ["de"])


@pytest.mark.parametrize("factor", [2, 0.5, 1.02])
def test_vectors_of_another_length_are_others(compared, factor):
    """A sum in place of a mean has the same cosines; distances and dot products differ."""
    with pytest.raises(InputError, match=r"a vector of length .* in place of .* of a line of de"):
        compared(lambda vectors: vectors * factor, 0.9999)


def test_8_bits_may_differ_more(compared):
    compared(lambda vectors: vectors * 1.02, 0.9)


def test_another_direction_names_the_line(compared):
    def change(vectors):
        vectors[1] = -vectors[1]
        return vectors

    with pytest.raises(InputError, match=f"cosine -1.0.*{LANGUAGES['de'][1][:10]}"):
        compared(change, 0.9)


def test_nothing_counts_as_equal_to_a_vector(compared):
    with pytest.raises(InputError, match="cosine nan"):
        compared(lambda vectors: vectors * np.nan, 0.9)


def test_a_tokenizer_that_splits_a_line_in_another_way(tmp_path, data, capsys, monkeypatch):
    from fairseq_ext.export import parity

    expected = parity.expected_ids
    monkeypatch.setattr(parity, "expected_ids", lambda *given: expected(*given)[::-1])
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    with pytest.raises(InputError, match="the exported tokenizer splits a line of de in another way"):
        export(job(checkpoint, data, tmp_path / "out", check_lines=3), tmp_path)


def test_a_text_of_no_language_of_the_data(tmp_path):
    data = write_data(tmp_path / "two")
    preparation = Preparation.load(data)
    preparation.tokenizers["el"] = "13a"
    (tmp_path / "lines.xx").write_text("a\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"lines.xx: its name ends with no language of the data; expected"):
        check_texts(preparation, None, [tmp_path / "lines.xx"], 1, 40)


def test_a_line_without_words(tmp_path, data):
    """A folder of sentence-transformers gives it the vector of `</s>`; a checkpoint has zeros for it."""
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    export(job(checkpoint, data, tmp_path / "out"), tmp_path)
    loaded = load_for_inference(checkpoint, data, translates=False)
    alone = our_vectors(loaded, [[loaded.task.dictionary.eos()]])
    for vectors in (exported_vectors(tmp_path, [""]), EncoderOptions(tmp_path).load().encode([""])):
        np.testing.assert_allclose(vectors, alone, atol=2e-4, rtol=1e-4)
    assert not EncoderOptions(checkpoint, model_data=data).load().encode([""]).any()
