"""The commands of the page on sentence encoders are understood, and systems of the thesis can be built."""

import dataclasses
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import ModelSizes
from tests.our_commands import parse_command
from tests.test_readme import parse_fairseq

PAGE = (Path(__file__).parents[2] / "docs/sentence_encoders.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```bash\n(.*?)^```", PAGE, flags=re.M | re.S)
    for line in block.splitlines()
]
EMS = next(command for command in COMMANDS if "--arch ems " in command)
BOTH = "--losses token_reconstruction,sentence_contrast"
SCALED = "--additive-margin-temperature 0.1 --additive-margin-dim 128"
SYSTEMS = {  # Table 2.14, and LaBSE-EMS of 2.4
    "EMS": BOTH,
    "– langs tok": f"{BOTH} --token-reconstruction-without-language",
    "– L_cntrs": "--losses token_reconstruction",
    "– L_XTR": "--losses sentence_contrast",
    "– L_cntrs_mlp": f"{BOTH} --sentence-contrast-dim 0",
    "share L_emb params": f"{BOTH} --token-reconstruction-shared-embedding",
    "replace XTR with UGT": "--losses unified_generation,sentence_contrast",
    "LaBSE-EMS-vanilla": "--losses additive_margin",
    "LaBSE-EMS-scaled": f"--losses additive_margin {SCALED}",
    "LaBSE-EMS-joint": f"--losses token_reconstruction,additive_margin {SCALED}",
    "replace V100 with A100": f"{BOTH} --batch-size 200",
    "decoder in place of XTR": "--losses translation,sentence_contrast --decoder-layers 6 --random-sides"
    " --fused-vocabulary-loss",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command):
    words = shlex.split(command)
    if words[0] == "python":
        parse_command(words)
    else:
        parse_fairseq(words[0], words[1:])


def criterion_of(options: str, vocabulary: int = 50):
    """The criterion of the command with these options, for a model of which only the sizes exist."""
    from fairseq_ext.criterions.weighted_losses import WeightedLosses
    from tests.fairseq_ext.models import toy_dictionary

    program, *words = shlex.split(f"{EMS} {options}")
    args = parse_fairseq(program, words)
    sizes = ModelSizes(
        encoder_width=args.encoder_embed_dim,
        decoder_layers=args.decoder_layers or None,
        vocabulary=vocabulary,
        padding=1,
        has_decoder=args.decoder_layers > 0,
        sentence_width=args.sentence_width,
        languages=62,
    )
    task = SimpleNamespace(target_dictionary=toy_dictionary(), model_sizes=sizes)
    return args, WeightedLosses.build_criterion(args, task)


def shapes(criterion) -> dict:
    return {name.removeprefix("losses."): tuple(p.shape) for name, p in criterion.named_parameters()}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_can_be_built(name):
    args, criterion = criterion_of(SYSTEMS[name])
    assert ",".join(criterion.names) == args.losses
    assert (args.encoder_layers, args.lr, args.weight_decay, args.dropout) == (6, [3e-4], 1e-5, 0.1)


def test_what_the_systems_differ_in():
    """Sizes of 2.3.3 and 2.2: d = 1024, d_la = d_cntrs = 128."""
    built = {name: criterion_of(options) for name, options in SYSTEMS.items()}
    losses = {name: criterion.losses for name, (_, criterion) in built.items()}
    ems = shapes(built["EMS"][1])
    xtr = {
        "token_reconstruction.language_embedding.weight": (62, 128),
        "token_reconstruction.hidden.weight": (1152, 1152),
        "token_reconstruction.hidden.bias": (1152,),
        "token_reconstruction.output.weight": (50, 1152),
    }
    mlp = {"0.weight": (1024, 1024), "0.bias": (1024,), "2.weight": (128, 1024), "2.bias": (128,)}
    contrast = {f"sentence_contrast.projection.{name}": shape for name, shape in mlp.items()}
    margin = {f"additive_margin.projection.{name}": shape for name, shape in mlp.items()}
    assert ems == {**xtr, **contrast}
    without_language = shapes(built["– langs tok"][1])
    assert without_language["token_reconstruction.hidden.weight"] == (1024, 1024)
    assert "token_reconstruction.language_embedding.weight" not in without_language
    assert shapes(built["– L_cntrs"][1]) == shapes(built["– L_cntrs_mlp"][1]) == xtr
    assert shapes(built["– L_XTR"][1]) == contrast
    assert shapes(built["share L_emb params"][1])["token_reconstruction.hidden.weight"] == (1024, 1152)
    assert {"unified_generation", "sentence_contrast"} == losses["replace XTR with UGT"].keys()
    assert not shapes(built["LaBSE-EMS-vanilla"][1])
    assert shapes(built["LaBSE-EMS-scaled"][1]) == margin
    assert shapes(built["LaBSE-EMS-joint"][1]) == {**xtr, **margin}
    for name in ("vanilla", "scaled", "joint"):
        assert losses[f"LaBSE-EMS-{name}"]["additive_margin"].margin == 0.3
    temperatures = [
        losses[f"LaBSE-EMS-{name}"]["additive_margin"].options.temperature for name in ("vanilla", "joint")
    ]
    assert temperatures == [1.0, 0.1]
    assert [built[name][0].batch_size for name in ("EMS", "replace V100 with A100")] == [152, 200]


@pytest.mark.parametrize("name", re.findall(r"^\| `(\w+)` \| .* \| `-", PAGE, flags=re.M))
def test_the_table_of_losses_has_the_options_and_their_defaults(name):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}`")]
    shown = dict(re.findall(r"`-([a-z-]+)(?: ([\w.-]+))?`", row))
    options = {
        field.name.replace("_", "-"): field.default for field in dataclasses.fields(LOSSES[name].Options)
    }
    if "weight" not in shown:
        assert options.pop("weight") == 1
    assert shown.keys() == options.keys()
    for option, text in shown.items():
        default = options[option]
        assert type(default)(text) == default  # without a text: not given, False or empty
