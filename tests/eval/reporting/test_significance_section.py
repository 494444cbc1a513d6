"""The table of a family of tests: which score is bold, and which number stands in which column."""

from pathlib import Path

import pandas as pd

from eval.derived.comparisons import Comparisons
from eval.reporting.sections.significance import table
from eval.systems import Run

COLUMNS = [
    *("Baseline", "System", "Directions", "BLEU of baseline", "of system", "Difference"),
    *("From", "To", "p", "p corrected", "p seeds", "People"),
]


def table_of(scores: dict[str, tuple[float, float, bool]]):
    """Of directions: the score of the baseline, that of the system, and whether they differ significantly."""
    tests = {
        direction: {
            "baseline": baseline, "system": system, "difference": system - baseline,
            "difference_low": system - baseline - 1, "difference_high": system - baseline + 2,
            "p_value": 0.01, "adjusted_p_value": 0.03, "p_value_with_seeds": 0.2,
            "adjusted_p_value_with_seeds": 0.4, "significant": significant, "agreement": 0.875,
            "neither_translates": baseline < 1 > system,
        }
        for direction, (baseline, system, significant) in scores.items()
    }  # fmt: skip
    compared = {"measure": "bleu", "axis": None, "baseline": "A", "compared": "B", "dataset": "toy"}
    run = Run(Path("comparison.json"), compared | {"family": {"directions": 4}})
    rows = pd.DataFrame.from_dict(tests, orient="index")
    return table(Comparisons([run], [], {(0, "directions"): rows}), [run], "directions")


def test_the_significantly_higher_score_is_bold_whichever_side_has_it():
    scores = {"de-fr": (20.0, 25.5, True), "fr-de": (25.5, 20.0, True)}
    shown = table_of(scores | {"en-de": (20.0, 25.5, False), "de-en": (25.5, 20.0, False)})
    assert shown.columns() == COLUMNS
    bold = [[field.text for field in row if field.bold] for row in shown.rows]
    assert bold == [["25.5"], ["25.5"], [], []]
    assert [[field.text for field in row] for row in shown.rows[:2]] == [
        ["A", "B", "de-fr", "20.0", "25.5", "+5.5", "+4.5", "+7.5", "0.0100", "0.0300", "0.4000", "88%"],
        ["A", "B", "fr-de", "25.5", "20.0", "-5.5", "-6.5", "-3.5", "0.0100", "0.0300", "0.4000", "88%"],
    ]
    assert "a family of 4 tests. Bold: significantly higher." in shown.caption


def test_a_direction_that_neither_system_translates_says_so():
    (row,) = table_of({"de-fr": (0.0, 0.03, False)}).rows
    assert [field.text for field in row[:5]] == ["A", "B", "de-fr (neither translates)", "0.0", "0.0"]
