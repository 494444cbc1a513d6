"""The pre-training tasks by name, and mixtures of them per language (thesis 4.3.3, table 4.2)."""

from typing import NamedTuple

from command_line.errors import InputError
from data_prep.formats.structures import BUNSETSU, PHRASES
from fairseq_ext.data.noising.example import Transform
from fairseq_ext.data.noising.masking import bmass, infilling, mass, multimass
from fairseq_ext.data.noising.pmass import pmass_plural, pmass_single
from fairseq_ext.data.noising.reordering import brss_forward, brss_reverse, deshuffling, hfss

MASKING, REORDERING = "masking", "reordering"


class PretrainingTask(NamedTuple):
    """What an example is made of a sentence for: one of the tasks of table 4.2.

    Attributes:
        token: what its examples are marked with; variants of a task share it.
        group: of the tasks that share a token when tokens are unified (footnote 20).
        needs: the kind of structure without which a sentence falls back to MASS; None if it needs none.
        make: its transform.
    """

    token: str
    group: str
    needs: str | None
    make: Transform


TASKS = {
    "mass": PretrainingTask("mass", MASKING, None, mass),
    "multimass": PretrainingTask("multimass", MASKING, None, multimass),
    "bmass": PretrainingTask("bmass", MASKING, BUNSETSU, bmass),
    "pmass.s": PretrainingTask("pmass", MASKING, PHRASES, pmass_single),
    "pmass.p": PretrainingTask("pmass", MASKING, PHRASES, pmass_plural),
    "infilling": PretrainingTask("infilling", MASKING, None, infilling),
    "deshuffling": PretrainingTask("deshuffling", REORDERING, None, deshuffling),
    "brss.f": PretrainingTask("brss", REORDERING, BUNSETSU, brss_forward),
    "brss.r": PretrainingTask("brss", REORDERING, BUNSETSU, brss_reverse),
    "hfss": PretrainingTask("hfss", REORDERING, PHRASES, hfss),
}
FALLBACK = "mass"
MASK_TOKEN = "__mask__"
TRANSLATION = "translation"  # what pairs are for in a mixture with pre-training tasks
TRANSLATION_TOKEN = f"__task_{TRANSLATION}__"


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
