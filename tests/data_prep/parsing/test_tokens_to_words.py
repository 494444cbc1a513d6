"""Which words are punctuation marks."""

import pytest

from data_prep.parsing.tokens_to_words import is_punctuation


@pytest.mark.parametrize(
    "word", ["。", "、", "「", "）", "・", "...", "…", "``", "''", "--", "—", '"', "?!", ";"]
)
def test_punctuation(word):
    assert is_punctuation(word)


@pytest.mark.parametrize("word", ["％", "%", "℃", "±", "＝", "$", "＋", "→", "&", "50", "は", "U.S.", "ー"])
def test_signs_that_are_read_as_words_are_none(word):
    assert not is_punctuation(word)
