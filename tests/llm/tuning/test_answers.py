"""The scores of answers against the model of transformers, which computes those of all tokens."""

import pytest
import torch
import transformers

from llm.tuning.answers import AnswerTokens
from llm.tuning.examples import IGNORED, Padding

EXAMPLES = [([5, 6, 7], [8, 9, 2]), ([5], [6, 2]), ([9, 8, 7, 6], [5, 2]), ([11], [12, 13, 14, 15, 2])]


def bloom(layers: int = 2) -> transformers.BloomForCausalLM:
    torch.manual_seed(1)
    config = transformers.BloomConfig(vocab_size=20, hidden_size=8, n_layer=layers, n_head=2)
    return transformers.BloomForCausalLM(config).eval()


def llama() -> transformers.LlamaForCausalLM:
    """Without tied embeddings."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=20, hidden_size=8, intermediate_size=8, num_hidden_layers=2, num_attention_heads=2
    )
    return transformers.LlamaForCausalLM(config).eval()


def batch(pad: int = 3, examples=EXAMPLES) -> dict[str, torch.Tensor]:
    return Padding(pad)(
        [
            {"input_ids": first + second, "labels": [IGNORED] * len(first) + second}
            for first, second in examples
        ]
    )


def loss_of(answers: AnswerTokens, model, inputs) -> torch.Tensor:
    scores, tokens = answers(model, inputs)
    return torch.nn.functional.cross_entropy(scores, tokens)


@pytest.mark.parametrize("make", [bloom, llama])
def test_scores_loss_and_gradients_are_those_of_all_tokens(make):
    model, stock, inputs = make(), make(), batch()
    scores, tokens = AnswerTokens(model)(model, inputs)
    expected = stock(**inputs)
    places = [(row, place) for row, (first, second) in enumerate(EXAMPLES)
              for place in range(len(first) - 1, len(first) + len(second) - 1)]  # fmt: skip
    rows, columns = map(list, zip(*places, strict=True))
    torch.testing.assert_close(scores, expected.logits[rows, columns])
    assert tokens.tolist() == [token for _, second in EXAMPLES for token in second]
    loss = torch.nn.functional.cross_entropy(scores, tokens)
    torch.testing.assert_close(loss, expected.loss)
    loss.backward()
    expected.loss.backward()
    for (name, weight), other in zip(model.named_parameters(), stock.parameters(), strict=True):
        torch.testing.assert_close(weight.grad, other.grad, msg=name)


def test_padding_does_not_matter():
    model = bloom()
    answers = AnswerTokens(model)
    together, tokens = answers(model, batch())
    alone = [answers(model, batch(examples=[example])) for example in EXAMPLES]
    torch.testing.assert_close(together, torch.cat([scores for scores, _ in alone]))
    assert tokens.equal(torch.cat([each for _, each in alone]))
    torch.testing.assert_close(answers(model, batch(pad=17))[0], together)


def test_recomputed_layers_give_the_same_gradients():
    model, stock = bloom().train(), bloom().train()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    answers, calls = AnswerTokens(model), []
    model.transformer.h[0].register_forward_pre_hook(lambda *_: calls.append(1))
    for _ in range(2):
        model.zero_grad()
        stock.zero_grad()
        loss_of(answers, model, batch()).backward()
        stock(**batch()).loss.backward()
        for (name, weight), other in zip(model.named_parameters(), stock.named_parameters(), strict=True):
            torch.testing.assert_close(weight.grad, other[1].grad, msg=name)
    assert len(calls) == 4  # of which two while gradients were computed


def test_between_calls_a_model_is_as_it_was():
    model, stock, inputs = bloom(), bloom(), batch()
    answers = AnswerTokens(model)
    answers(model, inputs)
    prompt = inputs["input_ids"][:1, :3]
    torch.testing.assert_close(model(prompt).logits, stock(prompt).logits)
    generated = [
        one.generate(prompt, max_new_tokens=6, do_sample=False, pad_token_id=3) for one in (model, stock)
    ]
    assert generated[0].equal(generated[1])


def test_also_after_a_call_that_failed():
    model = bloom()
    answers = AnswerTokens(model)
    inputs = batch()
    with pytest.raises((IndexError, RuntimeError)):
        answers(model, inputs | {"input_ids": torch.full_like(inputs["input_ids"], 99)})
    assert model(inputs["input_ids"]).logits.shape == (*inputs["input_ids"].shape, 20)
