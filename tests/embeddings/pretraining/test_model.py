"""The scores of masked positions against the model of transformers, which computes them everywhere."""

import pytest
import torch
import transformers

from embeddings.pretraining.model import new_model
from embeddings.pretraining.options import Network
from tests.embeddings.pretraining.test_examples import Symbols

NETWORK = Network(layers=2, width=16, heads=2, inner_width=32, dropout=0.0, max_length=6)


class Tokenizer(Symbols):
    bos_token_id, eos_token_id = 0, 2


@pytest.fixture
def batch():
    tokens = torch.tensor([[0, 5, 14, 7, 2], [0, 14, 2, 1, 1]])
    return {
        "input_ids": tokens,
        "attention_mask": tokens.ne(1).long(),
        "positions": torch.tensor([2, 6]),
        "labels": torch.tensor([6, 9]),
    }


def everywhere(model, batch):
    """Loss and scores of the stock model."""
    stock = transformers.XLMRobertaForMaskedLM(model.config)
    stock.load_state_dict(model.state_dict())
    labels = torch.full((10,), -100).index_copy(0, batch["positions"], batch["labels"]).view(2, 5)
    return stock(batch["input_ids"], batch["attention_mask"], labels=labels), stock


def test_loss_scores_and_gradients_are_those_of_all_positions(batch):
    model = new_model(NETWORK, Tokenizer(), seed=1)
    expected, stock = everywhere(model, batch)
    output = model(**batch)
    torch.testing.assert_close(output.loss, expected.loss)
    torch.testing.assert_close(output.logits, expected.logits.view(10, -1)[batch["positions"]])
    output.loss.backward()
    expected.loss.backward()
    for (name, weight), other in zip(model.named_parameters(), stock.parameters(), strict=True):
        torch.testing.assert_close(weight.grad, other.grad, msg=name)


def test_batches_of_an_update_add_up(batch):
    model = new_model(NETWORK, Tokenizer(), seed=1)
    whole = model(**batch).loss
    parts = []
    for row, position in ((0, 2), (1, 1)):
        part = {name: batch[name][row : row + 1] for name in ("input_ids", "attention_mask", "labels")}
        parts.append(model(**part, positions=torch.tensor([position]), num_items_in_batch=2).loss)
    torch.testing.assert_close(sum(parts), whole)


def test_takes_as_many_tokens_as_were_asked_for():
    model = new_model(NETWORK, Tokenizer(), seed=1).eval()
    tokens = torch.tensor([[0, 5, 6, 7, 8, 2]])
    assert model.roberta(tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state.shape == (1, 6, 16)
    with pytest.raises(IndexError):
        model.roberta(torch.tensor([[0, 5, 6, 7, 8, 9, 2]]))
