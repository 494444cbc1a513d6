"""Groups of directions and their order, whatever English is called; columns of Table 8.2."""

from pathlib import Path

import pytest

from eval.labels import direction_order, groups_of, language_tag, layer_norm, residual
from eval.systems import Run, System
from tests.eval.conftest import SETTINGS


@pytest.mark.parametrize("english", ["en", "eng", "eng_Latn", "en_XX", "en_GB"])
def test_directions_from_and_to_english(english):
    assert groups_of(f"{english}-zho_Hans", "supervised") == ["supervised", "from-en", "all"]
    assert groups_of(f"zho_Hans-{english}", "supervised") == ["supervised", "to-en", "all"]
    assert groups_of("zho_Hans-zho_Hant", "zero-shot") == ["zero-shot", "all"]


@pytest.mark.parametrize("english", ["en", "eng", "eng_Latn", "en_XX"])
def test_supervised_directions_go_language_by_language(english):
    expected = [f"{english}-ces", f"ces-{english}", f"{english}-zho_Hans", f"zho_Hans-{english}"]
    assert direction_order("supervised", sorted(expected)) == expected


@pytest.mark.parametrize(
    ("settings", "labels"),
    [
        ({"norm_placement": "swap-pre"}, ["Swap-PreNorm", "S-ENC-T-DEC", "w/"]),
        ({"norm_placement": "post", "norm_affine": False}, ["PostNorm-simple", "S-ENC-T-DEC", "w/"]),
        ({"encoder_final_norm": False}, ["PreNorm w/o Enc-Last", "S-ENC-T-DEC", "w/"]),
        ({"language_tags": "t-enc", "drop_residual_layers": "4"}, ["PreNorm", "T-ENC", "w/o"]),
        ({"drop_residual_layers": "3,4"}, ["PreNorm", "S-ENC-T-DEC", "w/o (3,4)"]),
    ],
)
def test_columns_of_table_8_2(settings, labels):
    run = Run(Path(), {"system": SETTINGS | settings | {"name": "A"}, "dataset": "toy"})
    system = System("A", "toy", (run,))
    assert [layer_norm(system), language_tag(system), residual(system)] == labels
