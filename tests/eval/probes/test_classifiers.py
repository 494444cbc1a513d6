"""Classifiers that are trained together are those that are trained alone."""

import numpy as np
import torch
from torch import nn

from eval.probes.classifiers import LinearClassifiers, batches, train
from eval.probes.protocol import Protocol
from eval.probes.tested import answered
from eval.probes.training_set import TrainingSet
from tests.eval.probes.stores import ENGLISH_CENTRIC, LANGUAGES, parts_of, per_token, planted, write_store

STEPS = Protocol(protocol="paper", epochs=2, lr=0.01, batch_size=16, seeds=[3, 8])


def separate(store, layer: int, side: str, start: LinearClassifiers, seed: int, question: int, labels, steps):
    """One classifier alone: `nn.Linear`, sentence by sentence, torch's loss."""
    classifier = nn.Linear(8, 4)
    columns = slice(seed * 8 + question * 4, seed * 8 + question * 4 + 4)
    classifier.weight.data = start.weight.data[layer, :, columns].T.clone()
    classifier.bias.data = start.bias.data[layer, 0, columns].clone()
    optimizer = torch.optim.Adam(classifier.parameters(), lr=steps.lr)
    sentences = [
        torch.tensor(
            np.array(part.all_states[layer, part.offsets[i] : part.offsets[i + 1]], dtype=np.float32)
        )
        for part in parts_of(store, "valid", ENGLISH_CENTRIC, side)
        for i in range(len(part))
    ]
    for _, batch in batches(len(sentences), steps.batch_size, steps.epochs):
        states = torch.cat([sentences[i] for i in batch])
        gold = torch.cat([torch.full((len(sentences[i]),), labels[i, question]) for i in batch])
        optimizer.zero_grad()
        nn.functional.cross_entropy(classifier(states), gold).backward()
        optimizer.step()
    return classifier


def gold_labels(sentences: int = 20) -> np.ndarray:
    rows = [[LANGUAGES.index(language) for language in direction] for direction in ENGLISH_CENTRIC]
    return np.repeat(np.array(rows), sentences, axis=0)


def test_classifiers_trained_together_equal_those_trained_alone(tmp_path):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    labels, seeds = gold_labels(), STEPS.seeds
    of_sides = {side: parts_of(store, "valid", ENGLISH_CENTRIC, side) for side in ("encoder", "decoder")}
    sets = {side: TrainingSet(parts, per_token(parts, labels), "all") for side, parts in of_sides.items()}
    trained = {side: train(sentences, [4, 4], STEPS, side).classifiers for side, sentences in sets.items()}
    for side, layers in (("encoder", 3), ("decoder", 2)):
        start = LinearClassifiers(layers, 8, [4, 4], seeds)
        assert not torch.allclose(start.weight, trained[side].weight, atol=1e-3)
        for layer, seed, question in np.ndindex(layers, len(seeds), 2):
            alone = separate(store, layer, side, start, seed, question, labels, STEPS)
            columns = slice(seed * 8 + question * 4, seed * 8 + question * 4 + 4)
            assert torch.allclose(trained[side].weight[layer, :, columns].T, alone.weight, atol=1e-5)
            assert torch.allclose(trained[side].bias[layer, 0, columns], alone.bias, atol=1e-5)
            part = (
                store.decoder("test", ("de", "fr"))
                if side == "decoder"
                else store.encoder("test", ("de", "fr"))
            )
            best = alone(torch.tensor(np.array(part.all_states[layer], dtype=np.float32))).argmax(dim=1)
            assert torch.equal(answered(trained[side], part)[question][layer, seed], best)


def test_a_seed_starts_the_same_way_whatever_other_seeds_there_are():
    both, alone = LinearClassifiers(2, 8, [4, 3], [3, 8]), LinearClassifiers(2, 8, [4, 3], [8])
    assert torch.equal(both.weight[:, :, 7:], alone.weight)
    assert alone.weight.abs().max() <= 1 / np.sqrt(8)
    assert not torch.equal(both.weight[:, :, :7], alone.weight)


def test_every_sentence_is_in_one_batch_of_every_epoch_in_another_order():
    epochs, numbers = zip(*batches(10, 4, 2), strict=True)
    assert [len(batch) for batch in numbers] == [4, 4, 2, 4, 4, 2]
    assert epochs == (1, 1, 1, 2, 2, 2)
    first, second = np.concatenate(numbers[:3]), np.concatenate(numbers[3:])
    assert sorted(first) == sorted(second) == list(range(10))
    assert first.tolist() != second.tolist()
