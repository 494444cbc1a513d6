"""fastText identification from the packaged model, without network."""

import socket

import pytest

from eval.language_identification import EMPTY, LanguageIdentifier, default_identifier, identifier_code


def test_known_languages():
    assert len(default_identifier().languages) == 176
    assert default_identifier().knows("zh") and default_identifier().knows("nb")
    assert not default_identifier().knows("ha")  # Hausa


@pytest.mark.parametrize(("ours", "theirs"), [("nb", "no"), ("pt_BR", "pt"), ("zh-TW", "zh"), ("de", "de")])
def test_codes(ours, theirs):
    assert identifier_code(ours) == theirs


def test_off_target_counts(texts):
    lines = [*texts["de"], texts["en"][0], "", "   "]
    rate, counts = default_identifier().off_target(lines, "de")
    assert counts == {"de": 4, EMPTY: 2, "en": 1}
    assert rate == pytest.approx(3 / 7)


def test_confidence(texts):
    lines = [texts["de"][0], "", "Hotel Restaurant"]
    (german, sure), empty, (_, unsure) = default_identifier().identify_with_confidence(lines)
    assert german == "de" and 0.9 < sure <= 1 and 0 < unsure < 0.9
    assert empty == (EMPTY, 1.0)


def test_a_language_it_does_not_know_has_no_rate(texts):
    rate, counts = default_identifier().off_target(texts["en"], "ha")
    assert rate is None and counts == {"en": 4}


def test_nothing_is_downloaded(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("network used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert LanguageIdentifier().identify(["Das Wetter ist heute sehr schön."]) == ["de"]
