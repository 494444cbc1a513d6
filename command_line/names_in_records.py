"""Names that a record or a checkpoint gives and that become names of files: they must not lead elsewhere.

Records travel with the folders that they describe. `"model": "../x"` in one of a stranger would copy a file
of the reader into data that are passed on, or write beside the output.
"""

from pathlib import Path
from typing import Any

from command_line.errors import InputError


def plain_name(name: Any, source) -> str:
    """The name, if it is one of a file without folders (or a part of one, such as a language).

    Args:
        source: the file that gives it, and where in it, for the error.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or not name.isprintable():
        raise InputError(f"{source} is {str(name)!r:.80}; expected a plain name without folders")
    return name


def path_inside(folder, name: Any, source) -> Path:
    """The path of a file of `folder`.

    Raises:
        InputError: the name has folders, or is a link to a file outside of `folder`.
    """
    path = Path(folder) / plain_name(name, source)
    if path.resolve().parent != Path(folder).resolve():
        raise InputError(f"{path}: a link to {path.resolve()}; expected a file in {folder} itself")
    return path
