"""What losses of distillation, and fewer numbers of a vector, bring: Tables 3.4, A.1 and A.4 and Figure 3.1
of the thesis, of encoders with the names that the recipe gives them, beside the thesis's own.
"""

import re
from collections.abc import Iterator

from eval.reporting.exhibits import Figure, Section, Table, cell, cells, mean_cell, number_cell, slug
from eval.reporting.plots import lines
from eval.reporting.sections import thesis_encoders
from eval.reporting.sections.encoder_sizes import RETRIEVAL, Benchmarks, Reached
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, by_dataset

LOSSES = ("ams", "fd", "ld", "ams-fd", "ams-ld", "fd-ld", "all", "ams-df", "ams-syn")
_STUDENT = re.compile(rf"(?P<student>.+?)-(?P<losses>{'|'.join(LOSSES)})")
_REDUCED = re.compile(r"reduced-(?P<width>\d+)")
_CUT = re.compile(r"float32, (?P<width>\d+) numbers")
NOTES = [
    "ams: additive margin; fd, ld: distillation of features and of logits; all: the three; df, syn: fd below"
    " the last layer, or from a teacher of the student's width. P@1 by cosine, mean of both directions; F1 of"
    " mining; in percent."
]


def section(results: ResultSet) -> Section:
    benchmarks = Benchmarks.of(results)
    whole = {title: benchmarks.columns[title] for title in benchmarks.whole}
    shown: list[Table | Figure] = [table for title, of in whole.items() for table in by_losses(title, of)]
    shown += by_width(results, whole)
    return Section("Losses of distillation, and fewer numbers", shown, NOTES)


def by_losses(title: str, reached: Reached) -> Iterator[Table]:
    """Losses by students on a benchmark, and the thesis's numbers of the students that it has; nothing where
    all students have the same losses.
    """
    found: dict[str, dict[str, MeanStd | None]] = {}
    for name, mean in reached.items():
        if match := _STUDENT.fullmatch(name):
            found.setdefault(match["student"], {})[match["losses"]] = mean
    losses = [one for one in LOSSES if any(one in of for of in found.values())]
    if len(losses) < 2:
        return
    thesis = {student: thesis_encoders.by_losses(student, title) for student in found}
    printed = [student for student in found if thesis[student]]
    rows = [
        [
            cell(one),
            *(mean_cell(of.get(one), 1) for of in found.values()),
            *(number_cell(thesis[student].get(one), ".1f") for student in printed),
        ]
        for one in losses
    ]
    header = cells("Losses", *found, *(f"{student}, thesis" for student in printed))
    yield Table(slug("losses_of_distillation", title), f"Losses of distillation: {title}.", [header], rows)


def by_width(results: ResultSet, whole: dict[str, Reached]) -> Iterator[Figure]:
    """Curves over the numbers of a vector: a layer for each (reduced-N), and the first numbers of vectors."""
    cut = first_numbers(results)
    for title, reached in whole.items():
        series: dict[str, dict[int, MeanStd | None]] = {}
        for name, mean in reached.items():
            if match := _REDUCED.fullmatch(name):
                series.setdefault("a layer for each", {})[int(match["width"])] = mean
        series |= cut.get(title, {})
        widths = sorted({width for of in series.values() for width in of})
        if len(widths) < 2:
            continue
        values = {name: [of.get(width) for width in widths] for name, of in series.items()}
        rows = [
            [cell(width), *(mean_cell(of[place], 1) for of in values.values())]
            for place, width in enumerate(widths)
        ]
        name = slug("numbers_of_a_vector", title)
        caption = f"{title} by the numbers of a vector (thesis 3.2.2, Figure 3.1)."
        numbers = Table(name, caption, [cells("Numbers", *values)], rows)
        yield Figure(name, caption, lines([str(width) for width in widths], {title: values}, "%"), numbers)


def first_numbers(results: ResultSet) -> dict[str, dict[str, dict[int, MeanStd | None]]]:
    """Test set -> "ENCODER, first numbers" -> how many -> P@1, where `retrieve --widths` measured it."""
    found: dict[str, dict[str, dict[int, MeanStd | None]]] = {}
    for dataset, systems in by_dataset(results.probed(RETRIEVAL)).items():
        for one in systems:
            widths = {
                int(match["width"]): one.mean("smaller", name, "p_at_1", scale=100)
                for name in one.runs[0].value("smaller") or {}
                if (match := _CUT.fullmatch(name))
            }
            if len(widths) > 1:
                found.setdefault(dataset, {})[f"{one.name}, first numbers"] = widths
    return found
