"""The encoder of translation models, ours and stock fairseq's: means of states against a loop."""

import shutil

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from data_prep.formats.teacher_vectors import encoder_identity
from embeddings.encoders.checkpoint import Segmentation
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import LanguageNeeded
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.folders import write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save

LINES = ["w1 w2 w3", "w4", "", "w5 w6 w7 w8 w9", "w1 w2 w3", "  ", "w2 unknown"]
STOCK = {"_name": "translation_multi_simple_epoch", "lang_pairs": "de-en,en-de,en-fr,fr-en"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = write_toy_folder(tmp_path_factory.mktemp("checkpoint") / "data")
    write_preparation(folder)
    return folder


@pytest.fixture(scope="module")
def checkpoint(data):
    return save(data / "model.pt", checkpoint_state(data))


def load(checkpoint, data, **options):
    from pathlib import Path

    return EncoderOptions(Path(checkpoint), model_data=data, **options).load()


def states_alone(checkpoint, data, tags: list[str], line: str) -> list:
    """States of tags, words and `</s>` of one sentence, from the model itself."""
    loaded = load_for_inference(checkpoint, data)
    dictionary = loaded.task.dictionary
    ids = [dictionary.index(one) for one in [*(f"__{tag}__" for tag in tags), *line.split()]]
    with torch.no_grad():
        tokens = torch.tensor([[*ids, dictionary.eos()]])
        return list(loaded.model.encoder(tokens, torch.tensor([len(ids) + 1]))["encoder_out"][0][:, 0])


def test_means_over_all_tokens_or_the_words(checkpoint, data):
    for pooling, used in ((None, slice(None)), ("mean", slice(None)), ("words", slice(1, -1))):
        encoder = load(checkpoint, data, pooling=pooling)
        vectors = encoder.encode(LINES, "de")
        assert vectors.dtype == np.float32 and vectors.shape == (len(LINES), encoder.width) == (7, 32)
        for line, vector in zip(LINES, vectors, strict=True):
            states = states_alone(checkpoint, data, ["de"], line)[used] if line.split() else [torch.zeros(32)]
            np.testing.assert_allclose(vector, sum(states) / len(states), atol=1e-5)


def test_the_vectors_are_those_of_probe_retrieval(checkpoint, data, tmp_path):
    """What `eval probe states` stores of the same sentences, pooled as `eval probe retrieval` does."""
    from eval.probes.store import StateStore
    from tests.our_commands import run_command

    words = f"eval probe states --checkpoint {checkpoint} --data {data} --output {tmp_path} --cpu --beam 1"
    assert run_command([*words.split(), "--splits", "valid", "--max-len-b", "3", "--dtype", "float32"]) == 0
    part = StateStore.open(tmp_path).encoder("valid", ("de", "en"))
    # line i of the toy folder has the token ids 4 + i and 5 + i, which are words i and i + 1
    lines = [f"w{i} w{i + 1}" for i in range(len(part))]
    for pooling, only_words in (("mean", False), ("words", True)):
        expected = part.mean_pooled(StateStore.open(tmp_path).record["encoder_output"], only_words)
        vectors = load(checkpoint, data, pooling=pooling).encode(lines, "de")
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("arch", ["mnmt_transformer", "interlingua_transformer"])
def test_padding_and_order_change_no_vector(data, arch):
    path = save(data / f"{arch}.pt", checkpoint_state(data, arch))
    together = load(path, data).encode(LINES, "en")
    single = load(path, data, batch_tokens=1)
    np.testing.assert_allclose(single.encode(LINES[::-1], "en")[::-1], together, atol=1e-5)
    assert abs(together[0] - together[1]).max() > 1e-3


def test_a_sentence_encoder_pools_by_itself_and_needs_no_language(data):
    state = checkpoint_state(data, "sentence_encoder", pooling="max", sentence_width=12, decoder_layers=0)
    state["cfg"]["task"]["_name"] = "sentence_embedding"
    state["task_state"] |= {"language_tags": "none", "lang_pairs": ["de-en", "en-fr"]}
    path = save(data / "sentence.pt", state)
    encoder = load(path, data)
    vectors = encoder.encode(LINES)
    np.testing.assert_allclose(load(path, data, precision="int8").encode(LINES), vectors, atol=0.1)
    assert encoder.width == 12 and encoder.record()["pooling"] == "own"
    loaded = load_for_inference(path, data, translates=False)
    index = loaded.task.dictionary.index
    with torch.no_grad():
        tokens = torch.tensor([[index("w1"), index("w2"), index("w3"), loaded.task.dictionary.eos()]])
        expected = loaded.model.encoder(tokens, torch.tensor([4]))["sentence_vectors"][0]
    np.testing.assert_allclose(vectors[0], expected, atol=1e-5)
    assert not vectors[2].any() and (vectors[0] == vectors[4]).all()
    with pytest.raises(InputError, match="has a pooling of its own"):
        load(path, data, pooling="mean")


def test_stock_fairseq(data):
    task = {**STOCK, "encoder_langtok": "tgt", "decoder_langtok": False}
    path = save(data / "stock.pt", checkpoint_state(data, task=task))
    with pytest.raises(
        InputError, match="is told the target language; give --target-lang, one of de, en, fr"
    ):
        load(path, data).encode(LINES, "de")
    vectors = load(path, data, target_lang="fr").encode(LINES, "de")
    states = states_alone(path, data, ["fr"], LINES[0])
    np.testing.assert_allclose(vectors[0], sum(states) / len(states), atol=1e-5)


ARCHITECTURES = {
    "ours": {},
    "interlingua": {"arch": "interlingua_transformer"},
    "stock": {"arch": "transformer", "task": {**STOCK, "encoder_langtok": "src", "decoder_langtok": True}},
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_other_arithmetic_gives_nearly_the_same(data, precision, architecture):
    path = save(data / f"{architecture}.pt", checkpoint_state(data, **ARCHITECTURES[architecture]))
    exact = load(path, data).encode(LINES[:2], "de")
    vectors = load(path, data, precision=precision).encode(LINES[:2], "de")
    cosines = (exact * vectors).sum(axis=1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(vectors, axis=1)
    assert cosines.min() > 0.99 and abs(exact - vectors).max() > 0


def test_long_sentences_are_cut_and_counted(checkpoint, data):
    encoder = load(checkpoint, data)
    vectors = encoder.encode(["w1 " * 61 + "w2", "w1 " * 62 + "w3 w4", "w1"], "de")
    assert (encoder.longest, encoder.cut) == (64, 2)
    states = states_alone(checkpoint, data, ["de"], "w1 " * 62)
    np.testing.assert_allclose(vectors[1], sum(states) / len(states), atol=1e-5)


@pytest.mark.parametrize("arch", ["sentence_encoder", "mnmt_transformer"])
def test_no_sentence_is_longer_than_what_the_model_has_positions_for(data, arch):
    """Learned positions: of `<s>` in front, and of a model that reads less than its task says."""
    options = {"decoder_layers": 0, "pooling": "pooler"} if arch == "sentence_encoder" else {}
    state = checkpoint_state(data, arch, encoder_learned_pos=True, **options)
    if arch == "sentence_encoder":
        state["cfg"]["task"]["_name"] = "sentence_embedding"
        state["task_state"] |= {"language_tags": "none", "lang_pairs": ["de-en", "en-fr"]}
    else:
        state["cfg"]["task"]["max_source_positions"] = 200
    encoder = load(save(data / f"learned_{arch}.pt", state), data)
    vectors = encoder.encode(["w1 " * 200, "w1"], "de")
    assert (encoder.longest, encoder.cut) == (64, 1) and np.isfinite(vectors).all()


def test_languages(checkpoint, data):
    encoder = load(checkpoint, data)
    with pytest.raises(LanguageNeeded, match="is told the language of the text, one of de, en, fr"):
        encoder.encode(LINES)
    with pytest.raises(InputError, match="language 'ja': the model has no tag for it"):
        encoder.encode(LINES, "ja")
    assert (encoder.encode(LINES, "deu") == encoder.encode(LINES, "de")).all()  # another code of it


def test_text_is_tokenized_and_segmented_as_the_training_data_was(data, checkpoint, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    preparation = Preparation.load(copy)
    preparation.tokenizers = {"de": "moses", "en": "moses", "fr": "none"}
    preparation.save()
    encoder = load(checkpoint, copy)
    ids = encoder.dictionary.index
    (tokens,) = encoder.tokens(["w1,w2"], "de")
    assert tokens == [ids("__de__"), ids("w1"), encoder.dictionary.unk(), ids("w2"), encoder.dictionary.eos()]
    assert len(encoder.tokens(["w1,w2"], "fr")[0]) == 3
    with pytest.raises(LanguageNeeded, match="languages are tokenized in different ways, so the language of"):
        encoder.segmentation.of(None)
    assert encoder.segmentation.of("it")("w1,w2") == "w1 , w2"
    (copy / "preparation.json").unlink()
    assert load(checkpoint, copy).segmentation.of(None)("w1,w2") == "w1,w2"


@pytest.fixture
def retokenized(data, tmp_path):
    """Copies the data folder, with other tokenizers."""

    def copy(tokenizers: dict):
        preparation = Preparation.load(shutil.copytree(data, tmp_path / "copy"))
        preparation.tokenizers = tokenizers
        preparation.save()
        return preparation.folder

    return copy


@pytest.mark.parametrize(
    ("tokenizers", "is_needed"),
    [
        ({"de": "none", "en": "none", "fr": "none"}, False),
        ({"de": "moses", "en": "moses", "fr": "moses"}, True),  # of "l'homme" in French alone
        ({"de": "moses+lowercase"}, False),
    ],
)
def test_the_language_is_needed_where_text_is_split_by_it(retokenized, tokenizers, is_needed):
    segmentation = Segmentation(retokenized(tokenizers))
    if is_needed:
        with pytest.raises(LanguageNeeded, match="languages are tokenized in different ways"):
            segmentation.of(None)
    else:
        assert segmentation.of(None)("w1 w2") == "w1 w2"


def test_vectors_are_also_those_of_a_segmentation(data, checkpoint, retokenized):
    tokenizers = Preparation.load(data).tokenizers
    before = encoder_identity(load(checkpoint, data).record())
    changed = retokenized(dict.fromkeys(tokenizers, "none+lowercase"))
    assert encoder_identity(load(checkpoint, changed).record()) != before
    shutil.rmtree(changed)
    assert encoder_identity(load(checkpoint, retokenized(tokenizers)).record()) == before


def test_raw_text_is_normalized_where_the_training_text_was(data, checkpoint, retokenized):
    before = load(checkpoint, data)
    folder = retokenized(Preparation.load(data).tokenizers)
    preparation = Preparation.load(folder)
    preparation.normalized = True
    preparation.save()
    normalizing = load(checkpoint, folder)
    assert normalizing.segmentation.of("de")("u\u0308ber\u200b w1") == "über w1"
    assert before.segmentation.of("de")("u\u0308ber\u200b w1") == "u\u0308ber\u200b w1"
    assert encoder_identity(normalizing.record()) != encoder_identity(before.record())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model_data": None}, "a checkpoint needs --model-data"),
        ({"pooling": "cls"}, "--pooling cls: found a checkpoint, expected mean or words"),
        ({"prefix": "query: "}, "--prefix: .* which takes none"),
    ],
)
def test_wrong_options(checkpoint, data, options, message):
    with pytest.raises(InputError, match=message):
        load(checkpoint, **{"data": options.pop("model_data", data), **options})
