"""Texts and parses in files for tests of the steps that parse, and what these tests look at."""

import json

import numpy as np

from data_prep.formats.structures import Structures

ENGLISH = ["the man hit the ball .", "", "... ! ?", "crash", "he saw &quot; the man &quot;", "john eats"]
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
