"""fastText identification from the packaged model, without network."""

import socket

import pytest

from command_line.errors import InputError
from data_prep.language_identification import (
    EMPTY,
    NO_LETTERS,
    LanguageIdentifier,
    default_identifier,
    label_in,
    packaged_model,
)
from tests.data_prep.fasttext_models import write_identifier

GLOTLID = {
    "cmn_Hani",
    "arb_Arab",
    "arz_Arab",
    "nob_Latn",
    "kor_Hang",
    "jpn_Jpan",
    "als_Latn",
    "swh_Latn",
    "yue_Hani",
}
OPENLID = {"zho_Hans", "zho_Hant", "arb_Arab", "als_Latn", "srp_Cyrl", "azj_Latn"}


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


@pytest.mark.parametrize(
    ("code", "glotlid", "openlid"),
    [("zh", "cmn_Hani", "zho_Hans"), ("zho_Hant", "cmn_Hani", "zho_Hant"),
     ("yue_Hant", "yue_Hani", "zho_Hant"),
     ("ar", "arb_Arab", "arb_Arab"), ("arz", "arz_Arab", None), ("no", "nob_Latn", None),
     ("ko", "kor_Hang", None), ("ja", "jpn_Jpan", None), ("als", "als_Latn", "als_Latn"),
     ("sq", "als_Latn", "als_Latn"), ("sw", "swh_Latn", None), ("sr_Latn", None, None),
     ("sr", None, "srp_Cyrl"), ("az", None, "azj_Latn"), ("klingon", None, None)],
)  # fmt: skip
def test_labels_with_scripts(code, glotlid, openlid):
    assert (label_in(code, GLOTLID), label_in(code, OPENLID)) == (glotlid, openlid)


def test_another_model(tmp_path):
    words = {"deu_Latn": ["das", "Haus"], "eng_Latn": ["the", "house"], "srp-x": ["kuća"]}
    identifier = LanguageIdentifier(write_identifier(tmp_path / "lid.bin", words))
    assert identifier.labels == set(words)
    assert identifier.identify(["das kleine Haus", "the house", "", "12"]) == [
        "deu_Latn", "eng_Latn", EMPTY, NO_LETTERS,
    ]  # fmt: skip
    assert identifier.probability("das house", "deu_Latn") == pytest.approx(0.5, abs=1e-4)
    assert identifier.label("de") == "deu_Latn" and identifier.label("fr") is None
    assert identifier.name.startswith("lid.bin (")


def test_the_larger_model_of_the_same_labels_has_the_same_quirks(tmp_path):
    copy = tmp_path / "lid.176.bin"
    copy.write_bytes(packaged_model().read_bytes())
    assert LanguageIdentifier(copy).label("gsw") == "als"


@pytest.mark.parametrize("content", [b"", b"text", bytes(200), b"__label__de\0" * 20])
def test_a_file_that_is_no_model_is_one_line(tmp_path, content):
    (tmp_path / "lid.bin").write_bytes(content)
    with pytest.raises(InputError, match=r"lid\.bin: not a fastText model of languages"):
        LanguageIdentifier(tmp_path / "lid.bin")
    with pytest.raises(InputError, match=r"nothing\.bin: No such file or directory, expected a fastText"):
        LanguageIdentifier(tmp_path / "nothing.bin")
