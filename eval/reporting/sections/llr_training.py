"""How the classifiers of layer-wise language recognition were trained, in the report (`eval probe llr`)."""

from eval.probes.protocol import unconverged
from eval.reporting.parts import Table, cell, cells, slug
from eval.results.labels import UNKNOWN
from eval.results.runs import Runs, seed_of
from eval.results.systems import MeanStd

COURSES = {"held_out": "held-out accuracy", "epochs": "epochs"}
UNKNOWN_CELL = cell(UNKNOWN)


def courses(series: dict[str, list[dict]], layers: list[str], dataset: str) -> list[Table]:
    """Accuracy on what was held out of training, and epochs; * where a classifier has not converged."""
    rows, rules = [], set()
    for question in ("source", "target"):
        for name, runs in series.items():
            known = {layer: [course_of(run, question, layer) for run in runs] for layer in layers}
            if any(all(found) for found in known.values()):
                rows += [
                    [*cells(question, name, title), *(of_course(found, measure) for found in known.values())]
                    for measure, title in COURSES.items()
                ]
        rules.add(len(rows))
    caption = (
        f"Training of the classifiers on {dataset}: accuracy in % on the tokens of held-out sentences, and"
        " epochs that the classifiers come from; mean ± deviation as above. *: not all have converged."
    )
    name = slug("llr_training", dataset)
    header = [cells("Language", "System", "", *layers)]
    rules -= {0, len(rows)}
    return [Table(name, caption, header, rows, frozenset(rules), folded=True)] if rows else []


def of_course(found: list[dict], measure: str):
    if not all(found):
        return UNKNOWN_CELL
    scale = 100 if measure == "held_out" else 1
    values = [one[measure] and [scale * value for value in one[measure]] for one in found]
    return percent(over_seeds(values), "" if all(all(one["converged"]) for one in found) else "*")


def warnings(groups: Runs) -> list[str]:
    """A line per run with classifiers that have not converged."""
    return [
        f"Warning: {system} on {dataset}, {seed_of(run, i)}: {missing}. They say less than the states hold."
        for (dataset, system), runs in groups.items()
        for i, run in enumerate(runs, 1)
        if (missing := unconverged(run.get("classifiers", {})))
    ]


def course_of(run: dict, question: str, layer: str) -> dict:
    """How the training of these classifiers went; empty in files of version 0.1."""
    return run.get("classifiers", {}).get(question, {}).get(layer, {})


def over_seeds(found: list[list[float] | None]) -> MeanStd | None:
    """Of one list per system seed, of one value per classifier; None if one is missing."""
    if not all(found):
        return None
    per_run = [MeanStd.of(values) for values in found]
    return per_run[0] if len(found) == 1 else MeanStd.of(value.mean for value in per_run)


def percent(value: MeanStd | None, mark: str = ""):
    if value is None:
        return UNKNOWN_CELL
    deviation = f" ± {value.std:.1f}" if value.std is not None else ""
    return cell(f"{value.mean:.1f}{deviation}{mark}", value=value.mean)
