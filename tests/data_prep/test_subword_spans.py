"""Spans of words become spans of subwords: literal examples, and what real models make of text."""

import io

import pytest

from command_line.errors import InputError
from data_prep.subword_models import BytePairs, SentencePieces
from data_prep.subword_spans import subword_spans, word_boundaries
from data_prep.tokenizers import make_tokenizer


def spans_of(words: str, units: str, subword_type: str) -> list[tuple[int, int]]:
    starts, ends = word_boundaries(words.split(), units.split(), subword_type, "words.txt", 7)
    return list(zip(starts, ends, strict=True))


@pytest.mark.parametrize(
    ("words", "units", "subword_type", "expected"),
    [
        ("the cat", "the cat", "none", [(0, 1), (1, 2)]),
        ("", "", "none", []),
        ("", "", "subword-nmt", []),
        ("", "", "sentencepiece", []),
        ("the cats sleep", "the c@@ at@@ s sleep", "subword-nmt", [(0, 1), (1, 4), (4, 5)]),
        ("a@@ b", "a@@ b", "subword-nmt", [(0, 1), (1, 2)]),  # a word that ends like a first unit
        ("@@ x", "@@@ @ x", "subword-nmt", [(0, 2), (2, 3)]),
        ("@@@ x", "@@@ @@ x", "subword-nmt", [(0, 2), (2, 3)]),
        ("the cats", "▁the ▁c at s", "sentencepiece", [(0, 1), (1, 4)]),
        ("the cats", "▁the ▁ cats", "sentencepiece", [(0, 1), (1, 3)]),
        # words and units cut differently: the shortest run of units that covers the word
        ("東京 都 に", "▁東 京都 に", "sentencepiece", [(0, 2), (1, 2), (2, 3)]),
        ("東京 都 に", "▁ 東京 都に", "sentencepiece", [(0, 2), (2, 3), (2, 3)]),
        ("東京 都 に", "東@@ 京都 に", "subword-nmt", [(0, 2), (1, 2), (2, 3)]),
        ("東京 都", "東京都", "none", [(0, 1), (0, 1)]),
        ("a <unk> </s>", "a <\u2060unk> <\u2060/s>", "none", [(0, 1), (1, 2), (2, 3)]),
        ("<\u2060unk> b", "<\u2060unk> b", "none", [(0, 1), (1, 2)]),
        ("<unk> 東京 都", "<\u2060unk> 東京都", "none", [(0, 1), (1, 2), (1, 2)]),
        (
            "it &apos;s A &amp; T",
            "▁it ' s ▁A ▁ & T",
            "sentencepiece",
            [(0, 1), (1, 3), (3, 4), (4, 6), (6, 7)],
        ),
        (
            "it's «&#160;⁀ A ⁀&⁀ T",
            "▁it ' s ▁« ▁A & T",
            "sentencepiece",
            [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7)],
        ),
        ("&amp; x", "▁&amp; ▁x", "sentencepiece", [(0, 1), (1, 2)]),
        # a model that normalizes: full-width letters, a ligature, an invisible word
        ("ＡＢ ﬁn", "▁AB ▁fi n", "sentencepiece", [(0, 1), (1, 3)]),
        ("a \u200b b", "▁a ▁b", "sentencepiece", [(0, 1), (1, 1), (1, 2)]),
        ("～ x", "▁～ ▁x", "sentencepiece", [(0, 1), (1, 2)]),
        # one that makes a character of two words, which both are in its unit
        ("ｶ ﾞ ﾝﾀ ﾞ ﾑ x", "▁ガ ン ダム ▁x", "sentencepiece", [(0, 1), (0, 1), (1, 3), (2, 3), (2, 3), (3, 4)]),
    ],
)
def test_examples(words, units, subword_type, expected):
    assert spans_of(words, units, subword_type) == expected


def test_spans_of_several_words():
    boundaries = word_boundaries(["a", "bcd", "e"], ["a", "b@@", "c@@", "d", "e"], "subword-nmt", "x", 1)
    assert subword_spans([(1, 3), (0, 1), (0, 3)], boundaries) == [(1, 5), (0, 1), (0, 5)]
    assert subword_spans([(0, 2), (1, 2)], boundaries) == [(0, 4), (1, 4)]  # the last word has three units
    for span in ((0, 4), (1, 1), (-1, 1)):
        with pytest.raises(ValueError, match="of 3 words"):
            subword_spans([span], boundaries)


@pytest.mark.parametrize(
    ("words", "units", "subword_type", "message"),
    [
        ("the cat", "the dog", "none", "the words spell 'thecat' where the subwords spell 'thedog'"),
        ("the cat", "the", "none", "words spell 'thecat' .* spell 'the' .character 4"),
        ("the", "the c@@ at", "subword-nmt", "words spell 'the' .* spell 'thecat' .character 4"),
        ("the cat", "▁the ▁cart", "sentencepiece", r"character 6, spaces aside\)"),
    ],
)
def test_other_texts_are_refused(words, units, subword_type, message):
    with pytest.raises(InputError, match=message) as error:
        spans_of(words, units, subword_type)
    assert str(error.value).startswith("words.txt:7: ") and "\n" not in str(error.value)


def test_an_unknown_type_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="subword type 'bpe'"):
        word_boundaries(["a"], ["a"], "bpe", "x", 1)


TEXT = ["the cats and the dogs sleep", "dogs sleep there , cats @@ here", "the end @@@ of cats@@ all"] * 20


def test_what_subword_nmt_makes(tmp_path):
    from subword_nmt.learn_bpe import learn_bpe

    codes = tmp_path / "codes"
    with open(codes, "w", encoding="utf-8") as stream:
        learn_bpe(io.StringIO("\n".join(TEXT)), stream, 12)
    model = BytePairs(codes)
    for line in TEXT[:3]:
        words, units = line.split(), model.segment(line).split()
        starts, ends = word_boundaries(words, units, "subword-nmt", "x", 1)
        assert starts == [0, *ends[:-1]] and ends[-1] == len(units)
        for word, start, end in zip(words, starts, ends, strict=True):
            run = units[start:end]
            assert all(unit.endswith("@@") for unit in run[:-1])
            assert "".join(unit[:-2] for unit in run[:-1]) + run[-1] == word


HALF_WIDTH = ["ｱｯﾌﾟﾙのﾊﾟｿｺﾝ", "ｶﾞﾝﾀﾞﾑ", "ﾄﾞﾗｺﾞﾝﾎﾞｰﾙZ", "全角カ゚とか゚", "は゛か゛", "あ゙ー", "う゛ぁ", "ｷﾞｶﾞﾊﾞｲﾄ", "12ｶﾞﾛﾝ"]


@pytest.mark.parametrize("tokenizer", [("jieba", "zh"), ("mecab", "ja")])
def test_half_width_kana_of_other_tokenizers_in_a_model_that_joins_them(tmp_path, tokenizer):
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(HALF_WIDTH * 20), model_writer=model, vocab_size=90, hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc", character_coverage=1.0, minloglevel=2,
    )  # fmt: skip
    (tmp_path / "model").write_bytes(model.getvalue())
    pieces = SentencePieces(tmp_path / "model")
    for line in HALF_WIDTH:
        words, units = make_tokenizer(*tokenizer).tokenize(line).split(), pieces.segment(line).split()
        starts, ends = word_boundaries(words, units, "sentencepiece", "x", 1)
        assert starts == sorted(starts) and ends == sorted(ends) and ends[-1] == len(units)
        assert all(start < end for start, end in zip(starts, ends, strict=True))


@pytest.mark.parametrize("rule", ["identity", "nmt_nfkc"])
def test_what_sentencepiece_makes(tmp_path, rule):
    import sentencepiece

    text = [*TEXT, "ｆｕｌｌ width ﬁsh ～ a\u200cb", "a ▁ c", "東京都に行く"] * 2
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=80, hard_vocab_limit=False,
        normalization_rule_name=rule, character_coverage=0.98, minloglevel=2,
    )  # fmt: skip
    (tmp_path / "model").write_bytes(model.getvalue())
    pieces = SentencePieces(tmp_path / "model")
    for line in text:
        words, units = line.split(), pieces.segment(line).split()
        starts, ends = word_boundaries(words, units, "sentencepiece", "x", 1)
        if "▁" in words:
            continue  # it is spelled by no unit, and there may be one that follows it or not
        assert starts == [0, *ends[:-1]] and ends[-1] == len(units)
        if rule == "identity":
            for word, start, end in zip(words, starts, ends, strict=True):
                assert "".join(units[start:end]) == "▁" + word
