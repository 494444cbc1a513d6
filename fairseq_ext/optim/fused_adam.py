"""Optimizer `fused_adam`: torch's fused AdamW in place of the Python loop of fairseq's `adam`."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import List

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II

from command_line.errors import InputError
from fairseq_ext.options import option


@dataclass
class FusedAdamConfig(FairseqDataclass):
    adam_betas: str = option("betas (Vaswani et al. 2017)", "(0.9, 0.98)")
    adam_eps: float = option("added to the root of the bias-corrected second moment", 1e-8)
    weight_decay: float = option("decoupled weight decay", 0.0)
    lr: List[float] = II("optimization.lr")


@register_optimizer("fused_adam", dataclass=FusedAdamConfig)
class FusedAdam(FairseqOptimizer):
    """AdamW, one pass over each parameter instead of a dozen.

    fairseq's `adam` adds epsilon before the bias correction of the second moment, torch after it (algorithm
    1 of Kingma and Ba 2015): with the usual 1e-8 the difference is far below the noise of training.
    """

    def __init__(self, cfg: FusedAdamConfig, params):
        super().__init__(cfg)
        self._optimizer = torch.optim.AdamW(params, fused=True, **self.optimizer_config)

    @property
    def optimizer_config(self) -> dict:
        """Overrides what a checkpoint says when training is continued with other options."""
        lr = self.cfg.lr[0] if isinstance(self.cfg.lr, Collection) else self.cfg.lr
        return {
            "lr": lr,
            "betas": self._betas(),
            "eps": self.cfg.adam_eps,
            "weight_decay": self.cfg.weight_decay,
        }

    def _betas(self) -> tuple[float, float]:
        given = self.cfg.adam_betas
        try:
            first, second = (float(beta) for beta in given.strip("()[] ").split(","))
        except ValueError:
            raise InputError(f"--adam-betas {given!r}: expected two numbers, such as (0.9, 0.98)") from None
        return first, second

    def load_state_dict(self, state_dict, optimizer_overrides=None):
        """As fairseq's, but options of this training win over those of the checkpoint; the learning rate is
        the scheduler's.

        Raises:
            InputError: the averages are of other parameters, or of some of other shapes.
        """
        saved, own = map(_count, (state_dict["param_groups"], self._optimizer.param_groups))
        if saved != own:  # for example of other --losses
            raise InputError(
                f"the optimizer of the checkpoint has averages of {saved} parameters, here are {own}; give"
                " the model and losses of before, or --reset-optimizer to train on without them"
            )
        options = {name: value for name, value in self.optimizer_config.items() if name != "lr"}
        super().load_state_dict(state_dict, options | (optimizer_overrides or {}))
        for parameter, averages in self._optimizer.state.items():
            shape = averages["exp_avg"].shape
            if shape != parameter.shape:
                raise InputError(
                    f"the optimizer of the checkpoint has averages of {tuple(shape)} numbers for a parameter"
                    f" of {tuple(parameter.shape)}; give --reset-optimizer to train on without them"
                )

    @property
    def supports_memory_efficient_fp16(self) -> bool:
        """Asked by `--memory-efficient-fp16`, whose weights are half: so would be the averages.

        Raises:
            InputError: always.
        """
        raise InputError(
            "--optimizer fused_adam: not with --memory-efficient-fp16; expected --optimizer adam, or --fp16"
        )

    @property
    def supports_flat_params(self) -> bool:
        return True


def _count(groups: list[dict]) -> int:
    """Parameters of all groups."""
    return sum(len(group["params"]) for group in groups)
