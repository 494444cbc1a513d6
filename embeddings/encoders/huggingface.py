"""What folders of `transformers` and `sentence-transformers` share: nothing in them is ever run."""

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.records import read_json

WEIGHTS = "*.safetensors"
UNSAFE = ("bin", "pt", "pth", "ckpt", "pkl", "h5", "msgpack")  # endings


def check_folder(folder: Path) -> None:
    """Refuse a folder of a model that could run code when it is read.

    Raises:
        InputError: no folder, its weights are in a format that could run code (or of another library), or its
            configuration asks for code of its own.
    """
    if not folder.is_dir():
        raise InputError(f"--model {folder}: no such folder; expected one with a model in it")
    for path in sorted(folder.rglob("*")):
        if path.suffix.removeprefix(".") in UNSAFE and not any(path.parent.glob(WEIGHTS)):
            raise InputError(
                f"{path}: weights in a format that can run code, expected safetensors; convert them with"
                " save_pretrained of transformers"
            )
    if not any(folder.rglob(WEIGHTS)):
        raise InputError(f"--model {folder}: no weights in it, expected {WEIGHTS}")
    for config in sorted(folder.rglob("*config*.json")):
        content = read_json(config)
        if isinstance(content, dict) and content.get("auto_map"):
            raise InputError(
                f"{config}: field 'auto_map' asks for code of the folder's own, which is never run"
            )


@functools.cache
def weights_of(folder: Path) -> dict[str, str]:
    """Checksums of the files with weights, by their names; computed once in a process."""
    return {str(path.relative_to(folder)): checksum(path) for path in sorted(folder.rglob(WEIGHTS))}


@contextlib.contextmanager
def reading(folder: Path, kind: str) -> Iterator[None]:
    """What the libraries raise over a folder that they cannot read becomes one line; they stay off the
    network, and quiet.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        import transformers
    except ImportError as error:
        raise InputError(f"{error.name} is not installed: pip install '.[embed]'") from None
    transformers.utils.logging.disable_progress_bar()
    try:
        yield
    except ImportError as error:
        raise InputError(f"--model {folder}: {_first_line(error)}; pip install '.[embed]'") from None
    except (InputError, MemoryError):
        raise
    except Exception as error:  # of every kind, also plain ones: of safetensors, and of tokenizers
        raise InputError(f"--model {folder}: not a model of {kind}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def token_ids(tokenizer, texts: Sequence[str], longest: int) -> list[list[int]]:
    """Token ids with the special ones that the tokenizer adds, at most `longest`."""
    if not texts:
        return []
    encoded = tokenizer(
        list(texts),
        truncation=True,
        max_length=longest,
        padding=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,
    )
    return encoded["input_ids"]


def padded(tokenizer, batch: list[list[int]], device) -> dict:
    """B x T token ids and the mask of those that are no padding, as the model takes them."""
    import torch

    longest = max(map(len, batch))
    ids = torch.full((len(batch), longest), tokenizer.pad_token_id or 0)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(batch):
        start = longest - len(tokens) if tokenizer.padding_side == "left" else 0
        ids[row, start : start + len(tokens)] = torch.tensor(tokens)
        mask[row, start : start + len(tokens)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
