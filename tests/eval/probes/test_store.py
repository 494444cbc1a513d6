"""The folder of hidden states: what is written is what is read, and nothing half-written is read."""

import numpy as np
import pytest

from command_line.errors import InputError
from eval.probes.store import StatePart, StateStore, layer_names
from eval.probes.storing import PartWriter
from tests.eval.probes.stores import EOS, noise, write_store

TAG = 90
SENTENCES = [np.array([TAG, 5, 6, EOS]), np.array([TAG, EOS]), np.array([TAG, 7, EOS])]


@pytest.fixture
def states():
    return np.random.default_rng(3).normal(size=(2, 9, 4)).astype(np.float16)


@pytest.fixture
def part(tmp_path, states):
    writer = PartWriter(tmp_path / "p", SENTENCES, layers=2, width=4)
    writer.write([2, 0], states[:, [6, 7, 8, 0, 1, 2, 3]])  # batches come in any order
    writer.write([1], states[:, 4:6])
    writer.close()
    return StatePart(tmp_path / "p", ["L1", "L2"], [TAG], EOS)


def test_states_come_back_in_the_order_of_the_file(part, states):
    assert np.array_equal(part.all_states, states)
    assert part.states("L2").dtype == np.float16
    assert np.array_equal(part.states("L2"), states[1])
    assert part.offsets.tolist() == [0, 4, 6, 9]
    assert len(part) == 3
    assert part.tokens.tolist() == np.concatenate(SENTENCES).tolist()
    assert part.is_tag.tolist() == [True, False, False, False, True, False, True, False, False]
    assert part.is_end.tolist() == [False, False, False, True, False, True, False, False, True]


def test_mean_pooled_is_the_mean_of_each_sentence(part, states):
    expected = [states[1, a:b].astype(np.float32).mean(axis=0) for a, b in ((0, 4), (4, 6), (6, 9))]
    assert np.allclose(part.mean_pooled("L2"), expected, atol=1e-6)
    assert part.mean_pooled("L2").dtype == np.float32


def test_mean_pooled_of_words_only_and_a_sentence_without_any(part, states, tmp_path):
    with pytest.raises(InputError, match=r"p: sentence 2 has no words, so its words have no mean"):
        part.mean_pooled("L1", only_words=True)
    writer = PartWriter(tmp_path / "q", [SENTENCES[0], SENTENCES[2]], layers=1, width=4)
    writer.write([0, 1], states[:1, :7])
    writer.close()
    pooled = StatePart(tmp_path / "q", ["L1"], [TAG], EOS).mean_pooled("L1", only_words=True)
    expected = [states[0, 1:3].astype(np.float32).mean(axis=0), states[0, 5].astype(np.float32)]
    assert np.allclose(pooled, expected, atol=1e-6)


def test_what_is_read_is_in_memory_and_of_single_precision(part, states):
    assert np.array_equal(part.read(2, 6), states[:, 2:6].astype(np.float32))
    assert np.array_equal(part.read(0, 9, "L2"), states[1].astype(np.float32))
    assert part.read(0, 9).dtype == np.float32


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("token", "sentence"), [(0, 1), (3, 1), (4, 2), (8, 3)])
def test_states_that_are_no_numbers_are_refused(part, tmp_path, value, token, sentence):
    stored = np.load(tmp_path / "p.states.npy", mmap_mode="r+")
    stored[1, token, 2] = value
    stored.flush()
    expected = f"p.states.npy: sentence {sentence} has a state of layer L2 that is NaN or infinite"
    for read in (lambda: part.read(0, 9), lambda: part.mean_pooled("L2")):
        with pytest.raises(InputError, match=expected):
            read()
    assert np.isfinite(part.mean_pooled("L1")).all()


@pytest.mark.parametrize("tokens", [1, 4, 5, 6, 100])
def test_blocks_cover_every_sentence_once(part, tokens):
    blocks = list(part.blocks(tokens))
    assert [i for first, end in blocks for i in range(first, end)] == [0, 1, 2]
    assert all(end == first + 1 or part.offsets[end] - part.offsets[first] <= tokens for first, end in blocks)


def test_layers_are_counted_through_as_in_figure_8_2():
    names = layer_names(6, 6, encoder_norm=True, decoder_norm=False)
    assert names["encoder"] == ["L0", "L1", "L2", "L3", "L4", "L5", "L6", "encoder-norm"]
    assert names["decoder"] == ["decoder-embedding", "L7", "L8", "L9", "L10", "L11", "L12"]
    assert layer_names(1, 1, False, True)["decoder"] == ["decoder-embedding", "L2", "decoder-norm"]


def test_a_store_knows_its_parts(tmp_path):
    store = write_store(tmp_path / "s", noise)
    assert store.splits == ["valid", "test"]
    assert ("de", "fr") in store.directions("test") and ("de", "fr") not in store.directions("valid")
    assert ("en", "fr") in store.supervised and ("de", "fr") not in store.supervised
    assert store.encoder("test", ("de", "fr")).states("L2").shape[1] == 8
    assert store.encoder("test", "de-fr").path == store.encoder("test", ("de", "fr")).path
    with pytest.raises(InputError, match="no test states of direction de, it has: cs-en"):
        store.decoder("test", "de")
    assert len(store.decoder("valid", ("en", "fr"))) == 20


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda s: s.encoder("valid", ("de", "fr")), "no valid states of direction de-fr, it has: cs-en"),
        (lambda s: s.directions("train"), "no states of the set 'train', it has: valid, test"),
        (
            lambda s: s.encoder("test", ("de", "fr")).states("L3"),
            "no states of layer 'L3', it has: L0, L1, L2",
        ),
    ],
)
def test_what_is_not_there_is_named(tmp_path, read, message):
    with pytest.raises(InputError, match=message):
        read(write_store(tmp_path / "s", noise))


@pytest.mark.parametrize("protocol", ["optimum", "paper"])
@pytest.mark.parametrize("file", ["valid.encoder.de-en", "test.decoder.de-fr"])
def test_language_recognition_refuses_states_that_are_no_numbers(tmp_path, command, protocol, file):
    folder = write_store(tmp_path / "s", noise).folder
    stored = np.load(folder / f"{file}.states.npy", mmap_mode="r+")
    stored[1, 1] = np.nan
    stored.flush()
    options = ("--epochs", 1, "--seeds", 1) if protocol == "paper" else ()
    result = command("probe", "llr", folder, "--protocol", protocol, *options, "--output", tmp_path / "llr")
    assert result.status == 2
    layer = "L1" if "encoder" in file else "L4"
    assert f"{folder}/{file}.states.npy: sentence 1 has a state of layer {layer} that is" in result.err


WRONG_FILES = {
    "states of 2 dimensions": ("states", lambda values: values[0]),
    "states of whole numbers": ("states", lambda values: values.astype(int)),
    "another number of layers": ("states", lambda values: values[:-1]),
    "tokens of 2 dimensions": ("tokens", lambda values: values[None]),
    "tokens of no whole numbers": ("tokens", lambda values: values.astype(float)),
    "too few tokens": ("tokens", lambda values: values[:-1]),
    "offsets of 2 dimensions": ("offsets", lambda values: values[None]),
    "offsets of no whole numbers": ("offsets", lambda values: values.astype(float)),
    "a single offset": ("offsets", lambda values: values[:1]),
    "no offset": ("offsets", lambda values: values[:0]),
    "a number": ("offsets", lambda values: values[0]),
    "offsets out of range": ("offsets", lambda values: values + 10**6 * (values == values[7])),
    "negative offsets": ("offsets", lambda values: values * np.where(values == values[7], -1, 1)),
    "offsets that do not begin at 0": ("offsets", lambda values: np.maximum(values, 1)),
    "offsets that end before": ("offsets", lambda values: np.minimum(values, values[-1] - 1)),
    "a sentence without tokens": ("offsets", lambda values: np.where(values == values[7], values[6], values)),
    "a boundary one token later": ("offsets", lambda values: values + (values == values[7])),
    "a boundary one token earlier": ("offsets", lambda values: values - (values == values[7])),
}


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("wrong", WRONG_FILES)
def test_files_that_are_not_of_each_other(tmp_path, side, wrong):
    ending, change = WRONG_FILES[wrong]
    store = write_store(tmp_path / "s", noise)
    path = store.folder / f"test.{side}.de-fr.{ending}.npy"
    np.save(path, change(np.load(path)))
    with pytest.raises(InputError, match=rf"^{store.folder}/test.{side}.de-fr.\w+.npy: .*; extract the"):
        getattr(store, side)("test", ("de", "fr"))


def test_unfinished_and_damaged_folders(tmp_path):
    folder = write_store(tmp_path / "s", noise).folder
    victim = folder / "test.encoder.de-fr.states.npy"
    content = victim.read_bytes()
    victim.write_bytes(content[:-1])
    with pytest.raises(InputError, match=r"test.encoder.de-fr.states.npy: damaged"):
        StateStore.open(folder).encoder("test", ("de", "fr"))
    victim.write_bytes((folder / "test.encoder.de-en.states.npy").read_bytes())
    with pytest.raises(InputError, match=r"de-fr.tokens.npy: .*, expected a token id for each of"):
        StateStore.open(folder).encoder("test", ("de", "fr"))
    victim.unlink()
    with pytest.raises(InputError, match=r"states.npy: no such file"):
        StateStore.open(folder).encoder("test", ("de", "fr"))
    (folder / "states.json").unlink()
    with pytest.raises(InputError, match=r"states.json: no such file; expected the complete output"):
        StateStore.open(folder)
