"""Beam search with an interlingua: as fairseq's, and over several lengths."""

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator

from command_line.errors import InputError
from eval.translation.beam_search import BeamSearch, NoScore
from eval.translation.length_search import LengthSearch
from eval.translation.search_options import SearchOptions
from fairseq_ext.modules.residual_block import PLACEMENTS
from tests.fairseq_ext import bridges
from tests.fairseq_ext.bridges import KINDS, TaggedTask

OPTIONS = SearchOptions(beam=3, max_len_b=12, lenpen=0.7)
PAIRS = (("de", 6, "fr", 4), ("en", 3, "fr", 7), ("fr", 1, "fr", 9), ("fr", 9, "fr", 8), ("de", 2, "fr", 3))


@pytest.fixture
def task():
    return TaggedTask()


def model_that_ends(task, seed: int, kind: str = "variable", **options):
    """A random model whose hypotheses end at many lengths and depend on the length of the interlingua."""
    model = bridges.build(kind, task, seed=seed, share_all_embeddings=False, **options).eval()
    with torch.no_grad():
        model.decoder.output_projection.weight.mul_(4)
        model.decoder.output_projection.weight[task.dictionary.eos()] *= 4
    return model


def inputs_of(task, seed: int):
    inputs = bridges.batch(task, PAIRS, seed)["net_input"]
    prefix = torch.full((len(PAIRS), 1), task.tags.id_of("fr"))
    return inputs, prefix


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_same_hypotheses_as_fairseq(task, kind, placement):
    for seed in (1, 2):
        model = model_that_ends(task, seed, kind, norm_placement=placement)
        inputs, prefix = inputs_of(task, seed)
        ours = BeamSearch(model, task.dictionary, OPTIONS)(
            inputs["src_tokens"], inputs["src_lengths"], prefix
        )
        generator = SequenceGenerator([model], task.dictionary, beam_size=3, max_len_b=12, len_penalty=0.7)
        best = generator.generate([model], {"net_input": inputs}, prefix_tokens=prefix)
        assert ours == [hypotheses[0]["tokens"].tolist()[1:-1] for hypotheses in best]


def test_given_lengths_are_searched_as_predicted_ones(task):
    """Gold lengths are given to the encoder in this way: as if the predictor were always right."""
    differ = 0
    for seed in range(1, 5):
        model = model_that_ends(task, seed)
        inputs, prefix = inputs_of(task, seed)
        search = BeamSearch(model, task.dictionary, OPTIONS)
        arguments = inputs["src_tokens"], inputs["src_lengths"], prefix
        lengths = model.encoder(*arguments[:2])["interlingua_lengths"][0]
        plain = search.scored(*arguments)
        assert search.scored(*arguments, interlingua_lengths=lengths) == plain
        differ += search.scored(*arguments, interlingua_lengths=lengths // 2 + 1) != plain
    assert differ


def forced_score(model, task, source, tokens: list[int], length: int, weight: float) -> float:
    """(log p(y | x, l) + w log p(l | x)) / |y|^lenpen, by one pass over the whole hypothesis."""
    eos = task.dictionary.eos()
    target = [task.tags.id_of("fr"), *tokens, eos]
    previous = torch.tensor([[eos, *target[:-1]]])
    encoded = model.encoder(source, interlingua_lengths=torch.tensor([length]))
    log_p = model.decoder(previous, encoder_out=encoded)[0][0].log_softmax(-1)
    of_output = sum(float(log_p[i, token]) for i, token in enumerate(target))
    of_length = float(encoded["length_logits"][0][0].log_softmax(-1)[length - 1])
    return (of_output + weight * of_length) / len(target) ** OPTIONS.lenpen


@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0])
def test_the_best_of_several_lengths(task, weight):
    changed = 0
    for seed in range(1, 5):
        model = model_that_ends(task, seed)
        inputs, prefix = inputs_of(task, seed)
        search = BeamSearch(model, task.dictionary, OPTIONS)
        arguments = inputs["src_tokens"], inputs["src_lengths"], prefix
        ours, plain = LengthSearch(search, 4, weight)(*arguments), search(*arguments)
        for row in range(len(PAIRS)):
            source = inputs["src_tokens"][row : row + 1, : int(inputs["src_lengths"][row])]
            encoded = model.encoder(source)
            if PAIRS[row][0] == "en":
                assert ours[row] == plain[row]
                continue
            best = []
            for length in encoded["length_logits"][0][0].argsort(descending=True)[:4].tolist():
                given = {"interlingua_lengths": torch.tensor([length + 1])}
                tokens, _ = search.scored(source, source.ne(1).sum(1), prefix[:1], **given)[0]
                best.append((forced_score(model, task, source, tokens, length + 1, weight), tokens))
            assert ours[row] == max(best)[1]
            changed += ours[row] != plain[row]
    assert changed  # otherwise the lengths would not matter


def test_scores_are_log_probabilities_over_length(task):
    model = model_that_ends(task, 3)
    inputs, prefix = inputs_of(task, 3)
    lengths = torch.tensor([4, 6, 3, 9, 2])
    ours = BeamSearch(model, task.dictionary, OPTIONS).scored(
        inputs["src_tokens"], inputs["src_lengths"], prefix, interlingua_lengths=lengths
    )
    for row, (tokens, score) in enumerate(ours):
        source = inputs["src_tokens"][row : row + 1, : int(inputs["src_lengths"][row])]
        assert score == pytest.approx(
            forced_score(model, task, source, tokens, int(lengths[row]), 0.0), rel=1e-4
        )


def test_models_that_predict_no_length_are_refused(task):
    model = bridges.build("fixed-universal", task)
    with pytest.raises(InputError, match="--length-candidates 3: the model does not predict the length"):
        LengthSearch(BeamSearch(model, task.dictionary, OPTIONS), 3)


def test_scores_that_are_no_numbers_are_an_error_of_their_sentence(task, monkeypatch):
    """Most sentences have several rows in the search."""
    model = model_that_ends(task, seed=1)
    inputs, prefix = inputs_of(task, seed=1)
    search = BeamSearch(model, task.dictionary, OPTIONS)
    rows = model.encoder.length_candidates(inputs["src_tokens"], 3)[0].tolist()
    row = len(rows) - 1
    assert rows[row] != row

    def fail(*arguments, **options):
        raise NoScore(row)

    monkeypatch.setattr(search, "scored", fail)
    with pytest.raises(NoScore) as caught:
        LengthSearch(search, 3)(inputs["src_tokens"], inputs["src_lengths"], prefix)
    assert caught.value.row == rows[row]
