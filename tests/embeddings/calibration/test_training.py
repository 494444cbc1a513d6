"""The losses, the learning rate, and the encoder that is trained."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from embeddings.calibration.encoder import SAMPLE, as_encoder, load_encoder
from embeddings.calibration.examples import NLI, STS, Inference, Rated
from embeddings.calibration.options import Calibration
from embeddings.calibration.training import Collation, Losses, rate
from embeddings.encoders.options import EncoderOptions
from tests.embeddings.calibration.english import sentences, write_bert
from tests.embeddings.encoders.folders import write_sentence_transformers


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("calibration") / "bert")


def job(model, **options) -> Calibration:
    names = dict.fromkeys(Calibration.__dataclass_fields__)
    return replace(Calibration(**names), model=model, cpu=True, **options)


@pytest.fixture(scope="module")
def encoder(bert):
    return as_encoder(load_encoder(job(bert)), bert, cpu=True)


def vectors_of(encoder, texts: list[str]) -> list[list[float]]:
    return encoder.encode(texts).astype(float).tolist()


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / math.sqrt(sum(a * a for a in one)) / math.sqrt(sum(b * b for b in other))


def test_multiple_negatives_ranking_is_its_equation(encoder):
    lines = sentences(11)
    examples = [Inference(lines[n], lines[n + 4], lines[n + 8] if n < 3 else None) for n in range(4)]
    loss = Losses(encoder.model)(**Collation(encoder, 32)([(NLI, examples)]))["loss"].item()
    candidates = vectors_of(encoder, lines[4:])
    losses = []
    for number, anchor in enumerate(vectors_of(encoder, lines[:4])):
        scores = [math.exp(20 * cosine(anchor, candidate)) for candidate in candidates]
        losses.append(-math.log(scores[number] / sum(scores)))
    assert loss == pytest.approx(sum(losses) / 4, abs=1e-4)


def test_cosine_similarity_is_its_equation(encoder):
    lines, similarities = sentences(6), [0.0, 0.3, 1.0]
    examples = [Rated(lines[n], lines[n + 3], similarities[n]) for n in range(3)]
    loss = Losses(encoder.model)(**Collation(encoder, 32)([(STS, examples)]))["loss"].item()
    pairs = zip(vectors_of(encoder, lines[:3]), vectors_of(encoder, lines[3:]), similarities, strict=True)
    squares = [(cosine(first, second) - similarity) ** 2 for first, second, similarity in pairs]
    assert loss == pytest.approx(sum(squares) / 3, abs=1e-5)


def test_the_weights_of_the_encoder_are_there_once(encoder):
    losses = Losses(encoder.model)
    assert all(name.startswith("encoder.") for name in losses.state_dict())


def test_sentences_are_cut_in_training_alone_and_have_the_prefix(encoder, monkeypatch):
    (long,) = sentences(1)
    columns = Collation(encoder, 5)([(STS, [Rated(long, "the", 1.0)])])["columns"]
    assert [column["input_ids"].shape[1] for column in columns] == [
        5,
        encoder.tokens(["the"], None)[0].__len__(),
    ]
    monkeypatch.setattr(encoder, "prefix", "query: ")
    (first, _) = Collation(encoder, 100)([(STS, [Rated(long, "the", 1.0)])])["columns"]
    assert first["input_ids"][0].tolist() == encoder.tokenizer(f"query: {long}")["input_ids"]
    assert encoder.longest == 48


def test_the_learning_rate_rises_and_falls_over_either_data_set():
    assert [rate(update, (4, 10), 0.25) for update in range(15)] == pytest.approx(
        [0, 1, 2 / 3, 1 / 3] + [0, 1 / 2] + [each / 8 for each in range(8, 0, -1)] + [0]
    )
    assert [rate(update, (2, 2), 0) for update in range(4)] == [1, 1 / 2, 1, 1 / 2]


@pytest.mark.parametrize("pooling", [None, "mean", "cls"])
@pytest.mark.parametrize("layer", [None, 1, 2])
def test_before_training_it_is_the_encoder_that_others_see(bert, pooling, layer):
    model = load_encoder(job(bert, pooling=pooling, layer=layer))
    options = EncoderOptions(bert, pooling=pooling, layer=layer and str(layer), cpu=True)
    expected = options.load().encode(SAMPLE)
    assert np.allclose(as_encoder(model, bert, cpu=True).encode(SAMPLE), expected, atol=1e-6)
    assert model[0].model.config.num_hidden_layers == (layer or 2)


def test_a_folder_of_sentence_transformers_is_as_it_says(tmp_path):
    folder = write_sentence_transformers(tmp_path, pooling="cls", dense=8)
    vectors = as_encoder(load_encoder(job(folder)), folder, cpu=True).encode(SAMPLE)
    assert np.allclose(vectors, EncoderOptions(folder, cpu=True).load().encode(SAMPLE), atol=1e-6)
    assert vectors.shape == (2, 8)


def test_a_layer_below_a_last_norm_is_refused(tmp_path):
    from transformers import AutoTokenizer, XLMRobertaXLConfig, XLMRobertaXLModel

    folder = write_bert(tmp_path / "bert")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(1)
    config = XLMRobertaXLConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=48, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    XLMRobertaXLModel(config).save_pretrained(tmp_path / "xl")
    tokenizer.save_pretrained(tmp_path / "xl")
    load_encoder(job(tmp_path / "xl"))
    with pytest.raises(InputError, match=r"--layer 1: .*xl ends with more than layers"):
        load_encoder(job(tmp_path / "xl", layer=1))
    with pytest.raises(InputError, match="--layer 3: expected a number from 0 to 2"):
        load_encoder(job(tmp_path / "xl", layer=3))
