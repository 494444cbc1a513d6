"""What a sentence encoder is trained on: a budget, a shortest length, sides that are drawn independently."""

import logging

import numpy as np
import pytest

from command_line.errors import InputError
from fairseq_ext.data.sampling import spread
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_sentences
from tests.fairseq_ext.test_sentence_embedding import EOS, make_criterion, make_model, make_task

UNPAIRED = {"pairs": "de-en", "unpaired": True}


@pytest.fixture
def folder(tmp_path):
    """40 pairs de-en and 20 en-fr, line i of words i (de: once, en: 1 to 8 times), and text in it alone."""
    folder = tmp_path / "data"
    write_dictionaries(folder, ["de", "en", "fr", "it"], words=60)
    for pair, lines in (("de-en", 40), ("en-fr", 20)):
        first = [[4 + i] * 6 + [EOS] for i in range(lines)]
        write_pair(folder, "train", pair, first, [[4 + i] * (1 + i % 8) + [EOS] for i in range(lines)])
        write_pair(folder, "valid", pair, first[:3], first[:3])
    for name, lines in (("news", 7), ("web", 5)):
        write_sentences(folder / f"train.{name}.it", [[40 + i, EOS] for i in range(lines)])
    return folder


def pairs_of(dataset) -> list[tuple[int, int, int]]:
    """Part, first word of the source and of the other side, of all examples of the epoch."""
    examples = [dataset[index] for index in range(len(dataset))]
    return [(each["part"], int(each["source"][0]), int(each["mirror"][0])) for each in examples]


def loaded(folder, losses: str = "sentence_contrastive", **options):
    task = make_task(folder, **{"pairs": "de-en,en-fr", **options})
    make_model(task)
    make_criterion(task, losses)
    task.load_dataset("train")
    return task.dataset("train")


# --- a budget and a shortest length


def test_the_budget_is_drawn_from_all_pairs_and_stays_the_same(folder):
    dataset = loaded(folder, pair_budget=30)
    first = pairs_of(dataset)
    assert len(set(first)) == 30
    assert all(source == target for _, source, target in first)
    assert {part for part, *_ in first} == {0, 1}
    dataset.set_epoch(2)
    assert pairs_of(dataset) == first
    assert pairs_of(loaded(folder, pair_budget=30)) == first
    assert pairs_of(loaded(folder, pair_budget=30, seed=2)) != first


def test_the_budget_of_several_pairs_follows_their_sizes():
    counts = np.array(
        [[len(part) for part in spread([400, 100], 50, np.random.default_rng(seed))] for seed in range(200)]
    )
    assert (counts.sum(1) == 50).all()
    assert counts[:, 0].mean() == pytest.approx(40, abs=0.6)
    assert [part.tolist() for part in spread([2, 3], 9, np.random.default_rng(1))] == [[0, 1], [0, 1, 2]]


def test_the_budget_may_be_drawn_from_more_lines_than_numpy_takes():
    sizes = [2_000_000_000, 1, 1_000_000_000]
    parts = spread(sizes, 3000, np.random.default_rng(1))
    assert sum(map(len, parts)) == 3000 and len(parts[0]) == pytest.approx(2000, abs=100)
    for part, size in zip(parts, sizes, strict=True):
        assert (np.diff(part) > 0).all() and ((part >= 0) & (part < size)).all()
    for part, size in ((parts[0], sizes[0]), (parts[2], sizes[2])):
        assert part.mean() == pytest.approx(size / 2, rel=0.05)


def test_the_lines_that_a_seed_draws_stay_the_same():
    drawn = spread([400, 100], 8, np.random.default_rng(1))
    assert [part.tolist() for part in drawn] == [[102, 108, 122, 163, 167, 329, 343], [83]]


def test_short_sentences_are_left_out_after_the_budget_is_drawn(folder, caplog):
    drawn = pairs_of(loaded(folder, pair_budget=30))
    with caplog.at_level(logging.INFO):
        kept = pairs_of(loaded(folder, pair_budget=30, min_tokens=5))
    assert kept == [pair for pair in drawn if (pair[1] - 4) % 8 >= 4]
    parts = [sum(part == number for part, *_ in drawn) for number in (0, 1)]
    short = parts[0] - sum(part == 0 for part, *_ in kept)
    assert f"train de-en: {parts[0]} of 40 lines are drawn (--pair-budget)" in caplog.messages
    left_out = f"{short} of {parts[0]} lines are left out, not of 5 tokens or more (--min-tokens)"
    assert f"train de-en: {left_out}" in caplog.messages


def test_long_pairs_are_left_out(folder):
    """Line i has 6 and 1 + i % 8 words."""
    kept = pairs_of(loaded(folder, max_pair_tokens=10))
    assert kept == [pair for pair in pairs_of(loaded(folder)) if 7 + (pair[1] - 4) % 8 <= 10]
    assert 0 < len(kept) < 60
    assert pairs_of(loaded(folder, max_pair_tokens=10, max_source_positions=5)) == kept  # before they are cut


def test_batches_of_pairs_of_any_length(folder):
    """Those of an epoch are the same ones as by length, and others than those of the next epoch."""
    dataset = loaded(folder, random_batches=True)
    lengths = dataset.target_sizes[dataset.ordered_indices()]
    batches = np.array_split(lengths, 12)
    assert np.mean([len(set(batch)) for batch in batches]) > 3  # of 5 pairs; by length: 1 or 2
    assert sorted(pairs_of(dataset)) == sorted(pairs_of(loaded(folder)))
    first = dataset.ordered_indices().tolist()
    assert first == loaded(folder, random_batches=True).ordered_indices().tolist()
    dataset.set_epoch(2)
    assert first != dataset.ordered_indices().tolist()


def test_the_first_of_what_is_left(folder, caplog):
    """Of every pair of languages, where it has as many."""
    with caplog.at_level(logging.INFO):
        kept = pairs_of(loaded(folder, min_tokens=5, first_pairs=12))
    assert kept == [
        pair for part, most in ((0, 12), (1, 12))
        for pair in [one for one in pairs_of(loaded(folder, min_tokens=5)) if one[0] == part][:most]
    ]  # fmt: skip
    assert [sum(part == number for part, *_ in kept) for number in (0, 1)] == [12, 8]
    assert "train de-en: the first 12 of 20 lines are read (--first-pairs)" in caplog.messages


def test_a_budget_is_sampled_with_a_temperature(folder):
    dataset = loaded(folder, pair_budget=30, sampling_temperature=5)
    assert set(pairs_of(dataset)) <= set(pairs_of(loaded(folder, pair_budget=30)))
    assert len(dataset) == 30


def test_validation_has_all_pairs(folder):
    task = make_task(folder, pairs="de-en", pair_budget=1, min_tokens=50)
    make_model(task)
    make_criterion(task)
    task.load_dataset("valid")
    assert len(task.dataset("valid")) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair_budget": 0}, "--pair-budget 0: expected a number above 0"),
        ({"min_tokens": -1}, "--min-tokens -1: expected a number, 0 or above"),
        (
            {"min_tokens": 9},
            "train de-en: nothing to train on; of 40 lines 40 are drawn .*, of which none is of 9",
        ),
        ({"max_pair_tokens": 0}, "--max-pair-tokens 0: expected a number above 0"),
        ({"max_pair_tokens": 6}, "none is of 0 tokens or more .*, with its translation up to 6 .--max-pair"),
        ({"first_pairs": 0}, "--first-pairs 0: expected a number above 0"),
        ({**UNPAIRED, "first_pairs": 9}, "--first-pairs: not with --unpaired"),
        ({**UNPAIRED, "max_pair_tokens": 9}, "--max-pair-tokens: not with --unpaired"),
        ({**UNPAIRED, "random_sides": True}, "--random-sides: not with --unpaired"),
        ({**UNPAIRED, "encoder_vectors": "frozen"}, "--encoder-vectors: not with --unpaired, which draws"),
        (
            UNPAIRED,
            "--unpaired: --losses sentence_contrastive needs translations; adversarial_ali",
        ),
        (
            {**UNPAIRED, "pairs": "de-xx", "langs": "de,xx", "losses": "cycle_consistency"},
            r"train\.\*\.xx\.idx: no such file; expected text in xx",
        ),
        (
            {"random_sides": True, "losses": "cycle_consistency"},
            "--random-sides: not with --losses cycle_consistency, to which a side is a language",
        ),
        (
            {"unpaired": True, "losses": "adversarial_alignment"},
            "--pairs de-en,en-fr: en is on both sides, and to --losses adversarial_alignment a side is a",
        ),
    ],
)
def test_what_is_refused(folder, options, message):
    if "xx" in options.get("pairs", ""):
        write_dictionaries(folder, ["xx"], words=60)
    with pytest.raises(InputError, match=message):
        loaded(folder, **options)


# --- unpaired


def test_both_sides_of_a_bitext_are_drawn_independently(folder):
    dataset = loaded(folder, "cycle_consistency", **UNPAIRED)
    epochs = []
    for epoch in (1, 2, 1):
        dataset.set_epoch(epoch)
        epochs.append(pairs_of(dataset))
        for side in (1, 2):
            assert sorted(each[side] for each in epochs[-1]) == list(range(4, 44))
        assert sum(source == target for _, source, target in epochs[-1]) < 8
    assert epochs[0] == epochs[2] != epochs[1]


def test_a_budget_is_drawn_independently_for_either_side(folder):
    """Else the translation of every sentence is in the sample, in another row."""
    drawn = pairs_of(loaded(folder, "cycle_consistency", **UNPAIRED, pair_budget=20))
    german, english = ({each[side] for each in drawn} for side in (1, 2))
    assert len(german) == len(english) == 20
    assert 4 <= len(german & english) <= 16  # 10 are expected by chance, 20 with one draw
    again = pairs_of(loaded(folder, "cycle_consistency", **UNPAIRED, pair_budget=20))
    assert drawn == again


def test_sides_of_two_monolingual_texts(folder):
    """Twelve sentences of Italian for forty of German, in all texts of the language."""
    dataset = loaded(folder, "adversarial_alignment", **{**UNPAIRED, "pairs": "it-de"})
    found = pairs_of(dataset)
    assert sorted(german for *_, german in found) == list(range(4, 44))
    times = np.unique([italian for _, italian, _ in found], return_counts=True)
    assert times[0].tolist() == [40, 41, 42, 43, 44, 45, 46]  # words of two texts
    assert times[1].sum() == 40
    batch = dataset.collater([dataset[index] for index in dataset.ordered_indices()[:8]])
    assert batch["source_languages"].tolist() == [1] * 8  # de, it
    assert batch["mirror"]["src_tokens"].shape[1] == 7


def test_batches_are_not_sorted_by_length(folder):
    dataset = loaded(folder, "cycle_consistency", **{**UNPAIRED, "pairs": "en-de"})
    lengths = dataset.source_sizes[dataset.ordered_indices()]
    assert sorted(lengths) != lengths.tolist()
    assert dataset.source_sizes.tolist() == [len(dataset[i]["source"]) for i in range(len(dataset))]


def test_short_sentences_of_either_side_are_left_out(folder):
    found = pairs_of(loaded(folder, "cycle_consistency", **UNPAIRED, min_tokens=5))
    assert len({german for _, german, _ in found}) == 40  # all of them are long
    assert {(english - 4) % 8 for *_, english in found} == {4, 5, 6, 7}
