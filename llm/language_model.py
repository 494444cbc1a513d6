"""Causal language models of `transformers` in local folders, and adapters of `peft`.

No code in them is run.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from command_line.completion import check_finished, file_identity
from command_line.errors import InputError
from data_prep.model_folders import adapters, loading
from data_prep.model_folders.libraries import reading
from data_prep.model_folders.loading import check_complete
from data_prep.model_folders.models import check_model, has_vocabulary

KIND = "causal language models of transformers"
PRECISIONS = ("float32", "bfloat16", "float16")


def model_files(folder: Path) -> list[Path]:
    """The files of a model that its output depends on."""
    return check_model(folder).paths()


def weights_identity(folder: Path) -> dict[str, dict]:
    """What tells the weights of a model from others of the same shape: file -> its identity, at a bounded
    cost for files of any size.
    """
    weights = (path for path in model_files(folder) if path.suffix == ".safetensors")
    return {path.name: file_identity(path) for path in weights}


def load_tokenizer(folder: Path):
    """The tokenizer of a model.

    Raises:
        InputError: there is none; it does not know where its tokens are; or it has no end of a text.
    """
    checked = check_model(folder)
    check_finished(folder)
    if not has_vocabulary(checked):
        raise InputError(f"--model {folder}: no tokenizer in it; save_pretrained the model's there, too")
    tokenizer = loading.load_tokenizer(folder, kind=KIND)
    if not tokenizer.is_fast:
        raise InputError(
            f"--model {folder}: its tokenizer is none of the library tokenizers, expected a fast one"
        )
    if tokenizer.eos_token_id is None:
        raise InputError(f"--model {folder}: its tokenizer has no eos_token, which ends answers")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.split_special_tokens = True  # a text that spells `</s>` does not end there
    return tokenizer


def text_end(special: Sequence[int]) -> int:
    """How many tokens a text has without those that the tokenizer puts behind it.

    Args:
        special: the tokenizer's special_tokens_mask of the text.
    """
    return len(special) - next(
        (count for count, is_special in enumerate(reversed(special)) if not is_special), 0
    )


def load_model(folder: Path, precision: str, device_map: str | None = None):
    """A causal language model, its weights in the given precision.

    Args:
        device_map: "auto" spreads the layers over all GPUs.

    Raises:
        InputError: no such folder, no such model, pickled weights, code of its own, or weights are missing,
            or no numbers.
    """
    model, notes = loading.load_model(
        folder, kind=KIND, class_name="AutoModelForCausalLM", dtype=precision, device_map=device_map
    )
    check_complete(folder, notes["missing_keys"], with_pooler=True)
    if "disk" in getattr(model, "hf_device_map", {}).values():
        raise InputError(f"--spread: --model {folder} is larger than the memory of all GPUs and the computer")
    from fairseq_ext.checkpoints.finite import check_weights

    check_weights(model, f"--model {folder}")
    _try_out(model, folder)
    return model


def _try_out(model, folder: Path) -> None:
    """Read one token, so that a model that cannot be run is found where it is loaded."""
    import torch

    with reading(folder, KIND), torch.inference_mode():
        scores = model(torch.tensor([[0]], device=model.device)).logits
        if not torch.isfinite(scores).all():
            raise ValueError("its scores of a token are NaN or infinite")


def without_weights(folder: Path):
    """A causal language model that takes no memory and computes nothing.

    Raises:
        InputError: as `load_model`, but for the weights.
    """
    config = loading.load_configuration(folder, kind=KIND)
    with reading(folder, KIND):
        import torch
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, trust_remote_code=False)


def check_positions(folder: Path, tokens: int, options: str) -> None:
    """Refuse texts for which a model has too few positions, before its weights are read.

    Args:
        tokens: of the longest text that it may have to read.
        options: that allow this many, for the error.

    Raises:
        InputError: it has learned fewer; or as `load_model`.
    """
    most = learned_positions(without_weights(folder))
    if most is not None and tokens > most:
        raise InputError(
            f"{options}: allow texts of {tokens} tokens; --model {folder} has learned positions for {most},"
            " give smaller ones"
        )


def warn_of_cut(cut: int, texts: int, what: str, max_input: int, loss: str) -> None:
    """A line on standard error if texts are longer than what is read of them.

    Args:
        what: the texts are, such as "prompts".
        loss: what becomes of the long ones, with its punctuation in front.
    """
    if cut:
        print(
            f"warning: {cut:,} of {texts:,} {what} are longer than --max-input {max_input}{loss};"
            " give a larger one",
            file=sys.stderr,
        )


def learned_positions(model) -> int | None:
    """How many tokens a model has learned positions for; None of those that compute them, as BLOOM does."""
    from torch.nn import Embedding

    rows = getattr(model.config, "max_position_embeddings", None)
    words = model.get_input_embeddings()
    for table in model.modules():
        is_other = isinstance(table, Embedding) and table is not words
        if is_other and table.num_embeddings - getattr(table, "offset", 0) == rows:
            return rows if table.padding_idx is None else rows - table.padding_idx - 1  # RoBERTa's like
    return None


def add_adapter(model, folder: Path, is_trainable: bool = False):
    """The model with the adapter in a folder.

    Raises:
        InputError: there is none, it is of another model, lacks weights or has some that are no numbers, or
            asks for code of its own.
    """
    adapted = adapters.load_adapter(model, folder, is_trainable)
    from fairseq_ext.checkpoints.finite import check_values

    check_values(adapters.weights_of(adapted), f"--tuned {folder}")
    return adapted
