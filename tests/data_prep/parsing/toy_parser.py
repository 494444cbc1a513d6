"""A spaCy pipeline that parses by rule: verbs are heads of the words around them, "the" depends on the next
word. The library takes seconds to import, so tests import this module where they use it.
"""

import spacy
from spacy.language import Language

VERBS = {"hit", "eats", "saw"}


@Language.component("toy_parser", assigns=["token.dep", "token.head"])
def toy_parser(document):
    words = [token.text for token in document]
    if "crash" in words:
        raise ValueError("this sentence cannot be parsed")
    root = next((place for place, word in enumerate(words) if word in VERBS), 0)
    for place, token in enumerate(document):
        head, relation = root, "nsubj" if place < root else "obj"
        if place == root:
            relation = "ROOT"
        elif words[place] == "the" and place + 1 < len(words) and place + 1 != root:
            head, relation = place + 1, "det"
        elif not words[place][0].isalpha():
            relation = "punct"
        token.head = document[head]
        token.dep_ = relation
    return document


def save_toy_pipeline(folder, component: str = "toy_parser"):
    """Write the pipeline, so that `--model FOLDER` finds it."""
    pipeline = spacy.blank("en")
    if component:
        pipeline.add_pipe(component)
    pipeline.to_disk(folder)
    return folder
