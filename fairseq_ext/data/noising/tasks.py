"""The pre-training tasks by name, and mixtures of them per language (thesis 4.3.3, table 4.2)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError
from data_prep.parsing.structure_file import BUNSETSU, PHRASES, Structure
from fairseq_ext.data.noising.bmass import bmass
from fairseq_ext.data.noising.example import Example, Symbols
from fairseq_ext.data.noising.infilling import infilling
from fairseq_ext.data.noising.mass import mass, multimass
from fairseq_ext.data.noising.pmass import pmass_plural, pmass_single
from fairseq_ext.data.noising.reordering import brss, deshuffling, hfss

MASKING, REORDERING = "masking", "reordering"


class PretrainingTask(NamedTuple):
    """
    Attributes:
        token: what its examples are marked with; variants of a task share it.
        group: of the tasks that share a token when tokens are unified (footnote 20).
        needs: the analysis without which a sentence falls back to MASS; None if it needs none.
        make: function of (tokens, structure, rng, symbols, inverted): inverted masking tasks predict the
            inverted sequence of equation 4.1.
    """

    token: str
    group: str
    needs: str | None
    make: Callable[[np.ndarray, Structure | None, np.random.Generator, Symbols, bool], Example]


TASKS = {
    "mass": PretrainingTask("mass", MASKING, None, lambda x, s, rng, y, inverted: mass(x, rng, y, inverted)),
    "multimass": PretrainingTask(
        "multimass", MASKING, None, lambda x, s, rng, y, inverted: multimass(x, rng, y, inverted)
    ),
    "bmass": PretrainingTask(
        "bmass",
        MASKING,
        BUNSETSU,
        lambda x, s, rng, y, inverted: bmass(x, s.token_boundaries(), rng, y, inverted),
    ),
    "pmass.s": PretrainingTask(
        "pmass",
        MASKING,
        PHRASES,
        lambda x, s, rng, y, inverted: pmass_single(x, s.boundaries, s.starts, y, inverted),
    ),
    "pmass.p": PretrainingTask(
        "pmass",
        MASKING,
        PHRASES,
        lambda x, s, rng, y, inverted: pmass_plural(x, s.boundaries, s.starts, rng, y, inverted),
    ),
    "infilling": PretrainingTask(
        "infilling", MASKING, None, lambda x, s, rng, y, inverted: infilling(x, rng, y)
    ),
    "deshuffling": PretrainingTask(
        "deshuffling", REORDERING, None, lambda x, s, rng, y, inverted: deshuffling(x, rng, y)
    ),
    "brss.f": PretrainingTask(
        "brss", REORDERING, BUNSETSU, lambda x, s, rng, y, inverted: brss(x, s.token_order(), y)
    ),
    "brss.r": PretrainingTask(
        "brss", REORDERING, BUNSETSU, lambda x, s, rng, y, inverted: brss(x, s.token_order(), y, reverse=True)
    ),
    "hfss": PretrainingTask(
        "hfss", REORDERING, PHRASES, lambda x, s, rng, y, inverted: hfss(x, s.token_order(), y)
    ),
}
FALLBACK = "mass"
MASK_TOKEN = "__mask__"


def task_token(name: str, unified: bool) -> str:
    """The dictionary entry that marks examples of a task."""
    task = TASKS[name]
    return f"__task_{task.group if unified else task.token}__"


def task_tokens(unified: bool) -> list[str]:
    """All of them, in an order that does not depend on which are used."""
    return list(dict.fromkeys(task_token(name, unified) for name in TASKS))


def parse_mixtures(text: str, option: str) -> dict[str, dict[str, float]]:
    """`ja=bmass+brss.f,en=mass:2+hfss` -> {"ja": {"bmass": 1.0, "brss.f": 1.0}, "en": {"mass": 2.0, "hfss":
    1.0}}.

    Raises:
        InputError: not of this form, an unknown task, a weight that is not positive, or something twice.
    """
    mixtures: dict[str, dict[str, float]] = {}
    for entry in filter(None, text.split(",")):
        language, equals, tasks = entry.strip().partition("=")
        if not language or not equals or not tasks:
            raise InputError(f"{option}: {entry!r} is not LANG=TASK+TASK (for example ja=bmass+brss.f)")
        if language in mixtures:
            raise InputError(f"{option}: {language!r} occurs twice")
        mixtures[language] = {}
        for part in tasks.split("+"):
            name, _, weight = part.strip().partition(":")
            if name not in TASKS:
                raise InputError(f"{option}: unknown task {name!r}; expected one of: {', '.join(TASKS)}")
            if name in mixtures[language]:
                raise InputError(f"{option}: {name!r} occurs twice for {language!r}")
            mixtures[language][name] = _positive(weight or "1", part, option)
    if not mixtures:
        raise InputError(f"{option}: is empty, expected for example ja=bmass+brss.f,en=mass+hfss")
    return mixtures


def _positive(text: str, part: str, option: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise InputError(f"{option}: {part!r}: expected a weight above 0")
    return weight
