"""The result in a sentence, and Table 8.2 of the thesis: zero-shot BLEU with off-target rates and supervised
BLEU of every system.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from eval.derived.averages import by_group
from eval.derived.comparisons import Comparisons
from eval.labels import MEASURES, PLACEMENT, UNKNOWN, language_tag, layer_norm, residual
from eval.measurements import measured_by
from eval.reporting.exhibits import Cell, Section, Table, cell, cells
from eval.result_set import ResultSet
from eval.scoring.compare import p_text
from eval.systems import MeanStd, Run, System

KINDS = {"zero-shot": "Zero-shot", "supervised": "Supervised"}
GROUPS = (*KINDS, "from-en", "to-en", "all")


@dataclass(frozen=True, eq=False)
class Summary:
    """The averages of all systems, and the comparisons of these."""

    results: ResultSet
    comparisons: Comparisons

    @cached_property
    def _means(self) -> dict[str, Mapping[tuple, MeanStd]]:
        """Measure -> dataset, system and group -> mean over directions and seeds."""
        scored = by_group(measured_by(self.results, "scores", True)).by_dataset()
        return {
            measure: {
                (dataset, *place): mean
                for dataset, measured in scored.items()
                for place, mean in measured.means(measure, ("part",)).items()
            }
            for measure in MEASURES
        }

    def mean(self, system: System, group: str, measure: str = "bleu") -> MeanStd | None:
        return self._means[measure].get((system.dataset, system.name, group))

    def ranked(self, dataset: str) -> tuple[str, list[System]]:
        """The kind of directions by which systems are ranked, zero-shot if there are any; the best first."""
        for kind in KINDS:
            systems = [system for system in self.results.on(dataset) if self.mean(system, kind)]
            if systems:
                return kind, sorted(systems, key=lambda system: -self.mean(system, kind).mean)
        return "", []


def section(results: ResultSet) -> Section:
    summary = Summary(results, Comparisons.of(results))
    lead = [sentence for dataset in results.datasets if (sentence := headline(summary, dataset))]
    title = "Zero-shot and supervised translation"
    return Section(title, [summary_table(summary)], notes(summary), lead)


def headline(summary: Summary, dataset: str) -> str | None:
    """Which system is best, by how much, and whether the difference is significant; None of one system."""
    kind, systems = summary.ranked(dataset)
    if len(systems) < 2:
        return None
    best, *others = systems
    shown = MEASURES["bleu"].show(summary.mean(best, kind))
    off_target = summary.mean(best, kind, "off_target")
    rate = f", {MEASURES['off_target'].show(off_target.mean)} off target" if off_target else ""
    sentence = f"{KINDS[kind]} translation on {dataset}: {best.name} is best, with BLEU {shown}{rate}"
    for other in others:
        if verdict := _verdict(summary.comparisons, best, other, kind):
            return f"{sentence}. {verdict}"
    difference = summary.mean(best, kind).mean - summary.mean(others[0], kind).mean
    return f"{sentence}: {difference:.1f} more than {others[0].name}. The difference was not tested."


def _verdict(comparisons: Comparisons, best: System, other: System, kind: str) -> str | None:
    """What a test found of two systems; None if they were not compared."""
    for run in comparisons.runs:
        tests, names = comparisons.of_run(run, "overall"), (run.record["baseline"], run.record["compared"])
        is_bleu_of_both = (run.dataset, run.record["measure"]) == (best.dataset, "bleu")
        if not is_bleu_of_both or set(names) != {best.name, other.name} or kind not in tests.index:
            continue
        test, sign = tests.loc[kind], 1 if names[1] == best.name else -1
        low, high = sorted(sign * test[end] for end in ("difference_low", "difference_high"))
        verdict = "significant" if test["significant"] else "not significant"
        level, p_value = f"{1 - run.file['level']:.0%}", p_text(test["adjusted_p_value"])
        equals = "" if p_value.startswith("<") else "= "
        return (
            f"That is {sign * test['difference']:.1f} more than {other.name} ({level} interval {low:+.1f} to"
            f" {high:+.1f}, p {equals}{p_value}): the difference is {verdict}."
        )
    return None


def notes(summary: Summary) -> list[str]:
    results = summary.results
    sentences = [
        "Mean over directions, then mean ± standard deviation over seeds. In brackets: off-target rate."
    ]
    marking = {dataset: summary.comparisons.marking(dataset) for dataset in results.datasets}
    sentences += [
        f"Bold BLEU on {dataset}: the mean that is shown is significantly higher than that of"
        f" {' and of '.join(compared_with(summary.comparisons, runs))}; see Significance."
        for dataset, runs in marking.items()
        if runs
    ]
    if not any(marking.values()):
        sentences.append("No comparison file was given, so no BLEU score is marked as significantly higher.")
    for dataset in results.datasets:
        for kind in KINDS:
            directions = [system.directions(kind) for system in results.on(dataset)]
            if len({frozenset(names) for names in directions if names}) > 1:
                sentences.append(
                    f"Not comparable: the systems on {dataset} have different {kind} directions."
                )
    return sentences


def compared_with(comparisons: Comparisons, runs: list[Run]) -> list[str]:
    """What marks compare with, one text for every family of tests."""
    texts = []
    for axis, run in {run.record["axis"]: run for run in runs}.items():
        others = f"the systems that differ in one thing only, the {axis}"
        if axis is None:
            others = "the systems compared with by name"
        elif axis == PLACEMENT and comparisons.is_of_pre_and_post(run):
            others = "the other one of PreNorm and PostNorm that differ in nothing else"
        texts.append(f"{others} (one family of {run.record['family']['overall']} tests)")
    return texts


def summary_table(summary: Summary) -> Table:
    """One row per system name, one column per dataset; the name too where Table 8.2's columns do not tell."""
    rows_of: dict[str, dict[str, System]] = {}
    for system in summary.results.systems:
        rows_of.setdefault(system.name, {})[system.dataset] = system
    firsts = [next(iter(systems.values())) for systems in rows_of.values()]
    labels = [(system.pivot, columns(system)) for system in firsts]
    has_names = len(set(labels)) < len(labels) or any(UNKNOWN in label for _, label in labels)
    datasets = summary.results.datasets
    names = ["#", *(["System"] if has_names else []), "Layer Norm", "Language Tag", "Res."]
    kinds = [cell(f"{title} BLEU", width=len(datasets)) for title in KINDS.values()]
    header = [[*cells(*[""] * len(names)), *kinds], cells(*names, *datasets * len(KINDS))]
    rows, rules, number, previous = [], set(), 0, None
    for system, systems in zip(firsts, rows_of.values(), strict=True):
        number += not system.pivot
        heading = ["0" if system.pivot else number, *([system.name] if has_names else []), *columns(system)]
        scores = [score_cell(summary, systems.get(dataset), kind) for kind in KINDS for dataset in datasets]
        tags_and_residual = (system.pivot, *columns(system)[1:])
        if previous not in (None, tags_and_residual):
            rules.add(len(rows))
        previous = tags_and_residual
        rows.append([*cells(*heading), *scores])
    caption = (
        "BLEU and off-target rates (in brackets), in the layout of Table 8.2. Res.: self-attention residual,"
        " with (w/) or without (w/o). Bold: significantly higher."
    )
    return Table("summary", caption, header, rows, frozenset(rules), data=summary_data(summary))


def columns(system: System) -> tuple[str, str, str]:
    placement = f"Pivot ({system.pivot}), {layer_norm(system)}" if system.pivot else layer_norm(system)
    return placement, language_tag(system), residual(system)


def score_cell(summary: Summary, system: System | None, kind: str) -> Cell:
    """As in `16.8 ± 0.6 (8.59%)` for zero-shot, `33.9 ± 0.1` for supervised directions."""
    bleu = system and summary.mean(system, kind)
    if not bleu:
        return cell(UNKNOWN)
    off_target = kind == "zero-shot" and summary.mean(system, kind, "off_target")
    rate = f"({MEASURES['off_target'].show(off_target.mean)})" if off_target else ""
    is_higher = summary.comparisons.is_higher(system, kind, bleu)
    return Cell(MEASURES["bleu"].show(bleu), is_higher, bleu.mean, after=rate)


def summary_data(summary: Summary) -> list[list]:
    """Every average of every system: one row per system, dataset and group."""
    measures = [f"{measure}_{part}" for measure in MEASURES for part in ("mean", "std")]
    rows = [["system", "layer_norm", "language_tag", "residual", "dataset", "group", "seeds", *measures]]
    for system in summary.results.systems:
        for group in GROUPS:
            means = [summary.mean(system, group, measure) for measure in MEASURES]
            numbers = [
                number for mean in means for number in ((mean.mean, mean.std) if mean else (None, None))
            ]
            if any(means):
                rows.append(
                    [system.name, *columns(system), system.dataset, group, len(system.runs), *numbers]
                )
    return rows
