"""Contrastive search (Sennrich et al. 2024) against the equation, written out for one sentence."""

import math

import pytest
import torch

from eval.translation.beam_search import BeamSearch
from eval.translation.best_tokens import NextTokens
from eval.translation.search_options import SearchOptions
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.ensemble import Ensemble
from tests.eval.translation.test_beam_search import model_that_ends
from tests.fairseq_ext.models import build, random_batch, toy_dictionary

DICTIONARY = toy_dictionary(20)
LENGTHS = ((7, 5), (4, 6), (9, 2))
EOS, PAD = DICTIONARY.eos(), DICTIONARY.pad()


def probabilities(models, source, given, words):
    """p(next token | words, source) of an ensemble."""
    tokens = torch.tensor([[*given, *words]])
    lengths = source.ne(PAD).sum(1)
    return sum(model(source, lengths, tokens)[0][0, -1].softmax(-1) for model in models) / len(models)


def plain_contrast(models, inputs, weights, options: SearchOptions) -> list[tuple[float, list[int]]]:
    """All finished hypotheses of a search that is written out, best first.

    Args:
        inputs: source (1 x S) and what the decoder is given (start, tag), of the sentence and its contrasts.
        weights: of the contrasts.
    """

    def log_difference(words):
        first, *others = (probabilities(models, source, given, words) for source, given in inputs)
        rest = first - sum(weight * other for weight, other in zip(weights, others, strict=True))
        return [math.log(value) if value > 0 else -math.inf for value in rest.tolist()]

    source, given = inputs[0]
    forced = 0.0
    for number in range(1, len(given)):  # the tag is given: it counts as without contrast
        forced += math.log(probabilities(models, source, given[:number], [])[given[number]])
    if options.score_without_tag:
        forced = 0.0
    beam, finished = [(forced, [])], []
    for step in range(len(given) - 1, options.max_len_b + 1):
        last = step == options.max_len_b
        candidates = []
        for score, words in beam:
            if last:  # so is </s> at the limit
                added = math.log(probabilities(models, source, given, words)[EOS])
                candidates.append((score + added, [*words, EOS]))
                continue
            for token, added in enumerate(log_difference(words)):
                if token != PAD and not (step == 0 and token == EOS) and added > -math.inf:
                    candidates.append((score + added, [*words, token]))
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * options.beam]
        for score, words in candidates[: options.beam]:
            if words[-1] == EOS and len(finished) < options.beam:
                length = step + 1 - (len(given) - 1) * options.score_without_tag
                finished.append((score / length**options.lenpen, words[:-1]))
        if len(finished) == options.beam:
            break
        beam = [candidate for candidate in candidates if candidate[1][-1] != EOS][: options.beam]
    return sorted(finished, key=lambda candidate: -candidate[0])


def contrasted_batch(prefix_length: int, contrasts: int, seed: int):
    """Sentences, then those of every contrast, each with a tag of its own."""
    lengths = [*LENGTHS, *([(3, 1), (8, 2), (2, 3)] * contrasts)]
    inputs = random_batch(DICTIONARY, lengths, seed=seed)["net_input"]
    tags = torch.tensor([DICTIONARY.index(f"w{3 + i // len(LENGTHS)}") for i in range(len(lengths))])
    return inputs["src_tokens"], inputs["src_lengths"], tags[:, None][:, :prefix_length]


def inputs_of(row: int, sources, prefix, starts=None):
    """What the plain search needs of one sentence."""
    rows = range(row, len(sources), len(LENGTHS))
    first = [EOS] * len(sources) if starts is None else starts.tolist()
    return [(sources[[number]], [first[number], *prefix[number].tolist()]) for number in rows]


@pytest.mark.parametrize("prefix_length", [0, 1])
@pytest.mark.parametrize(
    ("options", "weights"),
    [
        (SearchOptions(beam=3, max_len_b=7), [0.7]),
        (SearchOptions(beam=4, max_len_b=6, lenpen=0.5, score_without_tag=True), [0.3, 0.1]),
        (SearchOptions(beam=1, max_len_b=6), [0.1, 0.1, 0.6]),
        (SearchOptions(beam=4, max_len_b=5, lenpen=0.0), [0.5]),
    ],
    ids=["one", "two", "three", "without length"],
)
@torch.no_grad()
def test_hypotheses_and_scores_are_those_of_the_equation(options, weights, prefix_length):
    model = model_that_ends(MnmtTransformerModel, DICTIONARY, seed=len(weights))
    sources, lengths, prefix = contrasted_batch(prefix_length, len(weights), seed=len(weights))
    contrast = torch.tensor(weights)[:, None].expand(-1, len(LENGTHS))
    search = BeamSearch(model, DICTIONARY, options)
    ours = search.n_best(sources, lengths, prefix, count=1, contrast=contrast)
    plain = search.n_best(*(tensor[: len(LENGTHS)] for tensor in (sources, lengths, prefix)), count=1)
    assert len(ours) == len(LENGTHS)
    for row, ((tokens, score),) in enumerate(ours):
        (expected, words), *_ = plain_contrast([model], inputs_of(row, sources, prefix), weights, options)
        assert (tokens, score) == (words, pytest.approx(expected, rel=1e-4, abs=1e-5))
    assert ours != plain  # it makes a difference


@torch.no_grad()
def test_an_ensemble_its_list_and_starts_of_their_own():
    models = [model_that_ends(MnmtTransformerModel, DICTIONARY, seed) for seed in (1, 2)]
    sources, lengths, prefix = contrasted_batch(0, 2, seed=3)
    starts = torch.arange(len(sources)) % 7 + 5
    options, weights = SearchOptions(beam=3, max_len_b=5), [0.4, 0.2]
    search = BeamSearch(Ensemble(models), DICTIONARY, options)
    contrast = torch.tensor(weights)[:, None].expand(-1, len(LENGTHS))
    ours = search.n_best(sources, lengths, prefix, count=3, starts=starts, contrast=contrast)
    left = []
    for row, hypotheses in enumerate(ours):
        inputs = inputs_of(row, sources, prefix, starts)
        expected = plain_contrast(models, inputs, weights, options)
        left.append(bool(expected))  # of the last sentence every difference is below 0
        expected = expected or plain_contrast(models, inputs[:1], [], options)
        assert [tokens for tokens, _ in hypotheses] == [words for _, words in expected]
        assert [score for _, score in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-4)
    assert left == [True, True, False]


def rounded(ours: list) -> list:
    """Scores to what does not depend on how many rows a product of matrices has."""
    return [[(words, pytest.approx(score, rel=1e-5)) for words, score in hypotheses] for hypotheses in ours]


@torch.no_grad()
def test_weights_of_nothing_change_nothing():
    """Also beside sentences that have a contrast: directions share batches."""
    model = model_that_ends(MnmtTransformerModel, DICTIONARY, seed=1)
    sources, lengths, prefix = contrasted_batch(1, 2, seed=1)
    search = BeamSearch(model, DICTIONARY, SearchOptions(max_len_b=12))
    mixed = torch.zeros(2, len(LENGTHS))
    assert search.n_best(sources, lengths, prefix, count=5, contrast=mixed) == rounded(
        search.n_best(*(tensor[: len(LENGTHS)] for tensor in (sources, lengths, prefix)), count=5)
    )
    mixed[0, 1] = 0.5
    with_one = search.n_best(sources, lengths, prefix, count=1, contrast=mixed)
    without = search.n_best(*(tensor[: len(LENGTHS)] for tensor in (sources, lengths, prefix)), count=1)
    rows = [row for row in range(len(LENGTHS)) if row != 1]
    assert [with_one[row] for row in rows] == rounded([without[row] for row in rows])


@torch.no_grad()
def test_a_sentence_of_which_nothing_is_left_is_searched_without():
    """Of p - w p nothing is left where w is above 1."""
    model = model_that_ends(MnmtTransformerModel, DICTIONARY, seed=1)
    batch = random_batch(DICTIONARY, LENGTHS, seed=1)["net_input"]
    twice = [torch.cat([tensor, tensor]) for tensor in (batch["src_tokens"], batch["src_lengths"])]
    prefix = torch.full((2 * len(LENGTHS), 1), DICTIONARY.index("w3"))
    search = BeamSearch(model, DICTIONARY, SearchOptions(max_len_b=8))
    weights = torch.full((1, len(LENGTHS)), 0.5)
    weights[0, 2] = 1.5
    ours = search.n_best(*twice, prefix, count=1, contrast=weights)
    plain = search.n_best(batch["src_tokens"], batch["src_lengths"], prefix[: len(LENGTHS)], count=1)
    ((words, score),) = plain[2]
    assert ours[2] == [(words, pytest.approx(score, rel=1e-5))]
    assert all(hypotheses for hypotheses in ours)


@torch.no_grad()
def test_sentences_that_are_searched_without_are_no_longer_than_those_of_a_batch_without():
    """Their contrasts may be longer, from which the limit of a hypothesis does not follow."""
    model = build(MnmtTransformerModel, DICTIONARY, seed=1).eval()
    batch = random_batch(DICTIONARY, [*LENGTHS, (30, 1), (12, 1), (20, 1)], seed=1)["net_input"]
    sources, lengths = batch["src_tokens"], batch["src_lengths"]
    prefix = torch.full((len(sources), 1), DICTIONARY.index("w3"))
    search = BeamSearch(model, DICTIONARY, SearchOptions(max_len_a=1.5, max_len_b=1))
    weights = torch.tensor([[0.5, 1e6, 1e6]])  # of the last two nothing is left
    ours = search.n_best(sources, lengths, prefix, count=1, contrast=weights)
    own = slice(len(LENGTHS))
    plain = search.n_best(sources[own, : max(lengths[own])], lengths[own], prefix[own], count=1)
    assert ours[1:] == rounded(plain[1:])
    longest = search.max_length(int(max(lengths[own])))
    assert max(len(words) for ((words, _),) in plain) > longest - 3  # they run on as far as they may


@torch.no_grad()
def test_what_the_encoder_is_given_besides_is_given_to_the_second_search_too(monkeypatch):
    model = model_that_ends(MnmtTransformerModel, DICTIONARY, seed=1)
    batch = random_batch(DICTIONARY, LENGTHS, seed=1)["net_input"]
    twice = [torch.cat([tensor, tensor]) for tensor in (batch["src_tokens"], batch["src_lengths"])]
    prefix = torch.full((2 * len(LENGTHS), 1), DICTIONARY.index("w3"))
    plain, given = model.encoder.forward, []

    def forward(src_tokens, src_lengths, interlingua_lengths=None, **others):
        given.append(interlingua_lengths.tolist())
        return plain(src_tokens, src_lengths=src_lengths, **others)

    monkeypatch.setattr(model.encoder, "forward", forward)
    weights = torch.tensor([[0.5, 1.5, 1.5]])  # of the last two nothing is left
    search = BeamSearch(model, DICTIONARY, SearchOptions(max_len_b=8))
    lengths = torch.arange(6)
    ours = search.n_best(*twice, prefix, count=1, contrast=weights, interlingua_lengths=lengths)
    assert given == [[0, 1, 2, 3, 4, 5], [1, 2]] and all(ours)


def test_the_decoder_is_counted():
    """One sentence, no choice but two steps: each contrast costs as much as the sentence."""
    model = build(MnmtTransformerModel, DICTIONARY).eval()
    counts = []
    for contrasts in (0, 2):
        sources, lengths, prefix = contrasted_batch(1, contrasts, seed=1)
        search = BeamSearch(model, DICTIONARY, SearchOptions(beam=2, max_len_b=2))
        contrast = torch.full((contrasts, len(LENGTHS)), 0.1) if contrasts else None
        search.n_best(sources, lengths, prefix, count=1, contrast=contrast)
        counts.append(search.decoder_tokens)
    steps = 2 + 2  # the tag's and the first free step with one hypothesis, the last with two
    assert counts == [steps * len(LENGTHS), 3 * steps * len(LENGTHS)]


def test_differences_in_chunks_are_those_of_the_whole(monkeypatch):
    from eval.translation import best_tokens

    monkeypatch.setitem(best_tokens.LOGITS_PER_CHUNK, "cpu", 5 * 4 * best_tokens.BLOCK)
    torch.manual_seed(1)
    features, projection = torch.randn(3 * 13, 6), torch.randn(100, 6)
    weights = torch.rand(2, 13) / 2
    p = (features @ projection.t()).softmax(dim=1).view(3, 13, 100)
    expected = (p[0] - (weights[:, :, None] * p[1:]).sum(0)).clamp(min=0).log()
    expected[:, 1] = -torch.inf
    values, tokens = NextTokens([projection], never=[1]).best(features, 8, contrast=weights)
    best, _ = expected.sort(dim=1, descending=True)
    torch.testing.assert_close(values, best[:, :8], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(expected.gather(1, tokens), values, rtol=1e-4, atol=1e-4)
