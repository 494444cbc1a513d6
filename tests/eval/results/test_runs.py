"""Runs in the result files of probes, grouped as scored folders are."""

import re

import pytest

from command_line.errors import InputError
from eval.reporting.parts import mean_cell
from eval.results.runs import grouped, seed_of
from eval.results.systems import MeanStd


def run(name: str = "A", seed: int | None = 1, dataset: str = "toy", **system) -> dict:
    return {"system": {"name": name, "seed": seed, "language_tags": "t-enc", **system}, "dataset": dataset}


def files(*runs: dict) -> list[tuple[str, dict]]:
    return [(f"{number}.json", one) for number, one in enumerate(runs)]


def test_runs_of_a_system_are_ordered_by_seed():
    runs = [run(seed=10), run(seed=None), run(seed=2), run(dataset="other")]
    groups = grouped(files(*runs))
    assert list(groups) == [("toy", "A"), ("other", "A")]
    found = groups["toy", "A"]
    assert [seed_of(one, number) for number, one in enumerate(found, 1)] == ["2", "10", "run 3"]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (run(), "1.json and 0.json: both are seed 1 of system 'A'; give one of them another --name"),
        (
            run(seed=2, losses={"word_contrastive": {}}),
            "1.json: system.losses is {'word_contrastive': {}}, but not recorded, as in version 0.1",
        ),
        (run(seed=2, language_tags=7), "1.json: field 'system.language_tags' is 7, expected a string"),
    ],
)
def test_what_is_not_one_system_is_refused(second, message):
    with pytest.raises(InputError, match=re.escape(message)):
        grouped(files(run(), second))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.25, 1.35], "1.30 ± 0.07"),
        ([2.0], "2.00"),
        ([2.0, 2.0], "2.00 ± 0.00"),
        ([2.0, None], "–"),
        ([], "–"),
    ],
)
def test_mean_and_deviation_are_shown_in_one_way(values, text):
    assert mean_cell(MeanStd.of(values), digits=2).text == text
    assert mean_cell(MeanStd.of(values), 2, "*").text == text + ("*" if text != "–" else "")


def test_scale_and_unit():
    assert MeanStd.of([0.0859, 0.0859]).text(2, scale=100, unit="%") == "8.59 ± 0.00%"
