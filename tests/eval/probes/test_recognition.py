"""Layer-wise language recognition finds planted languages, and only those."""

import numpy as np
import pytest
import torch

from eval.probes.classifiers import train
from eval.probes.protocol import Protocol
from eval.probes.tested import answered
from eval.probes.training_set import TrainingSet
from tests.eval.probes.stores import LANGUAGES, NAMES, parts_of, per_token, planted, write_store
from tests.eval.rows import chosen


@pytest.mark.parametrize("question", ["source", "target"])
@pytest.mark.parametrize("layer", NAMES)
def test_a_planted_language_is_found_in_its_layer_only(tmp_path, llr, layer, question):
    rows = llr(write_store(tmp_path / "s", planted(layer, question)))
    for kind in ("supervised", "zero-shot"):
        means = chosen(rows, measure="accuracy", kind=kind).groupby(["part", "layer"]).value.mean()
        assert means[question, layer] > 0.95
        noise_ = [means[side, other] for side in ("source", "target") for other in NAMES if other != layer]
        assert len(noise_) == 8
        assert max(noise_) < 0.6  # English is half of the training tokens


def test_unrelated_labels_give_chance(tmp_path):
    """Every language is as often a source as every other, so that chance is a quarter."""
    directions = list(zip(LANGUAGES, [*LANGUAGES[1:], LANGUAGES[0]], strict=True))
    splits = {"valid": directions, "test": directions}
    store = write_store(tmp_path / "s", planted("L1", "source"), splits, sentences=60)
    gold = np.repeat(np.arange(4), 60)[:, None]
    unrelated = np.tile(np.arange(4), 60)[:, None]  # every language as often in every direction
    accuracy = {}
    for name, labels in (("true", gold), ("unrelated", unrelated)):
        parts = parts_of(store, "valid", directions)
        sentences = TrainingSet(parts, per_token(parts, labels), "all")
        classifiers = train(sentences, [4], Protocol().complete(), "train").classifiers
        right = [
            answered(classifiers, part)[0][1].eq(label).double().mean(dim=1)
            for label, part in enumerate(parts_of(store, "test", directions))
        ]
        accuracy[name] = torch.stack(right).mean(dim=0)
    assert (accuracy["true"] > 0.95).all()
    assert ((accuracy["unrelated"] - 0.25).abs() < 0.1).all()


@pytest.mark.parametrize(("tokens", "readable"), [("all", True), ("no-tags", False), ("words", False)])
def test_states_of_tags_can_be_left_out(tmp_path, llr, tokens, readable):
    store = write_store(tmp_path / "s", planted("L2", "source", only_tags=True), sentences=40)
    rows = llr(store, options=["--tokens", tokens])
    planted_, other = (
        chosen(rows, measure="accuracy", kind="supervised", part="source", layer=layer).value.mean()
        for layer in ("L2", "L1")
    )
    assert (planted_ > other + 0.08) == readable
    part = store.encoder("test", ("de", "fr"))
    left = {"all": len(part.tokens), "no-tags": (~part.is_tag).sum(), "words": part.is_word.sum()}
    counted = chosen(rows, measure="tokens", direction="de-fr", part="encoder")
    assert counted.value.item() == left[tokens]
