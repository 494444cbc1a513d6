"""What folders of `transformers` and `sentence-transformers` share: nothing in them is ever run."""

import contextlib
import functools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from command_line.errors import InputError
from command_line.missing_packages import EXTRAS
from command_line.outputs import checksum
from command_line.records import check, read_json

MODULES_LIST = "modules.json"  # of sentence-transformers: its modules, and the folder of each
WEIGHTS = "*.safetensors"
SETTINGS = ("*.json", "*.txt", "*.model")  # of sentencepiece the last one
CODE_FIELDS = ("auto_map", "megatron_config")  # the last one of peft: imports a module that it names
UNSAFE = ("bin", "pt", "pth", "ckpt", "pkl", "h5", "msgpack")  # endings
LIBRARIES = ("transformers", "tokenizers", "peft")
RUST_PANIC = "PanicException"  # of tokenizers over broken files; no `Exception`, and importable from nowhere


def check_folder(folder: Path, option: str = "--model") -> None:
    """Refuse a folder of a model that could run code when it is read.

    Raises:
        InputError: no folder, its weights are in a format that could run code (or of another library), or its
            configuration asks for code of its own.
    """
    if not folder.is_dir():
        raise InputError(f"{option} {folder}: no such folder; expected one with a model in it")
    for path in sorted(folder.rglob("*")):
        if path.suffix.removeprefix(".") in UNSAFE and not any(path.parent.glob(WEIGHTS)):
            raise InputError(
                f"{path}: weights in a format that can run code, expected safetensors; convert them with"
                " save_pretrained of transformers, or of sentence-transformers where modules have some"
            )
    if not any(folder.rglob(WEIGHTS)):
        raise InputError(f"{option} {folder}: no weights in it, expected {WEIGHTS}")
    refuse_own_code(folder)


def refuse_own_code(folder: Path) -> None:
    """Refuse a folder whose configuration of a model, tokenizer or adapter asks for code of its own.

    Raises:
        InputError: it does; names the file.
    """
    for config in sorted(folder.rglob("*config*.json")):
        content = read_json(config)
        asked = [field for field in CODE_FIELDS if isinstance(content, dict) and content.get(field)]
        if asked:
            raise InputError(
                f"{config}: field {asked[0]!r} asks for code of the folder's own, which is never run"
            )


def check_complete(folder: Path, missing: Iterable[str], with_pooler: bool, option: str = "--model") -> None:
    """Refuse a model whose files lack weights.

    Args:
        missing: their names, as the library says.
        with_pooler: is a pooler of the model's own needed?

    Raises:
        InputError: the files lack weights that the vectors depend on; transformers would draw them by chance.
    """
    missing = sorted(name for name in missing if with_pooler or not name.startswith("pooler."))
    if missing:
        raise InputError(
            f"{option} {folder}: {len(missing)} weights are missing from its files, the first is"
            f" {missing[0]}; expected a complete encoder"
        )


@functools.cache
def files_of(folder: Path, weights: str = WEIGHTS) -> dict[str, str]:
    """Checksums of the files that vectors depend on, by their names: weights, vocabulary, and the settings of
    model, modules and tokenizer; other folders inside, of results for example, have none. Computed once in a
    process.
    """
    files = {
        path for place in places_of(folder) for ending in (weights, *SETTINGS) for path in place.glob(ending)
    }
    return {str(path.relative_to(folder)): checksum(path) for path in sorted(files)}


def places_of(folder: Path) -> set[Path]:
    """The folder, and those of its modules.

    Raises:
        InputError: its list of modules is damaged, or names a folder elsewhere.
    """
    listed = folder / MODULES_LIST
    if not listed.is_file():
        return {folder}
    modules = read_json(listed)
    check(modules, [{"path": str}], listed)
    places = {folder, *(folder / module["path"] for module in modules)}
    for place in places:
        if not place.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{listed}: names {place}, expected folders below {folder}")
    return places


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
        _make_sentencepiece_readable()
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


def _make_sentencepiece_readable() -> None:
    """Let transformers read models of sentencepiece where an older protobuf is installed, as COMET wants it.

    It asks sentencepiece for the format of its files, whose current version needs a newer protobuf; its own
    copy does not.
    """
    try:
        import sentencepiece.sentencepiece_model_pb2  # noqa: F401
    except ImportError:
        with contextlib.suppress(ImportError):  # neither is there: what needs them says so
            from transformers.utils import sentencepiece_model_pb2_new

            sys.modules["sentencepiece.sentencepiece_model_pb2"] = sentencepiece_model_pb2_new


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
