"""Links between the words of two sentences: their text form, and how two directions become one.

The text form is a line per sentence pair, Pharaoh's `i-j` extended to spans:

    0-0 1-2 3:5-3 6:8-5:7

Words count from 0. `i-j` links a word of A with a word of B; `i:k` in place of a word is the half-open span
of words i to k - 1. A line without links is empty.

Symmetrizations are those of Och and Ney (2003); grow-diag-final-and is that of Koehn et al. (2005).
"""

import re
from bisect import insort
from collections.abc import Iterable

from command_line.errors import InputError, at

Spans = tuple[int, int, int, int]  # start and end in A, start and end in B
_ITEM = re.compile(r"(\d{1,9})(?::(\d{1,9}))?-(\d{1,9})(?::(\d{1,9}))?", re.ASCII)


def format_line(spans: list[Spans]) -> str:
    return " ".join(
        f"{a}-{c}" if b - a == 1 == d - c else f"{_side(a, b)}-{_side(c, d)}" for a, b, c, d in spans
    )


def _side(start: int, end: int) -> str:
    return str(start) if end - start == 1 else f"{start}:{end}"


def parse_line(line: str, path, number: int) -> list[Spans]:
    """Inverse of `format_line`, in the order of the line."""
    spans = []
    for item in line.split():
        match = _ITEM.fullmatch(item)
        start_a, end_a, start_b, end_b = match.groups() if match else (0, 0, 0, 0)
        row = int(start_a), int(end_a or int(start_a) + 1), int(start_b), int(end_b or int(start_b) + 1)
        if not match or row[0] >= row[1] or row[2] >= row[3]:
            raise InputError(
                f"{at(path, number)}: found {item[:60]!r}, expected i-j, or i:k-j:l with i < k and j < l"
            )
        spans.append(row)
    return spans


def check_range(spans: list[Spans], words_a: int, words_b: int, path, number: int) -> None:
    """Refuse links to words that a sentence does not have."""
    for _, end_a, _, end_b in spans:
        if end_a > words_a or end_b > words_b:
            raise InputError(
                f"{at(path, number)}: found a link to word {end_a - 1} of A and {end_b - 1} of B, "
                f"but the sentences have {words_a} and {words_b} words (counted from 0)"
            )


Link = tuple[int, int]
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def intersection(forward: Iterable[Link], backward: Iterable[Link]) -> list[Link]:
    return sorted(set(forward) & set(backward))


def union(forward: Iterable[Link], backward: Iterable[Link]) -> list[Link]:
    return sorted(set(forward) | set(backward))


def grow_diag_final_and(forward: Iterable[Link], backward: Iterable[Link]) -> list[Link]:
    """The intersection, grown along neighbours in the union while one of the two words has no link yet
    (grow-diag); then the links of either direction of which both words have none (final-and).
    """
    forward, backward = sorted(forward), sorted(backward)
    alignment = set(forward).intersection(backward)
    rest = set(forward).symmetric_difference(backward)
    if not rest:
        return sorted(alignment)
    done_a, done_b = {a for a, _ in alignment}, {b for _, b in alignment}

    def add(link: Link) -> None:
        alignment.add(link)
        done_a.add(link[0])
        done_b.add(link[1])

    beside = {(a + step_a, b + step_b) for a, b in rest for step_a, step_b in _NEIGHBOURS}
    added = bool(alignment)
    while added:
        added = False
        points = sorted(alignment & beside)  # no other can grow
        for a, b in points:  # grows under way: a new link that lies ahead has its turn in the same pass
            for step_a, step_b in _NEIGHBOURS:
                link = a + step_a, b + step_b
                if link in rest and (link[0] not in done_a or link[1] not in done_b):
                    rest.discard(link)
                    add(link)
                    added = True
                    if link > (a, b):
                        insort(points, link)
    for direction in (forward, backward):
        for link in direction:
            if link[0] not in done_a and link[1] not in done_b:
                add(link)
    return sorted(alignment)


SYMMETRIZATIONS = {"intersection": intersection, "union": union, "grow-diag-final-and": grow_diag_final_and}


def one_to_one(links: list[Link]) -> list[Link]:
    """Only the links whose two words have no other link (thesis 5.1.1)."""
    count_a: dict[int, int] = {}
    count_b: dict[int, int] = {}
    for a, b in links:  # collections.Counter is slower on so few
        count_a[a] = count_a.get(a, 0) + 1
        count_b[b] = count_b.get(b, 0) + 1
    return [(a, b) for a, b in links if count_a[a] == 1 == count_b[b]]
