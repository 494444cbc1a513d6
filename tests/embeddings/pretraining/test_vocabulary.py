"""The tokenizer of a masked language model, against SentencePiece itself."""

import pytest

from command_line.errors import InputError
from data_prep.subword_learning import PieceTraining, learn_sentence_pieces
from embeddings.pretraining.vocabulary import (
    learn_tokenizer,
    load_tokenizer,
    sampling_shares,
    tokenizer_of_pieces,
)
from tests.embeddings.encoders.folders import write_transformers
from tests.embeddings.pretraining.monolingual import write_monolingual

LINES = ["das Haus läuft", "the treehouse , unknown: 犬 x!", "  two   spaces ", "über über", "", "Größe"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_monolingual(tmp_path_factory.mktemp("vocabulary") / "text")


@pytest.fixture(scope="module")
def pieces(text):
    model = text / "pieces.model"
    learn_sentence_pieces([text / "train.de", text / "train.en"], PieceTraining(90), model)
    return model


def test_segments_as_sentencepiece(pieces):
    from sentencepiece import SentencePieceProcessor

    learned, tokenizer = SentencePieceProcessor(model_file=str(pieces)), tokenizer_of_pieces(pieces, 32)
    for line in LINES:
        expected = [learned.id_to_piece(one) for one in learned.encode(line)]
        ids = tokenizer(line)["input_ids"]
        assert tokenizer.convert_ids_to_tokens(ids) == ["<s>", *expected, "</s>"]
    assert tokenizer.decode(tokenizer("das Haus läuft")["input_ids"], True) == "das Haus läuft"


def test_is_laid_out_as_xlm_r_and_survives_its_folder(pieces, tmp_path):
    tokenizer_of_pieces(pieces, 7).save_pretrained(tmp_path / "folder")
    tokenizer = load_tokenizer(tmp_path / "folder", 7)
    assert tokenizer.convert_ids_to_tokens(range(4)) == ["<s>", "<pad>", "</s>", "<unk>"]
    assert tokenizer.mask_token_id == len(tokenizer) - 1
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (0, 2, 1)
    pair = tokenizer("das", "the")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(pair) == ["<s>", "▁das", "</s>", "</s>", "▁the", "</s>"]
    assert len(tokenizer("das Haus läuft über das Haus", truncation=True)["input_ids"]) == 7


def test_learns_from_a_sample_of_the_size_that_is_asked_for(text, tmp_path):
    texts = [text / "train.de", text / "train.en"]
    tokenizer = learn_tokenizer(texts, 80, 100, 10 / 3, 1, 16, tmp_path)
    assert 40 < len(tokenizer) <= 80
    assert not list(tmp_path.iterdir())


def test_shares_of_languages():
    assert sampling_shares([900, 100], 1).tolist() == [0.9, 0.1]
    assert sampling_shares([900, 100], 2).tolist() == pytest.approx([0.75, 0.25])
    assert sampling_shares([10**9, 1], 1e9).tolist() == pytest.approx([0.5, 0.5])


def test_too_few_symbols_for_the_characters(text, tmp_path):
    with pytest.raises(InputError, match="--vocabulary-size 8: sentencepiece cannot learn") as found:
        learn_tokenizer([text / "train.de"], 8, 100, 1, 1, 16, tmp_path)
    assert "\n" not in str(found.value)


def test_a_tokenizer_without_masks(tmp_path):
    with pytest.raises(InputError, match=r"tokenizer .*: has no symbol for mask; expected"):
        load_tokenizer(write_transformers(tmp_path / "bert"), 16)
    with pytest.raises(InputError, match="no such folder; expected one with a tokenizer of transformers"):
        load_tokenizer(tmp_path / "nothing", 16)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"--tokenizer .*empty: no tokenizer in it"):
        load_tokenizer(tmp_path / "empty", 16)
