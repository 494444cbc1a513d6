"""`eval score` says when the references cannot be reached, and what a perfect translation scores."""

import pytest
from sacrebleu.metrics import BLEU, CHRF

from data_prep.formats.preparation import Preparation

LINES = ["Karl's Wagen, ja/nein.", "Das ist gut.", "Er kommt und geht's."]
BACK = ["Karl 's Wagen, ja / nein.", "Das ist gut.", "Er kommt und geht 's."]  # by Moses


@pytest.fixture
def score(data, translated, command):
    """Function that scores references as hypotheses, of data with these tokenizers; standard error."""

    def run(tokenizers, **fields):
        for pair in ("de-en", "de-fr"):
            (data / f"text/test.{pair}.de").write_text("".join(f"{line}\n" for line in LINES))
        (data / "text/test.de-en.en").write_text("x\n" * 3)
        subword = {"type": "none", "model": None}
        Preparation(data, list(tokenizers), tokenizers, subword, {}, "ab" * 32).save()
        out = translated("toy", {"en-de": LINES}, **fields)
        result = command("score", out, "--workers", "1")
        assert result.status == 0
        return result.err

    return run


def test_references_that_do_not_come_back(score, data):
    errors = score({"de": "moses", "en": "moses"})
    bleu = BLEU().corpus_score(BACK, [LINES]).score
    chrf = CHRF(word_order=2).corpus_score(BACK, [LINES]).score
    assert bleu < 90
    (line,) = [line for line in errors.splitlines() if line.startswith("warning")]
    expected = f"a perfect translation scores BLEU {bleu:.1f} and chrF++ {chrf:.1f}: 33.33% of the references"
    assert expected in line
    assert f'moses and the subwords; {data}/text/test.de-en.de:1: "Karl\'s Wagen, ja/nein." becomes' in line


@pytest.mark.parametrize("tokenizer", ["unicode", "none"])
def test_references_that_come_back(score, tokenizer):
    assert "warning" not in score({"de": tokenizer, "en": tokenizer})


def test_a_model_with_subwords_of_its_own(score, data):
    """Its translations are not made of the data's subwords."""
    assert "warning" not in score({"de": "moses"}, data={"path": str(data), "dictionary_sha256": None})


def test_a_tokenizer_that_is_not_installed_stops_no_score(score, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    errors = score({"de": "jumanpp"})
    assert "whether references come back is not known: tokenizer jumanpp: no program" in errors
