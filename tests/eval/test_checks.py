"""Runs and their systems, as scored folders and the result files of probes have them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from command_line.errors import InputError
from eval.checks import group_runs
from eval.reporting.exhibits import mean_cell
from eval.systems import MeanStd, Run, by_dataset


def run(name: str = "A", seed: int | None = 1, dataset: str = "toy", **system) -> dict:
    return {"system": {"name": name, "seed": seed, "language_tags": "t-enc", **system}, "dataset": dataset}


def files(*runs: dict) -> list[Run]:
    return [Run(Path(f"{number}.json"), record) for number, record in enumerate(runs)]


def test_runs_of_a_system_are_ordered_by_seed():
    runs = [run(seed=10), run(seed=None), run(seed=2), run(dataset="other")]
    first, second = group_runs(files(*runs))
    assert by_dataset([first, second]) == {"toy": [first], "other": [second]}
    assert (first.run_labels, first.records) == (["2", "10", "run 3"], [runs[2], runs[0], runs[1]])
    assert (first.name, first.settings, second.seeds) == ("A", {"language_tags": "t-enc"}, [1])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (run(), "1.json and 0.json: both are seed 1 of system 'A'; give one of them another --name"),
        (
            run(seed=2, losses={"word_contrastive": {}}),
            "1.json: system.losses is {'word_contrastive': {}}, but missing in 0.json",
        ),
        (run(seed=2, language_tags=7), "1.json: field 'system.language_tags' is 7, expected a string"),
    ],
)
def test_what_is_not_one_system_is_refused(second, message):
    with pytest.raises(InputError, match=re.escape(message)):
        group_runs(files(run(), second))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"split": "test"}, {"split": "valid"}, "1.json: split is valid, but test in 0.json; runs named"),
        ({"only_words": True}, {"only_words": False}, "1.json: only_words is False, but True in 0.json"),
        ({"search": {"beam": 5, "lenpen": 1.0}}, {"search": {"beam": 1, "lenpen": 1.0}},
         "1.json: search.beam is 1, but 5 in 0.json"),
    ],
)  # fmt: skip
def test_what_was_measured_in_another_way_is_not_averaged(first, second, message):
    with pytest.raises(InputError, match=re.escape(message)):
        group_runs(files(run() | first, run(seed=2) | second))
    (system,) = group_runs(files(run() | first, run(seed=2) | first, run(seed=3)))
    assert system.seeds == [1, 2, 3]  # an older file says nothing of it


def encoded(number: int, **encoder) -> Run:
    """A run of an encoder without a seed, in a folder."""
    given = {
        "name": "A",
        "kind": "transformers",
        "model": "a/A",
        "pooling": "mean",
        "weights": {"w": str(number)},
    }
    return Run(Path(f"{number}.json"), run(seed=None), {"neighbours": 4, "encoder": given | encoder})


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (encoded(2, model="b/A"), "2.json and 1.json: are of two encoders in folders called A; give them"),
        (encoded(2, model="b/B", weights={"w": "1"}), "2.json and 1.json: both are of one encoder, 'A'"),
        (encoded(2, model="b/B", pooling="cls"), "2.json: encoder.pooling is cls, but mean in 1.json"),
        (encoded(2, model="b/B", layer=8), "2.json: encoder.layer is 8, but none in 1.json"),
        (replace(encoded(2, model="b/B"), file=encoded(2, model="b/B").file | {"neighbours": 5}),
         "2.json: neighbours is 5, but 4 in 1.json"),
    ],
)  # fmt: skip
def test_encoders_in_folders_are_no_seeds_by_accident(second, message):
    with pytest.raises(InputError, match=re.escape(message)):
        group_runs([encoded(1), second])
    (system,) = group_runs([encoded(1), encoded(2, model="b/B")])  # named A by the user
    assert system.run_labels == ["run 1", "run 2"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.25, 1.35], "1.30 ± 0.07"),
        ([2.0], "2.00"),
        ([2.0, 2.0], "2.00 ± 0.00"),
        ([1.0, 2.0, 6.0], "3.00 ± 2.65"),  # the square root of (4 + 1 + 9) / 2
        ([2.0, None], "–"),
        ([], "–"),
    ],
)
def test_mean_and_deviation_are_shown_in_one_way(values, text):
    assert mean_cell(MeanStd.of(values), digits=2).text == text
    assert mean_cell(MeanStd.of(values), 2, "*").text == text + ("*" if text != "–" else "")
