"""`python -m eval claims`: rows wait for all trainings, then have numbers; the page is what it prints."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from command_line.errors import InputError
from command_line.outputs import checksum
from eval.claims.decisions import decide, decide_paired
from eval.claims.declared import Value, read_claims
from eval.claims.measured import check_checkpoint, check_inputs, measured
from eval.claims.power import largest_deviation, smallest_difference
from eval.claims.tables import DECLARED, p_text, tables
from eval.claims.trainings import Trainings

DOCS = Path(__file__).parents[3] / "docs"
CLAIMS = """
[chapters]
8.title = "Chapter 8"
[seeds]
three = [1, 10, 20]
[experiments.lab]
title = "laboratory"
one_budget = true
deviations = { zero-shot = 2.0 }
[values.zero-shot]
title = "zero-shot BLEU"
file = "translations/{model}.json"
key = ["averages", "bleu"]
unit = "BLEU"
[values.share]
title = "share"
file = "translations/{model}.json"
key = ["layers", "*", ["a", "b|c"], -1]
scale = 100.0
unit = "points"
[[claims]]
number = 1
chapter = 8
claim = "2 is better"
section = "8.2"
experiment = "lab"
value = "zero-shot"
contrasts = ["2 - 1"]
expect = "above"
seeds = "three"
family = "both"
[[claims]]
number = 2
chapter = 8
claim = "x+y is alike"
section = "8.3"
experiment = "lab"
value = "zero-shot"
contrasts = ["x+y - 1", "x+y - 2"]
expect = "alike"
than = 9
seeds = "three"
family = "both"
[[claims]]
number = 3
chapter = 8
claim = "its share rises"
section = "8.3"
experiment = "lab"
value = "zero-shot"
contrasts = ["1 - 1:share"]
expect = "above"
seeds = "three"
paired = true
[[claims]]
number = 4
chapter = 8
claim = "a"
section = "9"
not_tried = "too large"
"""
EMPTY = {"format": 1, "kind": "numbers-of-trainings", "values": {}, "numbers": {}}
BLEU = {"1": [3, 4, 5], "2": [11, 13, 12], "x+y": [7, 8, 9]}
SEEDS = (1, 10, 20)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    return tmp_path / "claims.toml"


def write(folder: Path, system: str, seed: int, bleu: float, **fields) -> None:
    name = f"system{system}" if system[0].isdigit() else system
    file = folder / f"translations/{name}-seed{seed}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    layers = [{"a": [0, 0.1], "c": [0, 0.3]}, {"a": [0.5], "b": [0.2], "c": [9]}]
    record = {"format": 1, "system": {"seed": seed}, "averages": {"bleu": bleu}, "layers": layers}
    file.write_text(json.dumps(record | fields), encoding="utf-8")


def rows(out: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in out.splitlines()]
    return {one[0]: one for one in cells if one[0].isdigit()}


def test_a_row_waits_for_all_its_trainings(path, command, tmp_path):
    every = [(system, seed, bleu) for system in BLEU for seed, bleu in zip(SEEDS, BLEU[system], strict=True)]
    folder = tmp_path / "lab"
    (folder / "models").mkdir(parents=True)
    for system, seed, bleu in every:
        found = rows(command("claims", path, f"lab={folder}").out)
        assert found["2"][DECLARED:-1] == ["–", "–", "–", "–"] and found["2"][-1].startswith("waiting")
        write(folder, system, seed, bleu)
    assert found["2"][-1] == "waiting (8 of 9)" and found["1"][-1] == "agrees"
    waiting = rows(command("claims", path).out)
    assert {row[-1] for row in waiting.values()} == {"waiting", "not tried: too large"}
    assert [row[:DECLARED] for row in waiting.values()] == [row[:DECLARED] for row in found.values()]


def test_numbers_are_those_of_scipy(path, command, tmp_path):
    for system, numbers in BLEU.items():
        for seed, bleu in zip(SEEDS, numbers, strict=True):
            write(tmp_path / "lab", system, seed, bleu)
    found = rows(command("claims", path, f"lab={tmp_path / 'lab'}").out)
    one = stats.ttest_ind(BLEU["2"], BLEU["1"], equal_var=False)
    low, high = one.confidence_interval(0.95)
    both = []
    for margin, side in ((9, "less"), (-9, "greater")):
        for system in "12":
            shifted = np.array(BLEU["x+y"]) - margin
            both.append(stats.ttest_ind(shifted, BLEU[system], equal_var=False, alternative=side).pvalue)
    smaller, larger = sorted((one.pvalue, max(both)))
    adjusted = 2 * smaller, max(2 * smaller, larger)  # Holm's procedure for two
    p_values = dict(zip(sorted((one.pvalue, max(both))), adjusted, strict=True))
    assert found["1"][5:] == [
        f"+8.0 [{low:+.1f}, {high:+.1f}] BLEU",
        "< .001" if p_values[one.pvalue] < 0.0005 else f"{p_values[one.pvalue]:.3f}"[1:],
        "2: 1.0; 1: 1.0",
        "–",
        "agrees",
    ]
    assert found["2"][5].startswith("+4.0 [") and found["2"][5].count("BLEU") == 2
    assert found["2"][6:] == [f"{p_values[max(both)]:.3f}"[1:], "x+y: 1.0; 1: 1.0; 2: 1.0", "–", "agrees"]
    assert found["1"][4] == f"{2 * smallest_difference([(1, 3), (-1, 3)], 0.025, False):.1f} BLEU"
    assert found["3"][5] == "-23.5 [-26.0, -21.0] BLEU"  # of 4 and of 100 x (0.2 + 0.35) / 2
    assert found["3"][-3:] == ["1 - 1:share: 1.0", "–", "contradicts"]
    assert found["4"][3:] == ["–"] * 6 + ["not tried: too large"]


def test_what_rows_would_find_by_the_differences_of_every_seed(path, command, tmp_path):
    for system, numbers in BLEU.items():
        for seed, bleu in zip(SEEDS, numbers, strict=True):
            write(tmp_path / "lab", system, seed, bleu)
    found = rows(command("claims", path, f"lab={tmp_path / 'lab'}", "--paired").out)
    assert list(found) == ["1", "2"]  # the third is declared so
    one = stats.ttest_ind(BLEU["2"], BLEU["1"], equal_var=False)
    paired = stats.ttest_rel(BLEU["2"], BLEU["1"])
    assert found["1"] == [
        "1",
        "2 is better",
        "+8.0 [{:+.1f}, {:+.1f}] BLEU".format(*one.confidence_interval(0.95)),
        f"{one.pvalue:.3f}"[1:] if one.pvalue >= 0.0005 else "< .001",
        "+8.0 [{:+.1f}, {:+.1f}] BLEU".format(*paired.confidence_interval(0.95)),
        f"{paired.pvalue:.3f}"[1:],
    ]
    (tmp_path / "lab/translations/x+y-seed1.json").unlink()
    assert list(rows(command("claims", path, f"lab={tmp_path / 'lab'}", "--paired").out)) == ["1"]
    result = command("claims", path, "--paired", "--page", path)
    assert (result.status, result.err) == (
        2,
        f"error: --page {path}: not with --paired, whose table has no place on it\n",
    )


def test_a_correlation_over_systems_is_of_means_over_seeds(path, command, tmp_path):
    claim = """
[[claims]]
number = 5
chapter = 8
claim = "both rise"
section = "8.3"
experiment = "lab"
correlation = ["zero-shot", "share"]
systems = ["1", "2", "x+y", "z"]
expect = "above"
seeds = "three"
"""
    path.write_text(CLAIMS + claim, encoding="utf-8")
    bleu = {**BLEU, "z": [1, 20, 4]}
    shares = {"1": [0.1, 0.5, 0.2], "2": [0.4, 0.1, 0.9], "x+y": [0.3, 0.3, 0.2], "z": [0.8, 0.1, 0.7]}
    for system, numbers in bleu.items():
        for seed, one, share in zip(SEEDS, numbers, shares[system], strict=True):
            write(tmp_path / "lab", system, seed, one, layers=[{"a": [share], "b": [share]}])
    expected = stats.pearsonr([np.mean(bleu[one]) for one in bleu], [np.mean(shares[one]) for one in bleu])
    low, high = expected.confidence_interval(0.95)
    found = rows(command("claims", path, f"lab={tmp_path / 'lab'}").out)["5"]
    assert found[5] == f"r = {expected.statistic:.2f} [{low:.2f}, {high:.2f}]"
    p_value = 2 * stats.norm.sf(np.arctanh(expected.statistic) * np.sqrt(4 - 3))  # Fisher's transformation
    assert found[6:] == [f"{p_value:.3f}"[1:], "–", "–", "cannot tell"]


def test_the_level_of_a_file_decides_and_makes_the_intervals(path, command, tmp_path):
    """A p-value between both levels; the interval of 1 - level."""
    numbers = {"1": [3, 4, 5], "2": [5, 8, 4], "x+y": [7, 8, 9]}
    p_value = stats.ttest_ind(numbers["2"], numbers["1"], equal_var=False, alternative="two-sided").pvalue
    assert 0.15 < p_value < 0.4
    for system, values in numbers.items():
        for seed, bleu in zip(SEEDS, values, strict=True):
            write(tmp_path / "lab", system, seed, bleu)
    lone = CLAIMS.replace('family = "both"\n', "")
    for level, verdict in ((0.05, "cannot tell"), (0.4, "agrees")):
        path.write_text(f"level = {level}\n{lone}", encoding="utf-8")
        found = rows(command("claims", path, f"lab={tmp_path / 'lab'}").out)["1"]
        test = stats.ttest_ind(numbers["2"], numbers["1"], equal_var=False)
        low, high = test.confidence_interval(1 - level)
        assert (found[5], found[-1]) == (f"+1.7 [{low:+.1f}, {high:+.1f}] BLEU", verdict)
        smallest = 2 * smallest_difference([(1, 3), (-1, 3)], level, False)
        assert found[4] == f"{smallest:.1f} BLEU"


@pytest.mark.parametrize(
    ("contrasts", "above", "alike"),
    [(["2 - 1", "2 - 1 - x+y"], 3, 3), (["2 - 1 - x+y", "2 - 1"], 3, 3), (["2", "2 - 1"], 1, 2)],
)
def test_of_several_contrasts_the_one_that_shows_least_decides(path, command, contrasts, above, alike):
    """Not always that of most systems: with three trainings, two of them tell their deviation better."""
    smallest = {n: 2 * smallest_difference([(1, 3)] * n, 0.025, False) for n in (1, 2, 3)}
    largest = {n: 9 * largest_deviation([(1, 3)] * n, 0.025, False) for n in (1, 2, 3)}
    for expect, than, shown in (
        ("above", "", f"{smallest[above]:.1f} BLEU"),
        ("alike", "than = 9\n", f"deviation up to {largest[alike]:.2f} BLEU"),
    ):
        given = f'contrasts = {json.dumps(contrasts)}\n{than}expect = "{expect}"'
        path.write_text(CLAIMS.replace('contrasts = ["2 - 1"]\nexpect = "above"', given), encoding="utf-8")
        assert rows(command("claims", path).out)["1"][4] == shown


def test_a_training_that_has_no_number(path, command, tmp_path):
    """Nor does its family wait for it: it counts as one that says nothing."""
    for system, numbers in BLEU.items():
        for seed, bleu in zip(SEEDS, numbers, strict=True):
            write(tmp_path / "lab", system, seed, None if (system, seed) == ("x+y", 10) else bleu)
    found = rows(command("claims", path, f"lab={tmp_path / 'lab'}").out)
    assert found["2"][DECLARED:] == ["–", "–", "–", "–", "cannot tell: no zero-shot of `x+y`, seed 10"]
    alone = stats.ttest_ind(BLEU["2"], BLEU["1"], equal_var=False).pvalue
    assert found["1"][-4:] == [f"{2 * alone:.3f}"[1:], "2: 1.0; 1: 1.0", "–", "agrees"]


def test_numbers_that_are_kept_stand_for_folders_that_are_gone(path, command, tmp_path):
    """Of two machines, the second of which has never seen the first one's trainings."""
    kept, whole = tmp_path / "numbers.json", tmp_path / "whole"
    for part, systems in (("first", "12"), ("second", ["x+y"])):
        for system in systems:
            for seed, bleu in zip(SEEDS, BLEU[system], strict=True):
                for folder in (tmp_path / part, whole):
                    write(folder, system, seed, None if (system, seed) == ("x+y", 20) else bleu)
    keep = ["--numbers", kept]
    first = rows(command("claims", path, f"lab={tmp_path / 'first'}", *keep).out)
    assert first["2"][-1] == "waiting (6 of 9)" and first["1"][-1] == "agrees"
    expected = rows(command("claims", path, f"lab={whole}").out)
    assert rows(command("claims", path, f"lab={tmp_path / 'second'}", *keep).out) == expected
    assert expected["2"][-1] == "cannot tell: no zero-shot of `x+y`, seed 20"
    content = kept.read_bytes()
    for folders in ([], [f"lab={whole}"]):
        assert rows(command("claims", path, *folders, *keep).out) == expected
    assert kept.read_bytes() == content
    assert json.loads(content)["numbers"]["lab"]["zero-shot"]["x+y"] == {"1": 7, "10": 8, "20": None}


def test_numbers_that_contradict_what_is_kept(path, command, tmp_path):
    kept = tmp_path / "numbers.json"
    words = ["claims", path, f"lab={tmp_path / 'lab'}", "--numbers", kept]
    write(tmp_path / "lab", "1", 10, 4)
    assert command(*words).status == 0
    content = kept.read_bytes()
    write(tmp_path / "lab", "1", 10, 5)
    result = command(*words)
    assert result.status == 2
    assert f"{kept}: zero-shot of 1, seed 10, is 4, but 5 in {tmp_path / 'lab'}; a training" in result.err
    path.write_text(CLAIMS.replace('key = ["averages", "bleu"]', 'key = ["averages", "chrf"]', 1), "utf-8")
    result = command(*words)
    assert result.status == 2 and f"{kept}: values.zero-shot is of another definition" in result.err
    assert kept.read_bytes() == content
    for wrong in (
        "{",
        "[]",
        json.dumps(EMPTY | {"numbers": {"lab": 3}}),
        json.dumps(EMPTY | {"costs": {"lab": {"1": {"1": 3}}}}),
    ):
        kept.write_text(wrong)
        result = command(*words)
        assert result.status == 2 and str(kept) in result.err and len(result.err.splitlines()) == 1


def trained(folder: Path, name: str, words: int, seconds: float, ended: bool = True) -> None:
    """What recipes keep of a training of 1,000 parameters and 20 updates."""
    folder = folder / "models" / name
    folder.mkdir(parents=True)
    (folder / "train.log").write_text(
        "num. shared model params: 1,000 (num. trained: 1,000)\n"
        f"| train_inner | epoch 001: 20 / 20 loss=9, wpb={words}, num_updates=20\n"
    )
    (folder / "cpu_seconds.txt").write_text(f"{seconds}\n")
    record = {"format": 1, "options": {}, "inputs": {}, "outputs": {} if ended else None}
    (folder / "training.json").write_text(json.dumps(record), encoding="utf-8")


def test_the_cost_of_all_trainings_of_a_claim(path, command, tmp_path):
    """Those that nobody has measured count as the others of the system, or of the experiment."""
    kept, lab = tmp_path / "numbers.json", tmp_path / "lab"
    trained(lab, "system1-seed1", words=50, seconds=3600)
    trained(lab, "system1-seed10", words=150, seconds=1800)
    trained(lab, "system2-seed20", words=1000, seconds=7200, ended=False)
    trained(lab, "x+y-seed1", words=300, seconds=5400)
    found = rows(command("claims", path, f"lab={lab}", "--numbers", kept).out)
    # 3 of system 1, twice measured, with 2,000 words on average; 3 of system 2, as all that are measured
    words = 3 * 2_000 + 3 * 10_000 / 3
    assert words == 16_000
    assert found["1"][-2] == "6 trainings: about 120 updates, 1.6e4 words, 9.6e7 operations, 5.2 h"
    assert found["3"][-2] == "3 trainings: about 60 updates, 6.0e3 words, 3.6e7 operations, 2.2 h"
    assert found["4"][-2] == "–" and found["1"][-1] == "waiting"
    assert rows(command("claims", path, "--numbers", kept).out) == found
    several_budgets = tmp_path / "several.toml"
    several_budgets.write_text(path.read_text().replace("one_budget = true", "one_budget = false"))
    alone = rows(command("claims", several_budgets, "--numbers", kept).out)
    assert (alone["1"][-2], alone["3"][-2]) == ("–", found["3"][-2])  # of system 2 there is none
    trained(lab, "system1-seed20", words=100, seconds=2700)
    (lab / "models/system1-seed10/cpu_seconds.txt").unlink()
    found = rows(command("claims", path, f"lab={lab}", "--numbers", kept).out)
    assert found["3"][-2] == "3 trainings: 60 updates, 6.0e3 words, 3.6e7 operations"


def test_a_value_without_numbers_can_still_be_defined_anew(path, command, tmp_path):
    """A key that leads nowhere is found when the first training is finished."""
    kept = tmp_path / "numbers.json"
    words = ["claims", path, f"lab={tmp_path / 'lab'}", "--numbers", kept]
    (tmp_path / "lab/models").mkdir(parents=True)
    path.write_text(CLAIMS.replace('key = ["averages", "bleu"]', 'key = ["averages", "chrf"]', 1), "utf-8")
    assert command(*words).status == 0
    path.write_text(CLAIMS, encoding="utf-8")
    write(tmp_path / "lab", "1", 10, 4)
    assert command(*words).status == 0
    assert json.loads(kept.read_text())["values"]["zero-shot"]["key"] == ["averages", "bleu"]


def test_numbers_of_files(path, tmp_path):
    value = read_claims(path).claims[0].value
    file = tmp_path / "translations/system1-seed10.json"
    write(tmp_path, "1", 10, 4.5)
    assert (measured(value, tmp_path, "1", 10), measured(value, tmp_path, "1", 20)) == (4.5, None)
    write(tmp_path, "1", 1, 4.5)
    file.write_bytes((tmp_path / "translations/system1-seed1.json").read_bytes())
    with pytest.raises(InputError, match=r"system1-seed10.json: is of seed 1, expected 10"):
        measured(value, tmp_path, "1", 10)
    for wrong in (True, "x", {}):
        write(tmp_path, "1", 10, wrong)
        with pytest.raises(InputError, match=r"system1-seed10.json: found .*, expected a number"):
            measured(value, tmp_path, "1", 10)
    write(tmp_path, "1", 10, 1, averages=[])
    with pytest.raises(InputError, match=r"system1-seed10.json: no 'bleu' where a claim looks for it"):
        measured(value, tmp_path, "1", 10)


def test_scores_of_another_translation_or_seed_do_not_count(scored, scores_of, texts, tmp_path):
    out = scored("2", {"en-de": texts["de"]}, folder="translations/system2-seed1")
    value = Value("x", "x", "translations/{model}/scores.json", ("averages", "supervised", "bleu"))
    assert measured(value, tmp_path, "2", 1) == pytest.approx(100.0)
    scores = scores_of(out)
    scores["directions"]["en-de"]["sha256"] = "0" * 64
    (out / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.json: is of another translation than translate\.json"):
        measured(value, tmp_path, "2", 1)


def test_a_probe_of_one_training_is_of_its_seed(tmp_path):
    path = tmp_path / "probes/a-seed1/llr.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"format": 1, "runs": [{"system": {"seed": 10}, "x": 3}]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"llr\.json: is of seed 10, expected 1"):
        measured(Value("x", "x", "probes/{model}/llr.json", ("runs", 0, "x")), tmp_path, "a", 1)


def test_a_training_of_several_in_a_file(tmp_path):
    runs = [
        {"system": {"name": name, "seed": seed}, "x": len(name) + seed} for name in "ab" for seed in (1, 10)
    ]
    (tmp_path / "all.json").write_text(json.dumps({"format": 1, "runs": runs}), encoding="utf-8")
    key = ("runs", {"system.name": "a", "system.seed": "{seed}"}, "x")
    assert measured(Value("x", "x", "all.json", key), tmp_path, "1", 10) == 11
    assert measured(Value("x", "x", "all.json", key), tmp_path, "1", 20) is None  # not there yet
    twice = {"format": 1, "runs": runs * 2, "by_seed": {"1": {"all": 3}}}
    (tmp_path / "all.json").write_text(json.dumps(twice), encoding="utf-8")
    with pytest.raises(InputError, match=r"all.json: no .* where a claim looks for it"):
        measured(Value("x", "x", "all.json", key), tmp_path, "1", 10)
    by_seed = Value("x", "x", "all.json", ("by_seed", "{seed}", "all"))
    assert [measured(by_seed, tmp_path, "1", seed) for seed in (1, 10)] == [3, None]


def test_a_file_of_several_trainings_that_has_one_so_far(tmp_path):
    runs = [{"system": {"name": "a", "seed": 1}, "x": 3}]
    (tmp_path / "all.json").write_text(json.dumps({"format": 1, "runs": runs}), encoding="utf-8")
    value = Value("x", "x", "all.json", ("runs", {"system.name": "a", "system.seed": "{seed}"}, "x"))
    assert [measured(value, tmp_path, "a", seed) for seed in (1, 10)] == [3, None]
    own = Value("x", "x", "all.json", ("runs", 0, "x"))
    assert measured(own, tmp_path, "a", 1) == 3


def test_a_training_that_goes_on_has_no_number_yet(tmp_path):
    """Whatever was measured of its checkpoints meanwhile."""
    write(tmp_path, "1", 1, 20.0)
    value = Value("x", "x", "translations/{model}.json", ("averages", "bleu"))
    assert measured(value, tmp_path, "1", 1) == 20
    training = tmp_path / "models/system1-seed1"
    training.mkdir(parents=True)
    record = {"format": 1, "options": {}, "inputs": {}, "outputs": None}
    (training / "training.json").write_text(json.dumps(record), encoding="utf-8")
    assert measured(value, tmp_path, "1", 1) is None
    (training / "training.json").write_text(json.dumps(record | {"outputs": {}}), encoding="utf-8")
    assert measured(value, tmp_path, "1", 1) == 20


def test_a_probe_of_another_checkpoint_than_the_scores_is_refused(tmp_path):
    scores = {"format": 1, "checkpoint": {"sha256": "a" * 64}}
    path = tmp_path / "probes/x-seed1/llr.json"
    for file, record in (
        (tmp_path / "translations/x-seed1/scores.json", scores),
        (path, {"format": 1, "runs": [{"system": {"seed": 1}, "checkpoint": {"sha256": "b" * 64}, "x": 3}]}),
    ):
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(record), encoding="utf-8")
    value = Value("x", "x", "probes/{model}/llr.json", ("runs", 0, "x"))
    with pytest.raises(InputError, match=r"llr\.json: is of another checkpoint than .*; run the stage probe"):
        measured(value, tmp_path, "x", 1)
    path.write_text(path.read_text().replace("b" * 64, "a" * 64))
    assert measured(value, tmp_path, "x", 1) == 3

    scores = tmp_path / "translations/x-seed1/scores.json"  # the same model by another path
    scores.write_text(scores.read_text().replace('"sha256"', '"path": "/elsewhere.pt", "sha256"'))
    assert measured(value, tmp_path, "x", 1) == 3


def train_anew(checkpoint: Path, result: Path) -> None:
    """After the result was made."""
    checkpoint.write_bytes(b"anew")
    os.utime(checkpoint, (result.stat().st_mtime + 100,) * 2)
    check_checkpoint.cache_clear()


@pytest.mark.parametrize("is_probed", [False, True])  # a probe names the checkpoint of every run
@pytest.mark.parametrize(
    ("name", "checkpoint", "course"),
    [("translations/{model}/x.json", "best", ()), ("curves/{model}/{updates}/x.json", "1_5", (5, 10))],
)
def test_results_that_a_training_made_anew_has_left_behind_are_refused(
    name, checkpoint, course, is_probed, tmp_path
):
    """Known by the times of files, which copies may not have, and then by contents."""
    own = tmp_path / "models/a-seed1" / f"checkpoint_{checkpoint}.pt"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"before")
    ended = {"format": 1, "options": {}, "inputs": {}, "outputs": {}}
    (own.parent / "training.json").write_text(json.dumps(ended), encoding="utf-8")
    for updates in course or (5,):
        path = tmp_path / name.format(model="a-seed1", updates=updates)
        path.parent.mkdir(parents=True)
        of = {"checkpoint": {"sha256": checksum(own), "updates": updates}}
        record = {"format": 1, "x": 3, "along": updates, **({"runs": [of]} if is_probed else of)}
        path.write_text(json.dumps(record), "utf-8")
    value = Value("x", "x", name, ("x",), course=course, along=("along",) if course else (), level=6)
    os.utime(own, (path.stat().st_mtime + 100,) * 2)  # a copy
    assert measured(value, tmp_path, "a", 1) == 3
    train_anew(own, path)
    with pytest.raises(InputError, match=rf"x\.json: is of another checkpoint than {own}; run its stage"):
        measured(value, tmp_path, "a", 1)


def test_a_system_that_uses_the_model_of_another_is_of_that_one(tmp_path):
    own = tmp_path / "models/system4-seed1/checkpoint_best.pt"
    path = tmp_path / "translations/system0-seed1/x.json"
    for file in (own, path):
        file.parent.mkdir(parents=True)
    own.write_bytes(b"before")
    of = {"path": str(own), "sha256": checksum(own)}
    path.write_text(json.dumps({"format": 1, "checkpoint": of, "x": 3}), encoding="utf-8")
    value = Value("x", "x", "translations/{model}/x.json", ("x",))
    assert measured(value, tmp_path, "0", 1) == 3
    train_anew(own, path)
    with pytest.raises(InputError, match=rf"x\.json: is of another checkpoint than {own}"):
        measured(value, tmp_path, "0", 1)


@pytest.mark.parametrize("name", ["scores.json", "train.log"])
def test_a_result_of_scores_that_have_changed_since_is_refused(name, tmp_path):
    scores, path = tmp_path / name, tmp_path / "a-seed1/correlation.json"
    scores.write_text("{}")
    path.parent.mkdir()
    inputs = [{"path": str(one), "sha256": checksum(scores)} for one in (scores, "gone.json")]
    inputs[1]["path"] = str(tmp_path / "gone.json")
    path.write_text(json.dumps({"format": 1, "inputs": inputs, "x": 3}), encoding="utf-8")
    value = Value("x", "x", "{model}/correlation.json", ("x",))
    assert measured(value, tmp_path, "a", 1) == 3
    scores.write_text('{"bleu": 1}')
    check_inputs.cache_clear()
    with pytest.raises(InputError, match=rf"correlation\.json: .*{re.escape(name)} has changed since"):
        measured(value, tmp_path, "a", 1)
    (tmp_path / "copy").mkdir()
    path.parent.rename(tmp_path / "copy/a-seed1")  # what lies elsewhere may be another experiment's
    assert measured(value, tmp_path / "copy", "a", 1) == 3


def test_a_curve_with_the_scores_of_another_checkpoint_is_refused(tmp_path):
    value = Value("x", "x", "{model}/{updates}.json", ("x",), course=(5, 10), along=("along",), level=2)
    (tmp_path / "a-seed1").mkdir()
    for updates in value.course:
        record = {"format": 1, "checkpoint": {"updates": 5}, "along": updates / 4, "x": updates}
        (tmp_path / f"a-seed1/{updates}.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=r"10\.json: is of the checkpoint after 5 updates, expected 10"):
        measured(value, tmp_path, "a", 1)


def test_a_learning_curve_at_a_level(tmp_path):
    curve = [(1, 0.5), (20, 3), (40, 7), (30, 9)]
    value = Value(
        "x", "x", "{model}/{updates}.json", ("x",), course=(5, 10, 15, 20), along=("along",), level=25
    )
    (tmp_path / "a-seed1").mkdir()
    for updates, (along, x) in zip(value.course, curve, strict=True):
        reached = 3 + 4 * 5 / 20 if updates == 20 else None  # the checkpoints around the level decide
        assert measured(value, tmp_path, "a", 1) == reached
        record = {"format": 1, "system": {"seed": 1}, "along": along, "x": x}
        (tmp_path / f"a-seed1/{updates}.json").write_text(json.dumps(record), encoding="utf-8")
    assert measured(value, tmp_path, "a", 1) == 3 + 4 * 5 / 20
    assert measured(replace(value, scale=100.0), tmp_path, "a", 1) == 100 * (3 + 4 * 5 / 20)
    assert np.isnan([measured(replace(value, level=level), tmp_path, "a", 1) for level in (0.5, 41)]).all()


def test_the_lowest_loss_of_a_log(tmp_path):
    log = tmp_path / "a-seed1/train.log"
    log.parent.mkdir()
    lines = [
        f"valid | epoch 001 | valid on 'valid' subset | loss 9 | nmt_loss {loss} | num_updates {updates}\n"
        for updates, loss in ((5, 4.5), (10, 2.25), (15, 3))
    ]
    log.write_text("".join(f"2026-01-01 | INFO | {line}" for line in lines), encoding="utf-8")
    value = Value("loss", "loss", "{system}-seed{seed}/train.log", log="nmt_loss")
    record = {"format": 1, "options": {}, "inputs": {}, "outputs": None}
    (log.parent / "training.json").write_text(json.dumps(record), encoding="utf-8")
    assert measured(value, tmp_path, "a", 1) is None  # it may fall further
    (log.parent / "training.json").write_text(json.dumps({**record, "outputs": {}}), encoding="utf-8")
    assert measured(value, tmp_path, "a", 1) == 2.25
    assert measured(replace(value, scale=100.0), tmp_path, "a", 1) == 225
    for losses, lowest in ((("nan", 3.5), 3.5), ((3.5, "nan"), 3.5), (("inf", "nan"), None)):
        lines = [f"| valid | loss 9 | nmt_loss {one} | num_updates {n}\n" for n, one in enumerate(losses)]
        log.write_text("".join(lines), encoding="utf-8")
        found = measured(value, tmp_path, "a", 1)
        assert np.isnan(found) if lowest is None else found == lowest
    with pytest.raises(InputError, match=r"train.log: no 'ppl' in its validations"):
        measured(replace(value, log="ppl"), tmp_path, "a", 1)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('value = "zero-shot"\ncontrasts = ["2 - 1"]', 'value = "x"\ncontrasts = ["2 - 1"]', "value 'x'"),
        ('["2 - 1"]', '["2 -1"]', "contrast '2 -1'"),
        ('["2 - 1"]', '["2 - 2"]', "occurs twice in a contrast; expected paired = true"),
        ('["2 - 1"]', '["2:y - 1"]', "value 'y'; expected one of"),
        ('expect = "above"', 'expect = "better"', "expect"),
        ("than = 9", "than = 0", "needs a margin above 0"),
        ("three = [1, 10, 20]", "three = [1]", "at least two different ones"),
        ('experiment = "lab"', 'experiment = "home"', "experiment 'home'; expected one of: lab"),
        ("number = 2", "number = 1", "claim 1 occurs twice"),
        ('not_tried = "too large"', "", "no experiment; expected one, or not_tried"),
        ('key = ["averages", "bleu"]', "", "either a key or a log"),
        ('key = ["averages", "bleu"]', 'log = "x"\nlevel = 3', "a key, course, along and level together"),
        ('contrasts = ["2 - 1"]', "contrasts = []", "no contrasts, expected one or more"),
        ('["2 - 1"]', '["- 1"]\nmean = true', "a mean of no systems, expected one with +"),
        ("[chapters]", "level = 5\n[chapters]", "level 5, expected a number between 0 and 1"),
        ("[seeds]", "[seeds", "no TOML"),
        ('family = "both"', 'familly = "both"', "unknown field 'familly' of claims[0]; expected number, cha"),
        ("one_budget = true", "one_budgets = true", "unknown field 'one_budgets' of experiments.lab; expe"),
        ("scale = 100.0", "scael = 100.0", "unknown field 'scael' of values.share; expected title, file"),
        ("[chapters]", "levl = 0.01\n[chapters]", "unknown field 'levl'; expected level, chapters, seeds"),
        ("deviations = { zero-shot", "deviations = { zeroshot", "deviations of the value 'zeroshot'; expe"),
        ('unit = "points"', "digits = -1", "values.share: digits -1, expected a number from 0 to 10"),
    ],
)
def test_files_that_are_wrong(path, command, old, new, error):
    path.write_text(CLAIMS.replace(old, new, 1), encoding="utf-8")
    result = command("claims", path)
    assert result.status == 2 and error in result.err and str(path) in result.err


def test_folders_that_are_wrong(path, command, tmp_path):
    assert "has no such experiment; expected one of: lab" in command("claims", path, f"home={tmp_path}").err
    assert "no folder with files in it" in command("claims", path, f"lab={tmp_path / 'none'}").err
    assert "given twice" in command("claims", path, f"lab={tmp_path}", f"lab={tmp_path}").err


def test_tables_of_a_page(path, command, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- claims 8 -->\nold\n<!-- end of claims 8 -->\nafter\n", encoding="utf-8")
    for _ in range(2):
        assert command("claims", path, "--page", page).status == 0
    text = page.read_text(encoding="utf-8")
    table = command("claims", path).out.split("\n\n", 1)[1].strip()
    assert text == f"before\n<!-- claims 8 -->\n{table}\n<!-- end of claims 8 -->\nafter\n"
    page.write_text("no marks", encoding="utf-8")
    result = command("claims", path, "--page", page)
    assert result.status == 2 and "expected <!-- claims 8 -->" in result.err


def test_the_page_of_claims_is_what_is_declared_and_what_the_kept_numbers_give():
    """What was stated before the trainings, and effects and verdicts of those that are finished."""
    claims = read_claims(DOCS / "claims.toml")
    page = rows((DOCS / "claims.md").read_text(encoding="utf-8"))
    printed = tables(claims, decide(claims, Trainings({}, DOCS / "claims.json")))
    assert page == rows("\n".join(printed.values()))


def test_what_the_page_of_claims_says_of_rows_if_they_were_paired():
    claims = read_claims(DOCS / "claims.toml")
    found = decide_paired(claims, Trainings({}, DOCS / "claims.json"))
    p = {declared.claim.number: p_text(paired.found.p_value) for declared, paired in found}
    text = " ".join((DOCS / "claims.md").read_text(encoding="utf-8").split())
    assert f"rows 8, 18 and 47 would have p of {p[8]}, {p[18]} and {p[47]} before Holm" in text
    assert f"row 2 would have {p[2]}; rows 10 and 12 {p[10]} and {p[12]}" in text
    assert f"row 57 would have {p[57]} and row 65 {p[65]}" in text


def test_what_the_page_of_claims_says_of_families():
    claims = read_claims(DOCS / "claims.toml")
    families: dict[str, list[int]] = {}
    for claim in claims.claims:
        families.setdefault(claim.family, []).append(claim.number)
    text = " ".join((DOCS / "claims.md").read_text(encoding="utf-8").split())
    for family, numbers in families.items():
        if family:
            assert f"({', '.join(map(str, sorted(numbers)))})" in text, family
