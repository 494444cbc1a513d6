"""Labelled phrase structure: Collins' heads, head finalization, deep trees."""

import pytest

from data_prep.parsing.constituency import Phrase, head_child, phrase_of, tree_of_phrases
from tests.data_prep.parsing.finalization import finalized


def phrase(text: str) -> Phrase:
    """A tree in Penn Treebank brackets."""
    stack: list[list] = [[]]
    for piece in text.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            stack.append([])
        elif piece == ")":
            label, *children = stack.pop()
            stack[-1].append(Node(label, children))
        else:
            stack[-1].append(piece if not stack[-1] else Node(piece, []))
    return phrase_of(stack[0][0])


class Node:
    """Like Stanza's trees: leaves are trees without children."""

    def __init__(self, label, children):
        self.label, self.children = label, children


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        (
            "(ROOT (S (NP (NNP John)) (VP (VBD hit) (NP (DT a) (NN ball))) (. .)))",
            "John hit a ball .",
            "John a ball hit .",
        ),
        (
            "(S (NP (PRP he)) (VP (MD will) (VP (VB go) (PP (TO to) (NP (NNP Rome) (CC and) (NNP Bonn))))))",
            "he will go to Rome and Bonn",
            "he Rome and Bonn to go will",
        ),
        (
            "(S (NP (NP (DT the) (NN man)) (PP (IN in) (NP (NNP Rome)))) "
            "(VP (VBD saw) (SBAR (IN that) (S (NP (PRP it)) (VP (VBD rained))))))",
            "the man in Rome saw that it rained",
            "Rome in the man it rained that saw",
        ),
    ],
)
def test_collins_heads(text, words, expected):
    tree = tree_of_phrases(phrase(text), len(words.split()))
    assert finalized(words, tree) == expected


@pytest.mark.parametrize(
    ("label", "labels", "head"),
    [
        ("NP", ["DT", "JJ", "NN"], 2),
        ("NP", ["NP", "PP"], 0),
        ("NP", ["NP", "POS"], 1),
        ("VP", ["VBD", "NP", "PP"], 0),
        ("VP", ["ADVP", "TO", "VP"], 1),
        ("PP", ["RB", "IN", "NP"], 1),
        ("SBAR", ["IN", "S"], 0),
        ("S", ["NP", "VP", "."], 1),
        ("XYZ", [",", "NN", "VB"], 1),
        ("QP", ["IN", "CD"], 0),
    ],
)
def test_head_table(label, labels, head):
    assert head_child(label, labels) == head


def test_a_deep_constituency_tree():
    inner = Phrase("NN", token=1_999)
    for token in range(1_998, -1, -1):
        inner = Phrase("VP", (Phrase("VB", token=token), inner))
    tree = tree_of_phrases(inner, 2_000)
    assert tree.splits == list(range(1, 2_000))


def test_a_phrase_without_words_is_refused():
    with pytest.raises(ValueError, match="without words"):
        tree_of_phrases(Phrase("", ()), 1)
