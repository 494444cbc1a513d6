"""`BeamSearch` finds what fairseq's `SequenceGenerator` finds."""

import pytest
import torch
from fairseq.models.transformer import TransformerModel
from fairseq.sequence_generator import SequenceGenerator

from command_line.errors import InputError
from eval.translation.beam_search import BeamSearch, NoScore
from eval.translation.search_options import SearchOptions
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.ensemble import Ensemble
from tests.fairseq_ext.models import build, random_batch, toy_dictionary

LENGTHS = ((7, 5), (4, 6), (1, 1), (9, 2), (3, 3))


def fairseqs_best(model, dictionary, batch, prefix, options: SearchOptions, **first) -> list[list[int]]:
    generator = SequenceGenerator(
        [model],
        dictionary,
        beam_size=options.beam,
        max_len_a=options.max_len_a,
        max_len_b=options.max_len_b,
        len_penalty=options.lenpen,
    )
    prefix_tokens = prefix if prefix.size(1) else None
    hypotheses = generator.generate([model], batch, prefix_tokens=prefix_tokens, **first)
    return [best[0]["tokens"].tolist()[prefix.size(1) : -1] for best in hypotheses]


def model_that_ends(model_class, dictionary, seed, **options):
    """A random model whose hypotheses end at many lengths: outputs that are peaked and not tied to inputs."""
    model = build(model_class, dictionary, seed=seed, share_all_embeddings=False, **options).eval()
    with torch.no_grad():
        model.decoder.output_projection.weight.mul_(4)
        model.decoder.output_projection.weight[dictionary.eos()] *= 4
    return model


@pytest.mark.parametrize("prefix_length", [0, 1])
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(beam=1, max_len_b=20),
        SearchOptions(beam=2, max_len_b=20),
        SearchOptions(beam=5, max_len_b=30),
        SearchOptions(beam=5, max_len_b=30, lenpen=0.3),
        SearchOptions(beam=4, max_len_a=1.5, max_len_b=3),
        SearchOptions(beam=5, max_len_b=1),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_same_hypotheses_as_fairseq(options, prefix_length, seed):
    dictionary = toy_dictionary(20)
    model = model_that_ends(MnmtTransformerModel, dictionary, seed)
    batch = random_batch(dictionary, LENGTHS, seed=seed)
    prefix = torch.full((len(LENGTHS), prefix_length), dictionary.index("w3"))
    inputs = batch["net_input"]
    ours = BeamSearch(model, dictionary, options)(inputs["src_tokens"], inputs["src_lengths"], prefix)
    assert ours == fairseqs_best(model, dictionary, batch, prefix, options)


def test_hypotheses_of_many_lengths():
    """The comparison above would say little if all hypotheses ended at the limit: here they end anywhere."""
    dictionary, options = toy_dictionary(20), SearchOptions(max_len_b=30)
    lengths = set()
    for seed in range(1, 13):
        model = model_that_ends(MnmtTransformerModel, dictionary, seed)
        batch = random_batch(dictionary, LENGTHS, seed=seed)
        prefix = torch.full((len(LENGTHS), 1), dictionary.index("w3"))
        inputs = batch["net_input"]
        ours = BeamSearch(model, dictionary, options)(inputs["src_tokens"], inputs["src_lengths"], prefix)
        assert ours == fairseqs_best(model, dictionary, batch, prefix, options)
        lengths |= {len(hypothesis) for hypothesis in ours}
    assert len(lengths) > 4


@pytest.mark.parametrize("seed", [1, 2])
def test_a_model_of_stock_fairseq(seed):
    dictionary = toy_dictionary(20)
    model = model_that_ends(TransformerModel, dictionary, seed)
    batch = random_batch(dictionary, LENGTHS, seed=seed)
    prefix = torch.full((len(LENGTHS), 1), dictionary.index("w1"))
    options = SearchOptions(max_len_b=20)
    inputs = batch["net_input"]
    ours = BeamSearch(model, dictionary, options)(inputs["src_tokens"], inputs["src_lengths"], prefix)
    assert ours == fairseqs_best(model, dictionary, batch, prefix, options)


def test_prefixes_may_differ_within_a_batch():
    dictionary = toy_dictionary(20)
    model = model_that_ends(MnmtTransformerModel, dictionary, 1)
    batch = random_batch(dictionary, LENGTHS)
    prefix = torch.arange(len(LENGTHS))[:, None] + dictionary.nspecial
    options = SearchOptions(max_len_b=20)
    inputs = batch["net_input"]
    ours = BeamSearch(model, dictionary, options)(inputs["src_tokens"], inputs["src_lengths"], prefix)
    assert ours == fairseqs_best(model, dictionary, batch, prefix, options)


@pytest.mark.parametrize("prefix_length", [0, 1])
def test_every_sentence_may_start_with_a_token_of_its_own(prefix_length):
    dictionary, options = toy_dictionary(20), SearchOptions(max_len_b=20)
    model = model_that_ends(MnmtTransformerModel, dictionary, 1)
    batch = random_batch(dictionary, LENGTHS)
    prefix = torch.full((len(LENGTHS), prefix_length), dictionary.index("w3"))
    starts = torch.arange(len(LENGTHS)) + dictionary.nspecial + 5
    inputs = batch["net_input"]
    search = BeamSearch(model, dictionary, options)
    ours = search(inputs["src_tokens"], inputs["src_lengths"], prefix, starts=starts)
    first = starts.repeat_interleave(options.beam)
    assert ours == fairseqs_best(model, dictionary, batch, prefix, options, bos_token=first)
    assert ours != search(inputs["src_tokens"], inputs["src_lengths"], prefix)


def test_no_hypothesis_is_longer_than_the_model_can_write():
    dictionary = toy_dictionary(20)
    model = build(MnmtTransformerModel, dictionary, max_target_positions=8).eval()
    with torch.no_grad():
        model.decoder.output_projection.weight[dictionary.eos()] = -100 * torch.ones(32)
    search = BeamSearch(model, dictionary, SearchOptions(max_len_b=200))
    batch = random_batch(dictionary, LENGTHS)["net_input"]
    ours = search(batch["src_tokens"], batch["src_lengths"], torch.zeros(len(LENGTHS), 0, dtype=torch.long))
    assert search.max_length(10) == 7
    assert all(len(hypothesis) <= 7 for hypothesis in ours)


def test_the_longest_source_of_a_batch_limits_all_of_its_hypotheses():
    """As the help of --max-len-a says."""
    dictionary = toy_dictionary()
    model = build(MnmtTransformerModel, dictionary).eval()  # the first sentence ends at its limit only
    batch = random_batch(dictionary, [(3, 1), (11, 1)])["net_input"]
    search = BeamSearch(model, dictionary, SearchOptions(beam=2, max_len_a=2, max_len_b=1))
    sources, lengths, prefix = batch["src_tokens"], batch["src_lengths"], torch.empty(2, 0, dtype=torch.long)
    beside_another, _ = search(sources, lengths, prefix)
    (alone,) = search(sources[:1, :4], lengths[:1], prefix[:1])
    assert (len(beside_another), len(alone)) == (2 * 12 + 1, 2 * 4 + 1)


class Stop(Exception):
    pass


@pytest.mark.parametrize("interrupted", [False, True], ids=["finished", "interrupted"])
@pytest.mark.parametrize("model_class", [TransformerModel, MnmtTransformerModel])
def test_a_plain_pass_after_a_search_is_what_it_was_before(model_class, interrupted, monkeypatch):
    """fairseq's attention with a beam of 5 takes every fifth source, and says nothing where 5 divides B."""
    dictionary = toy_dictionary(20)
    model = model_that_ends(model_class, dictionary, 1)
    batch = random_batch(dictionary, LENGTHS)
    inputs = batch["net_input"]
    before = model(**inputs)[0]
    search = BeamSearch(model, dictionary, SearchOptions(beam=5, max_len_b=20))
    arguments = inputs["src_tokens"], inputs["src_lengths"], torch.zeros(len(LENGTHS), 0, dtype=torch.long)
    if interrupted:
        decode = model.decoder.forward

        def fail_at_the_fourth_step(tokens, **options):
            if tokens.size(1) == 4:
                raise Stop
            return decode(tokens, **options)

        with monkeypatch.context() as patch:
            patch.setattr(model.decoder, "forward", fail_at_the_fourth_step)
            with pytest.raises(Stop):
                search(*arguments)
    else:
        search(*arguments)
    assert torch.equal(model(**inputs)[0], before)


def test_an_adaptive_softmax_is_refused():
    dictionary = toy_dictionary(20)
    options = {"share_all_embeddings": False, "adaptive_softmax_cutoff": "10"}
    model = build(TransformerModel, dictionary, **options)
    with pytest.raises(InputError, match="--adaptive-softmax-cutoff"):
        BeamSearch(model, dictionary, SearchOptions())


def test_a_beam_as_wide_as_the_vocabulary_is_refused():
    dictionary = toy_dictionary(20)
    model, size = build(TransformerModel, dictionary), len(dictionary)
    batch = torch.tensor([[5, 6, dictionary.eos()]]), torch.tensor([3]), torch.empty(1, 0, dtype=torch.long)
    search = BeamSearch(model.eval(), dictionary, SearchOptions(beam=size - 1, max_len_b=3))
    assert search.n_best(*batch, size - 1)
    with pytest.raises(InputError, match=f"--beam {size}: expected fewer than the {size} symbols"):
        BeamSearch(model, dictionary, SearchOptions(beam=size))


def plain_search(model, dictionary, source, tag: int, options: SearchOptions) -> tuple[float, list[int]]:
    """The search of one sentence, written out: score and words of the best hypothesis."""

    def log_p(tokens):
        lengths = source.ne(dictionary.pad()).sum(1)
        return model(source, lengths, torch.tensor([tokens]))[0][0, -1].log_softmax(-1)

    first = float(log_p([dictionary.eos()])[tag]) if not options.score_without_tag else 0.0
    beam, finished = [(first, [dictionary.eos(), tag])], []
    for step in range(1, options.max_len_b + 1):
        candidates = []
        for score, tokens in beam:
            for token, added in enumerate(log_p(tokens).tolist()):
                if token != dictionary.pad() and (step < options.max_len_b or token == dictionary.eos()):
                    candidates.append((score + added, [*tokens, token]))
        candidates = sorted(candidates, reverse=True)[: 2 * options.beam]
        for score, tokens in candidates[: options.beam]:
            if tokens[-1] == dictionary.eos() and len(finished) < options.beam:
                length = len(tokens) - (2 if options.score_without_tag else 1)
                finished.append((score / length**options.lenpen, tokens[2:-1]))
        if len(finished) == options.beam:
            break
        beam = [entry for entry in candidates if entry[1][-1] != dictionary.eos()][: options.beam]
    return max(finished)


@pytest.mark.parametrize("lenpen", [0.5, 1.0])
def test_the_forced_tag_counts_in_the_score_or_not(lenpen):
    dictionary, ours = toy_dictionary(20), {True: [], False: []}
    tag = dictionary.index("w3")
    for seed in (1, 2):
        model = model_that_ends(MnmtTransformerModel, dictionary, seed)
        inputs = random_batch(dictionary, LENGTHS, seed=seed)["net_input"]
        prefix = torch.full((len(LENGTHS), 1), tag)
        for without_tag, hypotheses in ours.items():
            options = SearchOptions(beam=3, lenpen=lenpen, max_len_b=10, score_without_tag=without_tag)
            search = BeamSearch(model, dictionary, options)
            found_here = search.scored(inputs["src_tokens"], inputs["src_lengths"], prefix)
            for row, (tokens, score) in enumerate(found_here):
                source = inputs["src_tokens"][row : row + 1]
                with torch.no_grad():
                    expected, words = plain_search(model, dictionary, source, tag, options)
                assert (tokens, score) == (words, pytest.approx(expected, rel=1e-4))
                hypotheses.append(tokens)
    assert ours[True] != ours[False]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("step", [0, 1, 3, 6])
def test_scores_that_are_no_numbers_are_an_error(monkeypatch, value, step):
    """Of one sentence of a batch, at any step, also when it has a finished hypothesis already."""
    dictionary = toy_dictionary(20)
    model = model_that_ends(MnmtTransformerModel, dictionary, seed=1)
    batch = random_batch(dictionary, LENGTHS, seed=1)["net_input"]
    prefix = torch.zeros(len(LENGTHS), 0, dtype=torch.long)
    search = BeamSearch(model, dictionary, SearchOptions(max_len_b=6))
    continuations, seen = search._continuations, []

    def broken(live, *arguments, **options):
        row = (live.sentences == 3).nonzero().flatten()
        if live.tokens.size(2) - 1 == step and len(row):
            live.scores = live.scores.index_fill(0, row, value)
            seen.append(row)
        return continuations(live, *arguments, **options)

    search(batch["src_tokens"], batch["src_lengths"], prefix)
    monkeypatch.setattr(search, "_continuations", broken)
    with pytest.raises(NoScore) as caught:
        search(batch["src_tokens"], batch["src_lengths"], prefix)
    assert (caught.value.row, len(seen)) == (3, 1)


def fairseqs_lists(models, dictionary, batch, options: SearchOptions) -> list[list[tuple[list[int], float]]]:
    generator = SequenceGenerator(
        models, dictionary, beam_size=options.beam, max_len_b=options.max_len_b, len_penalty=options.lenpen
    )
    return [
        [(hypothesis["tokens"].tolist()[:-1], float(hypothesis["score"])) for hypothesis in hypotheses]
        for hypotheses in generator.generate(models, batch)
    ]


def alike(ours, expected) -> bool:
    """Equal tokens, and scores that differ by rounding."""
    return [tokens for tokens, _ in ours] == [tokens for tokens, _ in expected] and [
        score for _, score in ours
    ] == pytest.approx([score for _, score in expected], abs=1e-5)


@pytest.mark.parametrize("lenpen", [0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_lists_of_ensembles_are_fairseqs(members, count, lenpen):
    dictionary, options = toy_dictionary(20), SearchOptions(beam=4, max_len_b=12, lenpen=lenpen)
    none = torch.zeros(len(LENGTHS), 0, dtype=torch.long)
    for seed in (1, 2, 3):
        models = [
            model_that_ends(MnmtTransformerModel, dictionary, seed + 10 * member) for member in range(members)
        ]
        batch = random_batch(dictionary, LENGTHS, seed=seed)
        inputs = batch["net_input"]
        search = BeamSearch(Ensemble(models) if members > 1 else models[0], dictionary, options)
        lists = search.n_best(inputs["src_tokens"], inputs["src_lengths"], none, count)
        for ours, fairseqs in zip(lists, fairseqs_lists(models, dictionary, batch, options), strict=True):
            assert alike(ours, fairseqs[:count])


def test_an_ensemble_of_equal_models_is_the_model():
    dictionary, options = toy_dictionary(20), SearchOptions(max_len_b=12)
    model = model_that_ends(MnmtTransformerModel, dictionary, 1)
    inputs = random_batch(dictionary, LENGTHS)["net_input"]
    arguments = inputs["src_tokens"], inputs["src_lengths"], torch.zeros(len(LENGTHS), 0, dtype=torch.long)
    ours = BeamSearch(Ensemble([model, model]), dictionary, options).scored(*arguments)
    assert alike(ours, BeamSearch(model, dictionary, options).scored(*arguments))


def ngrams(tokens: list[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1)]


def test_fairseqs_option_bans_nothing_on_a_cpu():
    """Why the next test has a loop for a reference: without its extension for GPUs, fairseq compares the end
    of its buffer, which is padding.
    """
    dictionary = toy_dictionary(20)
    model = build(MnmtTransformerModel, dictionary, seed=1, share_all_embeddings=False).eval()
    batch = random_batch(dictionary, LENGTHS)
    free, banned = (
        SequenceGenerator([model], dictionary, beam_size=1, max_len_b=20, no_repeat_ngram_size=size)
        for size in (0, 2)
    )
    hypotheses = [best[0]["tokens"].tolist() for best in banned.generate([model], batch)]
    assert hypotheses == [best[0]["tokens"].tolist() for best in free.generate([model], batch)]
    assert any(len(set(ngrams(tokens, 2))) < len(ngrams(tokens, 2)) for tokens in hypotheses)


@pytest.mark.parametrize("size", [2, 3])
def test_no_ngram_occurs_twice(size):
    """A model that repeats itself, with and without the option, for a beam of 1 against a greedy loop."""
    dictionary = toy_dictionary(20)
    model = build(MnmtTransformerModel, dictionary, seed=1, share_all_embeddings=False).eval()
    inputs = random_batch(dictionary, LENGTHS)["net_input"]
    prefix = torch.full((len(LENGTHS), 1), dictionary.index("w3"))
    arguments = inputs["src_tokens"], inputs["src_lengths"], prefix
    free = BeamSearch(model, dictionary, SearchOptions(beam=1, max_len_b=20))(*arguments)
    assert any(len(set(ngrams(tokens, size))) < len(ngrams(tokens, size)) for tokens in free)
    options = SearchOptions(beam=1, max_len_b=20, no_repeat_ngram=size)
    for row, ours in enumerate(BeamSearch(model, dictionary, options)(*arguments)):
        source = inputs["src_tokens"][row : row + 1]
        tokens = [dictionary.eos(), dictionary.index("w3")]
        while len(tokens) < 21:
            with torch.no_grad():
                lengths = source.ne(dictionary.pad()).sum(1)
                logits = model(source, lengths, torch.tensor([tokens]))[0][0, -1]
            allowed = [
                token
                for token in range(len(dictionary))
                if token != dictionary.pad() and (tuple([*tokens, token][-size:]) not in ngrams(tokens, size))
            ]
            token = max(allowed, key=lambda candidate: float(logits[candidate]))
            if token == dictionary.eos():
                break
            tokens.append(token)
        assert ours == tokens[2:]
    wide = SearchOptions(beam=4, max_len_b=20, no_repeat_ngram=size)
    for ours in BeamSearch(model, dictionary, wide)(*arguments):
        assert len(set(ngrams(ours, size))) == len(ngrams(ours, size))
