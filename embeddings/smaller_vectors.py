"""What smaller vectors lose in retrieval: P@1 by cosine of fewer numbers, and of numbers of fewer bits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from embeddings.search.compression import FLOAT32, KINDS, Compression, nearest_compressed

Directions = Callable[[], Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class SmallerVectors:
    """Which smaller vectors.

    Attributes:
        vectors: kinds of numbers, some of KINDS.
        widths: of the first numbers of vectors; None for all numbers.
    """

    vectors: list[str]
    widths: list[int] | None

    def compressions(self, width: int) -> list[Compression]:
        """Every kind of every width; none if nothing was asked for.

        Args:
            width: of the vectors.

        Raises:
            InputError: it is smaller than one that is asked for.
        """
        for asked in self.widths or []:
            if asked > width:
                raise InputError(f"--widths {asked}: vectors have {width} numbers; expected at most as many")
        widths = self.widths or [width] * bool(self.vectors)
        return [Compression(kind, asked) for asked in widths for kind in self.vectors or [FLOAT32]]

    def measure(self, width: int, directions: Directions) -> dict[str, dict]:
        """ "binary, 64 numbers" -> bytes of a vector, and P@1, the mean over directions.

        Args:
            directions: gives queries, candidates, and the right row for every query.
        """
        found = {}
        for how in self.compressions(width):
            values = [
                (nearest_compressed(one, other, how) == gold).mean() for one, other, gold in directions()
            ]
            name = f"{how.kind}, {how.width} numbers"
            found[name] = {"bytes": how.bytes, "p_at_1": float(fmean(values))}
        return found


def add_smaller_vectors_arguments(parser) -> None:
    """The options of `SmallerVectors`."""
    parser.add_argument(
        "--vectors",
        type=types.items(types.one_of(KINDS)),
        default=[],
        help=f"also P@1 (cosine) of smaller vectors, some of: {', '.join(KINDS)}; rescored: the nearest few"
        " are compared again with the query in float32",
    )
    parser.add_argument(
        "--widths",
        type=types.items(types.positive),
        metavar="C,…",
        help="also P@1 of the first so many numbers of vectors, of every kind of --vectors (float32 if none)",
    )
