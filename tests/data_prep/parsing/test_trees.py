"""Phrase structure: trees by eye, head finalization of the literature's examples, properties on random
trees.
"""

from itertools import pairwise

import numpy as np
import pytest

from data_prep.parsing.dependencies import tree_of_dependencies
from data_prep.parsing.tokens_to_words import blocks, tree_over_words
from data_prep.parsing.trees import (
    KEEP,
    SWAP,
    Tree,
    depths,
    head_final_order,
    keep_tokens,
    phrases,
    surround,
    widen_leaves,
)
from tests.data_prep.parsing.finalization import finalized


def parsed(text: str, dependencies: str) -> Tree:
    """`dependencies`: for every word HEAD/RELATION, the head counted from 1, 0 for the root."""
    pairs = [entry.split("/") for entry in dependencies.split()]
    assert len(pairs) == len(text.split())
    heads = [int(head) - 1 if int(head) else place for place, (head, _) in enumerate(pairs)]
    return tree_of_dependencies(heads, [relation for _, relation in pairs])


def brackets(tree: Tree, words: list[str]) -> str:
    """The tree as nested brackets."""

    def show(start, end, phrase):
        if end - start == 1:
            return words[start]
        split = tree.splits[phrase]
        return f"[{show(start, split, phrase + 1)} {show(split, end, phrase + split - start)}]"

    return show(0, tree.size, 0)


def test_complements_join_the_head_before_the_subject():
    text = "John hit a ball"
    tree = parsed(text, "2/nsubj 0/root 4/det 2/obj")
    assert brackets(tree, text.split()) == "[John [hit [a ball]]]"
    assert tree == Tree([1, 2, 3], [KEEP, SWAP, KEEP])
    assert phrases(tree) == [(0, 1, 4), (1, 2, 4), (2, 3, 4)]
    assert depths(tree) == [1, 2, 3, 3]
    assert finalized(text, tree) == "John a ball hit"


@pytest.mark.parametrize(
    ("text", "dependencies", "expected"),
    [
        (  # function words are heads: prepositions, auxiliaries
            "many animals have been destroyed by men .",
            "2/amod 5/nsubj:pass 5/aux 5/aux:pass 0/root 7/case 5/obl 5/punct",
            "many animals men by destroyed been have .",
        ),
        (  # coordination keeps its order, a clause with its own subject is joined to the whole clause
            "John hit a ball but Sam threw it .",
            "2/nsubj 0/root 4/det 2/obj 7/cc 7/nsubj 2/conj 7/obj 2/punct",
            "John a ball hit but Sam it threw .",
        ),
        (  # coordination of nouns
            "he likes apples and pears",
            "2/nsubj 0/root 2/obj 5/cc 3/conj",
            "he apples and pears likes",
        ),
        (  # as spaCy's English pipelines have it: the conjunction hangs on the first conjunct
            "he went to Rome and Paris",
            "2/nsubj 0/ROOT 2/prep 3/pobj 4/cc 4/conj",
            "he Rome and Paris to went",
        ),
        (  # a copula, a complementizer, a clause
            "emi says that she is happy",
            "2/nsubj 0/root 6/mark 6/nsubj 6/cop 2/ccomp",
            "emi she happy is that says",
        ),
        (  # a comma stays between the clauses that are exchanged
            "he left , because she came .",
            "2/nsubj 0/root 6/punct 6/mark 6/nsubj 2/advcl 2/punct",
            "he she came because , left .",
        ),
        (  # a comma at the end of an exchanged phrase stays at its end
            "in case i am late , go",
            "2/case 7/obl 5/nsubj 5/cop 2/acl 5/punct 0/root",
            "i late am case in , go",
        ),
        (  # a name is no head and dependent
            "i met John Smith",
            "2/nsubj 0/root 2/obj 3/flat",
            "i John Smith met",
        ),
        ("! ! !", "0/root 1/punct 1/punct", "! ! !"),
        ("yes", "0/root", "yes"),
    ],
)
def test_head_finalization(text, dependencies, expected):
    assert finalized(text, parsed(text, dependencies)) == expected


def test_the_final_full_stop_is_the_last_wherever_the_parser_hangs_it():
    assert finalized("John hit balls .", parsed("John hit balls .", "2/nsubj 0/root 2/obj 3/punct")) == (
        "John balls hit ."
    )


def test_several_roots_are_joined_in_order():
    text = "hello there he ate fish"
    assert finalized(text, parsed(text, "0/root 1/advmod 4/nsubj 0/root 4/obj")) == "there hello he fish ate"


def test_crossing_dependencies_are_lifted():
    # "hearing" -> "issue" crosses "is" -> "scheduled"
    text = "a hearing is scheduled on the issue"
    tree = parsed(text, "2/det 4/nsubj 4/aux 0/root 7/case 7/det 2/nmod")
    assert brackets(tree, text.split()) == "[[a hearing] [is [scheduled [on [the issue]]]]]"


@pytest.mark.parametrize("heads", [[1, 0], [0, 5], [0, -1], [1, 2, 1]])
def test_what_is_no_tree_is_refused(heads):
    with pytest.raises(ValueError, match=r"cycle|not a token"):
        tree_of_dependencies(heads, ["dep"] * len(heads))


def random_heads(rng, count):
    """A random tree, crossing dependencies included."""
    order = rng.permutation(count).tolist()
    heads = [0] * count
    for number, token in enumerate(order):
        heads[token] = token if number == 0 or rng.random() < 0.02 else order[int(rng.integers(number))]
    return heads


def test_random_dependencies_give_whole_trees():
    rng = np.random.default_rng(1)
    for _ in range(1_000):
        heads = random_heads(rng, int(rng.integers(1, 15)))
        tree = tree_of_dependencies(heads, rng.choice(["obj", "aux", "conj", "det"], len(heads)).tolist())
        assert tree.size == len(heads) == len(tree.swaps) + 1
        assert all(start < split < end for start, split, end in phrases(tree))
        marks = (rng.random(tree.size) < 0.3).tolist()
        commas = [mark and bool(rng.random() < 0.5) for mark in marks]
        assert sorted(head_final_order(tree, marks, commas)) == list(range(tree.size))


def spans(tree):
    return {(start, end) for start, _, end in phrases(tree)}


def test_keeping_tokens_keeps_their_phrases():
    rng = np.random.default_rng(2)
    for _ in range(500):
        count = int(rng.integers(2, 15))
        tree = tree_of_dependencies(random_heads(rng, count), ["obj"] * count)
        kept = rng.random(count) < 0.6
        if not kept.any():
            continue
        places = [sum(kept[:token]) for token in range(count + 1)]
        expected = {(places[a], places[b]) for a, b in spans(tree) if places[b] - places[a] > 1}
        smaller = keep_tokens(tree, kept.tolist())
        assert smaller.size == sum(kept)
        assert spans(smaller) == expected


def test_widening_and_surrounding():
    tree = Tree([1, 2], [KEEP, SWAP])
    assert brackets(widen_leaves(tree, [1, 3, 1]), list("abcde")) == "[a [[b [c d]] e]]"
    assert widen_leaves(tree, [1, 3, 1]).swaps == [KEEP, SWAP, KEEP, KEEP]
    assert brackets(surround(tree, 1, 2), list("abcdef")) == "[[[a [b [c d]]] e] f]"


def test_a_deep_tree_of_ten_thousand_words():
    count = 10_000
    chain = tree_of_dependencies([0, *range(count - 1)], ["obj"] * count)
    assert head_final_order(chain, [False] * count, [False] * count) == list(range(count - 1, -1, -1))
    assert max(depths(chain)) == count - 1
    assert keep_tokens(chain, [place % 2 == 0 for place in range(count)]).size == count // 2


# --- tokens to words


def test_blocks_end_where_a_token_and_a_word_end():
    # tokens ca n't stop | words can 't stop
    assert blocks([2, 5, 9], [3, 5, 9]) == ([2, 1], [2, 1])


def test_tokens_of_one_word_and_words_of_one_token():
    tree = parsed("i ca n't stop", "4/nsubj 4/aux 4/advmod 0/root")
    words = ["i", "can", "'t", "stop"]
    ends = [1, 4, 6, 10]
    found = tree_over_words(tree, [1, 3, 6, 10], ends)
    assert brackets(found, words) == "[i [[can 't] stop]]"
    order = head_final_order(found, [False] * 4, [False] * 4)
    assert " ".join(words[place] for place in order) == "i stop can 't"
    hyphens = parsed("a well - known man", "5/det 4/advmod 4/punct 5/amod 0/root")
    assert brackets(tree_over_words(hyphens, [1, 5, 6, 11, 14], [1, 11, 14]), ["a", "well-known", "man"]) == (
        "[a [well-known man]]"
    )


def test_phrases_nest():
    rng = np.random.default_rng(3)
    for _ in range(200):
        count = int(rng.integers(2, 12))
        found = phrases(tree_of_dependencies(random_heads(rng, count), ["det"] * count))
        ends = sorted({edge for start, _, end in found for edge in (start, end)})
        assert ends[0] == 0 and ends[-1] == count
        for (a, _, b), (c, _, d) in pairwise(found):
            assert c >= b or (a <= c and d <= b) or d <= a
