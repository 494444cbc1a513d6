"""`--checkpoint-activations` where fairseq's wrapper is not enough: autocast, layers called twice."""

import pytest
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from tests.fairseq_ext.models import build, random_batch, toy_dictionary


def models(**options) -> tuple[MnmtTransformerModel, ...]:
    """The same model that keeps its states, computes them again, and has them in main memory."""
    recomputing = ({}, {"checkpoint_activations": True}, {"offload_activations": True})
    return tuple(
        build(MnmtTransformerModel, toy_dictionary(), **options, **each).train() for each in recomputing
    )


def gradients(model, inputs, autocast: bool) -> dict:
    torch.manual_seed(3)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        output = model(**inputs)[0]
    output.float().square().sum().backward()
    return {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


@pytest.mark.parametrize("autocast", [False, True])
def test_gradients_are_those_of_kept_states(autocast):
    """With the same dropout, and in bfloat16 where the first pass was."""
    inputs = random_batch(toy_dictionary())["net_input"]
    expected, *others = (
        gradients(model, inputs, autocast) for model in models(dropout=0.3, attention_dropout=0.2)
    )
    for found in others:
        assert found.keys() == expected.keys()
        for name, each in expected.items():
            torch.testing.assert_close(found[name], each, msg=lambda text, name=name: f"{name}: {text}")


def test_a_layer_may_be_called_twice_in_an_update_of_several_processes(tmp_path):
    """As for a mirrored batch, whose encoder runs outside of DistributedDataParallel's own pass."""
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    try:
        model = models()[1]
        parallel = DistributedDataParallel(model)
        for seed in (1, 2):
            inputs = random_batch(toy_dictionary(), seed=seed)["net_input"]
            mirrored = model.encoder(inputs["prev_output_tokens"])["encoder_out"][0]
            (parallel(**inputs)[0].square().sum() + mirrored.square().sum()).backward()
            assert all(each.grad is not None for each in model.parameters() if each.requires_grad)
            model.zero_grad()
    finally:
        distributed.destroy_process_group()
