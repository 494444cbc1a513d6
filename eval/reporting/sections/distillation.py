"""What losses of distillation, and fewer numbers of a vector, bring: Tables 3.4, A.1 and A.4 and Figure 3.1
of the thesis, of encoders with the names that the recipe gives them, beside published ones.
"""

import re
from collections.abc import Iterator

from eval.derived.retrieved import Retrieved
from eval.reporting.exhibits import Figure, Section, Table, slug, table_of_means
from eval.reporting.plots import lines
from eval.reporting.sections.encoder_sizes import Benchmarks, Reached
from eval.reporting.sections.sentence_retrieval import SMALLER
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd

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
    retrieved = Retrieved.of(results)
    benchmarks, published = Benchmarks.of(results, retrieved), Benchmarks.published(results.reference)
    reached = {title: benchmarks.columns[title] for title in benchmarks.whole}
    shown: list[Table | Figure] = [
        table for title, of in reached.items() for table in by_losses(title, of, published.on(title))
    ]
    shown += by_width(retrieved, reached)
    return Section("Losses of distillation, and fewer numbers", shown, NOTES)


def by_losses(title: str, reached: Reached, published: Reached) -> Iterator[Table]:
    """Losses by students on a benchmark, and what is published of these students; nothing where all students
    have the same losses.
    """
    ours, theirs = _by_student(reached), _by_student(published)
    losses = [one for one in LOSSES if any(one in of for of in ours.values())]
    if len(losses) < 2:
        return
    columns = ours | {f"{student}, published": theirs[student] for student in ours if student in theirs}
    rows = [([one], [of.get(one) for of in columns.values()]) for one in losses]
    name, caption = slug("losses_of_distillation", title), f"Losses of distillation: {title}."
    yield table_of_means(name, caption, ["Losses", *columns], rows)


def _by_student(reached: Reached) -> dict[str, Reached]:
    """Student -> losses -> what it reaches."""
    students: dict[str, Reached] = {}
    for name, mean in reached.items():
        if match := _STUDENT.fullmatch(name):
            students.setdefault(match["student"], {})[match["losses"]] = mean
    return students


def by_width(retrieved: list[Retrieved], reached: dict[str, Reached]) -> Iterator[Figure]:
    """Curves over the numbers of a vector: a layer for each (reduced-N), and the first numbers of vectors."""
    cut = {test.dataset: first_numbers(test) for test in retrieved}
    for title, of in reached.items():
        layers = {int(match["width"]): of[name] for name in of if (match := _REDUCED.fullmatch(name))}
        series = ({"a layer for each": layers} if layers else {}) | cut.get(title, {})
        widths = sorted({width for by_width in series.values() for width in by_width})
        if len(widths) < 2:
            continue
        values = {name: [by_width.get(width) for width in widths] for name, by_width in series.items()}
        rows = [([width], [of[place] for of in values.values()]) for place, width in enumerate(widths)]
        name = slug("numbers_of_a_vector", title)
        caption = f"{title} by the numbers of a vector (thesis 3.2.2, Figure 3.1)."
        numbers = table_of_means(name, caption, ["Numbers", *values], rows)
        yield Figure(
            name,
            caption,
            lines([str(width) for width in widths], {title: values}, "%", x_title="width"),
            numbers,
        )


def first_numbers(retrieved: Retrieved) -> dict[str, dict[int, MeanStd]]:
    """ "ENCODER, first numbers" -> how many -> P@1, where `retrieve --widths` measured several."""
    encoders: dict[str, dict[int, MeanStd]] = {}
    for (name, vectors), mean in retrieved.means(["part"], measure=SMALLER).items():
        if match := _CUT.fullmatch(vectors):
            encoders.setdefault(f"{name}, first numbers", {})[int(match["width"])] = mean
    return {name: widths for name, widths in encoders.items() if len(widths) > 1}
