"""The one exception that means "the input is wrong": shown as a single line, exit status 2, no traceback."""


class InputError(Exception):
    """Bad input. The message is one line: the file, the line number if any, what was found, what was
    expected.
    """


def at(path, line_number: int | None = None) -> str:
    """`path:line` as editors and compilers write it; line numbers start at 1."""
    return str(path) if line_number is None else f"{path}:{line_number}"
