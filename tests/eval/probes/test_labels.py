"""Labels other than languages: those of a file, and random ones; classifiers other than linear ones."""

import json

import numpy as np
import pytest

from eval.probes.store import StateStore
from tests.eval.probes.stores import (
    ENGLISH_CENTRIC,
    LAYERS,
    SHOWN,
    TAGS,
    noise,
    planted,
    write_store,
)
from tests.eval.rows import chosen

HEADER = "set\tdirection\tside\tsentence\tlabels"
SPLITS = {"valid": [("de", "en"), ("en", "de")], "test": [("de", "en"), ("en", "de"), ("de", "fr")]}


def parity(rng, direction, side, layer, tokens) -> np.ndarray:
    """In L1 the first dimension says whether the number of a token is even."""
    states = noise(rng, direction, side, layer, tokens)
    if layer == "L1":
        states[:, 0] += 12 * (tokens % 2)
    return states


def label_file(path, store: StateStore, splits=SPLITS, side="encoder"):
    """The parity of each word."""
    rows = [HEADER]
    for split, directions in splits.items():
        for direction in directions:
            part = getattr(store, side)(split, direction)
            for sentence in range(len(part)):
                first, end = part.offsets[sentence : sentence + 2]
                words = part.tokens[first:end][part.is_word[first:end]]
                names = ["odd" if word % 2 else "even" for word in words]
                labels = " ".join(names)
                rows.append(f"{split}\t{'-'.join(direction)}\t{side}\t{sentence + 1}\t{labels}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_labels_of_words_are_recognized_where_they_can_be_read(tmp_path, llr):
    store = write_store(tmp_path / "s", parity, SPLITS, sentences=100)
    file = label_file(tmp_path / "parity.tsv", store)
    rows = llr(store, options=["--labels", file])
    accuracy = chosen(rows, measure="accuracy", kind="zero-shot", part="label").set_index("layer").value
    assert list(accuracy.index) == ["L0", "L1", "L2", "output"]  # of the encoder, which has labels
    assert accuracy["L1"] > 0.95 > 0.8 > accuracy["L0"]
    part = store.encoder("test", "de-fr")
    assert np.unique(rows[rows.measure == "token_accuracy"].group).tolist() == [
        "word 1", "word 2", "word 3-4", "word 5-8", "words",
    ]  # fmt: skip
    (run,) = json.loads((tmp_path / "llr/llr.json").read_text())["runs"]
    assert run["languages"] == {"label": ["even", "odd"]} and run["variant"] == ", parity"
    assert part.is_word.sum() < len(part.tokens)


def test_a_label_of_a_sentence_is_that_of_all_its_words(tmp_path, llr):
    """Of the direction, in the encoder; the states tell the source language."""
    store = write_store(tmp_path / "s", planted("L1", "source"), SPLITS)
    lines = [
        f"{split}\t{'-'.join(direction)}\tencoder\t{sentence}\tfrom-{direction[0]}"
        for split, directions in SPLITS.items()
        for direction in directions
        for sentence in range(1, 21)
    ]
    file = tmp_path / "sources.tsv"
    file.write_text("\n".join([HEADER, *lines]) + "\n")
    rows = llr(store, options=["--labels", file])
    of_layer = chosen(rows, measure="accuracy", direction="de-fr").set_index("layer").value
    assert of_layer["L1"] > 0.95
    groups = set(chosen(rows, measure="token_accuracy", kind="zero-shot").group)
    assert "words" in groups and groups.isdisjoint(("tags", "end"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("valid\tde-en\tencoder\t1", "found 4 fields; expected a header and rows of set, direction, side"),
        ("dev\tde-en\tencoder\t1\ta", "found the set 'dev'; there are states of valid, test"),
        (
            "valid\tde-it\tencoder\t1\ta",
            "found the direction 'de-it'; there are valid states of de-en, en-de",
        ),
        ("valid\tde-en\tboth\t1\ta", "found the side 'both'; expected encoder or decoder"),
        ("valid\tde-en\tencoder\t0\ta", "found the sentence '0'; expected a number from 1"),
        ("valid\tde-en\tencoder\t1\t ", "no label; expected one, or one for each word"),
        ("valid\tde-en\tencoder\t1\ta", "sentence 1 has labels in an earlier line"),
        ("valid\tde-en\tencoder\t21\ta", "sentence 21, but valid.encoder.de-en has 20"),
        ("valid\tde-en\tencoder\t20\ta b c d e f g", "7 labels, but sentence 20 of valid.encoder.de-en has"),
        ("test\tde-en\tencoder\t21\ta", "sentence 21, but test.encoder.de-en has 20"),
    ],
)
def test_a_label_that_is_of_no_token_is_named_before_the_training(
    tmp_path, llr, one_line, monkeypatch, line, message
):
    monkeypatch.setattr("eval.probes.recognition.train", None)
    store = write_store(tmp_path / "s", noise, SPLITS)
    rows = [f"{split}\tde-en\tencoder\t{n}\t{'ab'[n % 2]}" for split in SPLITS for n in range(1, 11)]
    file = tmp_path / "labels.tsv"
    file.write_text("\n".join([HEADER, *rows, line]) + "\n")
    one_line(llr(store, options=["--labels", file]), f"labels.tsv:22: {message}")


def test_labels_of_one_class_are_nothing_to_recognize(tmp_path, llr, one_line):
    store = write_store(tmp_path / "s", noise, SPLITS)
    (tmp_path / "l.tsv").write_text(f"{HEADER}\nvalid\tde-en\tencoder\t1\ta\n")
    message = "1 different labels of the set 'valid'; expected at least two"
    one_line(llr(store, options=["--labels", tmp_path / "l.tsv"]), message)


# --- the control task


def test_selectivity_is_low_where_tokens_are_memorized(tmp_path, llr):
    """States that are the token alone tell its random label as well as they can tell any."""

    def tokens_alone(rng, direction, side, layer, tokens):
        return np.eye(100)[tokens] if layer == "L1" else rng.normal(size=(len(tokens), 100))

    rows = llr(write_store(tmp_path / "s", tokens_alone, width=100), options=["--control"])
    means = rows.groupby(["measure", "kind", "part", "layer"]).value.mean()
    for question in ("source", "target"):
        assert means["control", "zero-shot", question, "L1"] > 0.95
        assert means["control", "zero-shot", question, "L0"] < 0.7
        assert means["selectivity", "zero-shot", question, "L1"] == pytest.approx(
            means["accuracy", "zero-shot", question, "L1"] - means["control", "zero-shot", question, "L1"]
        )


# --- which tokens, which classes


def test_what_zero_shot_states_are_taken_for(tmp_path, llr):
    """States of zero-shot directions say English: all others are taken for it."""

    def english(rng, direction, side, layer, tokens):
        states = noise(rng, direction, side, layer, tokens)
        language = direction[1] if direction in ENGLISH_CENTRIC else "en"
        states[:, sorted(TAGS).index(language)] += 12
        return states

    rows = llr(write_store(tmp_path / "s", english))
    taken = chosen(rows, measure="taken_for", part="target", layer="output")
    zero_shot = taken[taken.kind == "zero-shot"].set_index(["direction", "group"]).value
    supervised = taken[taken.kind == "supervised"].set_index(["direction", "group"]).value
    assert zero_shot["fr", "en"] > 0.95 > 0.05 > zero_shot["fr", "fr"]
    assert supervised["fr", "fr"] > 0.95
    of_languages = chosen(rows, measure="class_accuracy", part="target", layer="output", kind="supervised")
    macro = chosen(rows, measure="macro_accuracy", part="target", layer="output", kind="supervised")
    assert macro.value.item() == pytest.approx(of_languages.value.mean())
    assert set(of_languages.direction) == {"cs", "de", "en", "fr"}


def test_only_tags_tell_the_language(tmp_path, llr):
    rows = llr(write_store(tmp_path / "s", planted("L1", "source", only_tags=True)))
    of_groups = chosen(rows, measure="token_accuracy", kind="supervised", part="source", layer="L1")
    shares = of_groups.set_index("group").value
    assert shares["tags"] > 0.95 > 0.8 > max(shares["words"], shares["end"])


# --- what is learned from


def test_training_on_all_directions_sees_what_zero_shot_ones_say(tmp_path, llr):
    """Zero-shot directions have their language in another dimension than supervised ones."""

    def elsewhere(rng, direction, side, layer, tokens):
        states = noise(rng, direction, side, layer, tokens)
        shift = 0 if direction in ENGLISH_CENTRIC else 4
        states[:, sorted(TAGS).index(direction[1]) + shift] += 12
        return states

    directions = [*ENGLISH_CENTRIC, ("cs", "de"), ("de", "fr"), ("fr", "cs")]
    store = write_store(tmp_path / "s", elsewhere, {"valid": directions, "test": directions})
    accuracies = {}
    for name, options in {"supervised": [], "all": ["--train-on", "all"]}.items():
        rows = llr(store, options=options, output=name)
        accuracies[name] = chosen(rows, measure="accuracy", kind="zero-shot", part="target").value.mean()
    assert accuracies["all"] > 0.95 > 0.6 > accuracies["supervised"]


def test_perceptrons_read_what_is_not_linear(tmp_path, llr):
    """The sign of a product of two dimensions tells English from German."""

    def product(rng, direction, side, layer, tokens):
        states = noise(rng, direction, side, layer, tokens)
        first = rng.choice([-3, 3], len(tokens))
        states[:, 0] += first
        states[:, 1] += first * (1 if direction[0] == "en" else -1)
        return states

    splits = {"valid": SPLITS["valid"], "test": SPLITS["valid"]}
    store = write_store(tmp_path / "s", product, splits, sentences=200, layers={**LAYERS, "decoder": []})
    accuracies = {}
    for probe in ("linear", "mlp"):
        rows = llr(store, options=["--probe", probe, "--questions", "source"], output=probe)
        accuracies[probe] = chosen(rows, measure="accuracy", kind="supervised", layer="L1").value.mean()
    assert accuracies["mlp"] > 0.9 > 0.7 > accuracies["linear"]
    (run,) = json.loads((tmp_path / "mlp/llr.json").read_text())["runs"]
    assert run["variant"] == ", perceptrons"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--probe", "mlp", "--protocol", "paper"], "--protocol paper: of --probe linear; leave it out"),
        (
            ["--probe", "mlp", "--grid", "1"],
            "--grid: --probe mlp has none; leave it out, or use --protocol opt",
        ),
        (["--hidden", "8"], "--hidden: --protocol optimum has none; leave it out, or use --probe mlp"),
    ],
)
def test_settings_of_other_classifiers_are_refused(tmp_path, llr, one_line, options, message):
    one_line(llr(write_store(tmp_path / "s", noise), options=options), message)


# --- layers, stores, weights


def test_what_the_decoder_attends_to_is_one_layer_of_all_systems(tmp_path, llr):
    layers = {"encoder": [*LAYERS["encoder"], "encoder-norm"], "decoder": LAYERS["decoder"]}
    pre = write_store(
        tmp_path / "pre", planted("encoder-norm", "source"), layers=layers, encoder_output="encoder-norm",
        system={"name": "Pre"},
    )  # fmt: skip
    post = write_store(tmp_path / "post", planted("L2", "source"), system={"name": "Post"})
    rows = chosen(llr(pre, post), measure="accuracy", kind="zero-shot", part="source")
    for name, readable in (("Pre", {"output"}), ("Post", {"L2", "output"})):
        of_system = rows[rows.system == name].groupby("layer", sort=False).value.mean()
        assert list(of_system.index) == SHOWN
        assert {layer for layer, value in of_system.items() if value > 0.95} == readable


def test_two_stores_of_one_name_are_refused_before_the_training(tmp_path, llr, one_line, monkeypatch):
    stores = [write_store(tmp_path / name, noise) for name in ("a", "b")]
    monkeypatch.setattr("eval.probes.recognition.recognize", None)
    one_line(
        llr(*stores), f"{stores[1].folder}: 'PreNorm S-ENC-T-DEC' with seed 1 on toy, as {stores[0].folder}"
    )


def test_weights_that_are_saved_answer_as_the_classifiers_do(tmp_path, llr):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    accuracy = chosen(llr(store), measure="accuracy", direction="de-fr", part="source")
    with np.load(tmp_path / "llr/llr.npz") as arrays:
        weight, bias = arrays["0 encoder weight"], arrays["0 encoder bias"]
    assert weight.shape == (3, 8, 4 + 4) and bias.shape == (3, 1, 4 + 4)
    part = store.encoder("test", "de-fr")
    logits = np.asarray(part.states("L1"), dtype=np.float32) @ weight[1, :, :4] + bias[1, :, :4]
    share = (logits.argmax(axis=1) == sorted(TAGS).index("de")).mean()
    assert accuracy[accuracy.layer == "L1"].value.item() == pytest.approx(share)
