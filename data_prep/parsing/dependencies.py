"""Dependency trees -> binary head-marked trees: the projection of every head is a phrase.

Inside a projection the dependents on the right of the head are joined before those on the left, near before
far, as head-driven phrase structure grammar does it: complements, then subjects and specifiers ("[John [hit
[a ball]]]"). Universal Dependencies hang function words (prepositions, auxiliaries, complementizers, copulas)
below content words; phrase structure grammar has them as heads, and so have the phrases made here, or head
finalization would leave "to the police" as it is instead of giving "the police to".
"""

import functools
from collections.abc import Sequence
from itertools import pairwise

from data_prep.parsing.trees import KEEP, SWAP, Attachment, Tree, tree_of

ORDINARY, FUNCTION, FIXED = 0, 1, 2
_FUNCTION_WORDS = {"case", "mark", "aux", "auxpass", "cop"}
_FIXED_ORDER = {"conj", "cc", "preconj", "punct", "flat", "fixed", "goeswith", "list", "parataxis"}
_COORDINATE_CLAUSES = ("conj", "parataxis")


@functools.cache
def kind_of(relation: str) -> int:
    """What a relation (of Universal Dependencies or of spaCy's English pipelines) means for the order."""
    universal = relation.partition(":")[0].lower()
    if universal in _FUNCTION_WORDS:
        return FUNCTION
    return FIXED if universal in _FIXED_ORDER else ORDINARY


def tree_of_dependencies(heads: Sequence[int], relations: Sequence[str]) -> Tree:
    """The binary head-marked tree of a dependency tree.

    Args:
        heads: for every token the token that it depends on; itself for a root. Several roots are joined
            like coordinated clauses; a crossing dependency is lifted to the next head above.
        relations: for every token the name of its dependency.

    Raises:
        ValueError: not a tree: a head outside of the sentence, a cycle.
    """
    count = len(heads)
    if not count or min(heads) < 0 or max(heads) >= count:
        raise ValueError("a head is not a token of the sentence")
    below, roots = _dependents(heads)
    if not _is_projective(heads, below, roots):
        heads = _lift(list(heads))
        below, roots = _dependents(heads)
    attachments = [
        _inside_out(head, dependents, relations, below) if dependents else ()
        for head, dependents in enumerate(below)
    ]
    if len(roots) > 1:
        attachments[roots[0]] = [*attachments[roots[0]], *(Attachment(other, KEEP) for other in roots[1:])]
    return tree_of(attachments, roots[0])


def _dependents(heads: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Dependents of every token in their order, and the roots."""
    below: list[list[int]] = [[] for _ in heads]
    roots = []
    for token, head in enumerate(heads):
        (roots if head == token else below[head]).append(token)
    return below, roots


def _inside_out(head: int, dependents: list[int], relations, below) -> list[Attachment]:
    """The order in which dependents are joined to their head, and what head finalization does with each."""
    left, right = [], []
    for dependent in dependents:
        kind = kind_of(relations[dependent])
        if dependent < head:
            left.append(Attachment(dependent, SWAP if kind == FUNCTION else KEEP))
        else:
            right.append(Attachment(dependent, SWAP if kind == ORDINARY else KEEP))
    left.reverse()
    if not left or not right:
        return right or left
    outer = _first_outer(right, relations, below)
    return right[:outer] + left + right[outer:]


def _first_outer(right: list[Attachment], relations, below) -> int:
    """Place of the first dependent on the right that is joined to the whole clause of the head rather than
    to the head: a coordinated clause with a subject of its own, or punctuation at the end.
    """
    outer = len(right)
    while outer and relations[right[outer - 1][0]] == "punct":
        outer -= 1
    for place in range(outer):
        dependent = right[place][0]
        if relations[dependent].startswith(_COORDINATE_CLAUSES) and any(
            "subj" in relations[other] for other in below[dependent]
        ):
            while place and relations[right[place - 1][0]] in ("cc", "punct"):
                place -= 1
            return place
    return outer


def _is_projective(heads: Sequence[int], below, roots) -> bool:
    """Whether every projection is contiguous."""
    count = len(heads)
    downwards = list(roots)
    for head in downwards:
        downwards += below[head]
    if len(downwards) != count:
        raise ValueError("the dependencies have a cycle")
    begins, ends, sizes = list(range(count)), list(range(count)), [1] * count
    for token in reversed(downwards):
        if ends[token] - begins[token] + 1 != sizes[token]:
            return False
        head = heads[token]
        if head != token:
            sizes[head] += sizes[token]
            if begins[token] < begins[head]:
                begins[head] = begins[token]
            if ends[token] > ends[head]:
                ends[head] = ends[token]
    return all(ends[a] < begins[b] for a, b in pairwise(roots))


def _lift(heads: list[int]) -> list[int]:
    """Reattach tokens to the head of their head until no dependency crosses another (Nivre and Nilsson 2005).

    A token whose dependency on a root crosses another tree becomes a root.
    """
    changed = True
    while changed:
        changed = False
        for token in sorted(range(len(heads)), key=lambda token: abs(heads[token] - token)):
            head = heads[token]
            between = range(min(token, head) + 1, max(token, head))
            if not all(_is_below(heads, other, head) for other in between):
                heads[token] = heads[head] if heads[head] != head else token
                changed = True
    return heads


def _is_below(heads: Sequence[int], token: int, head: int) -> bool:
    while token != head and heads[token] != token:
        token = heads[token]
    return token == head
