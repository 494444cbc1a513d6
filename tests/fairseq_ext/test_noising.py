"""Every transform: the paper's own example, and what must hold for any sentence (10,000 random ones)."""

from itertools import pairwise

import numpy as np
import pytest

from data_prep.formats.structures import Structure
from data_prep.parsing.bunsetsu_order import reversed_bunsetsu
from fairseq_ext.data.noising.example import Sentence, Symbols, masked_example
from fairseq_ext.data.noising.masking import bmass, infilling, mass, multimass, span_lengths
from fairseq_ext.data.noising.pmass import pmass_plural, pmass_single
from fairseq_ext.data.noising.reordering import brss_forward, brss_reverse, deshuffling, hfss
from fairseq_ext.data.noising.tasks import TASKS, task_token
from tests.fairseq_ext.random_sentences import Draws, random_sentence

MASK, EOS = 1, 2
SYMBOLS = Symbols(mask=MASK, eos=EOS)
SENTENCES = 10_000

# figures 4.3, 4.4, 4.7, 4.8: "LoveLive is made of three projects"
WORDS = ["ラブライブ", "は", "三つ", "の", "プロジェクト", "から", "成る", "。"]
BUNSETSU_ENDS = [2, 4, 6, 8]
TOKENS = np.arange(10, 18)


def words_in(boundaries=(), order=()) -> Structure:
    """Bunsetsu of words that are tokens."""
    return Structure(np.array(boundaries, dtype=np.int64), np.array(order), np.arange(len(WORDS) + 1))


def text_of(ids) -> str:
    names = {MASK: "[M]", EOS: "</s>"} | dict(zip(TOKENS.tolist(), WORDS, strict=True))
    return " ".join(names[token] for token in ids.tolist())


def test_mass_as_figure_4_2_and_song_et_al_have_it():
    tokens = np.arange(11, 19)  # x1 .. x8, of which x3 .. x6 are masked
    example = mass(Sentence(tokens, None, Draws(integers=[2]), SYMBOLS))
    assert example.source.tolist() == [11, 12, MASK, MASK, MASK, MASK, 17, 18, EOS]
    assert example.decoder_input.tolist() == [MASK, 13, 14, 15]
    assert example.target.tolist() == [13, 14, 15, 16]
    assert example.positions.tolist() == [2, 3, 4, 5]


def test_inverted_mask_of_equation_4_1():
    tokens = np.arange(11, 19)
    example = mass(Sentence(tokens, None, Draws(integers=[2]), SYMBOLS, inverted=True))
    assert example.source.tolist() == [11, 12, MASK, MASK, MASK, MASK, 17, 18, EOS]
    assert example.target.tolist() == [MASK, MASK, 13, 14, 15, 16, MASK, MASK, EOS]
    assert example.decoder_input.tolist() == [EOS, MASK, MASK, 13, 14, 15, 16, MASK, MASK]
    assert example.positions.tolist() == list(range(9))


def test_multimass_figure_4_7():
    example = multimass(Sentence(TOKENS, None, Draws(permutations=[[4, 0, 5, 2, 1, 3, 6, 7]]), SYMBOLS))
    assert text_of(example.source) == "[M] は [M] の [M] [M] 成る 。 </s>"
    assert text_of(example.target) == "ラブライブ 三つ プロジェクト から"
    assert text_of(example.decoder_input) == "</s> [M] [M] プロジェクト"


def test_bmass_figure_4_4():
    example = bmass(
        Sentence(TOKENS, words_in(boundaries=BUNSETSU_ENDS[:-1]), Draws(permutations=[[0, 2, 1, 3]]), SYMBOLS)
    )
    assert text_of(example.source) == "[M] [M] 三つ の [M] [M] 成る 。 </s>"
    assert text_of(example.target) == "ラブライブ は プロジェクト から"


def test_brss_figure_4_4():
    structure = words_in(order=reversed_bunsetsu(WORDS, BUNSETSU_ENDS))
    forward = brss_forward(Sentence(TOKENS, structure, None, SYMBOLS))
    assert text_of(forward.source) == "ラブライブ は 成る プロジェクト から 三つ の 。 </s>"
    assert text_of(forward.target) == "ラブライブ は 三つ の プロジェクト から 成る 。 </s>"
    backward = brss_reverse(Sentence(TOKENS, structure, None, SYMBOLS))
    assert backward.source.tolist() == forward.target.tolist()
    assert backward.target.tolist() == forward.source.tolist()
    assert backward.decoder_input.tolist() == [EOS, *backward.target[:-1].tolist()]


def test_deshuffling_figure_4_8():
    shuffled = TOKENS[[6, 2, 0, 7, 5, 1, 4, 3]]
    example = deshuffling(Sentence(TOKENS, None, Draws(permutations=[shuffled]), SYMBOLS))
    assert text_of(example.source) == "成る 三つ ラブライブ 。 から は プロジェクト の </s>"
    assert text_of(example.target) == "ラブライブ は 三つ の プロジェクト から 成る 。 </s>"


def test_hfss_moves_words_as_a_whole():
    # "John | hit | a | ball@@ s" -> "John a ball@@ s hit"
    structure = Structure(np.array([1, 2, 3]), np.array([0, 2, 3, 1]), np.array([0, 1, 2, 3, 5]))
    example = hfss(Sentence(np.array([20, 21, 22, 23, 24]), structure, None, SYMBOLS))
    assert example.source.tolist() == [20, 22, 23, 24, 21, EOS]
    assert example.target.tolist() == [20, 21, 22, 23, 24, EOS]


def test_infilling_by_eye():
    class Fixed(Draws):
        def poisson(self, _mean, size):
            return np.array([2, 0, 9])

    # 4 of 12 tokens: spans of 2, 0 and (cut) 2 tokens, of which the places 3, 5 and 8 of the source are drawn
    draws = Fixed(permutations=[[8, 3, 5, 0, 1, 2, 4, 6, 7, 9, 10]])
    example = infilling(Sentence(np.arange(20, 32), None, draws, SYMBOLS))
    assert example.source.tolist() == [20, 21, 22, MASK, 25, MASK, 26, 27, MASK, 30, 31, EOS]
    assert example.target.tolist() == [*range(20, 32), EOS]


def test_infilling_spans_follow_poisson():
    rng = np.random.default_rng(1)
    lengths = np.concatenate([span_lengths(3_000, 3.0, rng)[:-1] for _ in range(20)])
    assert lengths.mean() == pytest.approx(3.0, abs=0.06)
    assert lengths.var() == pytest.approx(3.0, abs=0.15)
    assert all(span_lengths(count, 3.0, rng).sum() == count for count in range(1, 200))


def test_a_span_of_infilling_has_three_tokens_on_average():
    """Lewis et al. 2020: lambda is 3; 3,000 of 10,000 tokens are hidden."""
    rng, tokens = np.random.default_rng(1), np.arange(10, 10_010)
    spans = [np.sum(infilling(Sentence(tokens, None, rng, SYMBOLS)).source == MASK) for _ in range(20)]
    assert np.mean(spans) == pytest.approx(3_000 / 3, rel=0.03)


def masking_examples(rng):
    """(tokens, example) of every masking task."""
    for number in range(SENTENCES):
        inverted = number % 5 == 0
        tokens, bunsetsu = random_sentence(rng, "bunsetsu")
        yield tokens, mass(Sentence(tokens, None, rng, SYMBOLS, inverted)), inverted
        yield tokens, multimass(Sentence(tokens, None, rng, SYMBOLS, inverted)), inverted
        yield tokens, bmass(Sentence(tokens, bunsetsu, rng, SYMBOLS, inverted)), inverted
        tokens, phrases = random_sentence(rng, "phrases")
        yield tokens, pmass_single(Sentence(tokens, phrases, rng, SYMBOLS, inverted)), inverted
        yield tokens, pmass_plural(Sentence(tokens, phrases, rng, SYMBOLS, inverted)), inverted


def test_source_and_target_restore_the_sentence():
    for tokens, example, inverted in masking_examples(np.random.default_rng(2)):
        assert example.source[-1] == EOS
        source = example.source[:-1]
        assert len(example.target) == len(example.decoder_input) == len(example.positions)
        masked = source == MASK
        assert masked.any()
        if inverted:
            hidden = example.target[:-1]
            assert ((hidden == MASK) == ~masked).all()
            assert np.where(masked, hidden, source).tolist() == tokens.tolist()
            assert example.decoder_input.tolist() == [EOS, *hidden.tolist()]
            continue
        # what is predicted is exactly what is masked: no predicted word is visible in the source
        assert example.positions.tolist() == np.flatnonzero(masked).tolist()
        restored = source.copy()
        restored[example.positions] = example.target
        assert restored.tolist() == tokens.tolist()
        for position, read in zip(example.positions.tolist(), example.decoder_input.tolist(), strict=True):
            if position == 0:
                assert read == EOS
            else:
                assert read == (tokens[position - 1] if masked[position - 1] else MASK)


def test_reordering_keeps_the_tokens():
    rng = np.random.default_rng(3)
    for _ in range(SENTENCES):
        tokens, structure = random_sentence(rng, "bunsetsu")
        expected = np.concatenate(
            [tokens[structure.starts[unit] : structure.starts[unit + 1]] for unit in structure.order]
        )
        for example in (
            brss_forward(Sentence(tokens, structure, rng, SYMBOLS)),
            hfss(Sentence(tokens, structure, rng, SYMBOLS)),
            deshuffling(Sentence(tokens, structure, rng, SYMBOLS)),
        ):
            assert sorted(example.source.tolist()) == sorted([*tokens.tolist(), EOS])
            assert example.target.tolist() == [*tokens.tolist(), EOS]
            assert example.decoder_input.tolist() == [EOS, *tokens.tolist()]
            assert example.positions.tolist() == list(range(len(tokens) + 1))
        assert (
            brss_forward(Sentence(tokens, structure, rng, SYMBOLS)).source[:-1].tolist() == expected.tolist()
        )
        backward = brss_reverse(Sentence(tokens, structure, rng, SYMBOLS))
        assert backward.target[:-1].tolist() == expected.tolist()


def test_infilling_leaves_the_other_tokens_in_order():
    rng = np.random.default_rng(4)
    for _ in range(SENTENCES):
        tokens = rng.permutation(np.arange(10, 10 + int(rng.integers(1, 60))))
        example = infilling(Sentence(tokens, None, rng, SYMBOLS))
        kept = example.source[(example.source != MASK) & (example.source != EOS)]
        assert kept.tolist() == [token for token in tokens.tolist() if token in set(kept.tolist())]
        assert len(tokens) - len(kept) == max(1, round(0.3 * len(tokens)))
        assert example.target.tolist() == [*tokens.tolist(), EOS]


def test_half_is_masked():
    rng = np.random.default_rng(5)
    for _ in range(500):
        tokens, bunsetsu = random_sentence(rng, "bunsetsu")
        half = max(1, len(tokens) // 2)
        assert len(mass(Sentence(tokens, None, rng, SYMBOLS)).target) == half
        assert len(multimass(Sentence(tokens, None, rng, SYMBOLS)).target) == half
        fragment = mass(Sentence(tokens, None, rng, SYMBOLS)).positions
        assert (np.diff(fragment) == 1).all()
        edges = [0, *bunsetsu.token_boundaries().tolist(), len(tokens)]
        masked = bmass(Sentence(tokens, bunsetsu, rng, SYMBOLS)).source[:-1] == MASK
        parts = [masked[a:b] for a, b in pairwise(edges)]
        assert all(part.all() or not part.any() for part in parts)
        assert sum(part.all() for part in parts) == max(1, len(parts) // 2)


@pytest.mark.parametrize("transform", [mass, multimass])
def test_masks_differ_from_epoch_to_epoch(transform):
    tokens = np.arange(10, 30)
    sources = {
        tuple(transform(Sentence(tokens, None, np.random.default_rng(seed), SYMBOLS)).source)
        for seed in range(50)
    }
    assert len(sources) > 5


def test_every_fragment_is_equally_likely():
    rng, counts = np.random.default_rng(6), np.zeros(5)
    for _ in range(5_000):
        counts[mass(Sentence(np.arange(10, 18), None, rng, SYMBOLS)).positions[0]] += 1
    assert (abs(counts / 1_000 - 1) < 0.15).all()


def test_an_empty_sentence_is_no_error():
    nothing = np.array([], dtype=np.int64)
    sentence = Sentence(nothing, None, None, SYMBOLS)
    assert masked_example(sentence, nothing.astype(bool)).source.tolist() == [EOS]
    assert mass(Sentence(nothing, None, np.random.default_rng(1), SYMBOLS)).target.tolist() == []


TABLE_4_2 = {  # what a name stands for, what marks its examples, and when tokens are unified (footnote 20)
    "mass": (mass, "mass", "masking"),
    "multimass": (multimass, "multimass", "masking"),
    "bmass": (bmass, "bmass", "masking"),
    "pmass.s": (pmass_single, "pmass", "masking"),
    "pmass.p": (pmass_plural, "pmass", "masking"),
    "infilling": (infilling, "infilling", "masking"),
    "deshuffling": (deshuffling, "deshuffling", "reordering"),
    "brss.f": (brss_forward, "brss", "reordering"),
    "brss.r": (brss_reverse, "brss", "reordering"),
    "hfss": (hfss, "hfss", "reordering"),
}


def test_what_the_names_of_tasks_stand_for():
    found = {
        name: (task.make, *(task_token(name, unified) for unified in (False, True)))
        for name, task in TASKS.items()
    }
    assert found == {
        name: (transform, *(f"__task_{token}__" for token in tokens))
        for name, (transform, *tokens) in TABLE_4_2.items()
    }


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_transform_is_called_alike_and_keeps_what_it_is_given(task):
    rng = np.random.default_rng(7)
    for inverted in (False, True):
        tokens, structure = random_sentence(rng, task.needs or "bunsetsu")
        before = tokens.copy(), [array.copy() for array in structure]
        example = task.make(Sentence(tokens, structure if task.needs else None, rng, SYMBOLS, inverted))
        assert example.source[-1] == EOS
        assert len(example.decoder_input) == len(example.target) == len(example.positions)
        assert np.array_equal(tokens, before[0])
        assert all(map(np.array_equal, structure, before[1]))
