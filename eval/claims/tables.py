"""Claims as rows of Markdown, chapter by chapter, and the page that has them between its marks."""

import re
from collections.abc import Sequence

from command_line.errors import InputError
from eval.claims.costs import CostOfClaim
from eval.claims.decisions import Decision
from eval.claims.declared import Claim, Claims
from eval.claims.power import largest_deviation, smallest_correlation, smallest_difference

COLUMNS = (
    "#", "claim", "section", "experiment", "smallest difference",
    "effect", "p", "deviations", "cost", "verdict",
)  # fmt: skip
PAIRED_COLUMNS = ("#", "claim", "effect", "p before Holm", "effect, paired", "p before Holm, paired")
DECLARED = 5  # columns that are known before any training
NOTHING = "–"
WAITING = "waiting"


def tables(claims: Claims, decisions: Sequence[Decision]) -> dict[str, str]:
    """Chapter -> its table."""
    found = {}
    for chapter in claims.chapters:
        rows = [row(claims, one) for one in decisions if one.claim.chapter == chapter]
        found[chapter] = _markdown(COLUMNS, rows)
    return found


def paired_table(claims: Claims, decisions: Sequence[tuple[Decision, Decision]]) -> str:
    """Rows of `decide_paired`."""
    rows = [
        [
            str(both[0].claim.number),
            both[0].claim.claim,
            *(cell for one in both for cell in (_effects(claims, one), p_text(one.found.p_value))),
        ]
        for both in decisions
    ]
    return _markdown(PAIRED_COLUMNS, rows)


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        for cells in (columns, ["---"] * len(columns), *rows)
    )


def row(claims: Claims, decision: Decision) -> list[str]:
    """Cells of one claim."""
    claim = decision.claim
    start = [str(claim.number), claim.claim, claim.section]
    if claim.not_tried:
        return [*start, *[NOTHING] * 6, f"not tried: {claim.not_tried}"]
    start += [experiment(claim), smallest(claims, claim)]
    took = cost(decision.cost)
    if decision.verdict is None:
        done, planned = decision.trainings
        return [*start, *[NOTHING] * 3, took, f"{WAITING} ({done} of {planned})" if done else WAITING]
    if decision.found is None:
        return [*start, *[NOTHING] * 3, took, decision.verdict]
    effects = _effects(claims, decision)
    deviations = "; ".join(f"{name}: {_number(claim, one)}" for name, one in decision.deviations)
    return [*start, effects, p_text(decision.p_value), deviations or NOTHING, took, decision.verdict]


def experiment(claim: Claim) -> str:
    """Where, what of which systems, what is expected of it, and how many seeds."""
    if claim.correlation:
        first, second = (value.title for value in claim.correlation)
        what = f"r of {first} and {second}, means of {', '.join(f'`{one}`' for one in claim.systems)}"
    else:
        what = f"{claim.value.title}, {' and '.join(f'`{one}`' for one in claim.shown)}"
    seeds = f"{len(claim.seeds)} seeds{', paired' if claim.paired else ''}"
    note = f"; {claim.note}" if claim.note else ""
    return f"{claim.experiment}: {what}: {expected(claim)}; {seeds}{note}"


def expected(claim: Claim) -> str:
    way, than = claim.expectation.way, claim.expectation.than
    unit = f" {claim.value.unit}" if claim.value and claim.value.unit and than else ""
    return f"within ±{than:g}{unit}" if way == "alike" else f"{way} {than:g}{unit}"


def smallest(claims: Claims, claim: Claim) -> str:
    """What the experiment can see with a power of 80%, by the smallest p-value of its family; of several
    contrasts, in that which shows least. That is not always the one of most systems: more of them also tell
    their deviation better.
    """
    level = claims.level / len(claims.family(claim))
    if claim.correlation:
        return f"r of {smallest_correlation(len(claim.systems), level):.2f}"
    every = {tuple((term.coefficient, len(claim.seeds)) for term in contrast) for contrast in claim.contrasts}
    known = None if claim.paired else claim.deviation
    if claim.expectation.way == "alike":
        largest = min(largest_deviation(terms, level, claim.paired) for terms in every)
        of = " of the differences" if claim.paired else ""
        return f"deviation{of} up to {_number(claim, largest * claim.expectation.than, 2)}{_unit(claim)}"
    found = max(smallest_difference(terms, level, claim.paired) for terms in every)
    if known is None:
        return f"{found:.1f} deviations{' of the differences' if claim.paired else ''}"
    return f"{_number(claim, found * known)}{_unit(claim)}"


def _effects(claims: Claims, decision: Decision) -> str:
    return "; ".join(effect(decision.claim, one, claims.level) for one in decision.estimates)


def effect(claim: Claim, estimate, level: float) -> str:
    """With its interval: 95%, or 90% of two one-sided tests."""
    low, high = claim.expectation.interval(estimate, level)
    if claim.correlation:
        return f"r = {estimate.effect:.2f} [{low:.2f}, {high:.2f}]"
    shown = [_number(claim, one, sign="+") for one in (estimate.effect, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]{_unit(claim)}"


def _unit(claim: Claim) -> str:
    return f" {claim.value.unit}" if claim.value and claim.value.unit else ""


def _number(claim: Claim, number: float, digits: int | None = None, sign: str = "") -> str:
    digits = claim.value.digits if digits is None else digits
    return f"{number:{sign}.{digits}f}"


def cost(of: CostOfClaim | None) -> str:
    """Of all trainings; "about" where some are taken for others."""
    if of is None:
        return NOTHING
    total = of.total
    parts = [f"{total.updates:,.0f} updates", f"{_power_of_ten(total.words)} words"]
    if total.operations is not None:
        parts.append(f"{_power_of_ten(total.operations)} operations")
    if total.cpu_seconds is not None:
        parts.append(f"{total.cpu_seconds / 3600:.1f} h")
    about = "about " if of.measured < of.trainings else ""
    return f"{of.trainings} trainings: {about}{', '.join(parts)}"


def _power_of_ten(number: float) -> str:
    """4.2e7."""
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def p_text(p_value: float) -> str:
    return "< .001" if p_value < 0.0005 else f"{p_value:.3f}".replace("0.", ".", 1)


def filled(page: str, tables_of: dict[str, str], path) -> str:
    """A page with these tables in place of what stands between its marks, `<!-- claims 8 -->` and
    `<!-- end of claims 8 -->`.

    Raises:
        InputError: the page has no such marks.
    """
    for chapter, table in tables_of.items():
        begin, end = f"<!-- claims {chapter} -->", f"<!-- end of claims {chapter} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise InputError(f"{path}: expected {begin} and {end} once each")
        pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
        page = re.sub(pattern, lambda _, table=table: f"{begin}\n{table}\n{end}", page, flags=re.S)  # noqa: B023
    return page
