"""Verdicts on claims, against scipy; how the numbers of new trainings come in; what is refused."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from command_line.dispatch import run_step
from command_line.measurements import Measured, numbers, write_rows
from studies import collect, verdicts
from studies.claims import read_claims, read_trainings
from studies.power import largest_deviation, smallest_difference
from studies.verdicts import decide, p_text

ROOT = Path(__file__).parents[2]
CLAIMS = """
[chapters]
8 = "Chapter 8"
[seeds]
three = [1, 10, 20]
[experiments.lab]
title = "laboratory"
deviations = { zero-shot = 2.0 }
[measures.zero-shot]
title = "zero-shot BLEU"
unit = "BLEU"
file = "translations/{model}/scores.csv"
where = { measure = "bleu", direction = "en-*" }
scale = 2
[measures.share]
title = "share"
unit = "points"
[measures.both]
title = "BLEU above the share"
difference = ["zero-shot", "share"]
[[claims]]
number = 1
chapter = "8"
claim = "2 is better"
section = "8.2"
experiment = "lab"
measure = "zero-shot"
contrasts = [{ 2 = 1, 1 = -1 }]
expect = "above"
seeds = "three"
family = "both"
[[claims]]
number = 2
chapter = "8"
claim = "x+y is alike"
section = "8.3"
experiment = "lab"
measure = "zero-shot"
contrasts = [{ "x+y" = 1, 1 = -1 }, { "x+y" = 1, 2 = -1 }]
expect = "alike"
than = 9
seeds = "three"
family = "both"
[[claims]]
number = 3
chapter = "8"
claim = "its share rises"
section = "8.3"
experiment = "lab"
measure = "both"
contrasts = [{ 1 = 1 }]
expect = "above"
seeds = "three"
paired = true
[[claims]]
number = 4
chapter = "8"
claim = "a"
section = "9"
not_tried = "too large"
"""
BLEU = {"1": [3, 4, 5], "2": [11, 13, 12], "x+y": [7, 8, 9]}
SEEDS = (1, 10, 20)


def run(module, words) -> int:
    """The exit status of one of the commands."""
    return run_step(module.__name__, module, list(map(str, words)))


@pytest.fixture
def path(tmp_path):
    (tmp_path / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    return tmp_path / "claims.toml"


@pytest.fixture
def trainings(tmp_path):
    """Function that writes trainings.csv from measure -> system -> one number per seed."""

    def write(**measured) -> Path:
        lines = [
            f"lab,{system},{seed},{measure.replace('_', '-')},{value}"
            for measure, systems in measured.items()
            for system, values in systems.items()
            for seed, value in zip(SEEDS, values, strict=True)
        ]
        path = tmp_path / "trainings.csv"
        path.write_text("\n".join(["dataset,system,seed,measure,value", *lines, ""]), encoding="utf-8")
        return path

    return write


@pytest.fixture
def rows(path, tmp_path):
    """Function trainings -> number of a claim -> its row of the CSV file."""

    def found(trainings: Path, *others) -> dict[int, dict]:
        data = tmp_path / "claims.csv"
        given = ["--claims", path, "--trainings", trainings, "--data", data, *others]
        assert run(verdicts, given) == 0
        with open(data, encoding="utf-8", newline="") as stream:
            rows = [
                {
                    name: text.removeprefix("'") for name, text in row.items()
                }  # which keeps it from being a formula
                for row in csv.DictReader(stream)
            ]
        return {int(row["number"]): row for row in rows}

    return found


def test_a_row_waits_for_all_its_trainings(trainings, rows):
    some = {"1": BLEU["1"], "2": [11, 13]}
    path = trainings(zero_shot={"1": some["1"]})
    path.write_text(path.read_text() + "".join(f"lab,2,{seed},zero-shot,9\n" for seed in (1, 10)))
    assert [row["verdict"] for row in rows(path).values()] == ["waiting"] * 3 + ["not tried: too large"]
    assert rows(path)[1]["effect"] == rows(path)[1]["p"] == ""


def test_numbers_are_those_of_scipy(trainings, rows):
    verdicts = rows(trainings(zero_shot=BLEU, share={"1": [26, 27.5, 29]}))
    welch = stats.ttest_ind(BLEU["2"], BLEU["1"], equal_var=False)
    low, high = welch.confidence_interval(0.95)
    both = []
    for margin, side in ((9, "less"), (-9, "greater")):
        for system in "12":
            shifted = np.array(BLEU["x+y"]) - margin
            both.append(stats.ttest_ind(shifted, BLEU[system], equal_var=False, alternative=side).pvalue)
    smaller, larger = sorted((welch.pvalue, max(both)))
    adjusted = 2 * smaller, max(2 * smaller, larger)  # Holm's procedure for two
    p_values = dict(zip((smaller, larger), adjusted, strict=True))
    assert verdicts[1]["effect"] == f"+8.0 [{low:+.1f}, {high:+.1f}] BLEU"
    assert (verdicts[1]["p"], verdicts[1]["verdict"]) == (p_text(p_values[welch.pvalue]), "agrees")
    assert verdicts[2]["effect"].startswith("+4.0 [") and verdicts[2]["effect"].count("BLEU") == 2
    assert (verdicts[2]["p"], verdicts[2]["verdict"]) == (p_text(p_values[max(both)]), "agrees")
    assert (
        verdicts[1]["smallest difference"]
        == f"{2 * smallest_difference([(1, 3), (-1, 3)], 0.025, False):.1f} BLEU"
    )
    paired = stats.ttest_1samp(np.array(BLEU["1"]) - [26, 27.5, 29], 0)
    low, high = paired.confidence_interval(0.95)
    assert verdicts[3]["effect"] == f"-23.5 [{low:+.1f}, {high:+.1f}]"
    assert (verdicts[3]["p"], verdicts[3]["verdict"]) == (p_text(paired.pvalue), "contradicts")


def test_all_rows_can_be_tested_by_the_differences_of_every_seed(trainings, rows):
    verdicts = rows(trainings(zero_shot=BLEU), "--paired")
    low, high = stats.ttest_rel(BLEU["2"], BLEU["1"]).confidence_interval(0.95)
    assert verdicts[1]["effect"] == f"+8.0 [{low:+.1f}, {high:+.1f}] BLEU"


def test_a_correlation_over_systems_is_of_means_over_seeds(path, trainings, rows):
    claim = """
[[claims]]
number = 5
chapter = "8"
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
    shares = {"1": [1, 5, 2], "2": [4, 1, 9], "x+y": [3, 3, 2], "z": [8, 1, 7]}
    expected = stats.pearsonr(
        [np.mean(bleu[system]) for system in bleu], [np.mean(shares[system]) for system in bleu]
    )
    low, high = expected.confidence_interval(0.95)
    verdict = rows(trainings(zero_shot=bleu, share=shares))[5]
    assert verdict["effect"] == f"r = {expected.statistic:.2f} [{low:.2f}, {high:.2f}]"
    p_value = 2 * stats.norm.sf(np.arctanh(expected.statistic) * np.sqrt(4 - 3))  # Fisher's transformation
    assert (verdict["p"], verdict["verdict"]) == (p_text(p_value), "cannot tell")


def test_the_level_of_a_file_decides_and_makes_the_intervals(path, trainings, rows):
    """A p-value between both levels; the interval of 1 - level."""
    values = {"1": [3, 4, 5], "2": [5, 8, 4], "x+y": [7, 8, 9]}
    test = stats.ttest_ind(values["2"], values["1"], equal_var=False)
    assert 0.15 < test.pvalue < 0.4
    for level, verdict in ((0.05, "cannot tell"), (0.4, "agrees")):
        path.write_text(f"level = {level}\n" + CLAIMS.replace('family = "both"\n', ""), encoding="utf-8")
        row = rows(trainings(zero_shot=values))[1]
        low, high = test.confidence_interval(1 - level)
        assert (row["effect"], row["verdict"]) == (f"+1.7 [{low:+.1f}, {high:+.1f}] BLEU", verdict)
        seen = 2 * smallest_difference([(1, 3), (-1, 3)], level, False)
        assert row["smallest difference"] == f"{seen:.1f} BLEU"


@pytest.mark.parametrize(
    ("contrasts", "above", "alike"),
    [
        ("[{ 2 = 1, 1 = -1 }, { 2 = 1, 1 = -1, z = -1 }]", 3, 3),
        ("[{ 2 = 1, 1 = -1, z = -1 }, { 2 = 1, 1 = -1 }]", 3, 3),
        ("[{ 2 = 1 }, { 2 = 1, 1 = -1 }]", 1, 2),
    ],
)
def test_of_several_contrasts_the_one_that_shows_least_decides(
    path, trainings, rows, contrasts, above, alike
):
    """Not always that of most systems: with three trainings, two of them tell their deviation better."""
    smallest = {n: 2 * smallest_difference([(1, 3)] * n, 0.025, False) for n in (1, 2, 3)}
    largest = {n: 9 * largest_deviation([(1, 3)] * n, 0.025, False) for n in (1, 2, 3)}
    for expect, than, shown in (
        ("above", "", f"{smallest[above]:.1f} BLEU"),
        ("alike", "than = 9\n", f"deviation up to {largest[alike]:.2f} BLEU"),
    ):
        given = f'contrasts = {contrasts}\n{than}expect = "{expect}"'
        text = CLAIMS.replace('contrasts = [{ 2 = 1, 1 = -1 }]\nexpect = "above"', given)
        path.write_text(text, encoding="utf-8")
        assert rows(trainings())[1]["smallest difference"] == shown


def test_a_training_that_has_no_number(trainings, rows):
    """Its row cannot tell, and its family does not wait for it."""
    verdicts = rows(trainings(zero_shot=BLEU | {"x+y": [7, "nan", 9]}))
    assert verdicts[2]["verdict"] == "cannot tell: no zero-shot of `x+y`, seed 10"
    assert verdicts[1]["verdict"] == "agrees"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('measure = "zero-shot"', 'measure = "x"', "claim 1: measure 'x', expected one of: zero-shot, share"),
        ('expect = "above"', 'expect = "better"', "claims.0.expect"),
        ("than = 9", "than = 0", "needs a margin above 0"),
        ("three = [1, 10, 20]", "three = [1]", "seeds.three"),
        ('experiment = "lab"', 'experiment = "home"', "experiment 'home', expected one of: lab"),
        ("number = 2", "number = 1", "claim 1 occurs twice"),
        ('not_tried = "too large"', "", "either contrasts, a correlation, or not_tried"),
        ("[chapters]", "level = 5\n[chapters]", "level"),
        ("[seeds]", "[seeds", "no TOML"),
        ('family = "both"', 'familly = "both"', "claims.0.familly"),
        ("scale = 2", "scael = 2", "measures.zero-shot.scael"),
        ('unit = "points"', "digits = -1", "measures.share.digits"),
    ],
)
def test_files_that_are_wrong(path, trainings, capsys, old, new, error):
    path.write_text(CLAIMS.replace(old, new, 1), encoding="utf-8")
    assert run(verdicts, ["--claims", str(path), "--trainings", str(trainings())]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}: ") and error in said and said.count("\n") == 1


def test_trainings_that_are_wrong(path, trainings, capsys):
    file = trainings(zero_shot=BLEU)
    for text, error in (
        (file.read_text() + "lab,1,1,zero-shot,3\n", "csv:11: this number stands in an earlier line"),
        ("a,b\n1,2\n", "expected dataset, system, seed, measure, value"),
        ("dataset,system,seed,measure,value\nlab,1,one,zero-shot,3\n", "expected CSV with the columns"),
    ):
        file.write_text(text)
        assert run(verdicts, ["--claims", str(path), "--trainings", str(file)]) == 2
        assert error in capsys.readouterr().err


def test_files_that_are_not_there(path, trainings, tmp_path, capsys):
    for option in ("--claims", "--trainings"):
        for wrong in (tmp_path / "none", tmp_path):
            given = {"--claims": path, "--trainings": trainings()} | {option: wrong}
            assert run(verdicts, [word for pair in given.items() for word in pair]) == 2
            said = capsys.readouterr().err
            assert said.startswith(f"error: {wrong}: ") and said.count("\n") == 1


def test_tables_of_a_page(path, trainings, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- claims 8 -->\nold\n<!-- end of claims 8 -->\nafter\n", encoding="utf-8")
    given = ["--claims", str(path), "--trainings", str(trainings(zero_shot=BLEU))]
    for _ in range(2):
        assert run(verdicts, [*given, "--page", str(page)]) == 0
    capsys.readouterr()
    assert run(verdicts, given) == 0
    table = capsys.readouterr().out.split("\n\n", 1)[1].strip()
    text = page.read_text(encoding="utf-8")
    assert text == f"before\n<!-- claims 8 -->\n{table}\n<!-- end of claims 8 -->\nafter\n"
    page.write_text("no marks", encoding="utf-8")
    assert run(verdicts, [*given, "--page", str(page)]) == 2
    assert "expected <!-- claims 8 -->" in capsys.readouterr().err


# --- new trainings


def write_scores(folder: Path, model: str, seed: int, bleu: dict[str, float], ended: bool = True) -> None:
    training = folder / "models" / model
    training.mkdir(parents=True, exist_ok=True)
    record = '{"format": 1, "options": {}, "inputs": {}, "outputs": ' + ("{}}" if ended else "null}")
    (training / "training.json").write_text(record, encoding="utf-8")
    measured = Measured()
    run = {"system": {"name": "A", "seed": seed}, "dataset": "toy"}
    measured.add(
        run, [row for name, value in bleu.items() for row in numbers({"bleu": value}, direction=name)]
    )
    (folder / "translations" / model).mkdir(parents=True, exist_ok=True)
    write_rows(folder / "translations" / model / "scores.csv", measured.rows)


def collected(path, file, folder) -> int:
    return run(collect, [f"lab={folder}", "--claims", str(path), "--trainings", str(file)])


def test_numbers_of_finished_trainings_are_added(path, trainings, tmp_path):
    """The mean of the rows that a measure asks for, by its scale."""
    file = trainings(zero_shot={"2": BLEU["2"]})
    write_scores(tmp_path / "lab", "1-seed10", 10, {"en-de": 1, "en-fr": 2, "de-en": 9})
    write_scores(tmp_path / "lab", "1-seed20", 20, {"en-de": 7}, ended=False)
    write_scores(tmp_path / "lab", "2-seed1", 1, {"en-de": 5.5})
    for _ in range(2):
        assert collected(path, file, tmp_path / "lab") == 0
        values = {(row.system, row.seed): row.value for row in read_trainings(file).itertuples()}
        assert values == {("1", 10): 3.0, ("2", 1): 11.0, ("2", 10): 13.0, ("2", 20): 12.0}


def test_a_training_counts_once(path, trainings, tmp_path, capsys):
    file = trainings(zero_shot={"2": BLEU["2"]})
    before = file.read_text()
    write_scores(tmp_path / "lab", "2-seed1", 1, {"en-de": 5})
    assert collected(path, file, tmp_path / "lab") == 2
    assert "lab 2 1 zero-shot is 10, but 11 is known; a training counts once" in capsys.readouterr().err
    assert file.read_text() == before


def test_scores_of_another_seed_are_refused(path, trainings, tmp_path, capsys):
    write_scores(tmp_path / "lab", "2-seed1", 10, {"en-de": 5})
    assert collected(path, trainings(), tmp_path / "lab") == 2
    assert "2-seed1/scores.csv: is of seed 10, expected 1" in capsys.readouterr().err


def test_folders_that_are_wrong(path, trainings, tmp_path, capsys):
    file = trainings()
    for given in (f"home={tmp_path}", f"lab={tmp_path}/none"):
        assert run(collect, [given, "--claims", path, "--trainings", file]) == 2
        assert f"{given}: expected a folder with models in it, of one of: lab" in capsys.readouterr().err


# --- the pages


def test_the_page_of_claims_is_what_the_numbers_give(tmp_path):
    page, data = tmp_path / "claims.md", tmp_path / "claims.csv"
    page.write_bytes((ROOT / "docs/claims.md").read_bytes())
    assert run(verdicts, ["--page", str(page), "--data", str(data)]) == 0
    assert page.read_bytes() == (ROOT / "docs/claims.md").read_bytes()
    assert data.read_bytes() == (ROOT / "studies/verdicts.csv").read_bytes()


def test_what_the_plan_says_of_rows_if_they_were_paired():
    claims = read_claims(ROOT / "studies/claims.toml").model_copy()
    alone = [claim.model_copy(update={"family": ""}) for claim in claims.claims]
    claims = claims.model_copy(update={"claims": alone})
    decisions = decide(claims, read_trainings(ROOT / "studies/trainings.csv"), paired=True)
    p = {decision.claim.number: p_text(decision.finding[1]) for decision in decisions if decision.finding}
    text = " ".join((ROOT / "studies/plan.md").read_text(encoding="utf-8").split())
    assert f"rows 8, 18 and 47 would have p of {p[8]}, {p[18]} and {p[47]} before Holm" in text
    assert f"row 2 would have {p[2]}; rows 10 and 12 {p[10]} and {p[12]}" in text
    assert f"row 57 would have {p[57]} and row 65 {p[65]}" in text


def test_what_the_plan_says_of_families():
    families: dict[str, list[int]] = {}
    for claim in read_claims(ROOT / "studies/claims.toml").claims:
        families.setdefault(claim.family, []).append(claim.number)
    text = " ".join((ROOT / "studies/plan.md").read_text(encoding="utf-8").split())
    for family, members in families.items():
        if family:
            assert f"({', '.join(map(str, sorted(members)))})" in text, family


def test_how_many_claims_the_page_counts():
    with open(ROOT / "studies/verdicts.csv", encoding="utf-8", newline="") as stream:
        said = [row["verdict"].split(":")[0] for row in csv.DictReader(stream)]
    agree, contradict, neither, untried = map(
        said.count, ("agrees", "contradicts", "cannot tell", "not tried")
    )
    text = " ".join((ROOT / "docs/claims.md").read_text(encoding="utf-8").split())
    assert (
        f"Of {agree + contradict + neither} claims that we tested, {agree} agree, {contradict} contradict,"
        in text
    )
    assert f"{neither} cannot tell. {untried} more were not tried." in text
