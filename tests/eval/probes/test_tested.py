"""What classifiers answer is counted as by loops over tokens."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from eval.probes.labels import UNKNOWN
from eval.probes.tested import GROUPS, Answers, groups_of

TAG, EOS = 90, 2
SENTENCES = [[TAG, *range(10, 30), EOS], [TAG, 11, EOS], [TAG, 12, 13, 14, 15, EOS]]


@pytest.fixture
def part():
    tokens = np.concatenate([np.array(one) for one in SENTENCES])
    return SimpleNamespace(
        tokens=tokens,
        offsets=np.cumsum([0, *map(len, SENTENCES)]),
        is_tag=tokens == TAG,
        is_end=tokens == EOS,
        is_word=(tokens != TAG) & (tokens != EOS),
    )


def test_groups_are_tags_words_by_their_place_and_the_end(part):
    names = [GROUPS[number] for number in groups_of(part)]
    first = ["1", "2", "3-4", "3-4", *["5-8"] * 4, *["9-16"] * 8, *["17 on"] * 4]
    assert names[:22] == ["tags", *(f"word {name}" for name in first), "end"]
    assert names[22:] == ["tags", "word 1", "end", "tags", "word 1", "word 2", "word 3-4", "word 3-4", "end"]


@pytest.mark.parametrize("tokens", ["all", "no-tags", "words"])
def test_counts_are_those_of_loops(part, tokens):
    layers, seeds, classes = 2, 3, 4
    rng = np.random.default_rng(1)
    answers = torch.from_numpy(rng.integers(0, classes, (layers, seeds, len(part.tokens))))
    gold = rng.integers(0, classes, len(part.tokens))
    gold[[3, 8]] = UNKNOWN
    kept = {"all": part.is_word | True, "no-tags": ~part.is_tag, "words": part.is_word}[tokens]
    counted = Answers.of(answers, gold, part, tokens, classes)
    assert counted.tokens == kept.sum()
    places = np.flatnonzero(kept & (gold != UNKNOWN))
    groups = [GROUPS[number] for number in groups_of(part)]
    for layer, seed in np.ndindex(layers, seeds):
        given = answers[layer, seed].numpy()
        right = [given[place] == gold[place] for place in places]
        assert counted.accuracy[layer, seed].item() == pytest.approx(np.mean(right))
        for of_class in range(classes):
            of_gold = [place for place in places if gold[place] == of_class]
            shares = [np.mean([given[place] == answer for place in of_gold]) for answer in range(classes)]
            assert counted.confusion[layer, seed, of_class].tolist() == pytest.approx(shares)
        for number, group in enumerate(GROUPS):
            members = [
                given[place] == gold[place]
                for place in places
                if groups[place] == group or (group == "words" and groups[place].startswith("word "))
            ]
            share = counted.accuracy_of_groups[layer, seed, number].item()
            assert share == pytest.approx(np.mean(members)) if members else np.isnan(share)
    assert counted.share_of(1) == pytest.approx(np.mean(gold[places] == 1))
