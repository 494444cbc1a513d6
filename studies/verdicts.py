"""Verdicts on the claims of papers, from the numbers of trainings.

    python -m studies.verdicts --page docs/claims.md

reads studies/claims.toml and studies/trainings.csv and makes the tables of a page; `--data` has all that is
known of every claim. A claim waits, and has no number, until all its trainings are there.

A claim with several contrasts holds if all of them do: the largest of their p-values counts, which needs no
correction (intersection-union test). It is contradicted by any of them, so that the smallest p-value against
it counts, times their number (Bonferroni).
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError, check_file
from command_line.option_classes import option, switch
from command_line.outputs import write_text
from command_line.spreadsheets import csv_text
from eval.scoring.estimates import Estimate, correlation, difference, paired_difference
from eval.scoring.significance import holm, is_significant
from studies.claims import Claim, Claims, numbers_of, read_claims, read_trainings
from studies.power import largest_deviation, smallest_correlation, smallest_difference

HERE = Path(__file__).parent
AGREES, CONTRADICTS, CANNOT_TELL, WAITING = "agrees", "contradicts", "cannot tell", "waiting"
SHOWN = ("number", "claim", "effect", "verdict (p)")  # in the page; the CSV file has all
COST = ("updates", "words", "operations", "cpu_seconds")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where the claims are, and where the verdicts go."""

    claims: Path = option("what is claimed", HERE / "claims.toml")
    trainings: Path = option("the numbers of trainings", HERE / "trainings.csv")
    page: Path | None = option("page between whose marks the tables are written", type=types.output_file)
    data: Path | None = option("CSV file for all that is known of every claim", type=types.output_file)
    paired: bool = switch("test the differences of every seed in every row, to see what it changes")


@dataclass(frozen=True)
class Decision:
    """What is known of a claim.

    Attributes:
        estimates: one per contrast, or of the correlation; empty while trainings are missing.
        finding: whether the numbers point the way of the claim, and the p-value.
        verdict: also where there is no finding.
    """

    claim: Claim
    estimates: tuple[Estimate, ...] = ()
    finding: tuple[bool, float] | None = None
    verdict: str = WAITING


def decide(claims: Claims, trainings, paired: bool = False) -> list[Decision]:
    """What the numbers say of every claim, with Holm's correction within its family. There a claim that waits
    counts as p = 1.

    Args:
        paired: test the differences of every seed, whatever the claims say.
    """
    decisions = {claim.number: _measured(claims, claim, trainings, paired) for claim in claims.claims}
    decided = []
    for claim in claims.claims:
        decision = decisions[claim.number]
        if decision.finding:
            family = [decisions[other.number] for other in claims.family(claim)]
            adjusted = holm([other.finding[1] if other.finding else 1.0 for other in family])
            corrected = decision.finding[0], adjusted[family.index(decision)]
            decision = Decision(claim, decision.estimates, corrected, verdict(corrected, claims.level))
        decided.append(decision)
    return decided


def _measured(claims: Claims, claim: Claim, trainings, paired: bool) -> Decision:
    if claim.not_tried is not None:
        return Decision(claim, verdict=f"not tried: {claim.not_tried}")
    seeds = claims.seeds[claim.seeds]
    numbers = {
        (system, measure): numbers_of(trainings, claims.measures, claim.experiment, measure, system, seeds)
        for measure in claim.correlation or (claim.measure,)
        for system in claim.systems or {system for contrast in claim.contrasts for system in contrast}
    }
    if any(values is None for values in numbers.values()):
        return Decision(claim)
    for (system, measure), values in sorted(numbers.items()):
        if np.isnan(values).any():
            seed = seeds[int(np.isnan(values).argmax())]
            return Decision(claim, verdict=f"{CANNOT_TELL}: no {measure} of `{system}`, seed {seed}")
    if claim.correlation:
        means = [
            [numbers[system, measure].mean() for system in claim.systems] for measure in claim.correlation
        ]
        estimates = (correlation(*means),)
    else:
        estimate = paired_difference if claim.paired or paired else difference
        estimates = tuple(
            estimate([(weight, numbers[system, claim.measure]) for system, weight in contrast.items()])
            for contrast in claim.contrasts
        )
    return Decision(
        claim, estimates, together([finding(claim.expect, claim.than, estimate) for estimate in estimates])
    )


def finding(expect: str, than: float, estimate: Estimate) -> tuple[bool, float]:
    """Which way the numbers point, and the p-value of the hypothesis that they do not.

    Two-sided; of `alike`, two one-sided tests (Schuirmann, 1987), and the same the other way round. That
    systems are not alike is said of either side of the margin, so that its p-value is doubled.
    """
    if expect == "alike":
        inside = max(estimate.p_above(-than), estimate.p_below(than))
        outside = min(1.0, 2 * min(estimate.p_above(than), estimate.p_below(-than)))
        return inside <= outside, min(inside, outside)
    p_for, p_against = estimate.p_above(than), estimate.p_below(than)
    if expect == "below":
        p_for, p_against = p_against, p_for
    return p_for <= p_against, min(1.0, 2 * min(p_for, p_against))


def together(findings: Sequence[tuple[bool, float]]) -> tuple[bool, float]:
    """Whether the contrasts of a claim agree together, and the p-value."""
    against = [p_value for agrees, p_value in findings if not agrees]
    if against:
        return False, min(1.0, len(findings) * min(against))
    return True, max(p_value for _, p_value in findings)


def verdict(finding: tuple[bool, float], level: float) -> str:
    agrees, p_value = finding
    if not is_significant(p_value, level):
        return CANNOT_TELL
    return AGREES if agrees else CONTRADICTS


# --- tables


def row(claims: Claims, decision: Decision, trainings) -> dict[str, str]:
    """Column -> text, of one claim."""
    claim = decision.claim
    shown = {"number": str(claim.number), "claim": claim.claim, "section": claim.section}
    if claim.not_tried is None:
        shown |= {
            "experiment": claims.experiments[claim.experiment].title,
            "compared": compared(claims, claim),
            "seeds": f"{len(claims.seeds[claim.seeds])}{', paired' if claim.paired else ''}",
            "family": claim.family,
            "smallest difference": smallest(claims, claim),
            "effect": "; ".join(effect(claims, claim, estimate) for estimate in decision.estimates),
            "p": p_text(decision.finding[1]) if decision.finding else "",
            "cost": cost(claims, claim, trainings),
        }
    return shown | {"verdict": decision.verdict, "note": claim.note}


def compared(claims: Claims, claim: Claim) -> str:
    """`zero-shot BLEU, 2 - 1: above 0`."""
    if claim.correlation:
        first, second = (claims.measures[name].title for name in claim.correlation)
        what = f"r of {first} and {second} over {', '.join(claim.systems)}"
    else:
        contrasts = (
            " ".join(f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g} '}{system}"
                     for system, weight in contrast.items()).removeprefix("+ ")
            for contrast in claim.contrasts
        )  # fmt: skip
        what = f"{claims.measures[claim.measure].title}, {' and '.join(contrasts)}"
    return f"{what}: {'within ±' if claim.expect == 'alike' else claim.expect + ' '}{claim.than:g}"


def effect(claims: Claims, claim: Claim, estimate: Estimate) -> str:
    """With its interval: that which the test agrees with, 95%, or 90% of two one-sided tests."""
    low, high = estimate.interval(2 * claims.level if claim.expect == "alike" else claims.level)
    if claim.correlation:
        return f"r = {estimate.effect:.2f} [{low:.2f}, {high:.2f}]"
    measure = claims.measures[claim.measure]
    texts = [f"{number:+.{measure.digits}f}" for number in (estimate.effect, low, high)]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]{' ' * bool(measure.unit)}{measure.unit}"


def p_text(p_value: float) -> str:
    return "< .001" if p_value < 0.0005 else f"{p_value:.3f}".replace("0.", ".", 1)


def smallest(claims: Claims, claim: Claim) -> str:
    """What the experiment can see with a power of 80%, by the smallest p-value of its family. Of several
    contrasts, the one that shows least decides.
    """
    level = claims.level / len(claims.family(claim))
    if claim.correlation:
        return f"r of {smallest_correlation(len(claim.systems), level):.2f}"
    seeds, measure = len(claims.seeds[claim.seeds]), claims.measures[claim.measure]
    terms = {tuple((weight, seeds) for weight in contrast.values()) for contrast in claim.contrasts}
    unit, of = f"{' ' * bool(measure.unit)}{measure.unit}", " of the differences" if claim.paired else ""
    if claim.expect == "alike":
        largest = (
            min(largest_deviation(of_contrast, level, claim.paired) for of_contrast in terms) * claim.than
        )
        return f"deviation{of} up to {largest:.2f}{unit}"
    difference_seen = max(smallest_difference(of_contrast, level, claim.paired) for of_contrast in terms)
    deviation = None if claim.paired else claims.experiments[claim.experiment].deviations.get(claim.measure)
    if deviation is None:
        return f"{difference_seen:.1f} deviations{of}"
    return f"{difference_seen * deviation:.{measure.digits}f}{unit}"


def cost(claims: Claims, claim: Claim, trainings) -> str:
    """Sums over the trainings of the claim whose logs were measured."""
    systems = {*claim.systems, *(system for contrast in claim.contrasts for system in contrast)}
    rows = trainings[
        (trainings.dataset == claim.experiment)
        & trainings.system.isin(systems)
        & trainings.seed.isin(claims.seeds[claim.seeds])
    ]
    sums = {name: rows[rows.measure == name].value.sum() for name in COST}
    measured, planned = (rows.measure == "updates").sum(), len(systems) * len(claims.seeds[claim.seeds])
    return f"{measured} of {planned} trainings: " + ", ".join(
        f"{total:.3g} {name}" for name, total in sums.items()
    )


def filled(page: str, tables: dict[str, str], path: Path) -> str:
    """A page with tables in place of what stands between its marks: `<!-- claims 8 -->` and
    `<!-- end of claims 8 -->`.

    Raises:
        InputError: the page has no such marks.
    """
    for chapter, table in tables.items():
        begin, end = f"<!-- claims {chapter} -->", f"<!-- end of claims {chapter} -->"
        if (page.count(begin), page.count(end)) != (1, 1):
            raise InputError(f"{path}: expected {begin} and {end} once each")
        before, after = page.split(begin)[0], page.split(end)[1]
        page = f"{before}{begin}\n{table}\n{end}{after}"
    return page


def markdown(rows: list[dict[str, str]]) -> str:
    """A table of claims; in brackets their sections, and the p-values of their verdicts."""
    rows = [
        row
        | {
            "claim": f"{row['claim']} ({row['section']})",
            "verdict (p)": row["verdict"] + f" ({row['p']})" * bool(row["p"]),
        }
        for row in rows
    ]
    lines = [list(SHOWN), ["---"] * len(SHOWN), *([row.get(name) or "–" for name in SHOWN] for row in rows)]
    return "\n".join(
        f"| {' | '.join(re.sub(r'[|]', chr(92) + '|', text) for text in line)} |" for line in lines
    )


def main(options: Options) -> None:
    claims, trainings = read_claims(options.claims), read_trainings(options.trainings)
    decisions = decide(claims, trainings, options.paired)
    rows = {decision.claim.number: row(claims, decision, trainings) for decision in decisions}
    tried = [claim for claim in claims.claims if claim.not_tried is None]
    tables = {
        chapter: markdown([rows[claim.number] for claim in tried if claim.chapter == chapter])
        for chapter in claims.chapters
        if any(claim.chapter == chapter for claim in tried)
    }
    if options.data:
        columns = list(dict.fromkeys(name for shown in rows.values() for name in shown))
        table = [columns, *([shown.get(name, "") for name in columns] for shown in rows.values())]
        write_text(options.data, csv_text(table))
    if options.page:
        check_file(options.page, "a page with marks for tables")
        page = options.page.read_text(encoding="utf-8")
        write_text(options.page, filled(page, tables, options.page))
    else:
        print("\n\n".join(f"## {claims.chapters[name]}\n\n{table}" for name, table in tables.items()))


if __name__ == "__main__":
    sys.exit(run_script())
