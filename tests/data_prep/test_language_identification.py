"""fastText identification from the packaged model, without network."""

import socket

import pytest

from data_prep.language_identification import EMPTY, NO_LETTERS, LanguageIdentifier, default_identifier


@pytest.mark.parametrize("line", ["2015", "3.14 !", "— — —", "१२३", "😀", "...", "12\u00a0000 €"])
def test_a_line_without_letters_is_in_no_language(line):
    assert default_identifier().identify_with_confidence([line]) == [(NO_LETTERS, 1.0)]


@pytest.mark.parametrize("line", ["猫 2", "ได้", "نحن", "a", "ß!", "한"])
def test_letters_of_every_script_are_letters(line):
    assert default_identifier().identify([line]) != [NO_LETTERS]


def test_confidence():
    lines = ["Das Wetter ist heute sehr schön.", "", "Hotel Restaurant"]
    (german, sure), empty, (_, unsure) = default_identifier().identify_with_confidence(lines)
    assert german == "de" and 0.9 < sure <= 1 and 0 < unsure < 0.9
    assert empty == (EMPTY, 1.0)


def test_probability_of_a_language():
    probability = default_identifier().probability
    german = "Das Wetter ist heute sehr schön."
    ((_, confidence),) = default_identifier().identify_with_confidence([german])
    assert probability(german, "de") == confidence > 0.9
    assert probability(german, "ja") == 0
    assert 0 < probability("Hotel Restaurant", "en") < 0.9
    assert probability("2015", "ja") == 1


def test_nothing_is_downloaded(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("network used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert LanguageIdentifier().identify(["Das Wetter ist heute sehr schön."]) == ["de"]
