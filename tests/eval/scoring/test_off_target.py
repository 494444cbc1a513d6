"""Off-target rates: labels of the identifier, what it cannot tell apart, lines without letters."""

import pytest

from data_prep.language_identification import (
    EMPTY,
    NO_LETTERS,
    default_identifier,
    identifier_label,
)
from eval.scoring.off_target import Intended, intended, labels_of_languages, names_of_labels


def labels(languages) -> dict:
    return labels_of_languages(default_identifier(), languages)


def test_all_labels():
    assert len(default_identifier().labels) == 176 and {"zh", "no", "arz"} <= default_identifier().labels


@pytest.mark.parametrize(
    ("code", "label"),
    [("de", "de"), ("deu_Latn", "de"), ("pt_BR", "pt"), ("zh-TW", "zh"), ("zho_Hans", "zh"), ("cmn", "zh"),
     ("yue", "yue"), ("yue_Hant", "yue"), ("wuu", "wuu"), ("arz_Arab", "arz"), ("arb_Arab", "ar"),
     ("arq", "ar"),
     ("no", "no"), ("nor", "no"), ("nb", "no"), ("nob_Latn", "no"), ("nn", "nn"), ("nno_Latn", "nn"),
     ("als_Latn", "sq"), ("gsw", "als"), ("tl", "tl"), ("tgl_Latn", "tl"), ("fil", "tl"), ("bho_Deva", "bh"),
     ("azj_Latn", "az"), ("azb_Arab", "azb"), ("ckb_Arab", "ckb"), ("kmr_Latn", "ku"), ("pes_Arab", "fa"),
     ("hr", "hr"), ("sh", "sh"), ("hbs", "sh"), ("srp_Cyrl", "sr"), ("lvs_Latn", "lv"), ("swh_Latn", "sw"),
     ("en_XX", "en"), ("ha", None), ("hau_Latn", None), ("xa", None), ("klingon", None)],
)  # fmt: skip
def test_labels_of_languages(code, label):
    assert identifier_label(code) == label


def test_labels_are_those_that_the_identifier_gives():
    lines = {
        "zho_Hant": "今天的天氣非常好，我們一起去公園散步吧。",
        "nob_Latn": "Regjeringen la i dag frem et forslag til statsbudsjett for neste år.",
        "als_Latn": "Sot moti është shumë i bukur dhe ne do të shkojmë në park.",
        "gsw": "S Wätter isch hüt sehr schön und mir göh in Park go spaziere.",
        "tgl_Latn": "Maganda ang panahon ngayon kaya pupunta kami sa parke.",
    }
    for code, line in lines.items():
        assert default_identifier().identify([line]) == [identifier_label(code)]


def test_a_language_that_it_does_not_know_has_no_rate():
    goal = intended(("en", "hau_Latn"), labels({"en", "hau_Latn"}))
    assert goal == Intended(None, "the identifier does not know Hausa (hau_Latn)")
    assert goal.rate(["en"], ["en"]) is None


def test_two_languages_with_one_label_have_no_rate_between_them():
    languages = {"eng_Latn", "zho_Hans", "zho_Hant"}
    goal = intended(("zho_Hant", "zho_Hans"), labels(languages))
    assert goal == Intended(None, "the identifier cannot tell zho_Hans from zho_Hant: both are its 'zh'")
    assert goal.rate(["zh"], ["zh"]) is None
    assert intended(("eng_Latn", "zho_Hans"), labels(languages)) == Intended(
        "zh", "zho_Hant would count as zho_Hans: the identifier's 'zh' covers both"
    )
    assert intended(("zho_Hans", "eng_Latn"), labels(languages)) == Intended("en")


def test_a_macrolanguage_is_named_where_it_is_all_that_is_known():
    goal = intended(("en", "arq"), labels({"en", "arq", "arz"}))
    assert goal == Intended("ar", "the identifier knows Algerian Arabic (arq) only as Arabic (ar)")
    assert intended(("arz", "arq"), labels({"arz", "arq"})).label == "ar"
    assert intended(("en", "arz"), labels({"en", "arq", "arz"})) == Intended("arz")
    assert "arb would count as arq" in intended(("en", "arq"), labels({"en", "arq", "arb"})).note
    assert intended(("en", "nb"), labels({"en", "nb", "nn"})) == Intended("no")


def test_languages_stay_apart_in_tables():
    names = names_of_labels(labels(["zho_Hans", "zho_Hant", "arz", "arb", "nb", "nn", "yue", "ha"]))
    assert names == {
        "zh": "zho_Hans/zho_Hant", "arz": "arz", "ar": "arb", "no": "nb", "nn": "nn", "yue": "yue",
    }  # fmt: skip


def test_empty_lines_and_lines_without_letters_are_off_target(texts):
    lines = [*texts["de"], texts["en"][0], "", "2015"]
    identified = default_identifier().identify(lines)
    assert identified == ["de"] * 4 + ["en", EMPTY, NO_LETTERS]
    references = default_identifier().identify([*texts["de"], *texts["de"][:3]])
    assert Intended("de").rate(identified, references) == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    ("line", "reference", "rate"),
    [("2015", "2015", 0), ("2016.", "2015", 0), ("", "2015", 1), ("2015", "", 1), ("", "", 1),
     ("2015", "Das war im Jahr 2015.", 1), ("This was in the year 2015.", "2015", 1),
     ("Das war im Jahr 2015.", "2015", 0)],
)  # fmt: skip
def test_a_line_without_letters_is_right_where_its_reference_has_none(line, reference, rate):
    of_line, of_reference = default_identifier().identify([line, reference])
    assert Intended("de").rate([of_line], [of_reference]) == rate


def test_the_error_on_references_leaves_out_what_is_not_identified():
    references = default_identifier().identify(
        ["Das Wetter ist heute sehr schön.", "2015", "", "This is English."]
    )
    assert Intended("de").rate(references, references) == 0.5  # the empty one and the English one
