"""What language codes of every spelling stand for."""

import subprocess
import sys

import pytest

from data_prep.bleu import bleu_tokenizer, tokenizer_of
from data_prep.languages import (
    Language,
    closest,
    display_name,
    find_language,
    is_english,
    is_unspaced,
    same_language,
    same_written_language,
    subtag,
    usual_names,
)
from data_prep.normalization import measure_length, words, words_of_unspaced


@pytest.mark.parametrize(
    ("code", "expected"),
    [("zho_Hans", "zh"), ("zh-Hans", "zh"), ("zh_Hans_CN", "zh"), ("chi", "zh"), ("deu", "de"), ("ger", "de"),
     ("deu_Latn", "de"), ("en_XX", "en"), ("pt_BR", "pt"), ("es_419", "es"), ("nob", "nb"),
     ("arz_Arab", "arz"), ("zho_Foo", "zh"), ("de_informal_1", "de"), ("xa", "xa"),
     ("klingon", "klingon"), ("xx_Foo", "xx_Foo"), ("prs_Arab", "prs"), ("fa_AF", "fa"), ("hbs", "sh"),
     ("swc", "swc")],
)  # fmt: skip
def test_subtags(code, expected):
    assert subtag(code) == expected


@pytest.mark.parametrize("code", ["xa", "xx_Foo", "klingon", "English", "x", "", "xa1", "_", "a-b"])
def test_unknown_codes(code):
    assert find_language(code) is None
    assert not is_english(code) and not is_unspaced(code)
    assert display_name(code) == code


def test_english():
    assert all(map(is_english, ["en", "eng", "eng_Latn", "en_XX", "en_GB", "EN"]))
    assert not any(map(is_english, ["enm", "ang", "de", "sco", "enx"]))


@pytest.mark.parametrize(
    ("code", "tokenizer"),
    [*dict.fromkeys([("zh", "zh"), ("zh_CN", "zh"), ("zh-TW", "zh"), ("zho_Hans", "zh"), ("zho_Hant", "zh"),
                     ("cmn", "zh"), ("yue", "zh"), ("yue_Hant", "zh"), ("wuu", "zh"), ("zh_Latn", "13a")]),
     ("ja", "ja-mecab"), ("jpn_Jpan", "ja-mecab"), ("ja_XX", "ja-mecab"), ("ja_Latn", "13a"),
     ("ko", "ko-mecab"), ("kor_Hang", "ko-mecab"), ("ko_KR", "ko-mecab"),
     ("my", "char"), ("mya_Mymr", "char"), ("th", "char"), ("tha_Thai", "char"), ("km", "char"),
     ("khm_Khmr", "char"), ("lo", "char"), ("lao_Laoo", "char"), ("bo", "char"), ("dzo_Tibt", "char"),
     ("shn_Mymr", "char"), ("my_MM", "char"), ("de", "13a"), ("hin_Deva", "13a"), ("arb_Arab", "13a"),
     ("xa", "13a")],
)  # fmt: skip
def test_tokenizer_of_target_language(code, tokenizer):
    assert bleu_tokenizer(code) == tokenizer
    assert bleu_tokenizer(code, "intl") == "intl"


@pytest.mark.parametrize("code", ["ja", "zho_Hant", "yue", "tha_Thai", "my_MM", "dzo", "lao_Laoo"])
def test_lines_without_spaces_are_measured_in_characters(code):
    assert measure_length(code) is words_of_unspaced


@pytest.mark.parametrize("code", ["en", "kor_Hang", "zh_Latn", "vie_Latn", "xa"])
def test_other_lines_are_measured_in_words(code):
    assert measure_length(code) is words


def test_the_closest_name_is_the_language_before_its_macrolanguage():
    assert closest("arz_Arab", {"ar", "arz"}) == "arz"
    assert closest("arq", {"ar", "arz"}) == closest("arb", {"ar"}) == "ar"
    assert closest("lvs_Latn", {"lv"}) == "lv"
    assert closest("de", {"en"}) is None
    assert closest("xa", {"xa"}) == "xa"


def test_a_language_in_two_scripts_is_two():
    assert same_written_language("zh_CN", "zho_Hans") and same_written_language("deu", "de_DE")
    assert not same_written_language("zh_CN", "zho_Hant")
    assert not same_written_language("arz", "arb") and not same_written_language("nb", "nn")
    assert same_written_language("xa", "xa") and not same_written_language("xa", "xb")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("zh", "cmn", True), ("zh", "zho_Hant", True), ("cmn_Hans", "zho_Hans", True), ("ms", "zsm_Latn", True),
     ("ar", "arb", True), ("no", "nob", True), ("sr", "srp_Latn", True), ("klingon", "klingon", True),
     ("ms", "id", False), ("id", "zsm", False), ("zh", "yue", False), ("zho_Hans", "zho_Hant", False),
     ("ar", "arz", False), ("no", "nn", False), ("no", "da", False), ("hr", "bs", False),
     ("klingon", "xa", False), ("klingon", "de", False), ("fa", "pes_Arab", True), ("fa", "prs", False),
     ("pes", "prs", False), ("sh", "hbs", True), ("sh", "sr", False), ("swc", "sw", False),
     ("ps", "pbt_Arab", True), ("ff", "fuv", True), ("qu", "quy_Latn", True)],
)  # fmt: skip
def test_usual_names_of_one_language(first, second, expected):
    assert same_language(first, second) is same_language(second, first) is expected


TATOEBA = "ara arq arz cmn eng fra ind jpn max nno nob wuu yue zsm"
FLORES = "arb_Arab arb_Latn arz_Arab azb_Arab azj_Latn ind_Latn pes_Arab prs_Arab yue_Hant zho_Hans zho_Hant"


@pytest.mark.parametrize(
    ("code", "there", "expected"),
    [("ms", TATOEBA, "zsm"), ("ar", TATOEBA, "ara"), ("zh", TATOEBA, "cmn"), ("no", TATOEBA, "nob"),
     ("arq", TATOEBA, "arq"), ("ja_XX", TATOEBA, "jpn"), ("de", TATOEBA, ""), ("arb_Arab", TATOEBA, "ara"),
     ("ar", FLORES, "arb_Arab"), ("ar_AR", FLORES, "arb_Arab"), ("ara_Latn", FLORES, "arb_Latn"),
     ("zh", FLORES, "zho_Hans"), ("zh_CN", FLORES, "zho_Hans"), ("zh_Hant", FLORES, "zho_Hant"),
     ("cmn_Hans", FLORES, "zho_Hans"), ("zh_Latn", FLORES, ""), ("az", FLORES, "azj_Latn"),
     ("fa", FLORES, "pes_Arab"), ("prs", FLORES, "prs_Arab"), ("ms", FLORES, ""), ("xa", FLORES, ""),
     ("xa", "xa xb", "xa"), ("zho", "zh cmn", "zh"), ("zho_Hans", "zh_Latn zh_TW", ""),
     ("nor", "nb no nn", "no"), ("zh", "zh_CN zho_Hans", "zh_CN zho_Hans")],
)  # fmt: skip
def test_what_others_call_a_language(code, there, expected):
    assert usual_names(code, there.split()) == set(expected.split())


def test_a_language_that_others_count_to_another_is_one():
    """CLDR has Dari as `fa-AF`, and Serbo-Croatian as `sr-Latn`."""
    assert find_language("prs") == Language("prs", "Arab", "fa", "Dari")
    assert find_language("hbs") == find_language("sh") == Language("sh", "Latn", None, "Serbo-Croatian")
    assert find_language("sh_Cyrl").script == "Cyrl"
    assert closest("prs_Arab", {"fa"}) == "fa"


def test_names():
    assert display_name("zho_Hans") == "Chinese (zho_Hans)"
    assert display_name("arq") == "Algerian Arabic (arq)"


def test_tokenizer_of_a_signature():
    assert tokenizer_of("nrefs:1|case:mixed|eff:no|tok:ja-mecab-0.996-IPA|smooth:exp") == "ja-mecab-0.996-IPA"
    assert tokenizer_of("") == ""


def test_the_registry_is_read_only_when_a_code_is_looked_up():
    code = "import sys, data_prep.languages; assert 'langcodes' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
