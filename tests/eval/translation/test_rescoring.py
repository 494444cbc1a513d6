"""Language-informed rescoring against a plain loop with the identifier's own probabilities."""

import math
from functools import cache

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from command_line.errors import InputError
from data_prep.language_identification import label_in, packaged_model
from eval.translation.decoding import build_decoder, load_sources
from eval.translation.rescoring import LanguageRescorer
from eval.translation.search_options import DecodingOptions, RescoringOptions, SearchOptions
from fairseq_ext.inference import load_for_inference
from tests.eval.translation.packages import write_checkpoint, write_data

TEXTS = (
    "Das ist ein Haus.",
    "This is a house.",
    "C'est une maison.",
    "12, 13",
    "Ein kleiner Hund sitzt auf dem Tisch, und draußen regnet es.",
    "the",
)
LANGUAGES = ("de", "en", "fr")


def rescorer(weight: float = 1.0, languages=LANGUAGES, identifier: str | None = None) -> LanguageRescorer:
    """Of hypotheses whose only token is the number of a text."""
    options = RescoringOptions(weight, identifier)
    return LanguageRescorer(options, languages, lambda language, tokens: TEXTS[tokens[0]], candidates=5)


@cache
def identifier() -> LanguageIdentifier:
    library = LanguageIdentifier.from_pickled_model(MODEL_FILE, norm_probs=True)
    library.set_languages(list(LANGUAGES))
    return library


def probabilities(text: str) -> dict[str, float]:
    """By the library's own normalization."""
    return dict(identifier().rank(text))


def test_probabilities_are_the_librarys():
    ours = rescorer()
    for text in TEXTS:
        for language in LANGUAGES:
            p = probabilities(text)[language] if any(map(str.isalpha, text)) else 1 / 3
            assert math.exp(ours.log_probability(language, text)) == pytest.approx(p, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("weight", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("language", LANGUAGES)
def test_order_is_that_of_a_plain_loop(language, weight):
    scores = [-0.9, -0.5, -0.7, -0.8, -1.3, -0.6]
    hypotheses = [([number], score) for number, score in enumerate(scores)]
    expected = []
    for (number,), score in hypotheses:
        p = probabilities(TEXTS[number])[language] if TEXTS[number] != "12, 13" else 1 / 3
        if p > 1e-30:
            expected.append((score + weight * math.log(p), number))
    ranked = rescorer(weight).ranked(language, hypotheses)
    assert len(ranked) == len(hypotheses)
    assert [tokens[0] for tokens, _ in ranked][: len(expected)] == [
        number for _, number in sorted(expected, reverse=True)
    ]
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)


def test_equal_hypotheses_stay_in_their_order():
    hypotheses = [([3], -1.0), ([3], -1.0), ([3], -0.5)]
    ranked = rescorer().ranked("de", hypotheses)
    assert ranked[0][0] is hypotheses[2][0] and [hypothesis[0] for hypothesis in ranked[1:]] == [
        hypotheses[0][0],
        hypotheses[1][0],
    ]


def test_a_language_that_the_identifier_does_not_know_is_named_and_left(capsys):
    ours = rescorer(languages=("de", "en", "ban"))
    assert "py3langid does not know ban; translations into these languages stay as" in capsys.readouterr().err
    hypotheses = [([0], -0.5), ([1], -0.6)]
    assert ours.ranked("ban", hypotheses) == hypotheses
    assert ours.ranked("en", hypotheses)[0][0] == [1]


WITHOUT_SCRIPTS = frozenset({"de", "en", "zh", "nb", "sr", "ko"})
WITH_SCRIPTS = frozenset(
    {
        "deu_Latn",
        "eng_Latn",
        "cmn_Hani",
        "zho_Hans",
        "zho_Hant",
        "nob_Latn",
        "srp_Cyrl",
        "srp_Latn",
        "kor_Hang",
    }
)


@pytest.mark.parametrize(
    ("code", "plain", "with_script"),
    [
        ("de", "de", "deu_Latn"),
        ("deu", "de", "deu_Latn"),
        ("deu_Latn", "de", "deu_Latn"),
        ("nb", "nb", "nob_Latn"),
        ("zh_cn", "zh", "zho_Hans"),
        ("zh_Hant", "zh", "zho_Hant"),
        ("sr", "sr", "srp_Cyrl"),
        ("sr_Latn", "sr", "srp_Latn"),
        ("ko", "ko", "kor_Hang"),  # whose usual script has another name
    ],
)
def test_languages_are_found_by_their_codes(code, plain, with_script):
    assert label_in(code, WITHOUT_SCRIPTS) == plain
    assert label_in(code, WITH_SCRIPTS) == with_script
    assert label_in(code, frozenset({"en", "eng_Latn"})) is None


def test_not_with_the_identifier_that_scores(tmp_path):
    copy = tmp_path / "glotlid.bin"
    copy.write_bytes(packaged_model().read_bytes())  # under whatever name
    with pytest.raises(InputError, match=r"glotlid.bin: its languages are those of lid.176, which measures"):
        rescorer(identifier=str(copy))
    with pytest.raises(InputError, match=r"lid: expected py3langid, or the file of a fastText model"):
        rescorer(identifier="lid")
    copy.write_bytes(b"__label__de\0")
    with pytest.raises(InputError, match=r"glotlid.bin: not a fastText model of languages"):
        rescorer(identifier=str(copy))


def test_another_fasttext_model_may_rescore(tmp_path):
    other = tmp_path / "other.ftz"
    other.write_bytes(packaged_model().read_bytes().replace(b"__label__yi\0", b"__label__yx\0"))
    ours = rescorer(identifier=str(other))
    values = [ours.log_probability(language, TEXTS[0]) for language in LANGUAGES]
    assert max(values) == values[0] > math.log(0.9)
    assert sum(map(math.exp, values)) == pytest.approx(1)


def test_a_decoder_chooses_among_its_beam(tmp_path):
    data = write_data(tmp_path / "data")
    loaded = load_for_inference(write_checkpoint(tmp_path / "model.pt", data), data)
    options = DecodingOptions(SearchOptions(beam=4, max_len_b=4), cpu=True)
    plain = build_decoder(loaded, options)
    rescoring = build_decoder(loaded, options, rescoring=RescoringOptions(2.0))
    # words of these texts are of no language: long ones shall be French, short ones German
    rescoring.rescorer.log_probability = lambda language, text: len(text) * (1 if language == "fr" else -1)
    parts = [load_sources(loaded.task, data, "test", pair) for pair in (("de", "fr"), ("en", "de"))]

    def searched(decoder, count: int) -> dict:
        return {
            number: hypotheses
            for numbers, lists in decoder.n_best(parts, count)
            for number, hypotheses in zip(numbers, lists, strict=True)
        }

    lists, changed = searched(plain, 4), 0
    best = {
        number: tokens for batch in rescoring.translate(parts) for number, tokens in zip(*batch, strict=True)
    }
    for number, hypotheses in searched(rescoring, 2).items():
        language = ("fr", "de")[number // len(parts[0])]
        expected = rescoring.rescorer.ranked(language, lists[number])
        assert hypotheses == expected[:2]
        assert best[number] == expected[0][0]
        changed += expected[0][0] != lists[number][0][0]
    assert changed
