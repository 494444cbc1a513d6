"""Head finalization of a tree, as text."""

from data_prep.parsing.tokens_to_words import lift_edges
from data_prep.parsing.trees import Tree, head_final_order

MARKS = set(".,;:!?\"'()")


def finalized(text: str, tree: Tree) -> str:
    words = text.split()
    marks = [word in MARKS for word in words]
    order = head_final_order(lift_edges(tree, marks), marks, [word in ",;:" for word in words])
    assert sorted(order) == list(range(len(words)))
    return " ".join(words[place] for place in order)
