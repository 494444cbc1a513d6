"""Every loss in float32, whatever the type of what the model has computed."""

import copy

import pytest
import torch
from torch import Tensor, nn

from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import ModelOutputs, ModelSizes
from tests.fairseq_ext.encodings import PAD, random_batch

WIDTH, TEACHER, LENGTHS = 16, 5, (5, 3, 4)
SIZES = ModelSizes(WIDTH, 2, vocabulary=30, padding=PAD, languages=3, teacher_width=TEACHER)
BATCH = {
    **random_batch(),
    "source_languages": torch.tensor([0, 1, 2]),
    "target_languages": torch.tensor([1, 2, 0]),
    "teacher": {"source": torch.eye(3, TEACHER), "target": torch.ones(3, TEACHER)},
}


class Reader(nn.Module):
    """An encoder for losses that run one by themselves."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.embeddings = nn.Embedding(30, WIDTH, padding_idx=PAD)

    def max_positions(self) -> int:
        return 50

    def forward(self, src_tokens: Tensor, src_lengths: Tensor | None = None) -> dict:
        states = self.embeddings(src_tokens).transpose(0, 1)
        return {"encoder_out": [states], "encoder_padding_mask": [src_tokens.eq(PAD)]}


def vectors(*shape: int, seed: int) -> Tensor:
    """That every type has exactly."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half().bfloat16().float()


def outputs_of(kind: torch.dtype, embeddings: torch.dtype, scale: float) -> tuple[ModelOutputs, list[Tensor]]:
    """All that the models of this package give a loss, and the floating-point tensors among it."""
    padding = torch.arange(5)[None, :] >= torch.tensor(LENGTHS)[:, None]
    found = []

    def given(*shape: int, seed: int, of: torch.dtype = kind) -> Tensor:
        found.append((scale * vectors(*shape, seed=seed)).to(of).requires_grad_())
        return found[-1]

    def encoding(seed: int) -> dict:
        return {
            "encoder_out": [given(5, 3, WIDTH, seed=seed)],
            "encoder_padding_mask": [padding],
            "sentence_vectors": given(3, WIDTH, seed=seed + 1),
            "interlingua_lengths": [torch.tensor(LENGTHS)],
            "length_logits": [given(3, 8, seed=seed + 2)],
            "length_targets": [torch.tensor(LENGTHS)],
        }

    sides = encoding(1), encoding(4)
    attention = given(3, 4, 5, seed=7) / scale
    embedded = given(30, WIDTH, seed=8, of=embeddings)
    encoder = Reader().to(embeddings)
    return ModelOutputs(*sides, {"attn": [attention.softmax(-1)]}, embedded, encoder), found


@pytest.mark.parametrize("scale", [1.0, 32.0])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=["autocast-bf16", "fp16"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_half_precision_is_that_of_float32(name, kind, scale):
    """With `--autocast-bf16` what the losses have themselves is float32, with `--fp16` it is half, too."""
    torch.manual_seed(1)
    loss = LOSSES[name](LOSSES[name].Options(), SIZES).eval()
    batch = loss.model_batch(BATCH)
    outputs, inputs = outputs_of(torch.float32, torch.float32, scale)
    expected = loss(outputs, batch)
    slopes = torch.autograd.grad(expected.loss, inputs, materialize_grads=True)
    steepest = max(one.norm() for one in slopes)
    autocast = kind == torch.bfloat16
    own = torch.float32 if autocast else kind
    outputs, inputs = outputs_of(kind, own, scale)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        found = copy.deepcopy(loss).to(own)(outputs, batch)
    assert found.loss.dtype == found.value.dtype == torch.float32 and found.count == expected.count
    assert found.loss.item() == pytest.approx(expected.loss.item(), rel=0.01)
    assert found.value.item() == pytest.approx(expected.value.item(), rel=0.01)
    loss = found.loss / steepest  # as the trainer of half precision scales it
    for one, other in zip(torch.autograd.grad(loss, inputs, materialize_grads=True), slopes, strict=True):
        assert (one.float() - other / steepest).norm() <= 0.05
