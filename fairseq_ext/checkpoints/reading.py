"""Reading fairseq checkpoints, ours and those of stock fairseq, so that a stranger's file can do no harm.

torch reads a checkpoint with `weights_only=True`: an unpickler that calls nothing but what is allow-listed.
fairseq writes its options as an `argparse.Namespace`, which is harmless; nothing else is needed, and
nothing else is allowed. Options then pass the gate (`options_gate`).

fairseq's own commands read checkpoints as well, of any `--task`. All of them do so by `torch.load` in
`fairseq.checkpoint_utils`, and nowhere else for the models that the gate knows; `guard_fairseq` puts
the reader of this module in its place.
"""

import pickle
import re
from argparse import Namespace
from contextlib import contextmanager

import torch
from fairseq import checkpoint_utils
from torch import Tensor

from command_line.errors import InputError, check_file
from fairseq_ext.checkpoints import origin
from fairseq_ext.checkpoints.option_values import shown
from fairseq_ext.checkpoints.options_gate import pass_gate

EMBEDDINGS = (  # weights with a row per symbol of the shared dictionary
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.output_projection.weight",
)

KIND = "a fairseq checkpoint"
torch.serialization.add_safe_globals([Namespace])


class GuardedTorch:
    """The module `torch` as `fairseq.checkpoint_utils` sees it: `load` is safe, all else is torch's."""

    def __getattr__(self, name: str):
        return getattr(torch, name)

    @staticmethod
    def load(file, map_location=None):
        """A checkpoint whose options have passed the gate, and what they said of its initialization.

        Args:
            file: a path or an open file.

        Raises:
            InputError: the file is damaged, asks for code to be run, or the gate refuses an option.
        """
        path = getattr(file, "name", file)
        state = _load(file, path, map_location)
        checked = pass_gate(state, path)
        if not isinstance(state, dict):
            return checked
        named = origin.named_by_options(state)  # files that the gate has left out
        return {**checked, origin.FIELD: named or state.get(origin.FIELD) or {}}


def guard_fairseq() -> None:
    """From here on, whatever fairseq reads as a checkpoint in this process is read safely."""
    if not isinstance(checkpoint_utils.torch, GuardedTorch):
        checkpoint_utils.torch = GuardedTorch()


def read_checkpoint(path) -> dict:
    """The contents of a checkpoint, on the CPU, with fairseq's options as a configuration under "cfg".

    Raises:
        InputError: the file is missing, damaged, not a fairseq checkpoint, asks for code to be run, or has
            options that could.
    """
    guard_fairseq()  # also where nothing has imported our plug-ins
    check_file(path, KIND)
    try:
        state = checkpoint_utils.load_checkpoint_to_cpu(str(path))
    except (OSError, RuntimeError, KeyError, AttributeError, TypeError, ValueError, IndexError) as error:
        raise _damaged(path, error) from None
    if not isinstance(state, dict) or state.get("cfg") is None or "model" not in state:
        raise InputError(f"{path}: not {KIND} (no options or no weights in it)")
    return _with_weights(state, path)


def read_weights(path) -> dict:
    """A checkpoint of any version of fairseq as it is in the file, on the CPU; its options may be of tasks
    and models that this version does not know, so nothing may be made of them.

    Raises:
        InputError: as `read_checkpoint`.
    """
    check_file(path, KIND)
    return _with_weights(_load(path, path, "cpu"), path)


def read_state(path) -> dict:
    """A checkpoint as it is in the file, on the CPU, with options that have passed the gate: what another
    file can be made of.

    Raises:
        InputError: as `read_checkpoint`.
    """
    check_file(path, KIND)
    return _with_weights(GuardedTorch.load(str(path), map_location="cpu"), path)


@contextmanager
def as_one_line(path):
    """Turns what fairseq and torch raise over options and weights that do not fit together into a line."""
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: its options and weights make no model: {reason}") from None


def _with_weights(state, path) -> dict:
    """The contents of a checkpoint. Refuses what torch would turn into weights in silence, or could not copy:
    other numbers than real ones, and tensors without or with only some of their values.
    """
    weights = state.get("model") if isinstance(state, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise InputError(f"{path}: not {KIND} (no weights in it)")
    for name, values in weights.items():
        if not isinstance(name, str) or not isinstance(values, Tensor):
            kind = type(values).__name__
            raise InputError(f"{path}: weight {shown(name)} is of type {kind}, expected names and tensors")
        is_dense = values.layout == torch.strided and values.device.type != "meta"
        is_counter = values.dim() < 2 and not values.is_complex() and values.dtype != torch.bool
        if not is_dense or values.is_quantized or not (values.is_floating_point() or is_counter):
            raise InputError(
                f"{path}: weight {shown(name)} is a tensor of {values.dtype}, {values.layout}, on"
                f" {values.device.type}; expected real numbers, all of them there"
            )
    return state


def _load(file, path, map_location):
    try:
        return torch.load(file, map_location=map_location, weights_only=True)
    except pickle.UnpicklingError as error:
        refused = re.search(r"(?:Unsupported|GLOBAL|Trying to)[^\n]{0,80}", str(error))
        reason = f" ({refused.group()})" if refused else ""
        raise InputError(
            f"{path}: refused, expected a checkpoint of nothing but weights and options{reason}"
        ) from None
    except (OSError, RuntimeError, EOFError, KeyError, AttributeError, TypeError, ValueError) as error:
        raise _damaged(path, error) from None


def _damaged(path, error: Exception) -> InputError:
    says_something = str(error) and not isinstance(error, KeyError)
    reason = str(error).splitlines()[0][:200] if says_something else type(error).__name__
    return InputError(f"{path}: damaged, or not a fairseq checkpoint: {reason}")
