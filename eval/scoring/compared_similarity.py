"""Comparisons of sentence encoders by Spearman's correlation with ratings of similarity, which
`python -m embeddings sts` measures.
"""

import numpy as np

from command_line.measurements import read_arrays
from eval.labels import SPEARMAN
from eval.result_set import SIMILARITY as KIND
from eval.scoring.compared_retrieval import load
from eval.scoring.comparison import Compared, common_directions
from eval.scoring.paired_test import BOOTSTRAP
from eval.scoring.system_pairs import Pair
from eval.systems import Run


def statistics(run: Run, measure: str) -> dict[str, np.ndarray]:
    """Direction, or language -> cosine and rating of every pair of sentences, N x 2.

    Raises:
        InputError: the file of these is missing or damaged.
    """
    from embeddings.sts import SCORES  # with it come encoders, which --help does not wait for

    names = {direction: f"{SCORES}/{direction}" for direction in run.directions}
    arrays = read_arrays(run.path.with_suffix(".npz"), names.values(), run.file["arrays_sha256"])
    return {direction: arrays[name] for direction, name in names.items()}


def groups_to_test(pair: Pair) -> dict[str, dict[str, list[str]]]:
    """All files together, and each alone."""
    common = common_directions(pair)
    overall = {"all": common} if len(common) > 1 else {}
    return {"overall": overall, "directions": {direction: [direction] for direction in common}}


SIMILARITY = Compared(
    kind=KIND,
    measures=(SPEARMAN.name,),
    load=load,
    groups=groups_to_test,
    statistics=statistics,
    check=lambda pairs, measure: None,
    agreement=lambda measure, pair, difference: None,
    neither_translates=lambda pair, directions: False,
    test=BOOTSTRAP,
)
