"""Reading the headers of the project's own binary files."""

import os
import struct
from pathlib import Path

from command_line.errors import InputError


def read_header(path: Path, layout: struct.Struct, magic: bytes, command: str) -> tuple[tuple, int]:
    """The fields of a header, and the size of the file in bytes.

    Args:
        layout: of the header; its first field is the magic bytes, which are left out of the result.
        magic: what files of this kind begin with.
        command: what the user runs to write them.
    """
    written = f"`{command}`"
    try:
        with open(path, "rb") as stream:
            header = stream.read(layout.size)
            size = os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {written} writes it") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a file of {written}") from None
    if len(header) < layout.size or not header.startswith(magic):
        raise InputError(f"{path}: not a file of {written}")
    return layout.unpack(header)[1:], size
