"""How well a model answers held-out instructions, by objective."""

from collections.abc import Mapping

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset

from command_line.errors import InputError
from llm.tuning.answers import AnswerTokens
from llm.tuning.examples import IGNORED, Examples, Padding


def validate(
    model, answers: AnswerTokens, held_out: Mapping[str, Examples], padding: Padding, batch: int, accelerator
):
    """Objective -> "loss" (nats per token of the answers), "accuracy" (share of the answers of which every
    token is the likeliest one) and "instructions", without those that are skipped.

    Args:
        accelerator: of accelerate; several devices share the instructions.

    Raises:
        InputError: all of an objective are skipped.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode(), accelerator.autocast():
            return {
                name: _of_objective(name, model, answers, examples, padding, batch, accelerator)
                for name, examples in held_out.items()
            }
    finally:
        model.train(was_training)


def _of_objective(
    name: str, model, answers, examples: Examples, padding: Padding, batch: int, accelerator
) -> dict:
    mine = Subset(examples, range(accelerator.process_index, len(examples), accelerator.num_processes))
    sums = torch.zeros(4, dtype=torch.float64)  # nats, tokens, answers, right ones
    own = torch.Generator()  # a loader draws a number, which is not to be missing in the training
    for inputs in DataLoader(mine, batch_size=batch, collate_fn=padding, generator=own):
        inputs = {field: value.to(accelerator.device) for field, value in inputs.items()}
        scores, tokens = answers(model, inputs)
        wrong = torch.zeros(len(inputs["labels"]), device=scores.device)
        learned = inputs["labels"][:, 1:].ne(IGNORED)
        of_sentence, answered = learned.nonzero()[:, 0], learned.any(dim=1)
        wrong.index_add_(0, of_sentence, (scores.argmax(dim=1) != tokens).float())
        nats = cross_entropy(scores, tokens, reduction="sum")
        counts = [tokens.new_tensor(len(tokens)), answered.sum(), (wrong.eq(0) & answered).sum()]
        sums += torch.stack([nats, *counts]).double().cpu()
    nats, tokens, count, right = accelerator.reduce(sums.to(accelerator.device, torch.float32)).tolist()
    if not count:
        raise InputError(
            f"--skip-overlong: all {len(examples)} valid instructions of {name} are longer than"
            f" --max-input {examples.max_input} or --max-output {examples.max_output}; give larger limits"
        )
    return {"loss": nats / tokens, "accuracy": right / count, "instructions": round(count)}
