"""States of other programs become a store as those of a checkpoint are."""

import numpy as np
import pytest

from command_line.errors import InputError
from eval.probes.line_states import LineStates, write_store

TOKENS = [["__de__", "ein", "Haus", "</s>"], ["__de__", "Hund", "</s>"]]


def lines(layers=("L0", "L1"), target: str = "fr", **decoder) -> list[LineStates]:
    rng = np.random.default_rng(1)
    return [
        LineStates("de", target, {layer: rng.normal(size=(len(row), 3)) for layer in layers}, row, **decoder)
        for row in TOKENS
    ]


def test_what_is_written_is_what_is_read(tmp_path):
    of_decoder = {"L2": np.ones((1, 5))}
    given = lines(decoder=of_decoder, decoder_tokens=["__fr__"])
    store = write_store(
        tmp_path / "s", {"test": given}, "A", "toy", supervised=["de-fr"], tags=["__de__"], dtype="float32",
        encoder_output="L0",
    )  # fmt: skip
    part = store.encoder("test", "de-fr")
    assert part.pieces == [token for row in TOKENS for token in row]
    expected = [np.concatenate([line.encoder[layer] for line in given]) for layer in ("L0", "L1")]
    assert np.allclose(part.all_states, expected) and list(part.offsets) == [0, 4, 7]
    assert list(part.is_tag) == [True, *[False] * 3, True, *[False] * 2]
    assert not part.is_end.any()  # none was named
    assert store.supervised == {("de", "fr")} and store.record["encoder_output"] == "L0"
    assert store.decoder("test", "de-fr").layers == ["L2"]


def test_the_end_symbol_is_named(tmp_path):
    store = write_store(tmp_path / "s", {"test": lines()}, "A", "toy", end="</s>")
    assert store.encoder("test", "de-fr").is_end.sum() == 2


def test_lines_of_several_directions_keep_their_order(tmp_path):
    first, second = lines(), lines(target="en")
    store = write_store(tmp_path / "s", {"test": [second[0], *first, second[1]]}, "A", "toy")
    for direction in ("de-fr", "de-en"):
        assert store.encoder("test", direction).pieces == [token for row in TOKENS for token in row]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "s: no lines; expected those of a set or more"),
        (lines(target=""), "'de-' is not a direction"),
        (lines(target=None), "a test line in de has no target language"),
        (
            [lines()[0], lines(("L0",))[1]],
            "line 2 has the layers L0; expected L0, L1, as the first of all has",
        ),
        (
            [lines()[0]._replace(encoder_tokens=["a"])],
            r"layer L0 has states of shape \(4, 3\); expected \(1, 3\)",
        ),
    ],
)
def test_states_that_do_not_match_are_refused(tmp_path, given, message):
    with pytest.raises(InputError, match=message):
        write_store(tmp_path / "s", {"test": given}, "A", "toy")
