"""The ranking losses of OneAligner and of dual-pivot transfer against plain loops over their equations."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.losses.global_ranking import GlobalRanking, GlobalRankingOptions, global_ranking
from fairseq_ext.losses.triplet_ranking import (
    TripletRanking,
    TripletRankingOptions,
    negatives,
    triplet_ranking,
)
from fairseq_ext.models.mnmt_transformer import MnmtEncoder
from fairseq_ext.modules.similarity import TokenStates, bert_score, normalized, pooled_similarity
from tests.fairseq_ext.sentence_pairs import EOS, SIZES, outputs_of, pair_batch, pair_vectors
from tests.fairseq_ext.test_sentence_losses import make_batch, make_criterion, make_model, run

N = 5


def random_scores(seed: int, pairs: int = N) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(pairs, pairs, generator=generator, dtype=torch.float64, requires_grad=True)


def assert_equal_with_gradient(scores: Tensor, found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(loss, scores)[0] for loss in (found, expected))
    torch.testing.assert_close(*gradients)


def global_in_a_loop(scores: Tensor, one_dimensional: bool) -> Tensor:
    """2.4: each positive logit with all N^2 - N negative ones, or with the N - 1 of its source."""
    total = 0
    for i in range(len(scores)):
        wrong = [
            scores[m, n]
            for m in range(len(scores))
            for n in range(len(scores))
            if m != n and (m == i or not one_dimensional)
        ]
        assert len(wrong) == (N - 1 if one_dimensional else N * N - N)
        right = scores[i, i].exp()
        total = total - (right / (right + sum(each.exp() for each in wrong))).log()
    return total


@pytest.mark.parametrize("one_dimensional", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_global_ranking_is_the_equation(seed, one_dimensional):
    scores = random_scores(seed)
    found = global_ranking(scores, one_dimensional)
    assert_equal_with_gradient(scores, found, global_in_a_loop(scores, one_dimensional))


@pytest.mark.parametrize("function", [global_ranking, lambda scores: triplet_ranking(scores, 0.2, 2)])
def test_one_pair_has_no_negatives_but_gradients(function):
    scores = random_scores(1, pairs=1)
    loss = function(scores)
    assert float(loss) == 0
    assert torch.autograd.grad(loss, scores)[0].tolist() == [[0.0]]


def test_large_scores_do_not_overflow():
    scores = torch.tensor([[900.0, -900.0], [1800.0, 900.0]], requires_grad=True)
    loss = global_ranking(scores)
    assert float(loss) == 1800
    assert torch.autograd.grad(loss, scores)[0].isfinite().all()


def triplets_in_a_loop(
    scores: Tensor, margin: float, rows: list, columns: list, without_hinge: bool = False, mean: bool = False
) -> Tensor:
    """h of 3.2 with these negatives: `rows[i]` of source i, `columns[i]` of target i, the hardest first."""
    counted = []
    for i in range(len(scores)):
        costs = [margin - scores[i, i] + scores[i, n] for n in rows[i]]  # sim(a, b_n)
        wrong = [margin - scores[i, i] + scores[n, i] for n in columns[i]]  # sim(a_n, b)
        for hardest, *others in (costs, wrong):
            counted += [hardest] if without_hinge or hardest > 0 else []
            counted += [each for each in others if each > 0]
    return 0 * scores.sum() + sum(counted) * (len(scores) / max(1, len(counted)) if mean else 1)


def hardest_in_a_loop(scores: list[list[float]]) -> list[int]:
    return [
        max((n for n in range(len(scores)) if n != i), key=lambda n, i=i: scores[i][n])
        for i in range(len(scores))
    ]


@pytest.mark.parametrize("margin", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_triplet_ranking_is_the_equation(seed, margin):
    scores = random_scores(seed)
    rows = [[n] for n in hardest_in_a_loop(scores.tolist())]
    columns = [[n] for n in hardest_in_a_loop(scores.t().tolist())]
    found = triplet_ranking(scores, margin)
    assert_equal_with_gradient(scores, found, triplets_in_a_loop(scores, margin, rows, columns))


def test_with_all_others_as_negatives():
    scores = random_scores(1)
    others = [[n for n in range(N) if n != i] for i in range(N)]
    for random_negatives in (N - 2, 99):
        found = triplet_ranking(scores, 0.4, random_negatives)
        assert_equal_with_gradient(scores, found, triplets_in_a_loop(scores, 0.4, others, others))


def hardest_first(scores: list[list[float]]) -> list[list[int]]:
    hardest = hardest_in_a_loop(scores)
    return [[h, *(n for n in range(len(scores)) if n not in (i, h))] for i, h in enumerate(hardest)]


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("without_hinge", [False, True])
@pytest.mark.parametrize("random_negatives", [0, N - 2])
@pytest.mark.parametrize("easier", [-1.0, 1.0, 9.0])
def test_which_triplets_count_and_how_much(easier, random_negatives, without_hinge, mean):
    """From batches in which most triplets are hard to those that the hinge leaves nothing of."""
    for seed in range(3):
        scores = (random_scores(seed).detach() + easier * torch.eye(N)).requires_grad_()
        sides = (hardest_first(side.tolist()) for side in (scores, scores.t()))
        rows, columns = ([row[: 1 + random_negatives] for row in side] for side in sides)
        found = triplet_ranking(scores, 0.2, random_negatives, without_hinge, mean)
        expected = triplets_in_a_loop(scores, 0.2, rows, columns, without_hinge, mean)
        assert_equal_with_gradient(scores, found, expected)
        if easier == 9:
            assert (float(found) < 0) == without_hinge and (without_hinge or float(found) == 0)


def test_without_a_hinge_the_mean_is_one_of_all_sentences():
    """Of 2N hardest negatives, N times: half their sum."""
    scores = random_scores(1)
    found, total = (triplet_ranking(scores, 0.2, 0, True, mean) for mean in (True, False))
    torch.testing.assert_close(found, total / 2)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("without_hinge", [False, True])
def test_a_similarity_that_is_no_number_is_seen(without_hinge, mean):
    scores = random_scores(1).detach()
    scores[1, 1] = math.nan
    assert triplet_ranking(scores, 0.0, 1, without_hinge, mean).isnan()


def test_the_hardest_negative_is_there_with_others_drawn_at_random():
    scores = random_scores(2).detach()
    torch.manual_seed(0)
    drawn = [negatives(scores, 2) for _ in range(300)]
    for found in drawn:
        assert found[:, 0].tolist() == hardest_in_a_loop(scores.tolist())
        assert all(len({*row, i}) == 4 for i, row in enumerate(found.tolist()))
    counts = torch.stack([torch.nn.functional.one_hot(found[:, 1:], N).sum(1) for found in drawn]).sum(0)
    assert ((counts == 0).sum(1) == 2).all()  # the pair itself and the hardest
    assert (counts[counts > 0] - 200).abs().max() < 60  # three others, of which two are drawn


# --- how sentences are compared


def make(loss=GlobalRanking, **options):
    own = GlobalRankingOptions if loss is GlobalRanking else TripletRankingOptions
    return loss(own(**options), SIZES)


@pytest.mark.parametrize(("loss", "function"), [(GlobalRanking, global_ranking), (TripletRanking, None)])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("normalization", [0.0, 0.75])
def test_vectors_are_compared(loss, function, similarity, normalization):
    u, v = pair_vectors()
    temperature = {"temperature": 0.5} if function else {"margin": 0.3}
    term = make(loss, weight=3.0, similarity=similarity, normalization=normalization, **temperature)(
        outputs_of(u, v), pair_batch()
    )
    scores = normalized(pooled_similarity(u, v, similarity == "cosine"), normalization)
    expected = function(scores / 0.5) if function else triplet_ranking(scores, 0.3)
    torch.testing.assert_close(term.value, expected.detach())
    torch.testing.assert_close(term.loss, 3 * expected)
    assert term.count == 3


@pytest.mark.parametrize("option", ["hardest_without_hinge", "mean_of_triplets"])
def test_options_say_which_triplets_count(option):
    u, v = pair_vectors()
    term = make(TripletRanking, margin=0.3, **{option: True})(outputs_of(u, v), pair_batch())
    expected = triplet_ranking(pooled_similarity(u, v), 0.3, **{option: True})
    torch.testing.assert_close(term.value, expected.detach())
    assert not torch.isclose(expected, triplet_ranking(pooled_similarity(u, v), 0.3))


@pytest.mark.parametrize("similarity", ["bert-score", "bert-score-cosine"])
@pytest.mark.parametrize("without_specials", [False, True])
def test_token_states_are_compared(similarity, without_specials):
    """The default is the paper's: F of dot products, strength 0.75, temperature 5, all negatives."""
    batch, generator = pair_batch(), torch.Generator().manual_seed(1)
    encoded, sides = [], []
    for text in (batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"]):
        states = torch.randn(*text.shape, 4, generator=generator, dtype=torch.float64)
        padding = text.eq(SIZES.padding)
        encoded.append({"encoder_out": [states.transpose(0, 1)], "encoder_padding_mask": [padding]})
        specials = text.eq(EOS) if without_specials else None
        sides.append(TokenStates.of(states, padding, specials, cosine=similarity != "bert-score"))
    outputs = SimpleNamespace(source=encoded[0], mirror=encoded[1])
    default = {} if similarity == "bert-score" else {"similarity": similarity}
    term = make(without_specials=without_specials, **default)(outputs, batch)
    torch.testing.assert_close(term.value, global_ranking(normalized(bert_score(*sides).f, 0.75) / 5))


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        (GlobalRanking, {"temperature": 0.0}, "--global-ranking-temperature 0.0: expected a number above 0"),
        (GlobalRanking, {"normalization": -1.0}, "--global-ranking-normalization -1.0: expected a number, 0"),
        (TripletRanking, {"normalization": math.nan}, "--triplet-ranking-normalization nan: expected a num"),
        (TripletRanking, {"margin": -0.1}, "--triplet-ranking-margin -0.1: expected a number, 0 or above"),
        (TripletRanking, {"random_negatives": -1}, "--triplet-ranking-random-negatives -1: expected a num"),
        (TripletRanking, {"without_specials": True}, "--triplet-ranking-similarity cosine: expected a BERT"),
    ],
)
def test_options_that_mean_nothing(loss, options, message):
    with pytest.raises(InputError, match=message):
        make(loss, **options)


# --- with a real encoder


@pytest.mark.parametrize("layer", ["top", "1", "mix"])
def test_bert_score_reads_the_states_that_are_pooled(layer):
    model, batch = make_model(pooling_layer=layer).eval(), make_batch()
    loss, size, _ = make_criterion("global_ranking", model)(model, batch)
    sides = []
    for text in (batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"]):
        encoded = model.encoder(text, return_all_hiddens=True)
        top = MnmtEncoder.forward(model.encoder, text)["encoder_out"][0]
        layers = torch.stack([*encoded["encoder_states"][:-1], top])
        states = {"top": layers[-1], "1": layers[1], "mix": layers.mean(0)}[layer]
        sides.append(TokenStates.of(states.transpose(0, 1), encoded["token_padding_mask"][0]))
    expected = global_ranking(normalized(bert_score(*sides).f, 0.75) / 5)
    torch.testing.assert_close(loss, expected)
    assert size == 5


@pytest.mark.parametrize("loss", ["global_ranking", "triplet_ranking"])
def test_gradients_are_cached_where_vectors_are_compared(loss):
    options = {f"{loss}_similarity": "cosine"}
    model, batch = make_model(), make_batch()
    found = run(make_criterion(loss, model, cached_gradients=2, **options), model, batch)
    expected = run(make_criterion(loss, model, **options), model, batch)
    for one, other in zip([found[0], *found[3]], [expected[0], *expected[3]], strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    with pytest.raises(InputError, match=f"--cached-gradients 2: --losses {loss} needs more of a sentence"):
        make_criterion(loss, model, cached_gradients=2, **{f"{loss}_similarity": "bert-score"})


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ({"sentence_width": 6}, "--sentence-width"),
        ({"pooling": "pooler"}, "--pooling pooler"),
        ({"pooler_width": 6}, "--pooler-width"),
    ],
)
@pytest.mark.parametrize("loss", ["global_ranking", "triplet_ranking"])
def test_parameters_that_no_loss_would_train_are_refused(loss, model, named):
    model = make_model(**model)
    by_tokens = {f"{loss}_similarity": "bert-score"}
    with pytest.raises(InputError, match=f"^{named}: would stay untrained, as --losses {loss} compare"):
        make_criterion(loss, model, **by_tokens)
    make_criterion(f"{loss},sentence_contrast", model, **by_tokens)  # which trains them
    make_criterion(loss, model, **{f"{loss}_similarity": "cosine"})
    make_criterion(loss, make_model(pooling_layer="mix"), **by_tokens)  # of which BERT-score has a share
