"""What programs of others read and write: `words of A ||| words of B`, and Pharaoh's `i-j` lines."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_parallel

SEPARATOR = "|||"
_OTHER = "¦¦¦"  # in place of the separator where it is text


def joint_line(a: str, b: str) -> str:
    return f"{a.replace(SEPARATOR, _OTHER)} {SEPARATOR} {b.replace(SEPARATOR, _OTHER)}\n"


def write_joint(path: Path, path_a: Path, path_b: Path) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(joint_line(a, b) for a, b in read_parallel(path_a, path_b))


def flat(lines: Iterable[Iterable[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray]:
    """Links per line, and all links in order, `L x 2`."""
    lines = [sorted(links) for links in lines]
    links = np.array(list(chain.from_iterable(lines)), dtype=int).reshape(-1, 2)
    return np.array([len(line) for line in lines], dtype=int), links


def parse_pharaoh(line: str, program: str) -> list[tuple[int, int]]:
    """Raises:
    InputError: the program wrote something else.
    """
    try:
        return [(int(a), int(b)) for a, _, b in (item.partition("-") for item in line.split())]
    except ValueError:
        raise InputError(f"{program}: wrote {line[:80]!r}, expected links i-j") from None
