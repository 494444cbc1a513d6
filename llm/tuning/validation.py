"""How well a model answers held-out instructions, by objective."""

from collections.abc import Mapping

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset

from llm.tuning.answers import AnswerTokens
from llm.tuning.examples import IGNORED, Examples, Padding


def validate(
    model, answers: AnswerTokens, held_out: Mapping[str, Examples], padding: Padding, batch: int, accelerator
):
    """Objective -> "loss" (nats per token of the answers), "accuracy" (share of the answers of which every
    token is the likeliest one) and "instructions".

    Args:
        model: on its device.
        batch: instructions at a time.
        accelerator: of accelerate; several devices share the instructions.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode(), accelerator.autocast():
            return {
                name: _of_objective(model, answers, examples, padding, batch, accelerator)
                for name, examples in held_out.items()
            }
    finally:
        model.train(was_training)


def _of_objective(model, answers, examples: Examples, padding: Padding, batch: int, accelerator) -> dict:
    mine = Subset(examples, range(accelerator.process_index, len(examples), accelerator.num_processes))
    sums = torch.zeros(3, dtype=torch.float64)  # nats, tokens, right answers
    own = torch.Generator()  # a loader draws a number, which is not to be missing in the training
    for inputs in DataLoader(mine, batch_size=batch, collate_fn=padding, generator=own):
        inputs = {name: value.to(accelerator.device) for name, value in inputs.items()}
        scores, tokens = answers(model, inputs)
        wrong = torch.zeros(len(inputs["labels"]), device=scores.device)
        of_sentence = inputs["labels"][:, 1:].ne(IGNORED).nonzero()[:, 0]
        wrong.index_add_(0, of_sentence, (scores.argmax(dim=1) != tokens).float())
        nats = cross_entropy(scores, tokens, reduction="sum")
        sums += torch.stack([nats, tokens.new_tensor(len(tokens)), wrong.eq(0).sum()]).double().cpu()
    nats, tokens, right = accelerator.reduce(sums.to(accelerator.device, torch.float32)).tolist()
    return {"loss": nats / tokens, "accuracy": right / len(examples), "instructions": len(examples)}


def mean_loss(objectives: Mapping[str, dict]) -> float:
    """Mean over the objectives."""
    return sum(one["loss"] for one in objectives.values()) / len(objectives)
