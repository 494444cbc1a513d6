"""Which systems are compared by themselves: those that differ on one axis."""

import json
from itertools import product

import pytest

from command_line.errors import InputError
from eval.checks import group_runs
from eval.labels import PLACEMENT, differing_axis
from eval.scored import Scores
from eval.scoring.system_pairs import (
    all_pairs,
    pairs_known_to_differ,
    pairs_named,
    pairs_on_one_axis,
    pairs_with,
    pairs_with_first,
    with_pairs,
)

# Layers without residual, tags, placement of #1 to #8.
TABLE_8_2 = list(product(("", "4"), ("s-enc-t-dec", "t-enc"), ("pre", "post")))


@pytest.fixture
def systems(scored, texts):
    """Function that scores systems given as name -> fields of their settings, and groups them."""

    def make(settings: dict[str, dict], **fields):
        outs = [
            scored(name, {"en-de": texts["de"]}, system=system, **fields) for name, system in settings.items()
        ]
        return group_runs(Scores.load(out / "scores.json") for out in outs)

    return make


def names(pairs) -> list[tuple[str, str]]:
    return [(pair.baseline.name, pair.system.name) for pair in pairs]


def test_table_8_2(systems):
    eight = systems(
        {
            str(number): {"norm_placement": norm, "language_tags": tags, "drop_residual_layers": drop}
            for number, (drop, tags, norm) in enumerate(TABLE_8_2, 1)
        }
    )
    pairs = pairs_on_one_axis(eight)
    by_axis = {}
    for pair in pairs:
        by_axis.setdefault(pair.axis, []).append((pair.baseline.name, pair.system.name))
    assert by_axis == {
        PLACEMENT: [("1", "2"), ("3", "4"), ("5", "6"), ("7", "8")],
        "language tags": [("1", "3"), ("2", "4"), ("5", "7"), ("6", "8")],
        "residual connection": [("1", "5"), ("2", "6"), ("3", "7"), ("4", "8")],
    }
    assert len(names(all_pairs(eight))) == 28
    assert names(pairs_with_first(eight)) == [("1", str(number)) for number in range(2, 9)]
    assert names(pairs_with(eight, "2")) == [("2", str(number)) for number in (1, 3, 4, 5, 6, 7, 8)]
    with pytest.raises(InputError, match="--baseline 9: no such system on toy, expected one of: '1', '2'"):
        pairs_with(eight, "9")


@pytest.mark.parametrize(
    ("first", "second", "axis"),
    [
        ({}, {"norm_placement": "post"}, PLACEMENT),
        ({}, {"norm_placement": "post", "encoder_final_norm": False}, PLACEMENT),
        ({}, {"norm_affine": False}, "affine parameters of normalization"),
        ({}, {"architecture": "mnmt_transformer_big"}, "architecture"),
        ({}, {"interlingua": "variable", "architecture": "interlingua_transformer_tiny"}, "bridge"),
        (
            {"interlingua": "variable"},
            {"interlingua": "variable", "interlingua_options": {"interlingua_length_jitter": 0.2}},
            "bridge",
        ),
        ({}, {"interlingua": "variable", "architecture": "interlingua_transformer_big"}, None),
        ({}, {"norm_placement": "post", "language_tags": "t-enc"}, None),
        ({}, {}, None),
    ],
)
def test_axes(systems, first, second, axis):
    assert differing_axis(*systems({"A": first, "B": second})) == axis


def test_systems_without_metadata_are_no_rivals(systems, capsys):
    unknown = dict.fromkeys(("norm_placement", "language_tags", "drop_residual_layers", "norm_affine"))
    foreign = systems({"A": unknown, "B": unknown, "C": {}})
    assert [differing_axis(*pair[:2]) for pair in all_pairs(foreign)] == [None] * 3
    assert pairs_on_one_axis(foreign) == all_pairs(foreign)
    said = "no two of 'A', 'B', 'C' on toy are known to differ on one axis only, so every pair is compared"
    assert said in capsys.readouterr().err


def test_search_and_pivot_are_axes(scored, texts):
    plain, lengths, pivot = (
        group_runs([Scores.load(scored(name, {"de-fr": texts["fr"]}, **fields) / "scores.json")])[0]
        for name, fields in (("A", {}), ("B", {"length_candidates": 5}), ("C", {"pivot": "en"}))
    )
    assert differing_axis(plain, lengths) == "search"
    assert differing_axis(plain, pivot) == "pivot"
    assert differing_axis(lengths, pivot) is None


def test_systems_on_other_datasets_are_no_rivals(systems):
    first, other = systems({"A": {}}, dataset="a"), systems({"B": {"norm_placement": "post"}}, dataset="b")
    assert differing_axis(*first, *other) is None


def test_systems_agree_in_which_directions_are_zero_shot(scored, texts):
    outs = [scored(name, {"de-fr": texts["fr"]}, system={"norm_placement": name}) for name in ("pre", "post")]
    record = json.loads((outs[1] / "scores.json").read_text())
    record["directions"]["de-fr"]["kind"] = "supervised"
    (outs[1] / "scores.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="direction de-fr: kind is supervised, but zero-shot in"):
        pairs_on_one_axis(group_runs(Scores.load(out / "scores.json") for out in outs))


def test_pairs_named_come_besides_those_on_one_axis(systems):
    """Two axes apart; by name, by folder; a pair that differs on one axis stays in the family of that."""
    three = systems(
        {"A": {}, "B": {"norm_placement": "post"}, "C": {"norm_placement": "post", "language_tags": "t-enc"}}
    )
    on_one_axis = [("A", "B", PLACEMENT), ("B", "C", "language tags")]
    assert [(*names([pair])[0], pair.axis) for pair in pairs_on_one_axis(three)] == on_one_axis
    folders = [str(system.runs[0].path.parent) for system in three]
    for named in ("C", "A"), (folders[2], folders[0]), (folders[2], "A"):
        pairs = with_pairs(pairs_known_to_differ(three), pairs_named(three, [named, ("A", "B"), named]))
        assert [(*names([pair])[0], pair.axis) for pair in pairs] == [*on_one_axis, ("C", "A", None)]


def test_pairs_named_that_do_not_exist(systems):
    two = systems({"A": {}, "B": {"norm_placement": "post"}})
    with pytest.raises(InputError, match=r"--pairs A:X: no dataset has both; .* names among 'A', 'B'"):
        pairs_named(two, [("A", "X")])
    with pytest.raises(InputError, match="'A' twice in a pair"):
        pairs_named(two, [("A", "A")])


def test_a_measure_stands_behind_the_name_of_a_system(systems):
    """Where the measure is known and the name is: a name of its own may have an "@"."""
    three = systems({"A": {}, "A@ratio": {}, "B@enss": {}})
    folder = str(three[0].runs[0].path.parent)
    pairs = pairs_named(
        three,
        [("A@cosine", "A@bert-score"), ("A@ratio", "B@enss"), (f"{folder}@bert-score", "B@enss@cosine"),
         ("A@ratio@cosine", "A@ratio@ratio")],
        ("cosine", "ratio", "bert-score"),
    )  # fmt: skip
    assert [(*names([pair])[0], pair.measures) for pair in pairs] == [
        ("A", "A", ("cosine", "bert-score")),
        ("A@ratio", "B@enss", None),
        ("A", "B@enss", ("bert-score", "cosine")),
        ("A@ratio", "A@ratio", ("cosine", "ratio")),
    ]
