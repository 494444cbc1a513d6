"""`fused_adam` against fairseq's `adam`."""

import copy
from argparse import Namespace

import pytest
import torch
from fairseq.optim import MemoryEfficientFP16Optimizer
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig

from command_line.errors import InputError
from fairseq_ext.optim.fused_adam import FusedAdam, FusedAdamConfig

OPTIONS = {"adam_betas": "(0.9, 0.98)", "adam_eps": 1e-8, "lr": [0.01]}


def regression(seed: int = 1):
    """A small least-squares problem; returns parameters and the function that makes their gradients."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(64, 10, generator=generator), torch.randn(64, 3, generator=generator)
    weight = torch.randn(10, 3, generator=generator, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)

    def backward():
        weight.grad = bias.grad = None
        (x @ weight + bias - y).square().mean().backward()

    return [weight, bias], backward


def train(optimizer, backward, steps: int) -> None:
    for _ in range(steps):
        backward()
        optimizer.step()


def fused(parameters, **options) -> FusedAdam:
    return FusedAdam(FusedAdamConfig(**{**OPTIONS, **options}), parameters)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_trajectory_is_fairseqs(weight_decay):
    ours, ours_backward = regression()
    fairseqs, fairseqs_backward = regression()
    start = [parameter.detach().clone() for parameter in ours]
    config = FairseqAdamConfig(**OPTIONS, weight_decay=weight_decay, fp16_adam_stats=False)
    config.tpu = False
    reference = FairseqAdam(config, fairseqs)
    optimizer = fused(ours, weight_decay=weight_decay)
    for _ in range(5):
        train(optimizer, ours_backward, 20)
        train(reference, fairseqs_backward, 20)
        for found, expected in zip(ours, fairseqs, strict=True):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert (ours[0] - start[0]).abs().mean() > 0.1


def test_options_of_the_training_win_over_those_of_the_checkpoint():
    """But for the learning rate, which the scheduler sets."""
    weights, backward = regression()
    first = fused(weights, weight_decay=0.1)
    train(first, backward, 1)
    second = fused(weights, weight_decay=0.3, adam_betas="(0.8, 0.9)", adam_eps=1e-6, lr=[0.5])
    second.load_state_dict(first.state_dict())
    (group,) = second.param_groups
    assert (group["weight_decay"], group["betas"], group["eps"]) == (0.3, (0.8, 0.9), 1e-6)
    assert group["lr"] == 0.01
    second.load_state_dict(first.state_dict(), {"weight_decay": 0.7})  # --optimizer-overrides
    assert second.param_groups[0]["weight_decay"] == 0.7


def test_memory_efficient_half_precision_is_refused_in_one_line():
    weights = [torch.ones(2, 2, dtype=torch.float16, requires_grad=True)]
    with pytest.raises(InputError, match="--optimizer fused_adam: not with --memory-efficient-fp16"):
        MemoryEfficientFP16Optimizer(None, weights, fused(weights))


def test_averages_of_parameters_of_another_shape_are_refused():
    weights = [torch.ones(rows, 4, requires_grad=True) for rows in (5, 6, 5)]
    optimizers = [fused([weight]) for weight in weights]
    weights[0].grad = torch.ones(5, 4)
    optimizers[0].step()
    state = optimizers[0].state_dict()
    optimizers[2].load_state_dict(copy.deepcopy(state))
    with pytest.raises(InputError, match=r"\(5, 4\) numbers for a parameter of \(6, 4\); give --reset-optim"):
        optimizers[1].load_state_dict(state)


def test_averages_of_other_parameters_are_refused():
    """Those of a training that goes on with another loss, which has parameters of its own."""
    parameters, backward = regression()
    optimizer = fused(parameters)
    train(optimizer, backward, 1)
    with pytest.raises(
        InputError, match=r"has averages of 2 parameters, here are 3; give .* --reset-optimizer"
    ):
        fused([*parameters, torch.nn.Parameter(torch.zeros(2))]).load_state_dict(optimizer.state_dict())


def test_weight_decay_is_decoupled():
    """Without gradient a step only shrinks the weights by lr * decay."""
    weight = torch.ones(4, requires_grad=True)
    optimizer = fused([weight], weight_decay=0.5)
    weight.grad = torch.zeros(4)
    optimizer.step()
    torch.testing.assert_close(weight.detach(), torch.full((4,), 1 - 0.01 * 0.5))


def test_resumed_from_its_state_it_goes_on_as_if_nothing_had_happened():
    straight, straight_backward = regression()
    optimizer = fused(straight)
    train(optimizer, straight_backward, 10)
    state = copy.deepcopy(optimizer.state_dict())  # as a checkpoint holds it
    resumed, resumed_backward = regression()
    with torch.no_grad():
        for parameter, value in zip(resumed, straight, strict=True):
            parameter.copy_(value)
    other = fused(resumed)
    other.load_state_dict(state)
    train(optimizer, straight_backward, 10)
    train(other, resumed_backward, 10)
    for found, expected in zip(resumed, straight, strict=True):
        assert torch.equal(found, expected)


def test_options_override_those_of_a_checkpoint():
    parameters, backward = regression()
    optimizer = fused(parameters)
    train(optimizer, backward, 1)
    other = fused(regression()[0], lr=[0.5], adam_betas="(0.8, 0.9)", weight_decay=0.3)
    other.load_state_dict(optimizer.state_dict(), other.optimizer_config)
    group = other.optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.5, (0.8, 0.9), 0.3)


def test_config_accepts_a_single_learning_rate():
    cfg = Namespace(adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=0.0, lr=0.25)
    assert FusedAdam(cfg, regression()[0]).get_lr() == 0.25


@pytest.mark.parametrize("betas", ["0.9", "(a, b)", "(0.9, 0.98, 0.99)"])
def test_betas_that_are_none(betas):
    with pytest.raises(InputError, match=r"^--adam-betas .*: expected two numbers, such as \(0.9, 0.98\)$"):
        fused([torch.zeros(1, requires_grad=True)], adam_betas=betas)
