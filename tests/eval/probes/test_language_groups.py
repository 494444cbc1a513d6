"""`python -m eval probe language-groups`: means over directions between groups, against plain ones."""

import pytest

from tests.eval.rows import rows_of
from tests.eval.scored import SCORING, write_scores
from tests.eval.scored import direction as scored_direction

BLEU = {"ar-de": 1.0, "de-ar": 2.0, "ar-zh": 4.0, "zh-ar": 6.0, "de-zh": 8.0, "de-en": 16.0, "en-de": 32.0}


def scored_folder(
    folder, name: str, seed: int, shift: float = 0.0, without: tuple[str, ...] = (), pivot: str | None = None
):
    directions = {
        direction: scored_direction(
            "supervised" if "en" in direction else "zero-shot",
            bleu + shift,
            chrf=2 * bleu,
            comet=0.5,
            off_target=None if direction in without else 0.25,
        )
        for direction, bleu in BLEU.items()
        if pivot not in direction.split("-")
    }
    record = {
        "format": 1, "kind": "scores", "system": {"name": name, "seed": seed}, "data": {"path": "toy"},
        "split": "test", "scoring": SCORING, "directions": directions,
        "pivot": pivot,
    }  # fmt: skip
    return write_scores(folder / "scores.json", record).parent


@pytest.fixture
def groups(tmp_path):
    path = tmp_path / "groups.toml"
    path.write_text('seen = ["ar", "zh"]\nunseen = ["de", "nl"]\n')
    return path


def rows_of_groups(command, tmp_path, groups, *folders):
    result = command("probe", "language-groups", *folders, "--groups", groups, "--output", tmp_path / "out")
    assert result.status == 0, result.err
    rows = rows_of(tmp_path / "out/language-groups.csv", run=0)
    return rows.pivot(index="direction", columns="measure", values="value")


def test_means_over_the_directions_between_groups(command, tmp_path, groups):
    means = rows_of_groups(command, tmp_path, groups, scored_folder(tmp_path / "a", "A", 1))
    assert {name: (row.directions, row.bleu) for name, row in means.iterrows()} == {
        "seen→seen": (2, 5.0),
        "seen→unseen": (1, 1.0),
        "unseen→seen": (2, 5.0),
        "en→unseen": (1, 32.0),
        "unseen→en": (1, 16.0),
    }
    assert dict(means.loc["unseen→seen"]) == {
        "directions": 2, "bleu": 5.0, "chrf": 10.0, "comet": 0.5, "off_target": 0.25,
    }  # fmt: skip


def test_a_mean_is_of_the_directions_that_have_the_measure(command, tmp_path, groups):
    """As in the averages of `score`: a language that the identifier does not know has no off-target rate."""
    without = ("de-ar", "de-en")
    folder = scored_folder(tmp_path / "a", "A", 1, without=without)
    off_target = rows_of_groups(command, tmp_path, groups, folder).off_target.dropna()
    assert dict(off_target) == dict.fromkeys(["en→unseen", "seen→seen", "seen→unseen", "unseen→seen"], 0.25)


def test_the_table_has_seeds_of_a_system_together(command, tmp_path, groups):
    folders = [scored_folder(tmp_path / f"a{seed}", "A", seed, shift=seed) for seed in (1, 3)]
    rows_of_groups(command, tmp_path, groups, *folders, scored_folder(tmp_path / "b", "B", 1))
    result = command("report", tmp_path / "out/language-groups.json", "--output", tmp_path / "report")
    assert result.status == 0
    text = (tmp_path / "report/report.md").read_text(encoding="utf-8")
    assert "| A | 2 | seen→seen | 2 | 7.0 ± 1.4 | 10.0 ± 0.0 | 50.00 ± 0.00 | 25.00 ± 0.00% |" in text
    assert "| B | 1 | en→unseen | 1 | 32.0 | 64.0 | 50.00 | 25.00% |" in text
    rows = (tmp_path / "report/tables/language_groups_toy.csv").read_text(encoding="utf-8").splitlines()
    assert "toy,A,3,seen→unseen,bleu,4.0" in rows


def test_translation_through_a_pivot_stands_beside_direct_translation(command, tmp_path, groups):
    """It has no directions from the pivot and into it."""
    direct = scored_folder(tmp_path / "a", "A", 1)
    rows_of_groups(command, tmp_path, groups, direct, scored_folder(tmp_path / "b", "B", 1, pivot="en"))
    text = (tmp_path / "out/language_groups_toy.csv").read_text(encoding="utf-8")
    assert "toy,A,1,en→unseen,bleu,32.0" in text and "toy,B (pivot en),1,seen→unseen,bleu,1.0" in text
    assert "toy,B (pivot en),1,en→unseen" not in text


def test_a_language_of_two_groups_is_refused(command, tmp_path, groups):
    groups.write_text('seen = ["ar"]\nunseen = ["ar", "de"]\n')
    folder = scored_folder(tmp_path / "a", "A", 1)
    result = command("probe", "language-groups", folder, "--groups", groups, "--output", tmp_path / "out")
    assert result.status == 2
    assert f"{groups}: ar is in seen and in unseen, expected in one" in result.err
