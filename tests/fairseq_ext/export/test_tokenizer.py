"""Text -> ids of the exported tokenizer, against sentencepiece and fairseq's dictionary themselves."""

import pytest

from command_line.errors import InputError
from data_prep.formats.dictionary import load_shared_dictionary
from data_prep.formats.preparation import Preparation
from fairseq_ext.export.sentencepiece_model import read_sentencepiece_model
from fairseq_ext.export.tokenizer import exported_tokenizer
from tests.fairseq_ext.export.folders import GREEK, HARD, UNKNOWN, write_data

LINES = [
    *HARD,
    *UNKNOWN,
    *GREEK,
    "Das Wetter ist heute sehr schön.",
    "An unseen sentence, 1,000 times 77777!",
]


def of(data, longest=40, has_cls=False, pretokenized=False):
    preparation = Preparation.load(data)
    dictionary = load_shared_dictionary(data, ["de"])
    made = exported_tokenizer(preparation, dictionary, longest, has_cls, pretokenized, "model.pt")
    return made, preparation, dictionary


@pytest.mark.parametrize(("rule", "prefix"), [("identity", True), ("nmt_nfkc", True), ("identity", False)])
@pytest.mark.parametrize("tokenizer", ["none", "none+lowercase"])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_ids_are_those_of_sentencepiece_and_the_dictionary(tmp_path, kind, tokenizer, rule, prefix):
    made, preparation, dictionary = of(write_data(tmp_path / "data", kind, tokenizer, rule, prefix))
    for line in [*LINES, "Ｗｉｄｅ ｶﾞ ① ½ e\u0301"]:
        words = preparation.segment("de", line).split()
        expected = [dictionary.index(word) for word in words] + [dictionary.eos()]
        found = [made.rows[number] for number in made.tokenizer(line)["input_ids"]]
        assert found == expected, (line, words)


def test_a_rule_of_normalization_is_part_of_the_exported_tokenizer(tmp_path):
    """What is written in full width, or with ligatures, has the ids of plain letters."""
    made, _, dictionary = of(write_data(tmp_path / "data", rule="nmt_nfkc"))
    assert made.tokenizer("Ｄａｓ ist ﬁt")["input_ids"] == made.tokenizer("Das ist fit")["input_ids"]
    identity, *_ = of(write_data(tmp_path / "identity"))
    found = identity.tokenizer("Ｄａｓ ist ﬁt")["input_ids"]
    assert dictionary.unk() in identity.rows[found]


DECOMPOSED = [
    "Scho\u0308n\u200bes We\ufefftter",
    "\u00adΝαι\u0301 \u2028 ο\u0301χι",
    "a\u0323\u0307 \u212b",
    "\u200b",
]


@pytest.mark.parametrize("normalized", [False, True])
def test_text_is_normalized_as_the_checkpoint_reads_it(tmp_path, normalized):
    data = write_data(tmp_path / "data")
    preparation = Preparation.load(data)
    preparation.normalized = normalized
    preparation.save()
    made, _, dictionary = of(data)
    for line in DECOMPOSED + LINES:
        words = preparation.segment("de", line).split()
        found = [made.rows[number] for number in made.tokenizer(line)["input_ids"]]
        assert found == [*map(dictionary.index, words), dictionary.eos()], (line, words)
    composed = made.tokenizer("Schönes Wetter")["input_ids"]
    assert (made.tokenizer(DECOMPOSED[0])["input_ids"] == composed) == normalized


def test_every_symbol_of_the_dictionary_keeps_its_id(tmp_path):
    made, _, dictionary = of(write_data(tmp_path / "data"))
    assert list(made.rows[: len(dictionary)]) == list(range(len(dictionary)))
    assert len(made.rows) > len(dictionary) and set(made.rows[len(dictionary) :]) == {dictionary.unk()}
    assert made.special == {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}


def test_sentences_are_cut_in_front_of_the_end(tmp_path):
    made, preparation, dictionary = of(write_data(tmp_path / "data"), longest=6, has_cls=True)
    ids = made.tokenizer(LINES[-1], truncation=True, max_length=6)["input_ids"]
    words = preparation.segment("de", LINES[-1]).split()[:4]
    assert ids == [0, *map(dictionary.index, words), 2] and made.tokenizer.model_max_length == 6


def test_what_is_read_of_a_sentencepiece_model(tmp_path):
    import sentencepiece

    path = write_data(tmp_path / "data", "bpe") / "subword.model"
    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    model = read_sentencepiece_model(path)
    assert (model.kind, model.with_prefix, model.single_spaces, model.character_map) == (
        "bpe", True, True, b"",
    )  # fmt: skip
    normal = [number for number in range(len(library)) if not library.is_control(number)][1:]
    assert model.pieces == {library.id_to_piece(number): library.get_score(number) for number in normal}


def test_what_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"kept all of its spaces .*--tokenizer none"):
        of(write_data(tmp_path / "raw", tokenizer="raw"), pretokenized=True)
    with pytest.raises(InputError, match=r"split into words by moses, which no exported.*--pretokenized"):
        of(write_data(tmp_path / "moses", tokenizer="moses"))
    made, _, _ = of(tmp_path / "moses", pretokenized=True)
    assert made.expects == "moses"
    data = write_data(tmp_path / "data")
    preparation = Preparation.load(data)
    preparation.tokenizers["de"] = "none+lowercase"
    preparation.save()
    with pytest.raises(InputError, match="only some of its languages are in lower case"):
        of(data)
    preparation.subword = {"type": "none", "model": None}
    preparation.save()
    with pytest.raises(InputError, match="its subwords are of type none"):
        of(data)
    (data / "subword.model").write_bytes(b"\xff\xff nothing")
    with pytest.raises(InputError, match=r"subword\.model: not a sentencepiece model"):
        read_sentencepiece_model(data / "subword.model")
