"""`embeddings retrieve` by BERT-score, normalized or not, of any layer, with encoders of every kind."""

import json
from pathlib import Path

import numpy as np
import pytest

from embeddings.encoders.options import EncoderOptions
from embeddings.groups import groups_file, read_groups
from embeddings.retrieve import KIND
from embeddings.search.sentence_scores import bert_scores, without_popularity
from tests.embeddings.encoders.folders import TEXT, write_sentence_transformers, write_transformers
from tests.embeddings.test_retrieve import sentences, write

OTHERS = [*TEXT[:5], "Das Wetter", "Zwei Kinder", "Fahrrad heute"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_transformers(tmp_path_factory.mktemp("tokens") / "bert")


@pytest.fixture
def parallel(tmp_path):
    files = {"de": TEXT, "en": OTHERS, "fr": TEXT[::-1]}
    return [write(tmp_path / f"test.{language}", lines) for language, lines in files.items()]


def retrieve(command, output, *words):
    result = command("retrieve", *words, "--cpu", "--output", output)
    assert result.status == 0, result.err
    record = json.loads((output / f"{KIND}.json").read_text())
    return record, record["runs"][0]


def p_at_1(scores) -> float:
    return float((scores.argmax(axis=1) == np.arange(len(scores))).mean())


@pytest.mark.parametrize("layer", [None, "1", "average"])
def test_all_pairs_by_bert_score_with_and_without_normalization(command, folder, parallel, tmp_path, layer):
    given = ["--layer", layer] if layer else []
    record, run = retrieve(
        command, tmp_path / "out", "--parallel", *parallel, "--model", folder, *given,
        "--similarity", "cosine,bert-score", "--normalize", "0.75",
    )  # fmt: skip
    encoder = EncoderOptions(folder, layer=layer, cpu=True).load()
    scores = bert_scores(encoder.encode_tokens(TEXT), encoder.encode_tokens(OTHERS), False)
    vectors = [encoder.encode(lines) for lines in (TEXT, OTHERS)]
    units = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in vectors]
    expected = {
        "cosine": units[0] @ units[1].T,
        "cosine-normalized": without_popularity(units[0] @ units[1].T, 0.75, None),
        "bert-score": scores,
        "bert-score-normalized": without_popularity(scores, 0.75, None),
    }
    assert set(run["average"]) == set(expected)
    for name, each in expected.items():
        assert run["directions"]["de-en"][name]["p_at_1"] == pytest.approx(p_at_1(each))
        assert run["directions"]["en-de"][name]["p_at_1"] == pytest.approx(p_at_1(each.T))
    assert record["normalization"] == {"strength": 0.75, "batch": None}
    assert run["system"]["name"] == {None: "bert", "1": "bert (layer 1)"}.get(
        layer, "bert (average of layers)"
    )


def test_bert_score_alone_of_some_queries(command, folder, parallel, tmp_path):
    words = ["--parallel", *parallel[:2], "--model", folder, "--similarity", "bert-score", "--queries", "4"]
    _, run = retrieve(command, tmp_path / "out", *words)
    assert run["directions"]["de-en"]["queries"] == 4
    assert set(run["average"]) == {"bert-score"}


def test_layers_are_those_of_the_library(folder):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    for line in TEXT:
        inputs = tokenizer(line, truncation=True, return_tensors="pt")
        with torch.no_grad():
            states = model(**inputs, output_hidden_states=True).hidden_states
        for layer, expected in (("0", states[0]), ("1", states[1]), ("average", sum(states) / 3)):
            encoder = EncoderOptions(folder, layer=layer, cpu=True).load()
            found = encoder.encode_tokens([line])
            np.testing.assert_allclose(found.states[0], expected[0].numpy(), atol=1e-5)
            assert found.special[0].tolist() == [True, *[False] * (len(found.special[0]) - 2), True]
            np.testing.assert_allclose(encoder.encode([line])[0], expected[0].mean(0).numpy(), atol=1e-5)


def test_checkpoints_have_states_too(command, one_space, tmp_path):
    lines = sentences(9, seed=1)
    files = [write(tmp_path / f"test.{language}", lines) for language in ("de", "en")]
    words = ["--parallel", *files, *one_space, "--similarity", "bert-score", "--without-specials"]
    _, run = retrieve(command, tmp_path / "out", *words)
    assert run["directions"]["de-en"]["bert-score"]["p_at_1_by_text"] == 1


def test_folders_of_sentence_transformers_have_states_too(tmp_path):
    folder = write_sentence_transformers(tmp_path / "folder")
    encoder = EncoderOptions(folder, cpu=True).load()
    found = encoder.encode_tokens(TEXT)
    np.testing.assert_allclose([each.mean(0) for each in found.states], encoder.encode(TEXT), atol=1e-5)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--layer", "3"], "--layer 3: expected a number from 0 to 2, or average"),
        (["--layer", "last"], "--layer last: expected a number from 0 to 2, or average"),
        (["--layer", "1", "--pooling", "pooler"], "--layer 1: --pooling pooler is of the last one"),
        (["--similarity", "bert-score", "--distractors", "{}"], "--distractors: not with --normalize or"),
    ],
)
def test_refusals(command, folder, parallel, tmp_path, words, line):
    words = [word.format(parallel[0]) for word in words]
    refused = command(
        "retrieve", "--parallel", *parallel, "--model", folder, *words, "--output", tmp_path / "out"
    )
    assert refused.status == 2
    assert refused.err.startswith(f"error: {line}")


def test_stored_vectors_have_no_states(command, folder, parallel, tmp_path):
    assert (
        command("encode", *parallel, "--model", folder, "--cpu", "--output", tmp_path / "stored").status == 0
    )
    words = ["--model", tmp_path / "stored", "--similarity", "bert-score", "--output", tmp_path / "out"]
    refused = command("retrieve", "--parallel", *parallel, *words)
    assert refused.status == 2
    assert "has vectors of sentences alone; expected an encoder with states of tokens" in refused.err


def test_the_36_languages_of_the_paper():
    (members,) = read_groups(groups_file(Path("one_aligner"))).values()
    assert len(set(members)) == len(members) == 36
