"""What smaller vectors lose in retrieval: P@1 by cosine of fewer numbers, and of numbers of fewer bits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import numbers
from command_line.option_classes import option
from data_prep.formats.vector_numbers import Numbers
from embeddings.search.compression import FLOAT32, KINDS, Compression, nearest_compressed

Directions = Callable[[], Iterable[tuple]]


@dataclass(frozen=True)
class SmallerVectors:
    """Which smaller vectors."""

    vectors: list[str] = option(
        f"also measure P@1 (cosine) of smaller vectors, some of: {', '.join(KINDS)}; rescored: the nearest"
        " few are compared again with the query in float32",
        [],
        type=types.items(types.one_of(KINDS)),
    )
    widths: list[int] | None = option(
        "also measure P@1 of the first C numbers of vectors, for every kind of --vectors (float32 if none)",
        type=types.items(types.positive),
        metavar="C,…",
    )

    def compressions(self, queries: Numbers, candidates: Numbers) -> list[Compression]:
        """Every kind of every width; none if nothing was asked for.

        Args:
            queries, candidates: how their vectors are at hand.

        Raises:
            InputError: vectors have fewer numbers than are asked for, or are stored in fewer bits, of which
                others are not made.
        """
        width = candidates.width
        for asked in self.widths or []:
            if asked > width:
                raise InputError(f"--widths {asked}: vectors have {width} numbers; expected at most as many")
        widths = self.widths or [width] * bool(self.vectors)
        compressions = [Compression(kind, asked) for asked in widths for kind in self.vectors or [FLOAT32]]
        for how in compressions:
            if not candidates.are_floats and how.numbers != candidates:
                raise InputError(
                    f"--vectors {how.kind}: {how.width} numbers of vectors that are stored as"
                    f" {candidates.dtype}, {width} of them; expected {candidates.dtype} of the same width, or"
                    " vectors stored as float32"
                )
            if how.is_rescored and not queries.are_floats:
                raise InputError(
                    f"--vectors {how.kind}: rescoring compares queries in float32, and these are stored as"
                    f" {queries.dtype}; give the encoder as --model and these as --candidate-vectors"
                )
        return compressions

    def measure(self, queries: Numbers, candidates: Numbers, directions: Directions) -> list[dict]:
        """Rows of bytes of a vector, and of P@1, the mean over directions; the part is "binary, 64 numbers".

        Args:
            directions: gives queries, candidates, and the right row for every query.
        """
        rows = []
        for how in self.compressions(queries, candidates):
            values = [
                (nearest_compressed(from_vectors, to_vectors, how) == gold).mean()
                for from_vectors, to_vectors, gold in directions()
            ]
            name = f"{how.kind}, {how.width} numbers"
            rows += numbers({"bytes": how.numbers.bytes, "smaller_p_at_1": fmean(values)}, part=name)
        return rows
