"""Pairs for sentence encoders: cut sentences, both sides in a batch, sides at random."""

import numpy as np
import pytest
import torch

from fairseq_ext.data.batch_fields import FIELDS, FieldSource
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.multilingual_dataset import DirectionData
from fairseq_ext.data.sentence_pairs import CutSentences, SentencePairDataset
from tests.fairseq_ext.models import toy_dictionary
from tests.fairseq_ext.test_multilingual_dataset import direction_data

EOS = 2
LONGEST = 5


def cut(sentences: list[list[int]], longest: int = LONGEST) -> CutSentences:
    part = direction_data(("de", "en"), sentences, sentences)
    return CutSentences(part.sources, longest, EOS)


def test_long_sentences_are_cut_and_counted():
    sentences = cut([[7, 8, 9, 10, EOS], [7, 8, 9, 10, 11, EOS], [EOS], [*range(4, 24), EOS]])
    assert [sentences[item].tolist() for item in range(4)] == [
        [7, 8, 9, 10, EOS], [7, 8, 9, 10, EOS], [EOS], [4, 5, 6, 7, EOS]
    ]  # fmt: skip
    assert (sentences.cut, sentences.sizes.tolist(), len(sentences)) == (2, [5, 5, 1, 5], 4)


def test_sentences_whose_sizes_are_given_and_no_more_of_them():
    arrays = [np.array([4, 5, 6, 7, EOS]), np.array([4, 5, EOS]), np.array([EOS]), np.array([EOS])]
    sentences = CutSentences(arrays, 3, EOS, np.array([5, 3, 1]))
    assert [sentences[item].tolist() for item in range(3)] == [[4, 5, EOS], [4, 5, EOS], [EOS]]
    assert (sentences.cut, sentences.sizes.tolist(), len(sentences)) == (1, [3, 3, 1], 3)


@pytest.fixture
def dictionary():
    return toy_dictionary()


def make(dictionary, exchanges: bool = False, has_decoder: bool = False, pairs: int = 60, **options):
    """Line n of de-en is n words 4 and one word 5; of en-fr the other way round."""
    tags = LanguageTags(dictionary, ["de", "en", "fr"], "t-dec" if has_decoder else "none")
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, pairs)
    sides = {
        ("de", "en"): ([[4] * n + [EOS] for n in counts], [[5, EOS] for _ in counts]),
        ("en", "fr"): ([[6, EOS] for _ in counts], [[7] * n + [EOS] for n in counts]),
    }

    def part(direction, source, target):
        sizes = source.sizes, target.sizes
        found = DirectionData.with_tags(tags, direction, source, target, *sizes)
        for name in ("mirror", "source_languages", "target_languages"):
            found.fields[name] = FIELDS[name](FieldSource(found, tags, None, "train"))
        return found

    cuts = {pair: [cut(side) for side in both] for pair, both in sides.items()}
    parts = [part(pair, *both) for pair, both in cuts.items()]
    opposites = [part(pair[::-1], *both[::-1]) for pair, both in cuts.items()] if exchanges else None
    options = {"pad": dictionary.pad(), "eos": EOS, **options}
    return SentencePairDataset(parts, opposites, has_decoder, **options)


WORDS = {4: ("de", 5), 5: ("en", 4), 6: ("en", 7), 7: ("fr", 6)}  # language, and the word of the other side


def check_batch(batch: dict) -> int:
    """Every row has both sides and their languages. Returns how many are exchanged."""
    exchanged = 0
    rows = zip(
        batch["net_input"]["src_tokens"][:, 0].tolist(), batch["mirror"]["src_tokens"][:, 0].tolist(),
        batch["source_languages"].tolist(), batch["target_languages"].tolist(), strict=True,
    )  # fmt: skip
    for source, target, source_language, target_language in rows:
        assert WORDS[source][1] == target
        assert ["de", "en", "fr"][source_language] == WORDS[source][0]
        assert ["de", "en", "fr"][target_language] == WORDS[target][0]
        exchanged += source in (5, 7)
    return exchanged


@pytest.mark.parametrize("temperature", [None, 2.0])
def test_a_batch_has_both_sides_and_their_languages(dictionary, temperature):
    dataset = make(dictionary, temperature=temperature)
    batch = dataset.collater([dataset[index] for index in range(len(dataset))])
    assert check_batch(batch) == 0
    assert "target" not in batch and "prev_output_tokens" not in batch["net_input"]
    assert batch["ntokens"] == int(batch["net_input"]["src_tokens"].ne(dictionary.pad()).sum())
    assert batch["mirror"]["src_tokens"].size(1) <= LONGEST


@pytest.mark.parametrize("has_decoder", [False, True])
@pytest.mark.parametrize("temperature", [None, 2.0])
def test_sides_at_random_anew_in_every_epoch(dictionary, temperature, has_decoder):
    dataset = make(dictionary, exchanges=True, temperature=temperature, has_decoder=has_decoder)
    seen = []
    for epoch in (1, 2):
        dataset.set_epoch(epoch)
        examples = [dataset[index] for index in range(len(dataset))]
        assert 40 < check_batch(dataset.collater(examples)) < 80
        assert [len(example["source"]) for example in examples] == dataset.source_sizes.tolist()
        mirrors = np.array([len(example["mirror"]) for example in examples])
        assert (mirrors + has_decoder).tolist() == dataset.target_sizes.tolist()
        assert mirrors.tolist() == dataset.field_sizes.tolist()
        seen.append(dataset.exchanged.tolist())
    assert seen[0] != seen[1]
    again = make(dictionary, exchanges=True, temperature=temperature, has_decoder=has_decoder)
    again.set_epoch(2)
    assert again.exchanged.tolist() == seen[1]


def test_either_side_is_as_likely(dictionary):
    dataset, shares = make(dictionary, exchanges=True), []
    for epoch in range(1, 51):  # of 120 pairs
        dataset.set_epoch(epoch)
        shares.append(dataset.exchanged.mean())
    assert np.mean(shares) == pytest.approx(0.5, abs=0.03)


def test_a_decoder_predicts_the_other_side_after_its_language(dictionary):
    dataset = make(dictionary, exchanges=True, has_decoder=True)
    batch = dataset.collater([dataset[index] for index in range(len(dataset))])
    tags = [dictionary.index(f"__{language}__") for language in ("de", "en", "fr")]
    assert batch["target"][:, 0].tolist() == [tags[number] for number in batch["target_languages"]]
    assert torch.equal(batch["target"][:, 1:], batch["mirror"]["src_tokens"])
    assert batch["prefix_tokens"][:, 0].tolist() == batch["target"][:, 0].tolist()
    assert set(batch["net_input"]["prev_output_tokens"][:, 0].tolist()) == {EOS}
