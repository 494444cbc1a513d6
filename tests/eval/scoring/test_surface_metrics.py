"""BLEU and chrF++, copies, and statistics per line."""

import pytest
from sacrebleu.metrics import BLEU

from command_line.errors import InputError
from data_prep.bleu import bleu_metric
from eval.scoring.surface_metrics import copies, surface_scores


def test_chinese_is_scored_by_character():
    scores, _ = surface_scores(bleu_metric("zh"), ["我喜欢读书。"], ["I like reading."], ["我喜欢看书。"])
    assert scores["bleu"] == BLEU(tokenize="zh").corpus_score(["我喜欢读书。"], [["我喜欢看书。"]]).score
    assert "tok:zh" in scores["bleu_signature"]
    assert scores["length_ratio"] == 1.0  # six characters each


@pytest.mark.parametrize(("language", "package"), [("ja", "ipadic"), ("ko", "mecab_ko")])
def test_mecab_tokenizers(language, package):
    pytest.importorskip(package)
    line = {"ja": "猫が好きです。", "ko": "나는 고양이를 좋아합니다."}[language]
    scores, _ = surface_scores(bleu_metric(language), [line], ["I like cats."], [line])
    assert scores["bleu"] == pytest.approx(100.0)
    assert f"tok:{language}-mecab" in scores["bleu_signature"]


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_missing_mecab_names_the_extra(language, monkeypatch):
    import importlib

    module = importlib.import_module(f"sacrebleu.tokenizers.tokenizer_{language}_mecab")
    monkeypatch.setattr(module, "MeCab", None)
    with pytest.raises(InputError, match=rf"pip install 'sacrebleu\[{language}\]'"):
        bleu_metric(language)


def test_copies_ignore_spaces_and_empty_lines():
    hypotheses = ["a  b ", "", "a c", "A b"]
    assert copies(hypotheses, ["a b", "", "a b", "a b"]) == [True, False, False, False]


def test_statistics_give_the_score():
    hypotheses, references = ["the cat sat on the mat", "a dog"], ["the cat is on the mat", "the dog runs"]
    scores, statistics = surface_scores(bleu_metric("en"), hypotheses, references, references)
    # lengths, 1 of 2 words right, no bigram right
    assert statistics["bleu"][1].tolist() == [2, 3, 1, 0, 0, 0, 2, 1, 0, 0]
    assert BLEU()._compute_score_from_stats(statistics["bleu"].sum(0).tolist()).score == scores["bleu"]
    assert statistics["chrf"][1].tolist()[:3] == [4, 10, 3]  # letters: adog, thedogruns; d, o, g
    assert scores["length_ratio"] == 8 / 9
