"""How well a masked language model guesses the masked tokens of held-out text, by language."""

from collections.abc import Mapping

import torch

from embeddings.encoders.sentence_encoder import batches
from embeddings.pretraining.examples import Examples, Masking


def validate(model, languages: Mapping[str, Examples], masking: Masking, batch_tokens: int) -> dict:
    """Language -> loss (nats per masked token) and accuracy. The masks are the same every time."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            return {
                name: _of_language(model, examples, masking, batch_tokens)
                for name, examples in languages.items()
            }
    finally:
        model.train(was_training)


def _of_language(model, examples: Examples, masking: Masking, batch_tokens: int) -> dict:
    lengths = [len(examples[row]) for row in range(len(examples))]
    loss = right = tokens = 0
    for number, rows in enumerate(batches(lengths, batch_tokens)):
        batch = masking([(number, [examples[row] for row in rows])])
        batch = {name: value.to(model.device) for name, value in batch.items()}
        output = model(**batch)
        loss += output.loss.item() * len(batch["labels"])
        right += (output.logits.argmax(1) == batch["labels"]).sum().item()
        tokens += len(batch["labels"])
    return {"loss": loss / tokens, "accuracy": right / tokens, "tokens": tokens}


def mean_of(languages: Mapping[str, dict]) -> dict:
    """Mean over the languages."""
    return {
        name: sum(each[name] for each in languages.values()) / len(languages) for name in ("loss", "accuracy")
    }
