"""A larger PreNorm model that computes the same function as a trained one.

A benchmark of translation wants the arithmetic of a large model and hypotheses of natural length, which
random weights do not give. Units are repeated, as by Net2Net (Chen et al. 2016), and further layers add
nothing to the residual stream.
"""

import copy
import re
from dataclasses import dataclass

import torch
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.checkpoints.averaging import for_inference

SIDES = ("encoder", "decoder")
BRANCH_ENDS = ("out_proj", "fc2")  # what a branch adds to the residual stream comes out of these


@dataclass(frozen=True)
class Enlargement:
    """How much larger.

    Attributes:
        width: factor of the width and of the number of heads.
        inner: factor of the width of feed-forward layers.
        layers: of either side, at least as many as the model has.
    """

    width: int
    inner: int
    layers: int


def enlarge(state: dict, by: Enlargement) -> dict:
    """The state of a checkpoint (`read_state`) of a larger model with equal logits, without an optimizer.

    Positions become learned ones, since sinusoids of another width are other numbers.

    Raises:
        InputError: the model is not a plain PreNorm one, or would have fewer layers.
    """
    had = state["cfg"]["model"]
    args = copy.deepcopy(had)
    if getattr(args, "norm_placement", None) != "pre" or args.no_scale_embedding or args.drop_residual_layers:
        raise InputError("--enlarge: needs a checkpoint of a plain PreNorm model")
    if by.layers < max(args.encoder_layers, args.decoder_layers):
        raise InputError(
            f"--enlarge: {by.layers} layers are fewer than the model has; expected at least as many"
        )
    for side in SIDES:
        _set_sizes(args, side, by)
    weights = {}
    for name, value in state["model"].items():
        value = _repeated(name, value, by)
        for larger, copied in _layers_of(name, had, by.layers):
            weights[larger] = value if copied else _silent(name, value)
    for side in SIDES:
        weights[f"{side}.embed_positions.weight"] = _positions(state["model"], had, side, by)
    # embeddings are multiplied by the root of the width, products with them have `width` times as many terms
    root = by.width**0.5
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection"):
        weights[f"{name}.weight"] = weights[f"{name}.weight"] / root
    for name in ("decoder.layer_norm.weight", "decoder.layer_norm.bias"):
        weights[name] = weights[name] / root
    return for_inference({**state, "cfg": {**state["cfg"], "model": args}, "model": weights})


def _set_sizes(args, side: str, by: Enlargement) -> None:
    for name in (f"{side}_embed_dim", f"{side}_attention_heads", f"{side}_output_dim", f"{side}_input_dim"):
        if hasattr(args, name):
            setattr(args, name, getattr(args, name) * by.width)
    setattr(args, f"{side}_ffn_embed_dim", getattr(args, f"{side}_ffn_embed_dim") * by.inner)
    setattr(args, f"{side}_layers", by.layers)
    setattr(args, f"{side}_learned_pos", True)


def _layers_of(name: str, had, layers: int):
    """Yield what a weight is called in the larger model, and whether that layer does what it did."""
    found = re.fullmatch(r"(encoder|decoder)\.layers\.(\d+)\.(.*)", name)
    if not found:
        yield name, True
        return
    side, number, rest = found[1], int(found[2]), found[3]
    for layer in range(number, layers, getattr(had, f"{side}_layers")):
        yield f"{side}.layers.{layer}.{rest}", layer == number


def _silent(name: str, value: Tensor) -> Tensor:
    """Of a layer that is only computed."""
    return torch.zeros_like(value) if any(f".{end}." in name for end in BRANCH_ENDS) else value


def _repeated(name: str, value: Tensor, by: Enlargement) -> Tensor:
    """Units of a weight side by side; what sums over repeated inputs is divided by their number."""
    if name.endswith("version"):
        return value
    rows = by.inner if ".fc1." in name else by.width
    if value.dim() == 1:
        return value.repeat(rows)
    if "embed_tokens" in name or "output_projection" in name:
        return value.repeat(1, by.width)
    columns = by.inner if ".fc2." in name else by.width
    return value.repeat(rows, columns) / columns


def _positions(weights: dict, had, side: str, by: Enlargement) -> Tensor:
    from fairseq.modules import SinusoidalPositionalEmbedding

    name = f"{side}.embed_positions.weight"
    if name in weights:
        return weights[name].repeat(1, by.width)
    padding = 1  # fairseq's
    most = had.max_source_positions if side == "encoder" else had.max_target_positions
    width = getattr(had, f"{side}_embed_dim")
    table = SinusoidalPositionalEmbedding.get_embedding(most + padding + 1, width, padding)
    return table.repeat(1, by.width)
