"""Multilingual sentence encoders: what turns sentences of any language into vectors of one space.

To add one, write a function from `--model` to an `Encoder` and list it in ENCODERS.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from command_line.errors import InputError

Encoder = Callable[[Sequence[str], str], Any]  # (B sentences, language) -> B x C numbers


def sentence_transformers(model: str) -> Encoder:
    """A model of sentence-transformers (LaBSE, multilingual E5, ...) from a local folder.

    Raises:
        InputError: no such folder, the package is not installed, or the folder is no such model.
    """
    if not Path(model).is_dir():
        raise InputError(f"--model {model}: no such folder; expected a model of sentence-transformers")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            "--encoder sentence-transformers: not installed; pip install '.[embed]', or sentence-transformers"
        ) from None
    try:
        loaded = SentenceTransformer(str(model), local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"--model {model}: not a model of sentence-transformers: {reason}") from None
    return lambda sentences, language: loaded.encode(list(sentences), show_progress_bar=False)


ENCODERS: dict[str, Callable[[str], Encoder]] = {
    "sentence-transformers": sentence_transformers,
}
