"""A spaCy pipeline that parses by rule (verbs are heads of the words around them, "the" depends on the next
word), parses in files, and what tests of the steps look at.
"""

import json

import numpy as np
import spacy
from spacy.language import Language

from data_prep.formats.structures import Structures

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


ENGLISH = [
    "the man hit the ball .",
    "",
    "... ! ?",
    "crash",
    "he saw &quot; the man &quot;",
    "john eats",
]
CONLLU = "\n".join(
    [
        *("# a", "1\tjohn\t_\t_\t_\t_\t2\tnsubj\t_\t_", "2\teats\t_\t_\t_\t_\t0\troot\t_\t_"),
        *("3\tfish\t_\t_\t_\t_\t2\tobj\t_\t_", "", "1\the\t_\t_\t_\t_\t0\troot\t_\t_", "", ""),
    ]
)
ENJU = (
    '<sentence id="s0" parse_status="success"><cons id="c0" cat="S" head="c1"><cons id="c2" head="t0">'
    '<tok id="t0">john</tok></cons> <cons id="c1" cat="VP" head="t1"><tok id="t1">eats</tok> '
    '<tok id="t2">fish</tok></cons></cons></sentence>\n<sentence id="s1" parse_status="empty line"/>\n'
    '<sentence id="s2" parse_status="fail">he</sentence>\n'
)


def reordered(path, kind, lines):
    """The lines as the structures reorder them; None without a structure."""
    structures = Structures(path, kind)
    assert len(structures) == len(lines)
    return [
        structure and " ".join(np.array(line.split())[structure.order])
        for line, structure in zip(lines, map(structures.__getitem__, range(len(lines))), strict=True)
    ]


def counts_of(folder, name):
    (counts,) = json.loads((folder / f"{name}-report.json").read_text()).values()
    return counts


def phrases(step, corpus, output, *words):
    return step("phrases", "--input", corpus, "--output", output, "--workers", 1, *words)
