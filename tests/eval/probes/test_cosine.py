"""`python -m eval probe cosine` on planted states with known angles."""

import csv
import json
import math

import numpy as np
import pytest

from data_prep.formats.vectors import normalized
from eval.probes.cosine import compare
from eval.probes.store import INDEX
from tests.eval.probes.conftest import refused
from tests.eval.probes.planted import sentence_states, write_store
from tests.eval.rows import values_of

N = 6


@pytest.mark.parametrize(
    ("first", "second", "cosine"),
    [([[1, 0], [2, 2]], [[3, 0], [5, 0]], (1 + math.sqrt(0.5)) / 2), ([[1, 0]], [[-2, 0]], -1)],
)
def test_the_mean_cosine_of_rows(first, second, cosine):
    (row,) = compare(None, normalized(first), normalized(second))
    assert row == {"measure": "cosine", "value": pytest.approx(cosine)}


def side(angles) -> np.ndarray:
    """layers x N x 2: unit vectors at an angle (degrees) per layer, of any length."""
    radians = np.radians(angles)[:, None] * np.ones(N)
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1) * np.arange(1, N + 1)[None, :, None]


@pytest.fixture
def store(tmp_path):
    """Function that writes a store whose sides of de-en and de-fr have given angles per layer."""

    def write(folder, angles, lines=N, pairs=("en", "fr"), **options):
        states = {}
        for other in pairs:
            states["de", other] = sentence_states(side([0, 0, 0])[:, :lines])
            states[other, "de"] = sentence_states(side(angles)[:, :lines])
        return write_store(tmp_path / folder, states, **options)

    return write


@pytest.fixture
def probe(command, tmp_path):
    return lambda *arguments: command("probe", "cosine", *arguments, "--output", tmp_path / "out")


@pytest.fixture
def cosines(tmp_path):
    return lambda **wanted: values_of(tmp_path / "out/cosine.csv", measure="cosine", **wanted)


def changes_of(file) -> dict[str, list[float]]:
    """Pair, or mean of a kind of pairs -> change per layer, of the table of a figure."""
    with open(file, encoding="utf-8", newline="") as stream:
        _, *rows = csv.reader(stream)
    return {pair: [float(value) for value in values] for pair, _, *values in rows}


def test_the_cosine_of_the_planted_angles(store, probe, cosines):
    result = probe(store("a", [0, 60, 90]))
    assert result.status == 0, result.err
    assert cosines(direction="de-fr", kind="zero-shot") == pytest.approx([1, 0.5, 0], abs=1e-5)
    assert cosines(direction="de-en", kind="supervised") == pytest.approx([1, 0.5, 0], abs=1e-5)


def test_the_change_from_the_first_system_with_means_over_seeds(store, probe, cosines, tmp_path, report):
    folders = [
        store("a", [0, 60, 90]),
        store("b1", [60, 60, 0], name="B"),
        store("b2", [0, 60, 60], name="B", seed=2),
    ]
    assert probe(*folders).status == 0
    expected = [(0.5 + 1) / 2 - 1, 0, (1 + 0.5) / 2]
    changes = changes_of(tmp_path / "out/cosine_change_toy_A_B.csv")
    assert list(changes) == ["de-en", "de-fr", "mean of supervised", "mean of zero-shot"]
    for values in changes.values():
        assert values == pytest.approx(expected, abs=1e-5)
    html = (report(tmp_path / "out/cosine.json") / "report.html").read_text(encoding="utf-8")
    assert html.count("<figure>") == html.count('download="') == 2


def test_the_change_from_every_further_system_to_the_next(store, probe, cosines, tmp_path):
    """As in Figure 6.3: from the model as it is to the baseline, and from there to what was added then."""
    folders = [store(name, [0, angle, 90], name=name) for name, angle in (("A", 90), ("B", 60), ("C", 0))]
    assert probe(*folders).status == 0
    for pair, change in {"A_B": 0.5, "A_C": 1.0, "B_C": 0.5}.items():
        changes = changes_of(tmp_path / f"out/cosine_change_toy_{pair}.csv")
        assert changes["mean of supervised"][1] == pytest.approx(change, abs=1e-5)


def test_a_mean_of_different_angles(store, tmp_path, probe, cosines):
    angles = np.array([0, 30, 60, 90, 120, 150])
    radians = np.radians(angles)
    back = np.stack([np.cos(radians), np.sin(radians)], axis=-1)[None]
    states = {("de", "en"): sentence_states(side([0])), ("en", "de"): sentence_states(back)}
    assert probe(write_store(tmp_path / "one", states, ("L0",))).status == 0
    expected = sum(math.cos(math.radians(angle)) for angle in angles) / N
    assert cosines(direction="de-en", layer="output") == pytest.approx([expected], abs=1e-5)


def test_the_report_compares_systems_of_different_files(store, command, tmp_path):
    for name, layers in (("A", ("L0", "L1", "L2")), ("B", ("L0", "L1", "L2")), ("C", ("L0", "L1", "L3"))):
        folder = store(name, [0, 60, 90], name=name, layers=layers)
        assert command("probe", "cosine", folder, "--output", tmp_path / f"out-{name}").status == 0
    files = [tmp_path / f"out-{name}" / "cosine.json" for name in "ABC"]
    assert command("report", *files, "--output", tmp_path / "report").status == 0
    changes = (tmp_path / "report/plots").glob("cosine_change*.png")
    assert [path.stem for path in changes] == ["cosine_change_toy_A_B"]  # C has other layers


@pytest.mark.parametrize(("field", "value"), [("split", "valid"), ("only_words", True)])
def test_two_sets_or_ways_are_shown_together_only_where_it_is_asked_for(
    store, command, tmp_path, field, value
):
    """They may have equally many lines."""
    for name in "AB":
        folder = store(name, [0, 60, 90], name=name)
        assert command("probe", "cosine", folder, "--output", tmp_path / f"out-{name}").status == 0
    files = [tmp_path / f"out-{name}" / "cosine.json" for name in "AB"]
    record = json.loads(files[1].read_text(encoding="utf-8"))
    record["runs"][0][field] = value
    files[1].write_text(json.dumps(record), encoding="utf-8")
    report = "report", *files, "--output", tmp_path / "report"
    message = refused(command(*report))
    assert f"{field} is {value}, but " in message
    assert "--allow-unlike" in message
    assert command(*report, "--allow-unlike").status == 0
    assert list((tmp_path / "report/plots").glob("cosine_change*.png"))


def test_a_result_without_runs_shows_nothing(report, tmp_path):
    record = {"format": 1, "kind": "cosine", "runs": [], "rows_sha256": "ab"}
    (tmp_path / "cosine.json").write_text(json.dumps(record), encoding="utf-8")
    report(tmp_path / "cosine.json")
    assert "##" not in (tmp_path / "report/report.md").read_text(encoding="utf-8")


def test_as_many_other_sentences_are_refused(store, probe):
    """Of a set under the same name; of stores that do not know their text nothing is said."""
    folders = [store(name, [0, 60, 90], name=name.upper()) for name in "ab"]
    for folder, text in zip(folders, ("one", "other"), strict=True):
        assert probe(*folders, "--force").status == 0
        path = folder / INDEX
        record = json.loads(path.read_text())
        for direction, entry in record["splits"]["test"].items():
            entry["text_sha256"] = f"{text} {direction}"
        path.write_text(json.dumps(record))
    message = refused(probe(*folders, "--force"))
    assert message.startswith(f"{folders[1]}: has other test sentences of de-en than {folders[0]}; give")
    assert probe(*folders, "--force", "--allow-unlike").status == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"lines": 4}, "lines of de-en is 4.0, but 6.0 in "),
        ({"pairs": ("en",)}, "has other test sentences of de-fr than "),
        ({"name": "A"}, "both are seed 1 of system 'A'; give one of them another --name"),
    ],
)
def test_stores_that_do_not_match(store, probe, other, message):
    folders = store("a", [0, 60, 90]), store("b", [0, 60, 90], **({"name": "B"} | other))
    assert message in refused(probe(*folders))
