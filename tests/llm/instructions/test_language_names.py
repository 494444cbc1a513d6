"""Names of languages in instructions."""

import pytest

from llm.instructions.language_names import language_names


def test_codes_of_all_kinds_have_names_in_english():
    codes = ["deu_Latn", "nb", "gd", "my", "ug", "xx", "prs_Arab", "sh"]
    assert language_names(codes) == {
        "deu_Latn": "German", "nb": "Norwegian Bokmål", "gd": "Scottish Gaelic",
        "my": "Burmese", "ug": "Uyghur", "xx": "xx",
        "prs_Arab": "Dari", "sh": "Serbo-Croatian",
    }  # fmt: skip


def test_script_or_region_is_named_only_where_names_are_shared():
    assert language_names(["zh_Hans", "en"])["zh_Hans"] == "Chinese"
    names = language_names(["zh_Hans", "zh_Hant", "pt_BR", "pt"])
    assert names == {
        "zh_Hans": "Chinese (Simplified)", "zh_Hant": "Chinese (Traditional)", "pt": "Portuguese",
        "pt_BR": "Portuguese (Brazil)",
    }  # fmt: skip
    names = language_names(["sh", "sh_Cyrl"])
    assert names == {"sh": "Serbo-Croatian (Latin)", "sh_Cyrl": "Serbo-Croatian (Cyrillic)"}


@pytest.mark.parametrize("other", ["deu", "de_12", "de_1996"])
def test_no_two_languages_share_a_name(other):
    """Also where their full names are the same, or the second code is in no registry."""
    assert language_names(["de", other, "en"]) == {
        "de": "German (de)", other: f"German ({other})", "en": "English",
    }  # fmt: skip
