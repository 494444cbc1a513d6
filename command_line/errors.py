"""The one exception that means "the input is wrong": shown as a single line, exit status 2, no traceback."""

from pathlib import Path


class InputError(Exception):
    """Bad input. The message is one line: the file, the line number if any, what was found, what was
    expected.
    """


def check_file(path, expected: str) -> None:
    """Refuse what cannot be opened as a file; pipes can.

    Args:
        expected: what the file should be, for the message.

    Raises:
        InputError: there is nothing, or a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected {expected}")
    if not path.exists():
        raise InputError(f"{path}: no such file; expected {expected}")


def at(path, line_number: int | None = None) -> str:
    """`path:line` as editors and compilers write it; line numbers start at 1."""
    return str(path) if line_number is None else f"{path}:{line_number}"
