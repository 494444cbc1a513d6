"""The criterion with the losses of sentence encoders and a real one: EMS, its ablations, large batches."""

from argparse import Namespace
from types import SimpleNamespace

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.criterions.weighted_losses import WeightedLosses, WeightedLossesConfig
from fairseq_ext.losses.weighted_loss import ModelOutputs, ModelSizes, vectors_of
from fairseq_ext.models.sentence_encoder import SentenceEncoderModel
from tests.fairseq_ext.models import SIZES, ToyTask, random_batch, toy_dictionary

DICTIONARY = toy_dictionary()
EMS = "token_reconstruction,sentence_contrast"
LENGTHS = ((7, 5), (4, 6), (1, 1), (3, 8), (6, 2))
ENCODER = {name: value for name, value in SIZES.items() if not name.startswith("decoder_")}


def make_model(dropout: float = 0.0, seed: int = 1, **options) -> SentenceEncoderModel:
    torch.manual_seed(seed)
    args = Namespace(**{**ENCODER, "encoder_layers": 2, "dropout": dropout, "attention_dropout": dropout})
    vars(args).update(options)
    return SentenceEncoderModel.build_model(args, ToyTask(DICTIONARY))


def make_criterion(losses: str = EMS, model=None, seed: int = 1, **options) -> WeightedLosses:
    dims = {"token_reconstruction_language_dim": 4, "sentence_contrast_dim": 8}
    cfg = WeightedLossesConfig(sentence_avg=False, losses=losses, **{**dims, **options})
    sizes = ModelSizes.of(model or make_model(), DICTIONARY, ("de", "en", "fr"))
    torch.manual_seed(seed)
    return WeightedLosses.build_criterion(
        cfg, SimpleNamespace(target_dictionary=DICTIONARY, model_sizes=sizes)
    )


def make_batch(rows=(0, 1, 2, 3, 4)) -> dict:
    """These rows of a batch of five pairs, in which the fourth source is the first."""
    rows, batch = list(rows), random_batch(DICTIONARY, LENGTHS)
    mirror = batch["target"]
    sources = batch["net_input"]["src_tokens"].clone()
    sources[3] = sources[0]
    sides = [
        {"src_tokens": side[rows], "src_lengths": side[rows].ne(DICTIONARY.pad()).sum(1)}
        for side in (sources, mirror)
    ]
    return {
        "net_input": {**sides[0], "prev_output_tokens": batch["net_input"]["prev_output_tokens"][rows]},
        "target": batch["target"][rows],
        "mirror": sides[1],
        "source_languages": torch.tensor([0, 1, 0, 2, 1])[rows],
        "target_languages": torch.tensor([1, 0, 2, 1, 2])[rows],
        "ntokens": int(batch["target"][rows].ne(DICTIONARY.pad()).sum()),
        "nsentences": len(rows),
    }


def run(criterion, model, batch, seed: int = 7):
    """Loss, sample size, logs, and the gradients of model and losses."""
    torch.manual_seed(seed)
    model.zero_grad()
    criterion.zero_grad()
    loss, size, log = criterion(model, batch)
    loss.backward()
    trained = [each for part in (model, criterion) for each in part.parameters() if each.requires_grad]
    return loss.detach(), size, log, [parameter.grad.clone() for parameter in trained]


def assert_close(found: list, expected: list) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


# --- the sum (2.12)


def by_hand(criterion, model, batch):
    source = model.encoder(batch["net_input"]["src_tokens"])
    mirror = model.encoder(batch["mirror"]["src_tokens"])
    outputs = ModelOutputs(source, mirror, token_embeddings=model.encoder.embed_tokens.weight)
    return {name: loss(outputs, batch) for name, loss in criterion.losses.items()}


@pytest.mark.parametrize(
    ("losses", "options"),
    [
        (EMS, {}),
        (EMS, {"token_reconstruction_shared_embedding": True, "sentence_contrast_drop_duplicates": True}),
        ("token_reconstruction,additive_margin", {"additive_margin_weight": 0.5, "additive_margin_dim": 6}),
    ],
)
def test_the_loss_is_the_sum_and_counts_pairs(losses, options):
    """Equation 2.12: fairseq divides the gradient by the number of sentence pairs."""
    model, batch = make_model().eval(), make_batch()
    criterion = make_criterion(losses, model, **options).eval()
    loss, size, log, gradients = run(criterion, model, batch)
    model.zero_grad()
    criterion.zero_grad()
    terms = by_hand(criterion, model, batch)
    assert size == log["sample_size"] == 5
    expected = sum(term.loss for term in terms.values())
    torch.testing.assert_close(loss, expected)
    expected.backward()
    parameters = [*model.parameters(), *criterion.parameters()]
    assert_close(gradients, [parameter.grad for parameter in parameters])
    for name, term in terms.items():
        assert log[f"{name}:sum"] == term.value
        assert log[f"{name}:count"] == term.count == 10


@pytest.mark.parametrize("losses", ["sentence_contrastive", f"{EMS},sentence_contrastive"])
def test_beside_losses_of_tokens_tokens_are_counted(losses):
    model, batch = make_model(), make_batch()
    assert run(make_criterion(losses, model), model, batch)[1] == batch["ntokens"] != 5


def test_the_shared_embedding_learns_what_is_predicted():
    """A word that no sentence of the batch has is in every softmax."""
    model, batch = make_model().eval(), make_batch()
    unseen = set(range(4, len(DICTIONARY))) - set(
        torch.cat(
            [batch["net_input"]["src_tokens"].flatten(), batch["mirror"]["src_tokens"].flatten()]
        ).tolist()
    )
    for shared in (False, True):
        criterion = make_criterion(
            "token_reconstruction", model, token_reconstruction_shared_embedding=shared
        )
        run(criterion, model, batch)
        assert model.encoder.embed_tokens.weight.grad[min(unseen)].any() == shared


def test_the_hidden_word_is_hidden_from_the_encoder_and_nothing_else():
    """All losses look at vectors without it, and at the tokens with it."""
    model, batch = make_model().eval(), make_batch()
    losses = "unified_generation,sentence_contrast"
    criterion = make_criterion(losses, model, unified_generation_language_dim=4).eval()
    loss, *_ = run(criterion, model, batch)
    hidden = criterion.losses["unified_generation"].model_batch(batch)
    outputs = ModelOutputs(*(model.encoder(hidden[side]["src_tokens"]) for side in ("net_input", "mirror")))
    fields = {**batch, "hidden_words": hidden["hidden_words"]}
    terms = [each(outputs, fields) for each in criterion.losses.values()]
    torch.testing.assert_close(loss, sum(term.loss for term in terms).detach())
    assert batch.keys() == make_batch().keys()
    assert torch.equal(batch["mirror"]["src_tokens"], make_batch()["mirror"]["src_tokens"])


def test_a_checkpoint_knows_the_losses_parameters():
    state = make_criterion().state_dict()
    assert {name.split(".")[2] for name in state} == {"language_embedding", "hidden", "output", "projection"}
    other = make_criterion(seed=2)
    other.load_state_dict(state)
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in state.items())


# --- LASER's decoder


def test_translation_alone_is_stock_and_beside_ems_counts_tokens():
    model = make_model(
        decoder_layers=1, decoder_embed_dim=32, decoder_ffn_embed_dim=64, decoder_attention_heads=4
    )
    batch = make_batch()
    alone = make_criterion("translation", model)
    _, size, log, gradients = run(alone, model.eval(), batch)
    assert size == batch["ntokens"]
    assert all(gradient.any() for gradient in gradients[-3:])
    both = make_criterion(f"translation,{EMS}", model)
    loss, size, log_of_both, _ = run(both, model, batch)
    assert log_of_both["nmt_loss"] == log["loss"]
    assert size == batch["ntokens"]
    assert loss > log["loss"]


# --- large batches in slices (GradCache)

CACHED = [
    (EMS, {}),
    (EMS, {"token_reconstruction_shared_embedding": True}),
    ("unified_generation,additive_margin", {"additive_margin_drop_duplicates": True}),
]


@pytest.mark.parametrize("pairs", [1, 2, 5, 100])
@pytest.mark.parametrize(("losses", "options"), CACHED)
def test_cached_gradients_are_those_of_the_whole_batch(losses, options, pairs):
    model, batch = make_model(), make_batch()
    expected = run(make_criterion(losses, model, **options), model, batch)
    found = run(make_criterion(losses, model, cached_gradients=pairs, **options), model, batch)
    assert_close([found[0]], [expected[0]])
    assert found[1] == expected[1]
    assert found[2].keys() == expected[2].keys()
    assert_close(found[3], expected[3])


def test_the_second_pass_drops_the_same_numbers():
    """Gradients with dropout are those of the slices without any cache."""
    model, batch = make_model(dropout=0.3).train(), make_batch()
    criterion = make_criterion(EMS, model, cached_gradients=2)
    found = run(criterion, model, batch)
    torch.manual_seed(7)
    model.zero_grad()
    criterion.zero_grad()
    sides = []
    for side in ("net_input", "mirror"):
        tokens = batch[side]["src_tokens"].split(2)
        sides.append({"sentence_vectors": torch.cat([vectors_of(model.encoder(each)) for each in tokens])})
    loss = sum(loss(ModelOutputs(*sides), batch).loss for loss in criterion.losses.values())
    loss.backward()
    torch.testing.assert_close(found[0], loss.detach())
    parameters = [*model.parameters(), *criterion.parameters()]
    assert_close(found[3], [parameter.grad for parameter in parameters])
    assert not torch.allclose(found[0], run(criterion, model, batch, seed=8)[0])


def test_activations_of_one_slice_are_kept():
    """What is saved for the backward pass, apart from parameters: of four times the pairs hardly more."""
    model = make_model()
    own = {parameter.data_ptr() for parameter in model.parameters()}

    def saved(batch, pairs: int) -> int:
        criterion = make_criterion("sentence_contrast", model, cached_gradients=pairs)
        known = own | {parameter.data_ptr() for parameter in criterion.parameters()}
        kept = []

        def pack(tensor):
            if tensor.data_ptr() not in known:
                kept.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            criterion(model, batch)
        return sum(kept)

    small, large = make_batch([0, 1, 3, 4]), make_batch([0, 1, 3, 4] * 4)
    assert saved(large, 0) > 3 * saved(small, 0)
    assert saved(large, 4) < 0.35 * saved(large, 0)


@pytest.mark.parametrize(
    ("losses", "pairs", "message"),
    [
        (EMS, -1, "--cached-gradients -1: expected a number of sentence pairs, 0 or above"),
        (f"{EMS},sentence_contrastive", 2, "--losses sentence_contrastive needs more of a sentence than its"),
        (f"translation,{EMS}", 2, "--losses translation needs more of a sentence than its vector"),
    ],
)
def test_what_cannot_be_cached_is_refused(losses, pairs, message):
    model = make_model(decoder_layers=1)
    with pytest.raises(InputError, match=message):
        make_criterion(losses, model, cached_gradients=pairs)
