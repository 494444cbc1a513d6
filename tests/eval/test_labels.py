"""Groups of directions and their order, whatever English is called."""

import pytest

from eval.labels import direction_order, groups_of


@pytest.mark.parametrize("english", ["en", "eng", "eng_Latn", "en_XX", "en_GB"])
def test_directions_from_and_to_english(english):
    assert groups_of(f"{english}-zho_Hans", "supervised") == ["supervised", "from-en", "all"]
    assert groups_of(f"zho_Hans-{english}", "supervised") == ["supervised", "to-en", "all"]
    assert groups_of("zho_Hans-zho_Hant", "zero-shot") == ["zero-shot", "all"]


@pytest.mark.parametrize("english", ["en", "eng", "eng_Latn", "en_XX"])
def test_supervised_directions_go_language_by_language(english):
    expected = [f"{english}-ces", f"ces-{english}", f"{english}-zho_Hans", f"zho_Hans-{english}"]
    assert direction_order("supervised", sorted(expected)) == expected
