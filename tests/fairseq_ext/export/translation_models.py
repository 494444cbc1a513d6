"""Translation models with random weights whose hypotheses end at many lengths, but not at once."""

from pathlib import Path

import torch

from fairseq_ext.inference import load_for_inference
from tests.eval.translation.packages import write_checkpoint, write_data
from tests.fairseq_ext.test_checkpoints import save

__all__ = ["write_data", "write_model"]


def write_model(path: Path, data: Path, tags: str = "s-enc-t-dec", **options) -> Path:
    """A checkpoint with norms and biases that do something. As in a trained model, `<pad>` has a logit of
    zero and no sentence ends with its first token.
    """
    write_checkpoint(path, data, **{"encoder_layers": 2, "decoder_layers": 2, **options})
    state = torch.load(path, weights_only=False)
    state["task_state"]["language_tags"] = tags
    for value in state["model"].values():
        if value.is_floating_point() and value.dim() == 1 and value.numel() > 1:
            value += 0.2 * torch.arange(value.numel()).sin()
    projection = state["model"]["decoder.output_projection.weight"]
    projection /= 4
    projection[1], projection[2] = 0, 3 * projection[2]
    save(path, state)
    model = load_for_inference(path, data).model
    source = torch.tensor([[34, 5, 6, 7, 2], [35, 9, 10, 11, 2], [36, 20, 21, 22, 2]])
    with torch.no_grad():
        encoded = model.encoder(source, src_lengths=torch.tensor([5, 5, 5]))
        first = model.decoder(torch.full((3, 1), 2), encoder_out=encoded, features_only=True)[0]
    mean = first.mean(dim=(0, 1))
    projection[2] -= 15 * mean / mean.pow(2).sum()
    save(path, state)
    return path
