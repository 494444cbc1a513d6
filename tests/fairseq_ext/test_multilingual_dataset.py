"""`MultilingualDataset`: literal batches, fairseq's `LanguagePairDataset` as reference, and epochs that can
be resumed.
"""

import numpy as np
import pytest
import torch
from fairseq.data import AppendTokenDataset, LanguagePairDataset, ListDataset, StripTokenDataset

from fairseq_ext.data.dataset_parts import pad_right
from fairseq_ext.data.language_tags import PLACEMENTS, LanguageTags
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from tests.fairseq_ext.models import toy_dictionary

DICTIONARY = toy_dictionary(10)
PAD, EOS = DICTIONARY.pad(), DICTIONARY.eos()


def ids(text: str) -> list[int]:
    """ "w0 w1" -> token ids with `</s>`."""
    return [DICTIONARY.index(word) for word in text.split()] + [EOS]


def direction_data(direction, sources, targets, tags=None) -> DirectionData:
    """Sentences as lists of token ids."""
    sizes = [np.array([len(each) for each in side]) for side in (sources, targets)]
    sides = [
        ListDataset([torch.tensor(each) for each in side], size)
        for side, size in zip((sources, targets), sizes, strict=True)
    ]
    if tags:
        return DirectionData.with_tags(tags, direction, *sides, *sizes)
    return DirectionData(direction, *sides, *sizes, [], [])


def random_part(direction, count: int, seed: int) -> DirectionData:
    rng = np.random.default_rng(seed)
    sides = [[[*rng.integers(4, 14, rng.integers(1, 9)), EOS] for _ in range(count)] for _ in range(2)]
    return direction_data(direction, *sides)


def dataset_of_two(**options) -> MultilingualDataset:
    parts = [random_part(("de", "en"), 40, seed=1), random_part(("en", "de"), 8, seed=2)]
    return MultilingualDataset(parts, PAD, EOS, **options)


def words(tensor: torch.Tensor) -> list[str]:
    return [" ".join(DICTIONARY[index] for index in row) for row in tensor]


# --- collation


LITERAL = {
    "s-enc-t-dec": (
        ["__de__ w0 w1 </s>", "__fr__ w2 </s> <pad>"],
        ["</s> __en__ w5 <pad>", "</s> __de__ w6 w7"],
        ["__en__ w5 </s> <pad>", "__de__ w6 w7 </s>"],
    ),
    "t-enc": (
        ["__en__ w0 w1 </s>", "__de__ w2 </s> <pad>"],
        ["</s> w5 <pad>", "</s> w6 w7"],
        ["w5 </s> <pad>", "w6 w7 </s>"],
    ),
    "t-dec": (
        ["w0 w1 </s>", "w2 </s> <pad>"],
        ["</s> __en__ w5 <pad>", "</s> __de__ w6 w7"],
        ["__en__ w5 </s> <pad>", "__de__ w6 w7 </s>"],
    ),
    "s-enc-t-enc": (
        ["__de__ __en__ w0 w1 </s>", "__fr__ __de__ w2 </s> <pad>"],
        ["</s> w5 <pad>", "</s> w6 w7"],
        ["w5 </s> <pad>", "w6 w7 </s>"],
    ),
    "none": (
        ["w0 w1 </s>", "w2 </s> <pad>"],
        ["</s> w5 <pad>", "</s> w6 w7"],
        ["w5 </s> <pad>", "w6 w7 </s>"],
    ),
    "mbart": (
        ["w0 w1 </s> __de__", "w2 </s> __fr__ <pad>"],
        ["__en__ w5 <pad>", "__de__ w6 w7"],
        ["w5 </s> <pad>", "w6 w7 </s>"],
    ),
}  # fmt: skip
LITERAL["embedded"] = LITERAL["mbart"]  # the model takes the tags out
LITERAL["embedded-t-enc"] = (
    ["w0 w1 </s> __de__ __en__", "w2 </s> __fr__ __de__ <pad>"],
    *LITERAL["mbart"][1:],
)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_literal_batch(placement):
    """de "w0 w1" -> en "w5" and fr "w2" -> de "w6 w7" in one batch."""
    tags = LanguageTags(DICTIONARY, ["de", "en", "fr"], placement)
    parts = [
        direction_data(("de", "en"), [ids("w0 w1")], [ids("w5")], tags),
        direction_data(("fr", "de"), [ids("w2")], [ids("w6 w7")], tags),
    ]
    dataset = MultilingualDataset(parts, PAD, EOS, shuffle=False)
    batch = dataset.collater([dataset[0], dataset[1]])
    source, previous, target = LITERAL[placement]
    assert words(batch["net_input"]["src_tokens"]) == source
    assert words(batch["net_input"]["prev_output_tokens"]) == previous
    assert words(batch["target"]) == target
    assert batch["net_input"]["src_lengths"].tolist() == [
        len(s.replace(" <pad>", "").split()) for s in source
    ]
    assert batch["ntokens"] == batch["target"].ne(PAD).sum()
    assert (batch["nsentences"], batch["id"].tolist()) == (2, [0, 1])
    assert (batch["parts"].tolist(), batch["lines"].tolist()) == ([0, 1], [0, 0])
    forced = [["__en__"], ["__de__"]] if PLACEMENTS[placement].decoder else [[], []]
    assert [[DICTIONARY[index] for index in row] for row in batch["prefix_tokens"]] == forced
    starts = [DICTIONARY[index] for index in batch.get("decoder_start", [])]
    assert starts == (["__en__", "__de__"] if PLACEMENTS[placement].starts_decoder else [])


def test_tags_as_in_mbart_are_those_of_fairseqs_task():
    """`translation_from_pretrained_bart` appends a tag to both sides and ends sentences at the target's; the
    tag that it predicts after `</s>` is the one difference.
    """
    tags = LanguageTags(DICTIONARY, ["de", "en", "fr"], "mbart")
    plain = random_part(("de", "en"), 20, seed=3)
    part = DirectionData.with_tags(
        tags, ("de", "en"), plain.sources, plain.targets, plain.source_sizes, plain.target_sizes
    )
    ours = MultilingualDataset([part], PAD, EOS, shuffle=False)
    source, target = (
        AppendTokenDataset(StripTokenDataset(side, PAD), tags.id_of(language))
        for side, language in ((plain.sources, "de"), (plain.targets, "en"))
    )
    sizes = plain.source_sizes + 1, plain.target_sizes + 1
    fairseqs = LanguagePairDataset(
        source, sizes[0], DICTIONARY, target, sizes[1], DICTIONARY,
        left_pad_source=False, shuffle=False, eos=tags.id_of("en"),
    )  # fmt: skip
    expected = fairseqs.collater([fairseqs[index] for index in (3, 7, 1, 12)])
    found = ours.collater([ours[index] for index in expected["id"].tolist()])
    for name in ("src_tokens", "src_lengths"):
        assert torch.equal(found["net_input"][name], expected["net_input"][name]), name
    rows = zip(
        found["net_input"]["prev_output_tokens"], expected["net_input"]["prev_output_tokens"],
        found["target"], expected["target"], strict=True,
    )  # fmt: skip
    for previous, fairseqs_previous, sentence, fairseqs_sentence in rows:
        length = int(sentence.ne(PAD).sum())
        assert previous[:length].tolist() == fairseqs_previous[:length].tolist()
        assert fairseqs_sentence[:length].tolist() == sentence[:length].tolist()
        assert fairseqs_sentence[length] == tags.id_of("en")
    assert ours.source_sizes.tolist() == sizes[0].tolist()
    assert ours.target_sizes.tolist() == plain.target_sizes.tolist()


def test_collation_equals_fairseqs():
    part = random_part(("de", "en"), 20, seed=3)
    ours = MultilingualDataset([part], PAD, EOS, shuffle=False)
    fairseqs = LanguagePairDataset(
        part.sources, part.source_sizes, DICTIONARY, part.targets, part.target_sizes, DICTIONARY,
        left_pad_source=False, shuffle=False,
    )  # fmt: skip
    chosen = [3, 7, 1, 12]
    expected = fairseqs.collater([fairseqs[index] for index in chosen])
    found = ours.collater([ours[index] for index in expected["id"].tolist()])  # fairseq sorts by length
    for name in ("src_tokens", "src_lengths", "prev_output_tokens"):
        assert torch.equal(found["net_input"][name], expected["net_input"][name]), name
    for name in ("id", "target"):
        assert torch.equal(found[name], expected[name]), name
    assert (found["ntokens"], found["nsentences"]) == (expected["ntokens"], expected["nsentences"])


def test_without_targets():
    part = random_part(("de", "en"), 5, seed=3)
    part.targets = part.target_sizes = None
    dataset = MultilingualDataset([part], PAD, EOS, shuffle=False)
    batch = dataset.collater([dataset[0], dataset[1]])
    assert "target" not in batch
    assert "prev_output_tokens" not in batch["net_input"]
    assert batch["ntokens"] == batch["net_input"]["src_tokens"].ne(PAD).sum()


def test_empty_batch():
    assert dataset_of_two().collater([]) == {}


def test_pad_right():
    rows = [np.array([5, 6, 2]), np.array([7, 2])]
    assert pad_right(rows, 1).tolist() == [[5, 6, 2], [7, 2, 1]]
    assert pad_right(rows, 1, shift_right_from=2).tolist() == [[2, 5, 6], [2, 7, 1]]
    assert pad_right(rows, 1, shift_right_from=[8, 9]).tolist() == [[8, 5, 6], [9, 7, 1]]


# --- order, batches, sizes


def test_examples_are_ordered_by_source_then_target_length():
    dataset = dataset_of_two()
    order = dataset.ordered_indices()
    lengths = [(len(dataset[index]["source"]), len(dataset[index]["target"])) for index in order]
    assert lengths == sorted(lengths)
    assert sorted(order) == list(range(48))
    assert [dataset.size(index) for index in order] == lengths


def test_batches_hold_everything_once_within_the_limit():
    dataset = dataset_of_two()
    batches = dataset.batch_by_size(dataset.ordered_indices(), max_tokens=30)
    assert sorted(index for batch in batches for index in batch) == list(range(48))
    for batch in batches:
        assert len(batch) * max(max(dataset.size(index)) for index in batch) <= 30
    assert any(len(set(dataset.part_numbers[batch])) == 2 for batch in batches)


def test_separate_directions_are_never_mixed():
    dataset = dataset_of_two(separate_parts=True)
    batches = dataset.batch_by_size(dataset.ordered_indices(), max_tokens=30)
    assert sorted(index for batch in batches for index in batch) == list(range(48))
    assert all(len(set(dataset.part_numbers[batch])) == 1 for batch in batches)


@pytest.mark.parametrize("multiple", [1, 8])
@pytest.mark.parametrize("limits", [{"max_tokens": 30}, {"max_tokens": 4000}, {"max_sentences": 10}], ids=str)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 39])
def test_no_example_is_lost_whatever_the_batch_sizes_are_multiples_of(count, limits, multiple):
    dataset = MultilingualDataset([random_part(("de", "en"), count, seed=1)], PAD, EOS)
    order = dataset.ordered_indices()
    batches = dataset.batch_by_size(order, **limits, required_batch_size_multiple=multiple)
    assert [index for batch in batches for index in batch] == order.tolist()


@pytest.mark.parametrize(
    ("limit", "source_limit", "target_limit"), [((4, 6), 4, 6), (5, 5, 5), ((9, 9), 9, 9)]
)
def test_filter_by_size(limit, source_limit, target_limit):
    dataset = dataset_of_two()
    indices = dataset.ordered_indices()
    kept, ignored = dataset.filter_indices_by_size(indices, limit)

    def fits(index):
        return dataset.size(index)[0] <= source_limit and dataset.size(index)[1] <= target_limit

    assert kept.tolist() == [index for index in indices if fits(index)]
    assert ignored == [index for index in indices if not fits(index)]
    assert dataset.filter_indices_by_size(indices, None)[0] is indices


# --- epochs


def fingerprint(dataset) -> list:
    """Everything that training sees of an epoch."""
    order = dataset.ordered_indices()
    return [(int(dataset.part_numbers[i]), int(dataset.lines[i])) for i in order]


@pytest.mark.parametrize("temperature", [None, 1.0, 5.0])
def test_an_epoch_depends_on_seed_and_number_not_on_history(temperature):
    straight = dataset_of_two(temperature=temperature, seed=3)
    epochs = []
    for epoch in (1, 2, 3):
        straight.set_epoch(epoch)
        fingerprint(straight)
        epochs.append(fingerprint(straight))
    resumed = dataset_of_two(temperature=temperature, seed=3)
    resumed.set_epoch(3)
    assert fingerprint(resumed) == epochs[2]
    assert epochs[0] != epochs[1] != epochs[2]
    other_seed = dataset_of_two(temperature=temperature, seed=4)
    other_seed.set_epoch(3)
    assert fingerprint(other_seed) != epochs[2]


def test_without_temperature_every_pair_is_seen_once():
    dataset = dataset_of_two()
    dataset.set_epoch(5)
    assert sorted(fingerprint(dataset)) == [(0, i) for i in range(40)] + [(1, i) for i in range(8)]


def test_temperature_samples_anew_in_every_epoch():
    """40^(1/5) : 8^(1/5) = 0.58 : 0.42 of 48 examples."""
    dataset = dataset_of_two(temperature=5.0)
    large = []
    for epoch in range(1, 4):
        dataset.set_epoch(epoch)
        assert len(dataset) == 48
        assert np.bincount(dataset.part_numbers).tolist() == [28, 20]
        small = np.bincount(dataset.lines[dataset.part_numbers == 1], minlength=8)
        assert set(small) == {2, 3}  # 20 draws of 8 items
        large.append(set(dataset.lines[dataset.part_numbers == 0].tolist()))
        assert len(large[-1]) == 28
        assert len(dataset.sizes) == len(dataset.num_tokens_vec(np.arange(48))) == 48
    assert large[0] != large[1] != large[2]


def test_sizes_follow_the_sampled_items():
    dataset = dataset_of_two(temperature=5.0)
    dataset.set_epoch(4)
    for index in range(len(dataset)):
        example = dataset[index]
        assert dataset.size(index) == (len(example["source"]), len(example["target"]))


def test_not_shuffled_is_stable():
    dataset = dataset_of_two(shuffle=False)
    before = fingerprint(dataset)
    dataset.set_epoch(2)
    assert fingerprint(dataset) == before


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_workers_see_the_epoch(workers):
    dataset = dataset_of_two(temperature=5.0)
    dataset.set_epoch(7)
    batches = dataset.batch_by_size(dataset.ordered_indices(), max_sentences=16)
    loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=batches, collate_fn=dataset.collater, num_workers=workers
    )
    for indices, batch in zip(batches, loader, strict=True):
        expected = dataset.collater([dataset[index] for index in indices])
        assert torch.equal(batch["net_input"]["src_tokens"], expected["net_input"]["src_tokens"])
        assert batch["lines"].tolist() == dataset.lines[indices].tolist()
