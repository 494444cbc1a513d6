"""Cuts multi-way valid and test sets out of corpora that share one language, with bounded memory."""

import hashlib
from collections.abc import Iterable

from command_line.errors import InputError

CANDIDATES_PER_LINE = 10  # lines of each corpus that are considered for one line of the sets


def choose_multiway(
    corpora: dict[str, Iterable[tuple[str, str]]], lines: int
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Test and valid sets of `lines` lines each that every corpus has.

    Candidates are ordered by the SHA-256 of their shared side, so the choice depends on nothing but the text.
    Each corpus keeps its first `CANDIDATES_PER_LINE` candidates for every line of both sets, and less than
    twice as many in any case, so that memory does not grow with the corpora.

    Args:
        corpora: language -> rows (line in that language, line in the shared language).

    Returns:
        Test rows and valid rows: language -> line; the shared language's key is "".
    """
    candidates = {
        language: _first_by_hash(rows, 2 * lines * CANDIDATES_PER_LINE) for language, rows in corpora.items()
    }
    common = set.intersection(*(set(row_of) for row_of in candidates.values()))
    chosen = []
    for digest in sorted(common):
        rows = {language: row_of[digest] for language, row_of in candidates.items()}
        if all(row is not None for row in rows.values()):
            shared = next(iter(rows.values()))[1]
            chosen.append({"": shared} | {language: row[0] for language, row in rows.items()})
        if len(chosen) == 2 * lines:
            return chosen[:lines], chosen[lines:]
    raise InputError(
        f"{len(chosen)} lines occur once in each of {', '.join(corpora)}; expected at least {2 * lines}"
    )


def _first_by_hash(rows: Iterable[tuple[str, str]], limit: int) -> dict[bytes, tuple[str, str] | None]:
    """The rows whose second line has the smallest hash, None for a line that comes again: `limit` of them, if
    there are so many, and less than twice as many.
    """
    kept: dict[bytes, tuple[str, str] | None] = {}
    bound = b"\xff" * 33
    for other, shared in rows:
        other, shared = other.strip(), shared.strip()
        if not other or not shared:
            continue
        digest = hashlib.sha256(shared.encode()).digest()
        if digest < bound:
            kept[digest] = None if digest in kept else (other, shared)
            if len(kept) >= 2 * limit:
                smallest = sorted(kept)[:limit]
                bound = smallest[-1] + b"\0"
                kept = {key: kept[key] for key in smallest}
    return kept
