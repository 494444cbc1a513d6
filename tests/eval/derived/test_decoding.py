"""On-target quality and the cost of decoding, and how decoded systems are called."""

from dataclasses import asdict

import pytest

from command_line.errors import InputError
from eval.derived.decoding import on_target
from eval.labels import differing_axis
from eval.measurements import Measurements
from eval.result_set import ResultSet
from eval.systems import SEARCH_OPTIONS
from eval.translation.search_options import SearchOptions

COST = {"sentences": 8, "seconds": 2.0, "decoder_tokens": 800}


@pytest.fixture
def folders(scored, texts):
    """One system with a plain search, with contrasts, and through a pivot."""
    half = [*texts["fr"][:2], *texts["en"][2:]]
    return [
        scored("A", {"de-fr": half, "en-de": texts["de"]}, folder="plain", decoding=COST),
        scored(
            "A", {"de-fr": texts["fr"], "en-de": texts["de"]}, folder="contrast", source_contrast=0.7,
            contrast_seed=3, language_contrast=0.1, decoding={**COST, "decoder_tokens": 2400, "seconds": 5.0},
        ),
        scored("A", {"de-fr": half}, folder="old", pivot="en"),
    ]  # fmt: skip


def numbers_of(folders) -> dict[str, dict[str, float]]:
    """System -> measure -> number, and of which directions it is."""
    rows = on_target(Measurements.of(ResultSet.load(folders, ["scores"]).systems, allow_unlike=True)).rows
    return {
        name: dict(zip(of.measure, of.value, strict=True)) | {"kind": of.kind.iloc[0]}
        for name, of in rows.groupby("system")
    }


def test_ways_to_decode_are_systems_of_their_own(folders):
    measured = numbers_of(folders)
    contrasted = "A, source contrast 0.7 (contrast seed 3), language contrast 0.1"
    assert set(measured) == {"A", contrasted, "A (pivot en)"}
    cost = ("on_target_lines", "lines", "sentences_per_second", "tokens_per_sentence", "relative_tokens")
    assert [measured["A"][name] for name in cost] == [2, 4, 4.0, 100, 1.0]
    assert [measured[contrasted][name] for name in cost] == [4, 4, 1.6, 300, 3.0]
    pivot = measured["A (pivot en)"]  # translated elsewhere: the cost is not known
    assert [pivot.get(name) for name in cost] == [2, 4, None, None, None]
    assert (measured["A"]["kind"], measured["A"]["off_target"]) == ("zero-shot", 0.5)


def test_the_cost_of_other_directions_is_no_ratio(folders, scored, texts):
    """A pivot translates zero-shot directions alone, whose sentences have other lengths."""
    pivot = scored("A", {"de-fr": texts["fr"]}, folder="pivot", pivot="en", decoding={**COST, "sentences": 4})
    measured = numbers_of([folders[0], pivot])["A (pivot en)"]
    assert measured["tokens_per_sentence"] == 200 and "relative_tokens" not in measured
    plain = scored("A", {"de-fr": texts["fr"]}, folder="zero-shot", decoding={**COST, "sentences": 4})
    assert numbers_of([plain, pivot])["A (pivot en)"]["relative_tokens"] == 1.0


def test_they_are_compared_on_the_axis_of_the_search(folders):
    plain, contrasted = ResultSet.load(folders[:2], ["scores"]).systems
    assert differing_axis(plain, contrasted) == "search"


def test_searches_under_one_name_are_the_same(scored, texts):
    outs = [
        scored("A", {"de-fr": texts["fr"]}, seed=seed, source_contrast=0.5, contrast_sources=sources)
        for seed, sources in ((1, None), (2, None))
    ]
    assert len(ResultSet.load(outs, ["scores"]).systems) == 1
    outs[1] = scored("A", {"de-fr": texts["fr"]}, seed=2, source_contrast=0.5, no_repeat_ngram=3)
    with pytest.raises(InputError, match="no_repeat_ngram is 3, but"):
        _ = ResultSet.load(outs, ["scores"]).systems


@pytest.mark.parametrize(
    "other", [{"beam": 1}, {"lenpen": 0.6}, {"max_len_a": 1.5}, {"max_len_b": 20}], ids=str
)
def test_seeds_of_other_beams_and_lengths_are_not_averaged(scored, texts, other):
    outs = [scored("A", {"de-fr": texts["fr"]}, seed=seed, **given) for seed, given in ((1, {}), (2, other))]
    (name,) = other
    with pytest.raises(InputError, match=f"{name} is {other[name]}, but"):
        _ = ResultSet.load(outs, ["scores"]).systems


def test_everything_that_a_search_is_told_is_compared_with_its_default():
    told = asdict(SearchOptions())
    assert told == {name: SEARCH_OPTIONS[name] for name in told}


def test_a_told_encoder_is_seen_in_the_tags(scored, texts):
    from eval.labels import language_tag

    told = scored("A", {"de-fr": texts["fr"]}, system={"target_embedding_layers": 5})
    (system,) = ResultSet.load([told], ["scores"]).systems
    assert language_tag(system) == "S-ENC-T-DEC LCS 5"
