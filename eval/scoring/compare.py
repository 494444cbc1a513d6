"""Significance of the differences between systems that translate, or between encoders that retrieve.

Compares every two systems that differ on one axis only (the placement of normalization, the language tags,
…), with `--pairs` also some that differ in more, or those asked for, in every direction and over the
supervised, zero-shot, from-English, to-English and all directions, on the scores that tables show: means over
directions and seeds. Paired approximate randomization, with Holm's correction over the directions of all
pairs that differ on the same axis, and of those of `--pairs`. Folders with the same system name and other
seeds are one system. Reads what `python -m eval score` wrote; the texts are not needed. Pass the JSON file on
to `python -m eval report`, which marks significantly higher scores in bold, as Table 8.2 of the thesis does.
Of `python -m embeddings retrieve` P@1 is compared in the same way, over all directions and groups of
languages; there a system can also be compared by one measure with itself, or another one, by another measure.
Spearman's correlations of `python -m embeddings sts` are compared by the paired bootstrap over pairs.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured, numbers, write_rows
from command_line.option_classes import Alternatives, option, positional, switch
from command_line.outputs import remove_leftovers, write_json
from command_line.provenance import checksums, command_typed
from embeddings.averages import FROM, TO
from eval.checks import group_runs
from eval.labels import compared_measure, side_label
from eval.result_files import FORMAT, read_result, result_file
from eval.scored import SCORES
from eval.scoring.compared_retrieval import RETRIEVAL, retrieval_in
from eval.scoring.compared_similarity import SIMILARITY
from eval.scoring.compared_translations import MEANINGLESS_BLEU, TRANSLATIONS
from eval.scoring.comparison import PARTS, Compared, Settings, compare
from eval.scoring.paired_test import SACREBLEU_BOOTSTRAP, TESTS
from eval.scoring.system_pairs import (
    Pair,
    all_pairs,
    pairs_known_to_differ,
    pairs_named,
    pairs_of_measures,
    pairs_on_one_axis,
    pairs_with,
    pairs_with_first,
    with_pairs,
)
from eval.systems import System

METRICS = (*TRANSLATIONS.measures, *RETRIEVAL.measures, *SIMILARITY.measures)
OF_ENCODERS = {each.kind: each for each in (RETRIEVAL, SIMILARITY)}
NEITHER = "neither translates"
ENDS = {end: f"difference_{end}" for end in ("low", "high")}
NOTES = (
    "p and the interval are conditional on these trainings: whether these very models would differ on other"
    " test sentences.",
    '"p seeds": whether other trainings would differ on other test sentences, from three seeds on; corrected'
    " like p (Welch's t-test over seeds, with the variance of the test sentences added).",
    '"people": how often people agree with a difference of this size in one direction (Kocmi et al., 2024).',
    f'"{NEITHER}": both systems have a BLEU of at most {MEANINGLESS_BLEU:g}, as references in the wrong order'
    " have; no difference is marked.",
)


def _names(text: str) -> tuple[str, str]:
    first, _, second = text.partition(":")
    types.require(bool(first and second) and ":" not in second)
    return types.text(first), types.text(second)


def _measures(text: str) -> tuple[str, str]:
    first, _, second = text.partition(":")
    types.require(first != second and {first, second} <= set(RETRIEVAL.measures))
    return first, second


pair_of_names = types.OptionType("A:B, two systems that are compared, the baseline first", _names)
pair_of_measures = types.OptionType(f"FIRST:SECOND, two of {', '.join(RETRIEVAL.measures)}", _measures)
CHOICE_OF_PAIRS = Alternatives("pairs")


@dataclass(frozen=True)
class PairOptions:
    """Which systems are compared with which; by default those that differ on one axis only."""

    all_pairs: bool = switch("compare every two systems", among=CHOICE_OF_PAIRS)
    against_first: bool = switch("compare the first system with all others", among=CHOICE_OF_PAIRS)
    baseline: str | None = option(
        "compare the system of this name with all others", among=CHOICE_OF_PAIRS, metavar="NAME"
    )
    measures: list[tuple[str, str]] = option(
        "of retrieval: compare the second measure with the first, within every system",
        [],
        among=CHOICE_OF_PAIRS,
        nargs="+",
        type=pair_of_measures,
        metavar="FIRST:SECOND",
    )
    pairs: list[tuple[str, str]] = option(
        "also compare these systems, given by name or folder, the baseline first; of retrieval also"
        " A@FIRST:B@SECOND: A by one measure with B (or A) by another; they are a family of tests of their"
        " own",
        [],
        nargs="+",
        type=pair_of_names,
        metavar="A:B",
    )

    def pairs_of(self, systems: list[System], of: Compared) -> list[Pair]:
        return with_pairs(self._chosen(systems), pairs_named(systems, self.pairs, of.of_one_unit))

    def _chosen(self, systems: list[System]) -> list[Pair]:
        if self.all_pairs:
            return all_pairs(systems)
        if self.against_first:
            return pairs_with_first(systems)
        if self.baseline:
            return pairs_with(systems, self.baseline)
        if self.measures:
            return pairs_of_measures(systems, self.measures)
        return pairs_known_to_differ(systems) if self.pairs else pairs_on_one_axis(systems)


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """What is compared, by which measures, and how."""

    systems: list[Path] = positional(
        "scored folder, output of `embeddings retrieve` or `sts` (or scores.json, sentence-retrieval.json,"
        " sts.json in it)",
        metavar="OUT",
    )
    pairs: PairOptions
    metric: list[str] | None = option(
        f"one or several of {','.join(METRICS)} (default: {TRANSLATIONS.measures[0]}; of retrieval"
        f" {RETRIEVAL.measures[0]}; of ratings {SIMILARITY.measures[0]})",
        type=types.items(types.one_of(METRICS)),
        metavar="LIST",
    )
    direction: str | None = option(
        "of retrieval, where all pairs have a language in common (Tatoeba: English): test averages from it,"
        " or to it (default: of both directions)",
        choices=(FROM, TO),
    )
    settings: Settings
    output: Path | None = option(
        "write the comparison there, for the report", type=types.output_file, metavar="FILE.json"
    )


def main(options: ComparisonOptions) -> None:
    files = [_file(path) for path in options.systems]
    of = compared(files, options.direction)
    settings = settings_for(of, options.settings)
    comparisons, samples = comparisons_of(files, of, options, settings)
    tables = [table(comparison, settings) for comparison in comparisons]
    print("\n\n".join([*tables, "\n".join(NOTES)]))
    if output := options.output:
        remove_leftovers(output.parent)
        measured = as_rows(comparisons)
        measured.about = {**asdict(settings), "samples": samples}
        record = {
            "format": FORMAT,
            "kind": "comparison",
            **measured.record,
            "rows_sha256": write_rows(output.with_suffix(".csv"), measured.rows),
            "inputs": checksums(files),
            "command": command_typed("eval"),
        }
        write_json(output, record)


def settings_for(of: Compared, settings: Settings) -> Settings:
    """The settings, with the test that suits what is compared.

    Raises:
        InputError: another one is asked for.
    """
    if of.test and settings.test == SACREBLEU_BOOTSTRAP:
        raise InputError(f"--test {settings.test}: {of.measures[0]} has a bootstrap of its own; leave it out")
    return replace(settings, test=of.test or settings.test)


def as_rows(comparisons: list[dict]) -> Measured:
    """A run per comparison. In rows `part` is "overall" or "directions", and `direction` a group of
    directions, or one.
    """
    measured = Measured()
    for comparison in comparisons:
        run = {name: value for name, value in comparison.items() if name not in PARTS}
        by = comparison["measure"] or " and ".join(comparison["measures"].values())
        system = {"name": comparison["compared"]}
        rows = []
        for part in PARTS:
            for group, result in comparison[part].items():
                values = {ENDS.get(name, name): value for name, value in result.items()}
                rows += numbers(values, part=part, direction=group)
        measured.add({"system": system, "variant": f" against {comparison['baseline']}, {by}", **run}, rows)
    return measured


def comparisons_of(
    files: list[Path], of: Compared, options: ComparisonOptions, settings: Settings
) -> tuple[list[dict], int]:
    """As `compare`, of files."""
    measures = options.metric or of.measures[:1]
    for name in measures:
        if name not in of.measures:
            raise InputError(f"--metric {name}: {files[0]} has none; expected {', '.join(of.measures)}")
    if options.pairs.measures and not of.of_one_unit:
        raise InputError(f"--measures: expected results of retrieval, {files[0]} has {of.kind}")
    pairs = options.pairs.pairs_of(group_runs(run for file in files for run in of.load(file)), of)
    if options.metric and all(pair.measures for pair in pairs):
        raise InputError("--metric: every pair has measures of its own; leave it out")
    return compare(of, pairs, measures, settings)


def _file(path: Path) -> Path:
    """A result file, given itself or its folder; of translations, unless there is one of encoders alone."""
    if not (path / SCORES).is_file():
        for kind in OF_ENCODERS:
            if (path / f"{kind}.json").is_file():
                return path / f"{kind}.json"
    return result_file(path, SCORES)


def compared(files: list[Path], direction: str | None = None) -> Compared:
    """What the files hold.

    Raises:
        InputError: results of several kinds; or a direction of results other than of retrieval.
    """
    first, *others = (read_result(file).get("kind") for file in files)
    for file, kind in zip(files[1:], others, strict=True):
        if kind != first and {kind, first} & OF_ENCODERS.keys():
            raise InputError(f"{file}: is {kind}, but {files[0]} is {first}; expected results of one kind")
    if direction and first != RETRIEVAL.kind:
        raise InputError(f"--direction {direction}: expected results of retrieval, {files[0]} has {first}")
    return retrieval_in(direction) if direction else OF_ENCODERS.get(first, TRANSLATIONS)


def table(comparison: dict, settings: Settings) -> str:
    """One comparison as text: `*` marks significant differences."""
    family = " and ".join(f"{comparison['family'][part]} {part}" for part in PARTS if comparison[part])
    corrected = f"Holm over {family}" if settings.correction == "holm" else "not corrected"
    axis = f" ({comparison['axis']})" if comparison["axis"] else ""
    measure = compared_measure(comparison["measure"])
    rows = [
        f"{comparison['dataset']}, {measure.title}:"
        f" {side_label(comparison, 'compared')} against {side_label(comparison, 'baseline')}{axis}",
        f"{TESTS[settings.test]}; * p <= {settings.level}, {corrected}",
        f"{'':<12}{'baseline':>9}{'system':>9}{'difference':>12}{f'{1 - settings.level:.0%} interval':>18}"
        f"{'p':>9}{'p Holm' if settings.correction == 'holm' else '':>9}{'p seeds':>9}{'people':>8}",
    ]
    for name, result in (comparison["overall"] | comparison["directions"]).items():
        rows.append(row(name, result, measure, settings))
    return "\n".join(rows)


def row(name: str, result: dict, measure, settings: Settings) -> str:
    baseline, system, difference, low, high = (
        result[key] * measure.scale for key in ("baseline", "system", "difference", "low", "high")
    )
    digits = measure.digits
    between = f"[{low:+.{digits}f}, {high:+.{digits}f}]"
    adjusted = p_text(result["adjusted_p_value"]) if settings.correction == "holm" else ""
    people = "–" if result["agreement"] is None else f"{result['agreement']:.0%}"
    mark = " *" if result["significant"] else ""
    mark = f" {NEITHER}" if result["neither_translates"] else mark
    return (
        f"{name:<12}{baseline:>9.{digits}f}{system:>9.{digits}f}{difference:>+12.{digits}f}{between:>18}"
        f"{p_text(result['p_value']):>9}{adjusted:>9}{p_text(result['adjusted_p_value_with_seeds']):>9}"
        f"{people:>8}{mark}"
    )


def p_text(p_value: float | None) -> str:
    """A p-value with four decimals, the smallest of which is not rounded to nothing."""
    if p_value is None:
        return "–"
    return "<.0001" if p_value < 0.00005 else f"{p_value:.4f}"
