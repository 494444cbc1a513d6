"""Batches of a masked language model: shares of languages, lengths, masks, and that they can be made anew."""

from collections import Counter

import numpy as np
import pytest

from command_line.errors import InputError
from embeddings.pretraining.examples import POOL, Batches, Examples, Masking, blocks


class Symbols:
    """Ten ordinary tokens, 4 to 13."""

    all_special_ids = (0, 1, 2, 3, 14)
    mask_token_id, pad_token_id = 14, 1

    def __len__(self) -> int:
        return 15


def texts(seed: int = 1) -> list[Examples]:
    """Two languages, whose examples begin with 0 or 2 and a number of their own."""
    draw = np.random.default_rng(seed)
    return [
        Examples.of([language, 100 + row, *[5] * draw.integers(1, 12)] for row in range(size))
        for language, size in ((0, 400), (2, 100))
    ]


def names(batch) -> list[tuple[int, int]]:
    return [(int(example[0]), int(example[1])) for example in batch[1]]


def test_every_pool_has_the_shares_of_the_languages():
    languages = texts()
    batches = Batches(languages, temperature=2, tokens=60, number=3 * POOL, seed=1)
    sizes = np.array([len(each.tokens) for each in languages])
    expected = sizes**0.5 / (sizes**0.5).sum()
    for pool in range(3):
        tokens = Counter()
        for number in range(pool * POOL, (pool + 1) * POOL):
            for example in batches[number][1]:
                tokens[int(example[0])] += len(example)
        assert tokens.total() == pytest.approx(60 * POOL, rel=0.05)
        assert tokens[0] / tokens.total() == pytest.approx(expected[0], abs=0.03)


def test_shares_are_exact_over_many_pools():
    """Also of a language that comes less than once in a pool; batches hold the tokens that were asked for."""
    languages = [Examples.of([number, *[5] * 9] for _ in range(size)) for number, size in ((0, 500), (2, 1))]
    batches = Batches(languages, temperature=1, tokens=60, number=20 * POOL, seed=1)
    counts = Counter(int(example[0]) for number in range(20 * POOL) for example in batches[number][1])
    due = 20 * POOL * 60 / 10
    assert counts.total() == pytest.approx(due, abs=2)
    assert counts[2] == pytest.approx(due / 501, abs=1)


def test_shares_are_of_tokens_however_long_the_examples():
    languages = [
        Examples.of([language, *[5] * (length - 1)] for _ in range(200))
        for language, length in ((0, 5), (2, 20))
    ]
    batches = Batches(languages, temperature=1e9, tokens=60, number=POOL, seed=1)
    tokens = Counter()
    for number in range(POOL):
        for example in batches[number][1]:
            tokens[int(example[0])] += len(example)
    assert [tokens[language] for language in (0, 2)] == pytest.approx([30 * POOL] * 2, rel=0.02)


def test_every_pass_over_a_text_has_an_order_of_its_own():
    """Of 400 examples a pool has 160: the sixth begins where the third pass does."""
    examples = Examples.of([0, 100 + row, *[5] * 8] for row in range(400))
    batches = Batches([examples], temperature=1, tokens=25, number=6 * POOL, seed=1)
    first, sixth = (
        {name for number in range(pool * POOL, (pool + 1) * POOL) for name in names(batches[number])}
        for pool in (0, 5)
    )
    assert len(first) == len(sixth) == 160
    assert len(first & sixth) == pytest.approx(160**2 / 400, abs=30)


def test_an_example_comes_again_when_all_have_come():
    batches = Batches(texts(), temperature=1, tokens=60, number=10 * POOL, seed=1)
    counts = Counter(name for number in range(10 * POOL) for name in names(batches[number]))
    for language, size in ((0, 400), (2, 100)):
        times = [count for (of, _), count in counts.items() if of == language]
        assert len(times) == size
        assert max(times) - min(times) <= 1


def test_batches_are_even_and_of_similar_lengths():
    batches = Batches(texts(), temperature=1, tokens=60, number=POOL, seed=1)
    for number in range(POOL):
        lengths = [len(example) for example in batches[number][1]]
        assert 60 - 14 <= sum(lengths) <= 60 + 14
        assert max(lengths) - min(lengths) <= 1


def test_a_batch_depends_on_its_number_and_the_seed_alone():
    first, second, other = (Batches(texts(), 2, 60, 300, seed) for seed in (1, 1, 2))
    forwards = [names(first[number]) for number in range(200)]
    assert forwards[130:] == [names(second[number]) for number in range(130, 200)]
    assert forwards[0] != names(other[0])
    masking = Masking(Symbols(), 0.15, seed=1)
    assert masking([first[7]])["input_ids"].equal(masking([second[7]])["input_ids"])
    examples = first[7][1]
    assert not masking([(7, examples)])["positions"].equal(masking([(8, examples)])["positions"])


def test_batches_without_room():
    with pytest.raises(InputError, match=r"--batch-tokens 4: expected room for several examples, which have"):
        Batches(texts(), 1, 4, 10, 1)


def test_blocks_hold_whole_sentences():
    sentences = [[0, 5, 5, 2], [0, 6, 2], [0, 7, 7, 7, 2], [0, 8, 8, 8, 8, 8, 2], [0, 9, 2]]
    cut = list(blocks(iter(sentences), 7))
    assert cut == [[0, 5, 5, 2, 6, 2], [0, 7, 7, 7, 2], [0, 8, 8, 8, 8, 8, 2], [0, 9, 2]]
    assert list(blocks(iter(sentences[:2]), 6)) == cut[:1]  # which has room for no more
    assert list(blocks(iter(sentences[:2]), 5)) == sentences[:2]


def test_masks():
    draw = np.random.default_rng(3)
    examples = [np.array([0, *draw.integers(4, 14, 40), 3, 2]) for _ in range(499)]
    examples.append(np.array([0, 9, 2]))
    batch = Masking(Symbols(), 0.2, seed=1)([(5, examples)])
    read, attended = batch["input_ids"].numpy(), batch["attention_mask"].numpy()
    assert read.shape == (500, 43)
    before = np.ones_like(read)
    for row, example in zip(before, examples, strict=True):
        row[: len(example)] = example
    assert (attended == (before != 1)).all()
    positions, labels = batch["positions"].numpy(), batch["labels"].numpy()
    assert len(set(positions.tolist())) == len(positions) == round(0.2 * (499 * 40 + 1))
    assert (before.reshape(-1)[positions] == labels).all()
    assert not set(labels.tolist()) & {0, 1, 2, 3, 14}
    untouched = np.ones(read.size, bool)
    untouched[positions] = False
    assert (read.reshape(-1)[untouched] == before.reshape(-1)[untouched]).all()
    seen = read.reshape(-1)[positions]
    assert (seen == 14).mean() == pytest.approx(0.8, abs=0.02)
    assert (seen == labels).mean() == pytest.approx(0.1 + 0.1 / 10, abs=0.02)
    assert set(seen.tolist()) == {*range(4, 15)}


def test_a_batch_has_a_mask_at_least():
    batch = Masking(Symbols(), 0.01, seed=1)([(0, [np.array([0, 9, 2])])])
    assert (batch["positions"].tolist(), batch["labels"].tolist()) == ([1], [9])
