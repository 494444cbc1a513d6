"""`embeddings retrieve` by BERT-score, normalized or not, of any layer, with encoders of every kind."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.token_states import TokenStatesFile, write_token_states
from data_prep.model_folders.identity import files_of
from embeddings import encode_tokens
from embeddings.encoders.huggingface import special_ids
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.stored import StoredVectors
from embeddings.encoders.transformers_folder import TransformersEncoder
from embeddings.groups import groups_file, read_groups
from embeddings.search.sentence_scores import bert_scores, without_popularity
from tests.embeddings.encoders.folders import TEXT, write_sentence_transformers, write_transformers
from tests.embeddings.retrieved import RetrievalResult
from tests.embeddings.test_retrieve import drawn, sentences, write

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
    return RetrievalResult(output)


def p_at_1(scores) -> float:
    return float((scores.argmax(axis=1) == np.arange(len(scores))).mean())


@pytest.mark.parametrize("layer", [None, "1", "average"])
def test_all_pairs_by_bert_score_with_and_without_normalization(command, folder, parallel, tmp_path, layer):
    given = ["--layer", layer] if layer else []
    retrieved = retrieve(
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
    assert retrieved.similarities == set(expected)
    for name, each in expected.items():
        assert retrieved.p_at_1(name)["de-en"] == pytest.approx(p_at_1(each))
        assert retrieved.p_at_1(name)["en-de"] == pytest.approx(p_at_1(each.T))
    assert retrieved.record["normalization"] == {"strength": 0.75, "batch": None}
    assert retrieved.run["system"]["name"] == {None: "bert", "1": "bert (layer 1)"}.get(
        layer, "bert (average of layers)"
    )


def test_bert_score_alone_of_some_queries(command, folder, parallel, tmp_path):
    """Each against all candidates. The beginnings of English are German's, but not the other way round."""
    english = [f"{line} {TEXT[row // 3]}" for row, line in enumerate(TEXT)]
    write(parallel[1], english)
    words = ["--parallel", *parallel[:2], "--model", folder, "--similarity", "bert-score", "--queries", "6"]
    retrieved = retrieve(command, tmp_path / "out", *words)
    assert retrieved.similarities == {"bert-score"} and retrieved.counts == {(6, len(TEXT))}
    encoder = EncoderOptions(folder, cpu=True).load()
    scores = bert_scores(encoder.encode_tokens(TEXT), encoder.encode_tokens(english), False)
    for place, (name, each) in enumerate((("de-en", scores), ("en-de", scores.T))):
        hits = [max(range(len(TEXT)), key=row.__getitem__) == number for number, row in enumerate(each)]
        expected = np.array(hits)[drawn(6, len(TEXT), place)]
        assert retrieved.hits(name, "bert-score") == expected.tolist()
        assert retrieved.p_at_1("bert-score")[name] == expected.mean()
    assert 0 < expected.mean() < 1  # from English


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
            vectors = encoder.encode_tokens([line])
            np.testing.assert_allclose(vectors.states[0], expected[0].numpy(), atol=1e-5)
            assert vectors.special[0].tolist() == [True, *[False] * (len(vectors.special[0]) - 2), True]
            np.testing.assert_allclose(encoder.encode([line])[0], expected[0].mean(0).numpy(), atol=1e-5)


def test_checkpoints_have_states_too(command, one_space, tmp_path):
    lines = sentences(9, seed=1)
    files = [write(tmp_path / f"test.{language}", lines) for language in ("de", "en")]
    words = ["--parallel", *files, *one_space, "--similarity", "bert-score", "--without-specials"]
    retrieved = retrieve(command, tmp_path / "out", *words)
    assert retrieved.of_directions("p_at_1_by_text", "bert-score")["de-en"] == 1


def test_folders_of_sentence_transformers_have_states_too(tmp_path):
    folder = write_sentence_transformers(tmp_path / "folder")
    encoder = EncoderOptions(folder, cpu=True).load()
    states = encoder.encode_tokens(TEXT)
    np.testing.assert_allclose([each.mean(0) for each in states.states], encoder.encode(TEXT), atol=1e-5)


@pytest.mark.parametrize("write_folder", [write_transformers, write_sentence_transformers])
def test_unknown_words_are_words(tmp_path, write_folder):
    """`--without-specials` leaves out what stands around a sentence."""
    encoder = EncoderOptions(write_folder(tmp_path / "folder"), cpu=True).load()
    (special,) = encoder.encode_tokens(["the ★ weather"]).special
    assert special.tolist() == [True, *[False] * (len(special) - 2), True]


def test_specials_stand_around_a_sentence():
    """Also where one symbol is the unknown word and the end."""
    names = {"cls": None, "sep": 3, "bos": 4, "eos": 3, "unk": 3, "mask": 5}
    ids = {f"{name}_token_id": number for name, number in names.items()}
    assert special_ids(SimpleNamespace(all_special_ids=[3, 4, 5, 9], **ids)) == [3, 4, 9]  # a language's tag
    assert special_ids(SimpleNamespace(all_special_ids=[3, 4, 7], **ids | {"unk_token_id": 7})) == [3, 4]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--layer", "3"], "--layer 3: expected a number from 0 to 2, or average"),
        (["--layer", "last"], "--layer last: expected a number from 0 to 2, or average"),
        (["--layer", "1", "--pooling", "pooler"], "--layer 1: --pooling pooler reads the last one"),
        (["--similarity", "bert-score", "--distractors", "{}"], "--distractors: not with --normalize or"),
        (["--normalize-batch", "256"], "--normalize-batch: needs --normalize; give both"),
        (
            ["--normalize", "0.75", "--similarity", "ratio,distance"],
            "--normalize: needs cosine or bert-score; --similarity has only ratio,distance",
        ),
        (["--without-specials"], "--without-specials: needs bert-score; --similarity has only cosine,ratio"),
    ],
)
def test_refusals(refusal, folder, parallel, tmp_path, words, line):
    words = [word.format(parallel[0]) for word in words]
    refused = refusal(
        "retrieve", "--parallel", *parallel, "--model", folder, *words, "--output", tmp_path / "out"
    )
    assert refused.startswith(line)


def stored(command, folder, parallel, output, *words):
    """A folder of vectors; returns it, and options that compare with them by BERT-score."""
    done = command("encode", *parallel, "--model", folder, "--cpu", "--output", output, *words)
    assert done.status == 0, done.err
    return output, ["--model", output, "--similarity", "cosine,bert-score", "--normalize", "0.75"]


def test_stored_states_are_compared_as_the_encoders(command, folder, parallel, tmp_path):
    there, words = stored(command, folder, parallel, tmp_path / "stored", "--token-states")
    retrieved = retrieve(command, tmp_path / "out", "--parallel", *parallel, *words)
    words[1] = folder
    expected = retrieve(command, tmp_path / "other", "--parallel", *parallel, *words)
    assert retrieved.everything() == expected.everything()
    before = (there / "test.de.states.npy").stat().st_mtime_ns
    again = command("encode", *parallel, "--model", folder, "--cpu", "--output", there, "--token-states")
    assert again.status == 0
    assert (there / "test.de.states.npy").stat().st_mtime_ns == before
    stored(command, folder, parallel, there, "--token-states", "--dtype", "float16")
    assert TokenStatesFile.open(there / "test.de.npy").states.dtype == np.float16


def test_states_on_the_disk_are_those_of_every_line(command, folder, tmp_path, monkeypatch):
    """Over several windows, in half precision, and of a line without words."""
    monkeypatch.setattr(encode_tokens, "WINDOW", 3)
    lines = [*TEXT, "", TEXT[0]]
    text = write(tmp_path / "test.de", lines)
    there, _ = stored(
        command, folder, [text], tmp_path / "stored", "--token-states", "--dtype", "float16", "--layer", "1"
    )
    file = TokenStatesFile.open(there / "test.de.npy")
    assert file.states.dtype == np.float16 and len(file) == len(lines)
    expected = EncoderOptions(folder, layer="1", cpu=True).load().encode_tokens(lines)
    for row in range(len(lines)):
        states, special = file.line(row)
        np.testing.assert_allclose(states, expected.states[row], rtol=1e-3, atol=1e-3)
        assert special.tolist() == expected.special[row].tolist()


def test_states_are_as_wide_as_they_are(tmp_path):
    """Not as the vectors: a sentence encoder may have a linear map above them."""
    states = [np.zeros((0, 9)), np.arange(6.0).reshape(2, 3), np.ones((1, 3))]
    special = [np.zeros(len(each), dtype=bool) for each in states]
    record = {"encoder": {"name": "a", "kind": "checkpoint", "width": 9}}
    record["text"] = {"path": "t", "sha256": "0", "lines": 3}
    write_token_states(tmp_path / "test.de.npy", [(0, states, special)], "float32", record)
    file = TokenStatesFile.open(tmp_path / "test.de.npy")
    assert [file.line(row)[0].tolist() for row in range(3)] == [[], [[0, 1, 2], [3, 4, 5]], [[1, 1, 1]]]


def test_states_are_floats(refusal, folder, parallel, tmp_path):
    words = ["--token-states", "--dtype", "int8", "--output", tmp_path / "out"]
    refused = refusal("encode", *parallel, "--model", folder, "--cpu", *words)
    assert "--token-states: --dtype int8 is for vectors; expected float16 or float32" in refused


def test_stored_vectors_without_states(command, refusal, folder, parallel, tmp_path):
    _, words = stored(command, folder, parallel, tmp_path / "stored")
    refused = refusal("retrieve", "--parallel", *parallel, *words, "--output", tmp_path / "out")
    assert "test.de.states.json: no such file; expected states of `python -m embeddings" in refused


def write_damaged(path: Path, damage: str) -> None:
    if damage == "cut":
        path = path / "test.de.states.npy"
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "order":
        tokens = np.load(path / "test.de.tokens.npy")
        np.save(path / "test.de.tokens.npy", tokens[::-1])
    elif damage == "NaN":
        states = np.load(path / "test.de.states.npy")
        states[3] = np.nan
        np.save(path / "test.de.states.npy", states)
    else:
        record = json.loads((path / "test.de.states.json").read_text())
        record["encoder"]["name"] = "another"
        (path / "test.de.states.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        ("cut", "test.de.states.npy: damaged, or no array of numbers"),
        ("order", "test.de.tokens.npy: does not say of which of 8 lines"),
        ("NaN", "test.de.states.npy: line 1 has states that are NaN or infinite"),
        ("encoder", "test.de.states.npy: has another encoder than"),
    ],
)
def test_damaged_states_are_refused(command, refusal, folder, parallel, tmp_path, damage, line):
    there, words = stored(command, folder, parallel, tmp_path / "stored", "--token-states")
    write_damaged(there, damage)
    assert line in refusal("retrieve", "--parallel", *parallel, *words, "--output", tmp_path / "out")


def test_the_36_languages_of_the_paper():
    (members,) = read_groups(groups_file(Path("one_aligner"))).values()
    assert len(set(members)) == len(members) == 36


def test_an_encoder_without_states_leaves_those_that_are_complete(
    command, refusal, folder, parallel, tmp_path, monkeypatch
):
    there, _ = stored(command, folder, parallel, tmp_path / "stored", "--token-states")
    text = parallel[0]

    def none(encoder, batch):
        raise InputError("it has none")

    monkeypatch.setattr(TransformersEncoder, "states", none)  # as one of ONNX, which reads tokens
    words = ["--token-states", "--force", "--output", there]
    assert "it has none" in refusal("encode", text, "--model", folder, "--cpu", *words)
    assert len(TokenStatesFile.open(there / f"{text.name}.npy")) == len(TEXT)


def test_results_inside_the_folder_of_the_model_are_none_of_its_files(command, parallel, tmp_path):
    model = write_transformers(tmp_path / "bert")
    words = ["encode", *parallel[:2], "--model", model, "--cpu", "--token-states", "--output"]
    for text in parallel[:2]:
        assert command("encode", text, *words[3:], model / "vectors").status == 0
        files_of.cache_clear()  # as in another process
    assert command(*words, model / "vectors").err.count("complete, skipped") == 4
    stored = ["retrieve", "--parallel", *parallel[:2], "--model", model / "vectors", "--output"]
    assert command(*stored, model / "vectors/found").status == 0
    assert "complete, skipped" in command(*stored, model / "vectors/found").err
    for refused in (command(*words, model), command(*stored, model / "vectors")):
        assert refused.status == 2
        assert "is the folder of the encoder, whose files change vectors; choose another" in refused.err


def test_states_are_looked_for_where_there_are_any(command, folder, tmp_path):
    """A sentence of two texts has a vector in both, and states in one."""
    texts = [write(tmp_path / name, TEXT) for name in ("a.de", "b.de")]
    there, _ = stored(command, folder, texts[:1], tmp_path / "stored")
    stored(command, folder, texts[1:], there, "--token-states")
    expected = EncoderOptions(folder, cpu=True).load().encode_tokens(TEXT)
    states = StoredVectors.of_folder(there, "--model").encode_tokens(TEXT, "de")
    for own, other in zip(states.states, expected.states, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)


def test_states_of_another_version_of_a_library_are_of_the_same_encoder(command, folder, parallel, tmp_path):
    there, words = stored(command, folder, parallel, tmp_path / "stored", "--token-states")
    path = there / "test.de.states.json"
    record = json.loads(path.read_text())
    record["encoder"]["versions"]["transformers"] = "0.0.1"
    path.write_text(json.dumps(record))
    assert command("retrieve", "--parallel", *parallel, *words, "--output", tmp_path / "out").status == 0


@pytest.mark.parametrize("kind", ["transformers", "sentence-transformers", "checkpoint"])
def test_vectors_and_states_of_one_pass_are_those_of_two(one_space, folder, tmp_path, kind):
    if kind == "checkpoint":
        options = EncoderOptions(
            Path(one_space[1]), model_data=Path(one_space[3]), target_lang="en", cpu=True, batch_tokens=30
        )
    else:
        where = folder if kind == "transformers" else write_sentence_transformers(tmp_path / "parts")
        options = EncoderOptions(where, cpu=True, batch_tokens=30)
    encoder = options.load()
    lines = ["w1 w2", "w3", "", "w4 w5 w6 w7", "w3"] if kind == "checkpoint" else [*TEXT, TEXT[0]]
    vectors, tokens = encoder.encode_with_tokens(lines, "de")
    np.testing.assert_allclose(vectors, encoder.encode(lines, "de"), rtol=1e-5, atol=1e-6)
    expected = encoder.encode_tokens(lines, "de")
    for row in range(len(lines)):
        np.testing.assert_allclose(tokens.states[row], expected.states[row], rtol=1e-5, atol=1e-6)
        assert tokens.special[row].tolist() == expected.special[row].tolist()


def test_the_model_runs_once_over_a_text(command, folder, parallel, tmp_path, monkeypatch):
    read = []
    run = TransformersEncoder.run
    monkeypatch.setattr(
        TransformersEncoder, "run", lambda self, batch: read.extend(batch) or run(self, batch)
    )
    words = ["--similarity", "cosine,bert-score", "--normalize", "0.75"]
    retrieve(command, tmp_path / "out", "--parallel", *parallel, "--model", folder, *words)
    tried = 1  # when the encoder is loaded
    assert len(read) == tried + len(TEXT) + len(OTHERS) + len(TEXT)


def test_other_sentences_of_a_file_have_other_states(command, folder, tmp_path):
    """The English sentences of a pair of the UN corpus are those of its different lines."""
    english = [*TEXT, TEXT[0]]
    others = {"es": [*TEXT[::-1], TEXT[-1]], "fr": [TEXT[0], *TEXT[1:], TEXT[1]]}
    texts = {"en": english} | others
    for language, lines in texts.items():
        write(tmp_path / f"UNv1.0.6way.{language}", lines)
    words = ["--similarity", "bert-score", "--model", folder]
    retrieved = retrieve(command, tmp_path / "out", "--un", tmp_path, *words)
    encoder = EncoderOptions(folder, cpu=True).load()
    for language, lines in others.items():
        pairs = list(dict.fromkeys(zip(english, lines, strict=True)))
        first, second = (encoder.encode_tokens([pair[side] for pair in pairs]) for side in (0, 1))
        scores = bert_scores(first, second, False)
        direction = f"en-{language}"
        assert retrieved.of_directions("candidates")[direction] == len(pairs)
        assert retrieved.p_at_1("bert-score")[direction] == pytest.approx(p_at_1(scores))
