"""Checkpoints of a stranger that run a command when fairseq makes something of their options."""

from argparse import Namespace
from pathlib import Path

import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf

from tests.fairseq_ext.models import SIZES

MULTILINGUAL = ["--task", "translation_multi_simple_epoch", "--lang-pairs", "de-en", "--langs", "de,en"]
TASKS = {"translation": ["--task", "translation", "-s", "de", "-t", "en"], MULTILINGUAL[1]: MULTILINGUAL}


def training_options(data, task: str = "translation", arch: str = "transformer") -> Namespace:
    """As stock fairseq parses them."""
    words = [
        str(data),
        *TASKS[task],
        "--arch",
        arch,
        "--optimizer",
        "adam",
        "--lr",
        "0.1",
        "--max-tokens",
        "99",
    ]
    return options.parse_args_and_arch(options.get_training_parser(), words)


def write_attack(path: Path, data, sentinel: Path, option: str, section: str = "model", **training) -> str:
    """A checkpoint with the layout of stock fairseq's trainer, whose option is code that makes `sentinel`.

    Args:
        section: "model", "task", …; "args" writes all options in one name space, as older versions did.
    """
    code = f"__import__('os').system('touch {sentinel}')"
    given = training_options(data, **training)
    if section == "args":
        setattr(given, option, code)
        contents = {"args": given, "cfg": None}
    else:
        cfg = OmegaConf.to_container(convert_namespace_to_omegaconf(given), resolve=True, enum_to_str=True)
        if training.get("arch", "transformer") == "transformer":
            vars(cfg["model"]).update(SIZES)
        setattr(cfg[section], option, code)
        contents = {"args": None, "cfg": cfg}
    state = {
        **contents, "model": {}, "task_state": {}, "last_optimizer_state": None,
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "Adam", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
    }  # fmt: skip
    torch.save(state, path)
    return str(path)
