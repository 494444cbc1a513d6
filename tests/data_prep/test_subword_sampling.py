"""BPE dropout and sentencepiece's sampling: the text stays, without dropout the units, too; draws are
those of the libraries.
"""

import io
import math
import random
from collections import Counter
from types import SimpleNamespace

import pytest
import sentencepiece
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from command_line.errors import InputError
from data_prep.subword_models import BytePairs, SentencePieces
from data_prep.subword_sampling import BytePairDropout, SentencePieceSampling, make_sampler

TEXT = [
    "the lower houses are lower than the newest houses",
    "the newest lowlands are wider than the widest lands",
    "wider and wider houses , lower and lower lands",
] * 10


class Everything:
    """A dictionary that has every unit."""

    def __contains__(self, unit) -> bool:
        return True


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    path = tmp_path_factory.mktemp("bpe") / "subword.codes"
    with open(path, "w", encoding="utf-8") as stream:
        learn_bpe(io.StringIO("\n".join(TEXT)), stream, 40)
    return path


def learn_pieces(folder, kind: str):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_prefix=str(folder / "subword"), vocab_size=40,
        model_type=kind, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    return folder / "subword.model"


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def pieces(request, tmp_path_factory):
    return learn_pieces(tmp_path_factory.mktemp(request.param), request.param)


# --- subword-nmt


def test_draws_are_subword_nmts_with_the_same_random_numbers(codes):
    sampler = BytePairDropout(codes, 0.3, Everything())
    segment = BytePairs(codes).segment
    for seed, line in enumerate(TEXT[:3]):
        found = sampler.draw(segment(line).split(), seed)
        library = BPE(io.StringIO(codes.read_text()))
        random.seed(seed)
        import subword_nmt.apply_bpe as module

        module.random, kept = random, module.random
        try:
            assert found == library.segment_tokens(line.split(), 0.3)
        finally:
            module.random = kept


def test_the_text_stays_and_the_units_do_not(codes):
    plain = BytePairs(codes)
    sampler = BytePairDropout(codes, 0.3, Everything())
    seen = set()
    for seed in range(50):
        drawn = sampler.draw(plain.segment(TEXT[0]).split(), seed)
        assert plain.join(" ".join(drawn)) == TEXT[0]
        seen.add(tuple(drawn))
    assert len(seen) > 30
    assert sampler.draw(plain.segment(TEXT[0]).split(), 7) == sampler.draw(plain.segment(TEXT[0]).split(), 7)


def test_without_dropout_units_are_as_binarized(codes):
    plain = BytePairs(codes)
    sampler = BytePairDropout(codes, 0.0, Everything())
    for line in TEXT[:3]:
        assert sampler.draw(plain.segment(line).split(), 1) == plain.segment(line).split()


def test_all_merges_dropped_are_characters(codes):
    sampler = BytePairDropout(codes, 1 - 1e-12, Everything())
    assert sampler.draw(BytePairs(codes).segment("lower").split(), 1) == ["l@@", "o@@", "w@@", "e@@", "r"]


def test_units_that_the_dictionary_lacks_are_split_further_or_not_taken(codes):
    plain = BytePairs(codes)
    units = [unit for line in TEXT for unit in plain.segment(line).split()]
    known = {*units, *(c + "@@" for line in TEXT for c in line), *(c for line in TEXT for c in line)}
    drawn = [
        BytePairDropout(codes, 0.5, known).draw(plain.segment(line).split(), seed)
        for seed in range(20)
        for line in TEXT[:3]
    ]
    assert {unit for sentence in drawn for unit in sentence} <= known
    assert sum(map(len, drawn)) > 20 * sum(len(plain.segment(line).split()) for line in TEXT[:3])
    only = BytePairDropout(codes, 0.9, set(units))  # hardly a character is known
    for line in TEXT[:3]:
        sentence = only.draw(plain.segment(line).split(), 3)
        assert set(sentence) <= set(units)
        assert plain.join(" ".join(sentence)) == line


@pytest.mark.parametrize("lost", ["<unk>", "lo@@ <unk>", "lower@@", "l@@ o@@ w@@ e@@ r"])
def test_words_whose_text_is_lost_or_that_are_otherwise_stay(codes, lost):
    drawn = BytePairDropout(codes, 0.999, Everything()).draw(["lower", *lost.split()], 1)
    assert " ".join(drawn) == f"l@@ o@@ w@@ e@@ r {lost}"


# --- sentencepiece


def test_sentencepiece_draws_keep_the_text(pieces):
    plain = SentencePieces(pieces)
    sampler = SentencePieceSampling(pieces, 0.2, -1, Everything())
    units = plain.segment(TEXT[0]).split()
    drawn = {seed: sampler.draw(units, seed) for seed in range(40)}
    assert {plain.join(" ".join(draw)) for draw in drawn.values()} == {TEXT[0]}
    # two seeds may draw the same, and which do differs: training is not the same in every process
    assert len(set(map(tuple, drawn.values()))) > 10
    assert all(sampler.draw(units, seed) == draw for seed, draw in reversed(drawn.items()))


def test_unigram_draws_have_the_probabilities_of_kudo(tmp_path):
    """Among the n best, P(x)^alpha, from the model's own scores."""
    pieces = learn_pieces(tmp_path, "unigram")
    sampler = SentencePieceSampling(pieces, 0.5, 4, Everything())
    model = sentencepiece.SentencePieceProcessor(model_file=str(pieces))
    best = model.nbest_encode("lower", nbest_size=4, out_type=str)
    scores = [sum(model.get_score(model.piece_to_id(piece)) for piece in one) for one in best]
    weights = {tuple(one): math.exp(0.5 * score) for one, score in zip(best, scores, strict=True)}
    units = SentencePieces(pieces).segment("lower").split()
    counts = Counter(tuple(sampler.draw(units, seed)) for seed in range(800))
    assert set(counts) <= set(weights)
    for segmentation, weight in weights.items():
        assert counts[segmentation] / 800 == pytest.approx(weight / sum(weights.values()), abs=0.06)


def test_sentencepieces_words_with_unknown_units_stay_as_they_were(pieces):
    plain = SentencePieces(pieces)
    units = plain.segment(TEXT[0]).split()
    sampler = SentencePieceSampling(pieces, 0.9, -1, set(units))
    for seed in range(10):
        drawn = sampler.draw(units, seed)
        assert set(drawn) <= set(units)
        assert plain.join(" ".join(drawn)) == TEXT[0]
    lost = [*units[:3], "<unk>", *units[3:]]
    assert sampler.draw(lost, 1) == lost


# --- which of them


def preparation(kind, path):
    subword = {"type": kind, "model": path and path.name}
    return SimpleNamespace(folder=path.parent if path else "data", subword=subword)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("none", (0.1, 0, -1), "--subword-dropout: subwords of data are of type none, expected BPE"),
        ("transformers", (0.1, 0, -1), "--subword-dropout: subwords of data are of type transformers, exp"),
        ("none", (0, 0.1, -1), "--subword-alpha: subwords of data are of type none, expected a unigram m"),
    ],
)
def test_subwords_of_another_kind(kind, options, message):
    with pytest.raises(InputError, match=rf"^{message}"):
        make_sampler(preparation(kind, None), set(), *options)


def test_the_option_is_that_of_the_model(codes, pieces):
    assert isinstance(make_sampler(preparation("subword-nmt", codes), set(), 0.1, 0, -1), BytePairDropout)
    with pytest.raises(
        InputError, match=r"--subword-alpha: subwords of .* are of type subword-nmt, expected"
    ):
        make_sampler(preparation("subword-nmt", codes), set(), 0, 0.1, -1)
    unigram = SentencePieceSampling(pieces, 0.1, -1, set()).is_unigram
    right, wrong = ((0, 0.1, -1), (0.1, 0, -1)) if unigram else ((0.1, 0, -1), (0, 0.1, -1))
    assert make_sampler(preparation("sentencepiece", pieces), set(), *right).alpha == 0.1
    with pytest.raises(InputError, match=r"are of type sentencepiece, "):
        make_sampler(preparation("sentencepiece", pieces), set(), *wrong)
