"""Symmetrization against its definitions, transcribed word by word."""

import random

import pytest

from data_prep.alignment.links import SYMMETRIZATIONS, grow_diag_final_and, one_to_one


def literal(forward: set, backward: set, size: int) -> list:
    """The pseudo-code of Koehn et al. (2005): GROW-DIAG, then FINAL-AND of both directions."""
    neighbouring = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    alignment, union = forward & backward, forward | backward

    def free(e, f):
        return not any(x == e for x, _ in alignment), not any(y == f for _, y in alignment)

    while True:
        added = False
        for e in range(size):
            for f in range(size):
                if (e, f) in alignment:
                    for step_e, step_f in neighbouring:
                        e_new, f_new = e + step_e, f + step_f
                        if any(free(e_new, f_new)) and (e_new, f_new) in union:
                            added |= (e_new, f_new) not in alignment
                            alignment = alignment | {(e_new, f_new)}
        if not added:
            break
    for direction in (forward, backward):
        for e in range(size):
            for f in range(size):
                if all(free(e, f)) and (e, f) in direction:
                    alignment = alignment | {(e, f)}
    return sorted(alignment)


@pytest.mark.parametrize("seed", range(40))
def test_grow_diag_final_and_is_its_definition(seed):
    rng = random.Random(seed)
    size = rng.randint(1, 9)
    near = [(i, j) for i in range(size) for j in range(size) if abs(i - j) < 3]
    forward = {(rng.choice([i for i, k in near if k == j]), j) for j in range(size) if rng.random() < 0.9}
    backward = {(i, rng.choice([j for k, j in near if k == i])) for i in range(size) if rng.random() < 0.9}
    assert grow_diag_final_and(forward, backward) == literal(forward, backward, size)


def test_the_three_by_eye():
    forward, backward = [(0, 0), (1, 1), (1, 2), (4, 4)], [(0, 0), (1, 1), (2, 1), (3, 3), (4, 4)]
    joined = {name: function(forward, backward) for name, function in SYMMETRIZATIONS.items()}
    assert joined == {
        "intersection": [(0, 0), (1, 1), (4, 4)],
        "union": [(0, 0), (1, 1), (1, 2), (2, 1), (3, 3), (4, 4)],
        "grow-diag-final-and": [(0, 0), (1, 1), (1, 2), (2, 1), (3, 3), (4, 4)],
    }
    assert grow_diag_final_and([(0, 5)], [(5, 5)]) == [(0, 5)]  # final-and: 5 of B is taken then
    assert one_to_one(joined["union"]) == [(0, 0), (3, 3), (4, 4)]
    for function in SYMMETRIZATIONS.values():
        assert function([], []) == []
