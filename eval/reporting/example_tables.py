"""Views of examples: sentences, with what is said of each."""

from collections.abc import Mapping

from command_line.measurements import EXAMPLES, read_examples
from data_prep.language_identification import EMPTY
from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Table, cell, number_cell, slug, table_of_means
from eval.systems import MeanStd, System

Place = tuple[bool, str]  # whether a direction was trained, and its name


def examples(
    measured: Measurements,
    dataset: str,
    name: str,
    columns: Mapping[str, str],
    caption: str,
    surest: str,
) -> list[Table]:
    """A table per system, zero-shot directions first.

    Args:
        columns: fields of examples, and the titles of their columns behind those of the direction and seed.
        surest: a field by which the first examples of all seeds are ordered, then their second ones, and so
            on; the highest number comes first.
    """
    tables = []
    for system in measured.systems:
        rows, rules, previous = [], set(), None
        for direction, seed, example in in_order(system, surest):
            if previous not in (None, direction):
                rules.add(len(rows))
            previous = direction
            rows.append([cell(direction), cell(seed), *(_cell(example[field]) for field in columns)])
        text = f"{caption} of {system.name} on {dataset}."
        header = [[cell(title) for title in ("Direction", "Seed", *columns.values())]]
        table = Table(slug(name, dataset, system.name), text, header, rows, frozenset(rules), folded=True)
        tables += [table] if rows else []
    return tables


def example_means(
    measured: Measurements,
    dataset: str,
    name: str,
    columns: Mapping[str, str],
    number: str,
    title: str,
    caption: str,
    digits: int = 4,
) -> list[Table]:
    """A row per system and example: how many runs of the system have it, and the mean of a number over these.

    Args:
        columns: fields that tell examples from each other, and the titles of their columns.
        number: a field.
    """
    rows = []
    for system in measured.systems:
        numbers: dict[tuple, dict[int, float]] = {}
        for place, run in enumerate(system.runs):
            for example in read_examples(run.path.with_suffix(EXAMPLES)):
                if example["run"] == run.number:
                    numbers.setdefault(tuple(map(example.get, columns)), {})[place] = example[number]
        rows += [
            ([system.name, f"{len(by_run)} of {len(system.runs)}", *texts], [MeanStd.of(by_run.values())])
            for texts, by_run in numbers.items()
        ]
    titles = ["System", "Seeds", *columns.values(), title]
    return [table_of_means(slug(name, dataset), f"{caption} in {dataset}.", titles, rows, digits)]


def in_order(system: System, surest: str) -> list[tuple[str, str, dict]]:
    """(direction, seed, example): the first example of every seed, then the second ones, of all seeds
    together as many as one has.
    """
    ranked: dict[Place, list[tuple[int, float, str, dict]]] = {}
    most: dict[Place, int] = {}
    for seed, run in zip(system.run_labels, system.runs, strict=True):
        ranks: dict[Place, int] = {}
        for example in read_examples(run.path.with_suffix(EXAMPLES)):
            if example["run"] == run.number:
                place = (example["kind"] != "zero-shot", example["direction"])
                rank = ranks.setdefault(place, 0)
                ranked.setdefault(place, []).append((rank, -example[surest], seed, example))
                ranks[place] += 1
        most |= {place: max(count, most.get(place, 0)) for place, count in ranks.items()}
    return [
        (place[1], seed, example)
        for place, lines in sorted(ranked.items(), key=lambda item: item[0])
        for _, _, seed, example in sorted(lines, key=lambda line: line[:2])[: most[place]]
    ]


def _cell(value: str | int | float) -> Cell:
    return number_cell(value, ".2f") if isinstance(value, float) else cell(value if value != "" else EMPTY)
