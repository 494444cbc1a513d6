"""Pairs of languages, and directions from and to the one that all have in common.

Some papers measure one direction of a set with a common language, English in Tatoeba. Dual-pivot transfer
retrieves from English (5.3), as does the published evaluation of XTREME, whose Tatoeba OneAligner has (3.1).
"""

from collections.abc import Collection

from embeddings.groups import common_languages

FROM, TO = "from", "to"


def pair_of(direction: str) -> str:
    """`en-de` -> `de-en`: the pair of languages, in the order of the alphabet."""
    return "-".join(sorted(direction.split("-")))


def pivot_of(directions: Collection[str]) -> str | None:
    """The language that is in all pairs; of a single pair, English. None if there is none."""
    common = common_languages(directions)
    return common.pop() if len(common) == 1 else None


def in_direction(direction: str, side: str, pivot: str) -> bool:
    """Whether a direction is one FROM a language, or one TO it."""
    return direction.split("-")[side != FROM] == pivot
