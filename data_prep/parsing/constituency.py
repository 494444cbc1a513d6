"""Labelled phrase structure (Penn Treebank style) -> binary head-marked trees, by head percolation (Collins
1999).

The head of a phrase is the child that the table of its label finds first; among several children, those on
the right of the head are joined to it before those on the left (as in `dependencies`).
"""

from typing import NamedTuple

from data_prep.parsing.trees import KEEP, SWAP, Attachment, Tree, tree_of

LEFT, RIGHT = "left", "right"  # where the search for the head begins
_VERBS = "TO VBD VBN MD VBZ VB VBG VBP VP AUX AUXG"
# label -> (where to begin, labels by priority); Collins 1999, appendix A
_HEADS = {
    "ADJP": (LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (RIGHT, "CC RB IN"),
    "FRAG": (RIGHT, ""),
    "INTJ": (LEFT, ""),
    "LST": (RIGHT, "LS :"),
    "NAC": (LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (LEFT, ""),
    "PRT": (RIGHT, "RP"),
    "QP": (LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (RIGHT, "VP NP ADVP ADJP PP"),
    "S": (LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (RIGHT, ""),
    "VP": (LEFT, f"{_VERBS} ADJP NN NNS NP"),
    "WHADJP": (LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (RIGHT, "CC WRB"),
    "WHNP": (LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (RIGHT, "IN TO FW"),
}
_NOUNS = {"NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"}
_PUNCTUATION = {",", ".", ":", "``", "''", "-LRB-", "-RRB-", "PUNCT", "HYPH", "NFP"}


class Phrase(NamedTuple):
    """A phrase or a word.

    Attributes:
        label: category, or part of speech of a word.
        children: phrases; a word has none.
        token: number of the word; of a phrase it is not used.
        head: number of the head child if the source of the tree says it, otherwise the table decides.
        coordinated: whether the source says that the children are coordinated; the table looks for a
            conjunction.
    """

    label: str
    children: tuple = ()
    token: int = 0
    head: int | None = None
    coordinated: bool = False


def head_child(label: str, labels: list[str]) -> int:
    """Number of the child of a phrase `label` that is its head, by the labels of the children."""
    if label in ("NP", "NX", "NML"):
        return _noun_head(labels)
    side, priorities = _HEADS.get(label, (LEFT, ""))
    places = range(len(labels)) if side == LEFT else range(len(labels) - 1, -1, -1)
    for wanted in priorities.split():
        for place in places:
            if labels[place] == wanted:
                return place
    return next((place for place in places if labels[place] not in _PUNCTUATION), places[0])


def _noun_head(labels: list[str]) -> int:
    """Collins' rules for noun phrases."""
    last = len(labels) - 1
    if labels[last] == "POS":
        return last
    backwards, forwards = range(last, -1, -1), range(last + 1)
    for places, wanted in (
        (backwards, _NOUNS),
        (forwards, {"NP", "NML"}),
        (backwards, {"$", "ADJP", "PRN"}),
        (backwards, {"CD"}),
        (backwards, {"JJ", "JJS", "RB", "QP"}),
    ):
        for place in places:
            if labels[place] in wanted:
                return place
    return next((place for place in backwards if labels[place] not in _PUNCTUATION), last)


def tree_of_phrases(root: Phrase, count: int) -> Tree:
    """The binary head-marked tree of labelled phrases.

    Args:
        root: the sentence; its words are numbered `0 .. count - 1` from left to right.

    Raises:
        ValueError: a phrase without words.
    """
    attachments: list[list[Attachment]] = [[] for _ in range(count)]
    upwards, pending = [], [root]
    while pending:
        phrase = pending.pop()
        upwards.append(phrase)
        pending += phrase.children
    head_token: dict[int, int] = {}  # by identity: equal phrases occur more than once
    for phrase in reversed(upwards):
        if not phrase.children:
            if not 0 <= phrase.token < count or phrase.label == "":
                raise ValueError("a phrase without words")
            head_token[id(phrase)] = phrase.token
            continue
        labels = [child.label.partition("-")[0] or child.label for child in phrase.children]
        head = phrase.head
        if head is None:
            head = head_child(phrase.label.partition("-")[0], labels)
        tokens = [head_token[id(child)] for child in phrase.children]
        fixed = phrase.coordinated or any(label in ("CC", "CONJP") for label in labels[1:])
        swap = KEEP if fixed else SWAP
        chain = attachments[tokens[head]]
        chain += [Attachment(token, swap) for token in tokens[head + 1 :]]
        chain += [Attachment(token, KEEP) for token in reversed(tokens[:head])]
        head_token[id(phrase)] = tokens[head]
    return tree_of(attachments, head_token[id(root)])


def phrase_of(tree) -> Phrase:
    """A tree of objects with `label` and `children` (Stanza's, NLTK-like), whose leaves are words, as a
    `Phrase`.

    The parent of a leaf is its part of speech. Not recursive: trees may be deep.
    """
    results: list[list[Phrase]] = [[]]
    pending, words = [(tree, False)], 0
    while pending:
        node, is_done = pending.pop()
        if is_done:
            children = tuple(results.pop())
            results[-1].append(Phrase(node.label, children))
        elif len(node.children) == 1 and not node.children[0].children:
            results[-1].append(Phrase(node.label, token=words))
            words += 1
        else:
            results.append([])
            pending.append((node, True))
            pending += [(child, False) for child in reversed(node.children)]
    return results[0][0]
