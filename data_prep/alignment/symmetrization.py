"""Two directed alignments -> one: intersection, union, or what lies between.

Och and Ney (2003); Koehn et al. (2005) for grow-diag-final-and.

A link is (word of A, word of B), both from 0.
"""

from bisect import insort
from collections.abc import Iterable

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


SYMMETRIZATIONS = {
    "intersection": intersection,
    "union": union,
    "grow-diag-final-and": grow_diag_final_and,
}


def one_to_one(links: list[Link]) -> list[Link]:
    """Only the links whose two words have no other link (5.1.1)."""
    count_a: dict[int, int] = {}
    count_b: dict[int, int] = {}
    for a, b in links:  # collections.Counter is slower on so few
        count_a[a] = count_a.get(a, 0) + 1
        count_b[b] = count_b.get(b, 0) + 1
    return [(a, b) for a, b in links if count_a[a] == 1 == count_b[b]]
