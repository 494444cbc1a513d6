"""The table of a family of tests: which score is bold, and which number stands in which column."""

from eval.reporting.sections.significance import table

COLUMNS = [
    *("Baseline", "System", "Directions", "BLEU of baseline", "of system", "Difference"),
    *("From", "To", "p", "p corrected", "p seeds", "People"),
]


def result(baseline: float, system: float, significant: bool, agreement: float | None = 0.875) -> dict:
    difference = system - baseline
    return {
        "baseline": baseline, "system": system, "difference": difference,
        "low": difference - 1, "high": difference + 2, "p_value": 0.01, "adjusted_p_value": 0.03,
        "p_value_with_seeds": 0.2, "adjusted_p_value_with_seeds": 0.4,
        "significant": significant, "agreement": agreement, "neither_translates": baseline < 1 > system,
    }  # fmt: skip


def test_the_significantly_higher_score_is_bold_whichever_side_has_it():
    scores = {"de-fr": (20.0, 25.5, True), "fr-de": (25.5, 20.0, True)}
    scores |= {"en-de": (20.0, 25.5, False), "de-en": (25.5, 20.0, False)}
    directions = {direction: result(*given) for direction, given in scores.items()}
    comparison = {
        "dataset": "toy", "measure": "bleu", "axis": None, "baseline": "A", "system": "B",
        "family": {"directions": 4}, "directions": directions,
    }  # fmt: skip
    found = table([comparison], "directions")
    assert found.columns() == COLUMNS
    bold = [[one.text for one in row if any(span.bold for span in one.spans)] for row in found.rows]
    assert bold == [["25.5"], ["25.5"], [], []]
    assert [[one.text for one in row] for row in found.rows[:2]] == [
        ["A", "B", "de-fr", "20.0", "25.5", "+5.5", "+4.5", "+7.5", "0.0100", "0.0300", "0.4000", "88%"],
        ["A", "B", "fr-de", "25.5", "20.0", "-5.5", "-6.5", "-3.5", "0.0100", "0.0300", "0.4000", "88%"],
    ]
    assert "a family of 4 tests; bold: the significantly higher score" in found.caption


def test_a_direction_that_neither_system_translates_says_so():
    comparison = {
        "dataset": "toy", "measure": "bleu", "axis": None, "baseline": "A", "system": "B",
        "family": {"directions": 1}, "directions": {"de-fr": result(0.0, 0.03, False)},
    }  # fmt: skip
    (row,) = table([comparison], "directions").rows
    assert [one.text for one in row[:5]] == ["A", "B", "de-fr (neither translates)", "0.0", "0.0"]
