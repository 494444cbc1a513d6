"""The libraries that read folders of models: quiet, off the network, and with errors of one line."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from command_line.errors import InputError
from command_line.missing_packages import EXTRAS

LIBRARIES = ("transformers", "tokenizers", "peft")
RUST_PANIC = "PanicException"  # of tokenizers over broken files; no `Exception`, and importable from nowhere


@contextlib.contextmanager
def reading(folder: Path, kind: str, option: str = "--model") -> Iterator[None]:
    """What transformers and the libraries on it raise over a folder that they cannot read becomes one line;
    they stay off the network, and quiet.

    Args:
        kind: what the folder should hold a model of.
        option: that named the folder.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    with as_one_line(f"{option} {folder}", kind):
        import transformers

        transformers.utils.logging.disable_progress_bar()
        make_sentencepiece_readable()
        yield


@contextlib.contextmanager
def as_one_line(source: str, kind: str) -> Iterator[None]:
    """Whatever a library raises over files that it cannot read becomes an `InputError`.

    Args:
        source: where the files are from, the beginning of the line.
        kind: what they should be a model of.
    """
    try:
        yield
    except ImportError as error:
        missing = f"{error.name} is not installed" if error.name in LIBRARIES else _first_line(error)
        raise InputError(f"{source}: {missing}; pip install '.[{EXTRAS.get(error.name, 'embed')}]'") from None
    except (InputError, MemoryError):
        raise
    except BaseException as error:  # of every kind, also plain ones: of safetensors, and of tokenizers
        if not isinstance(error, Exception) and type(error).__name__ != RUST_PANIC:
            raise
        raise InputError(f"{source}: not a model of {kind}: {_first_line(error)}") from None


def make_sentencepiece_readable() -> None:
    """Let models of sentencepiece be read field by field where an older protobuf is installed, as COMET wants
    it.

    transformers asks sentencepiece for the format of its files, whose current version needs a newer protobuf;
    its own copy does not.
    """
    try:
        import sentencepiece.sentencepiece_model_pb2  # noqa: F401
    except ImportError:
        with contextlib.suppress(ImportError):  # neither is there: what needs them says so
            from transformers.utils import sentencepiece_model_pb2_new

            sys.modules["sentencepiece.sentencepiece_model_pb2"] = sentencepiece_model_pb2_new


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
