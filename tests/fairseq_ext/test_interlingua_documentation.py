"""The training commands of the page on the interlingua are understood, and its defaults are the code's."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from fairseq_ext.losses.interlingua_alignment import InterlinguaAlignmentOptions
from fairseq_ext.losses.length_prediction import LengthPredictionOptions
from fairseq_ext.models.interlingua_options import InterlinguaTransformerConfig
from tests.test_readme import parse_fairseq

PAGE = (Path(__file__).parents[2] / "docs/interlingua.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```bash\n(.*?)^```", PAGE, flags=re.M | re.S)
    for line in block.splitlines()
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command):
    words = shlex.split(command)
    parse_fairseq(words[0], words[1:])


def test_options_and_defaults_are_those_of_the_code():
    rows = dict(re.findall(r"^\| `--([a-z-]+)` \| ([^|]+) \|", PAGE, flags=re.M))
    own = {field.name: field.default for field in dataclasses.fields(InterlinguaTransformerConfig)}
    losses = (
        (InterlinguaAlignmentOptions, "interlingua_alignment"),
        (LengthPredictionOptions, "length_prediction"),
    )
    for options, name in losses:
        own |= {f"{name}_{field.name}": field.default for field in dataclasses.fields(options)}
    assert rows.pop("interlingua") == "queries"  # the header of the table of kinds
    assert len(rows) == 8
    for option, shown in rows.items():
        default = own[option.replace("-", "_")]
        if shown == "off":
            assert default is False
        elif re.fullmatch(r"[\d.]+", shown):
            assert default == float(shown), option
        else:
            assert default is None, option


def test_parameter_counts_are_those_of_the_models():
    import torch
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    from tests.fairseq_ext import bridges, models

    task = bridges.TaggedTask(words=66158 - 4 - 3)
    assert len(task.dictionary) == 66158
    number = r"([\d.]+)M"
    sentence = (
        rf"has {number} parameters, with an interlingua {number}, and with `--interlingua-full-ffn` {number}"
    )
    (shown,) = re.findall(sentence, " ".join(PAGE.split()))
    counts = []
    for family, full in (("mnmt", False), ("interlingua", False), ("interlingua", True)):
        arch = f"{family}_transformer"
        args = models.Namespace(max_source_positions=256, max_target_positions=256, interlingua_full_ffn=full)
        ARCH_CONFIG_REGISTRY[arch](args)
        with torch.device("meta"):
            named = ARCH_MODEL_REGISTRY[arch].build_model(args, task).named_parameters()
        own = ("queries", "predictor")
        counts.append(sum(p.numel() for name, p in named if not any(part in name for part in own)))
    assert tuple(f"{count / 1e6:.2f}" for count in counts) == shown
