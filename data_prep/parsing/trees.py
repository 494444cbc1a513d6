"""The one type of phrase structure: a binary tree over the tokens of a sentence, and head finalization of it.

Head-driven phrase structure grammar (thesis 4.3.2) is binary: every phrase is a head and one dependent. So a
tree over `n` tokens has `n - 1` phrases, and where each of them splits, listed from the root downwards and
left before right (preorder), says everything: the phrase `i` over the tokens `start:end` with the split `m`
has the left child `i + 1` over `start:m` and the right child `i + m - start` over `m:end`; a child over one
token is a leaf. Phrases with one child only (unary) carry no tokens of their own and do not occur.
"""

from collections.abc import Sequence
from typing import NamedTuple

KEEP, SWAP = 0, 1


class Tree(NamedTuple):
    """A binary tree over tokens `0 .. len(splits)`.

    Attributes:
        splits: for every phrase in preorder the first token of its right child.
        swaps: for every phrase `SWAP` if its head is its left child and its children are not coordinated, so
            that head finalization exchanges them; otherwise `KEEP`.
    """

    splits: list[int]
    swaps: list[int]

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.splits) + 1


class ParsedTree(NamedTuple):
    """What a parser of phrases says of a sentence.

    Attributes:
        ends: where every token ends, in characters without spaces.
        tree: over the tokens.
        characters: what was parsed, without spaces; None if it was the text that the parser was given.
    """

    ends: list[int]
    tree: Tree
    characters: str | None = None


class Attachment(NamedTuple):
    """A dependent phrase joined to the phrase of a head token; `dependent` is the dependent's head token."""

    dependent: int
    swap: int


def tree_of(attachments: Sequence[Sequence[Attachment]], root: int) -> Tree:
    """Head-marked attachments -> binary tree.

    Args:
        attachments: for every token what is joined to it, from the innermost phrase to the outermost.
            Dependents of one side come from near to far, and every complete phrase is a contiguous span.
        root: the head token of the sentence.
    """
    begins, ends = _extents(attachments, root)
    splits, swaps = [], []
    pending = [(root, len(attachments[root]))]  # (head token, how many of its attachments)
    while pending:
        head, count = pending.pop()
        if not count:
            continue
        dependent, swap = attachments[head][count - 1]
        swaps.append(swap)
        rest, whole = (head, count - 1), (dependent, len(attachments[dependent]))
        if dependent < head:
            splits.append(ends[dependent])
            pending += (rest, whole)
        else:
            splits.append(begins[dependent])
            pending += (whole, rest)
    return Tree(splits, swaps)


def _extents(attachments, root: int) -> tuple[list[int], list[int]]:
    """First token and end of the complete phrase of every token."""
    begins = list(range(len(attachments)))
    ends = [token + 1 for token in begins]
    downwards = [root]
    for head in downwards:
        downwards += [attachment[0] for attachment in attachments[head]]
    for head in reversed(downwards):
        for dependent, _ in attachments[head]:
            if begins[dependent] < begins[head]:
                begins[head] = begins[dependent]
            if ends[dependent] > ends[head]:
                ends[head] = ends[dependent]
    return begins, ends


def phrases(tree: Tree) -> list[tuple[int, int, int]]:
    """(start, split, end) of every phrase, in preorder."""
    phrases, pending, splits = [], [(0, tree.size)], tree.splits
    while pending:
        start, end = pending.pop()
        if end - start > 1:
            split = splits[len(phrases)]
            phrases.append((start, split, end))
            pending += ((split, end), (start, split))
    return phrases


def keep_tokens(tree: Tree, kept: Sequence[bool]) -> Tree:
    """The tree without the tokens that are not kept (at least one is); phrases left with one child go."""
    before = [0]
    for flag in kept:
        before.append(before[-1] + bool(flag))
    splits, swaps = [], []
    for (start, split, end), swap in zip(phrases(tree), tree.swaps, strict=True):
        if before[start] < before[split] < before[end]:
            splits.append(before[split])
            swaps.append(swap)
    return Tree(splits, swaps)


def depths(tree: Tree) -> list[int]:
    """The number of phrases that each token is part of."""
    depths = [0] * tree.size
    pending, phrase = [(0, tree.size, 0)], 0
    while pending:
        start, end, depth = pending.pop()
        if end - start == 1:
            depths[start] = depth
            continue
        split = tree.splits[phrase]
        phrase += 1
        pending += ((split, end, depth + 1), (start, split, depth + 1))
    return depths


def widen_leaves(tree: Tree, widths: Sequence[int]) -> Tree:
    """Every leaf `i` becomes `widths[i]` tokens in a phrase of their own, which head finalization keeps."""
    starts = [0]
    for width in widths:
        starts.append(starts[-1] + width)
    splits, swaps = [], []
    pending, phrase = [(0, tree.size)], 0
    while pending:
        start, end = pending.pop()
        if end - start == 1:
            inner = range(starts[start] + 1, starts[end])
            splits += inner
            swaps += [KEEP] * len(inner)
            continue
        split = tree.splits[phrase]
        splits.append(starts[split])
        swaps.append(tree.swaps[phrase])
        phrase += 1
        pending += ((split, end), (start, split))
    return Tree(splits, swaps)


def surround(tree: Tree, before: int, after: int) -> Tree:
    """Add tokens in front of and behind the sentence, directly below the root; they keep their place."""
    if not before and not after:
        return tree
    end = before + tree.size
    outer = [*range(end + after - 1, end - 1, -1), *range(1, before + 1)]
    return Tree(outer + [split + before for split in tree.splits], [KEEP] * len(outer) + tree.swaps)


def head_final_order(tree: Tree, punctuation: Sequence[bool], separators: Sequence[bool]) -> list[int]:
    """Head finalization (Isozaki et al. 2010; thesis 4.3.2): every head after its dependents.

    Coordinated phrases keep their order. Punctuation keeps its place: a phrase and a punctuation mark are not
    exchanged, and separators (commas and the like) at the edges of two phrases that are exchanged stay in
    front of, between and behind them.

    Args:
        punctuation: whether a token is a punctuation mark.
        separators: whether it is one that stands between phrases rather than around one.

    Returns:
        the tokens in their new order: `[2, 0, 1]` puts token 2 first.
    """
    order: list[int] = []
    splits, swaps = tree.splits, tree.swaps
    some_punctuation, placed = True in punctuation, set()
    pending: list[tuple] = [(0, tree.size, 0)]
    while pending:
        item = pending.pop()
        if item[1] is None:  # separators around exchanged phrases
            order += item[0]
            continue
        start, end, phrase = item
        if end - start == 1:
            if start not in placed:
                order.append(start)
            continue
        split = splits[phrase]
        left, right = (start, split, phrase + 1), (split, end, phrase + split - start)
        if not swaps[phrase]:
            pending += (right, left)
        elif not some_punctuation:
            pending += (left, right)
        elif all(punctuation[start:split]) or all(punctuation[split:end]):
            pending += (right, left)
        else:
            stays = [
                _separators(separators, placed, *side)
                for side in ((start, 1), (split - 1, -1), (split, 1), (end - 1, -1))
            ]
            front, before, behind, back = stays
            placed.update(*stays)
            middle = range(before.start, behind.stop)
            pending += ((back, None), left, (middle, None), right, (front, None))
    return order


def _separators(separators: Sequence[bool], placed: set[int], place: int, step: int) -> range:
    """The run of separators, not yet placed, that begins at a place and goes to the right (1) or to the left
    (-1).
    """
    first = place
    while separators[place] and place not in placed:
        place += step
    return range(first, place) if step > 0 else range(place + 1, first + 1)
