"""The measure of MLQA: values of its own programme, `mlqa_evaluation_v1.py`."""

import pytest

from embeddings.finetuning.answer_scores import normalized, scores_of


@pytest.mark.parametrize(
    ("language", "said", "answers", "f1", "exact"),
    [
        ("en", "The Denver Broncos!", ["Broncos", "Denver Broncos"], 1, True),
        ("en", "in a house, on the hill", ["house on hill"], 6 / 7, False),
        ("en", "the", ["a"], 0, True),
        ("en", "nothing", ["house on hill"], 0, False),
        ("de", "Das Haus der Familie", ["die Familie im Haus"], 0.8, False),
        ("de", "Ländern", ["der Länder"], 0, False),
        ("es", "«Los perros»", ["unos perros"], 1, True),
        ("es", "el río Ebro", ["río Ebro, España"], 0.8, False),
        ("vi", "Những ngôi nhà của Hà Nội", ["ngôi nhà là Hà Nội"], 1, True),
        ("ar", "الكتاب الجديد", ["كتاب، جديد"], 1, True),
        ("ar", "مالك", ["م ك"], 1, True),
        ("hi", "नई दिल्ली।", ["दिल्ली"], 2 / 3, False),
        ("hi", "एक घर", ["घर"], 2 / 3, False),
        ("zh", "北京大学。", ["北京大學"], 0.75, False),
        ("zh", "2008 年 8月", ["2008年8月8日"], 0.8, False),
        ("zh", "iPhone 手机", ["IPHONE手机"], 1, True),
    ],
)
def test_as_mlqa_measures(language, said, answers, f1, exact):
    assert scores_of(said, answers, language) == (pytest.approx(f1), exact)


def test_the_best_answer_of_either_measure_counts():
    assert scores_of("one two", ["three", "one two three", "one"], "en") == (pytest.approx(0.8), 0)


def test_languages_by_other_codes():
    for code in ("deu_Latn", "de_AT"):
        assert normalized("Das Haus", code) == ["haus"]
    for code in ("zho_Hans", "zh_TW", "cmn"):
        assert normalized("1周年", code) == ["1", "周", "年"]
    assert normalized("الكتاب", "arz_Arab") == ["كتاب"]


def test_languages_that_mlqa_does_not_know():
    assert normalized("Le Havre, à la mer", "fr") == ["le", "havre", "à", "la", "mer"]
    assert normalized("日本のJR線。", "ja") == ["日", "本", "の", "jr", "線"]
    assert normalized("กิน 2", "tha_Thai") == ["ก", "ิ", "น", "2"]
    assert normalized("서울 시", "ko") == ["서울", "시"]
    assert normalized("das Haus", "w0rds") == ["das", "haus"]
