"""Quality of what is in the target language, apart, and what decoding cost: for whatever changes how much of
the output is off target.
"""

from eval.reporting.exhibits import Cell, Section, Table, cell, cells, measure_cell, number_cell
from eval.results.labels import UNKNOWN
from eval.results.measures import MEASURES
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System

SHOWN = ("bleu", "chrf", "off_target", "on_target_bleu", "on_target_chrf")
NOTES = [
    "On target: the lines that fastText identifies as the target language. Every system has other such lines,"
    " the harder ones among them if there are more: read their BLEU and chrF++ beside their number. A"
    " direction without any such line is left out of their means.",
    "Cost of decoding, over all directions: sentences per second from batch to hypotheses, on the machine and"
    " in the company that there were; tokens of the decoder per sentence, of all hypotheses, contrasts and"
    " models, the same on any machine; and these tokens over those of the same models with a plain search in"
    " the same directions.",
]


def section(results: ResultSet) -> Section:
    titles = [MEASURES[name].title for name in SHOWN]
    header = [
        cells(
            "Dataset", "System", "Directions", *titles, "lines on target", "sentences/s", "tokens", "relative"
        )
    ]
    rows, rules, previous = [], set(), None
    for system in results.systems:
        group = "zero-shot" if system.directions("zero-shot") else "all"
        if previous not in (None, system.dataset):
            rules.add(len(rows))
        previous = system.dataset
        shown = [measure_cell(MEASURES[name], system.mean("averages", group, name)) for name in SHOWN]
        heading = cells(system.dataset, system.name, group)
        rows.append([*heading, *shown, lines_on_target(system, group), *costs(results, system)])
    caption = "Quality of output in the target language, and the cost of decoding."
    return Section(
        "On-target quality and cost", [Table("on_target", caption, header, rows, frozenset(rules))], NOTES
    )


def lines_on_target(system: System, group: str) -> Cell:
    """As in 5832 of 6000, over the directions of a group and the seeds; a dash where one is not known."""
    directions = system.directions(None if group == "all" else group)
    entries = [run.directions[direction] for run in system.runs for direction in directions]
    counts = [entry.get("on_target_lines") for entry in entries]
    if None in counts:
        return cell(UNKNOWN)
    total = sum(entry["lines"] for entry in entries)
    return cell(f"{sum(counts)} of {total}", value=sum(counts))


def costs(results: ResultSet, system: System) -> list[Cell]:
    """Sentences per second, tokens of the decoder per sentence, and these relative to a plain search."""
    speed = MeanStd.of(_per(run.record, "sentences", "seconds") for run in system.runs)
    tokens, usual = tokens_per_sentence(system), None
    for other in results.on(system.dataset):
        if is_plain_search_of(other, system):
            usual = tokens_per_sentence(other)
    relative = tokens.mean / usual.mean if tokens and usual else None
    return [
        number_cell(speed and speed.mean, ".1f"),
        number_cell(tokens and tokens.mean, ".0f"),
        number_cell(relative, ".2f"),
    ]


def tokens_per_sentence(system: System) -> MeanStd | None:
    """Of the decoder; None of translations made elsewhere, and of an engine that does not count them."""
    return MeanStd.of(_per(run.record, "decoder_tokens", "sentences") for run in system.runs)


def is_plain_search_of(other: System, system: System) -> bool:
    """Is it the same models, decoded as usual, and the same directions?"""
    names = (one.runs[0].system["name"] for one in (other, system))
    directions = (frozenset(one.directions()) for one in (other, system))
    is_usual = not (other.search_label or other.pivot)
    return is_usual and len({*names}) == len({*directions}) == 1 and other.seeds == system.seeds


def _per(record: dict, first: str, second: str) -> float | None:
    decoding = record.get("decoding") or {}
    known = decoding.get(first) is not None and decoding.get(second)
    return decoding[first] / decoding[second] if known else None
