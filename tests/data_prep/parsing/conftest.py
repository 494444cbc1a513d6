"""A toy pipeline and a toy corpus."""

import pytest

from data_prep.parsing.parsers import LOADED
from tests.data_prep.parsing.toy_texts import ENGLISH


@pytest.fixture
def model(tmp_path):
    from tests.data_prep.parsing.toy_parser import save_toy_pipeline

    LOADED.make.cache_clear()
    return save_toy_pipeline(tmp_path / "model")


@pytest.fixture
def corpus(tmp_path, write_corpus):
    return write_corpus(tmp_path / "tok", {"train.en-ja.en": ENGLISH, "train.en-ja.ja": ["雨"] * 6})
