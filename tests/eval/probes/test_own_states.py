"""States of other programs become a store as those of a checkpoint are."""

import numpy as np
import pytest

from command_line.errors import InputError
from eval.probes.own_states import write_store

LAYERS = {"encoder": ["L0", "L1"], "decoder": ["L2"]}
SENTENCES = [["__de__", "ein", "Haus", "</s>"], ["__de__", "Hund", "</s>"]]


def sentences(texts=SENTENCES, layers: int = 2, width: int = 3):
    rng = np.random.default_rng(1)
    return [(pieces, rng.normal(size=(layers, len(pieces), width))) for pieces in texts]


def test_what_is_written_is_what_is_read(tmp_path):
    parts = {("test", "de-fr", "encoder"): sentences(), ("test", "de-fr", "decoder"): sentences(layers=1)}
    store = write_store(
        tmp_path / "s", "A", "toy", parts, LAYERS, supervised=["de-fr"], tags=["__de__"], dtype="float32",
        encoder_output="L0",
    )  # fmt: skip
    part = store.encoder("test", "de-fr")
    assert part.pieces == [piece for pieces in SENTENCES for piece in pieces]
    expected = np.concatenate([states for _, states in parts["test", "de-fr", "encoder"]], axis=1)
    assert np.allclose(part.all_states, expected) and list(part.offsets) == [0, 4, 7]
    assert list(part.is_tag) == [True, *[False] * 3, True, *[False] * 2]
    assert not part.is_end.any()  # none was named
    assert store.supervised == {("de", "fr")} and store.record["encoder_output"] == "L0"
    assert store.decoder("test", "de-fr").layers == ["L2"]


def test_the_end_symbol_is_named(tmp_path):
    parts = {("test", "de-fr", "encoder"): sentences()}
    store = write_store(tmp_path / "s", "A", "toy", parts, LAYERS, end="</s>")
    assert store.encoder("test", "de-fr").is_end.sum() == 2


@pytest.mark.parametrize(
    ("key", "layers", "message"),
    [
        (("test", "de-fr", "top"), 2, "found the side 'top'; expected encoder or decoder"),
        (("test", "defr", "encoder"), 2, "'defr' is not a direction"),
        (
            ("test", "de-fr", "encoder"),
            3,
            r"sentence 1 of .* has states of shape \(3, 4, 3\)",
        ),
    ],
)
def test_states_that_do_not_match_are_refused(tmp_path, key, layers, message):
    with pytest.raises(InputError, match=message):
        write_store(tmp_path / "s", "A", "toy", {key: sentences(layers=layers)}, LAYERS)
