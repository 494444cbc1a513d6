"""`python -m eval probe llr`: its rows, its figure and tables, and what it refuses."""

import csv
import json
import shutil

import numpy as np
import pytest

from command_line.measurements import Measured
from eval.measurements import Measurements
from eval.probes.recognition import means_over_layers
from eval.systems import Run, System
from tests.eval.probes.stores import (
    ENGLISH_CENTRIC,
    SHOWN,
    TAGS,
    ZERO_SHOT,
    noise,
    parts_of,
    planted,
    write_store,
)
from tests.eval.rows import changed, chosen, write_measured

PAPER = ("--protocol", "paper")


def test_rows_and_what_they_are_of(tmp_path, llr):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    rows = llr(store, options=[*PAPER, "--seeds", "5,6"])
    (run,) = json.loads((tmp_path / "llr/llr.json").read_text())["runs"]
    assert (run["train_split"], run["train_sentences"], run["split"]) == ("valid", 120, "test")
    paper = {"protocol": "paper", "epochs": 3, "lr": 0.001, "batch_size": 64}
    assert run["training"] == paper | {"balance": False, "directions": "supervised"}
    assert set(run["texts"]) <= {"-".join(direction) for direction in ENGLISH_CENTRIC + ZERO_SHOT}
    valid = parts_of(store, "valid", ENGLISH_CENTRIC)
    tokens, english = (
        sum(len(part.tokens) for part in valid if name in part.path.name) for name in ("", ".en-")
    )
    assert chosen(rows, measure="tokens", kind="training", part="encoder").value.item() == tokens
    assert set(chosen(rows, measure="chance").value) == {0.25}
    majority = chosen(rows, measure="majority", part="source", layer="L2").set_index("kind").value
    assert dict(majority) == {
        "supervised": 0.5,
        "zero-shot": 0.0,
        "training": pytest.approx(english / tokens),
    }
    accuracy = chosen(rows, measure="accuracy")
    for kind, members in (("supervised", ENGLISH_CENTRIC), ("zero-shot", ZERO_SHOT)):
        of_kind = chosen(accuracy, kind=kind, part="target")
        assert set(of_kind.direction) == {"-".join(direction) for direction in members}
        assert [*of_kind.layer.unique()] == SHOWN and set(of_kind["repeat"]) == {5, 6}
        assert len(of_kind) == len(members) * len(SHOWN) * 2


def test_states_of_another_search_are_in_no_figure_with_these(tmp_path, command):
    stores = []
    for name, beam in (("A", 5), ("B", 1)):
        folder = write_store(tmp_path / name, noise, system={"name": name}).folder
        index = folder / "states.json"
        index.write_text(json.dumps(json.loads(index.read_text()) | {"beam": beam}))
        stores.append(folder)
    words = ("probe", "llr", *stores, "--output", tmp_path / "llr", *PAPER)
    result = command(*words)
    assert result.status == 2
    assert result.err.startswith(f"error: {stores[1]}: its outputs were searched with --beam 1, those of")
    assert str(stores[0]) in result.err and "--allow-unlike" in result.err  # and nothing was trained
    assert command(*words, "--allow-unlike").status == 0


def test_classifiers_of_one_figure_learn_from_the_same_directions(tmp_path, llr, one_line):
    """Also where no direction of the test differs; nothing is trained."""
    few = {"valid": ENGLISH_CENTRIC[:4], "test": ENGLISH_CENTRIC + ZERO_SHOT}
    stores = [
        write_store(tmp_path / name, noise, splits, system={"name": name})
        for name, splits in (("A", None), ("B", few))
    ]
    one_line(llr(*stores), f"{stores[1].folder}: has other valid sentences of en-fr than {stores[0].folder};")


def test_a_language_that_no_training_direction_has_is_no_error_of_the_classifier(tmp_path, llr):
    splits = {"valid": [("en", "de"), ("de", "en")], "test": [("en", "de"), ("de", "fr"), ("fr", "de")]}
    accuracy = chosen(llr(write_store(tmp_path / "s", noise, splits)), measure="accuracy")
    assert chosen(accuracy, direction="fr-de", part="source").empty
    assert [*chosen(accuracy, direction="fr-de", part="target").layer] == SHOWN
    assert set(chosen(accuracy, kind="zero-shot", part="source").direction) == {"de-fr"}


def test_a_finished_probe_is_skipped(tmp_path, llr, command):
    store = write_store(tmp_path / "s", noise)
    llr(store)
    again = command("probe", "llr", store.folder, "--output", tmp_path / "llr")
    assert "complete, skipped" in again.err
    assert not again.out


def test_figure_and_numbers(tmp_path, llr, report, row_of):
    stores = [
        write_store(
            tmp_path / f"{name}{seed}",
            planted(layer, "target", distance=1 + seed),
            system={"name": name, "seed": seed},
        )
        for name, layer in (("Pre", "L3"), ("Post", "L2"))
        for seed in (1, 2)
    ]
    rows = llr(*stores)
    assert all((tmp_path / f"llr/llr_toy.{ending}").is_file() for ending in ("png", "svg", "pdf"))
    with open(tmp_path / "llr/llr_toy.csv", encoding="utf-8", newline="") as stream:
        shown = [
            row
            for row in csv.DictReader(stream)
            if (row["measure"], row["direction"] != "") == ("accuracy", True)
        ]
    assert len(shown) == 4 * 10 * 2 * len(SHOWN)
    html = (report(tmp_path / "llr" / "llr.json") / "report.html").read_text(encoding="utf-8")
    assert "Layer-wise language recognition" in html
    assert "data:image/png;base64" in html and 'download="llr_toy.csv"' in html
    post = chosen(rows, measure="accuracy", system="Post", kind="zero-shot", part="target")
    of_seeds = post.groupby(["seed", "layer"]).value.mean().mul(100).unstack()
    values = of_seeds["L2"]
    shown = row_of(html, "Zero-shot, target language", "Post")
    assert np.std(values) > 0.1 and shown[0] == "2"
    assert shown[1 + SHOWN.index("L2")] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    for place, layers in ((-2, ["L1", "L2"]), (-1, ["L3", "L4"])):  # of encoder and decoder, without L0
        means = of_seeds[layers].mean(axis=1)
        assert shown[place] == f"{np.mean(means):.1f} ± {np.std(means, ddof=1):.1f}"
    assert row_of(html, "Zero-shot, target language", "chance")[1:7] == ["25.0"] * 6
    assert row_of(html, "Zero-shot, target language", "majority")[1:7] == ["0.0"] * 6


def test_other_tokens_are_another_curve(tmp_path, llr, command, row_of):
    store = write_store(tmp_path / "s", noise)
    llr(store, output="all")
    llr(store, options=["--tokens", "words"], output="words")
    files = [tmp_path / name / "llr.json" for name in ("all", "words")]
    assert command("report", *files, "--output", tmp_path / "report").status == 0
    html = (tmp_path / "report" / "report.html").read_text()
    assert row_of(html, "Supervised, source language", "PreNorm S-ENC-T-DEC")
    assert row_of(html, "Supervised, source language", "PreNorm S-ENC-T-DEC, only words")
    again = shutil.copytree(files[0].parent, tmp_path / "again") / "llr.json"
    twice = command("report", files[0], again, "--output", tmp_path / "report")
    assert twice.status == 2 and "both are seed 1 of system" in twice.err


@pytest.mark.parametrize(
    ("there", "here", "message"),
    [
        ('"train_sentences": 120', '"train_sentences": 60', "train_sentences is 60, but 120 in "),
        ('"train_split": "valid"', '"train_split": "dev"', "train_split is dev, but valid in "),
        ("de-fr,,,,lines,20", "de-fr,,,,lines,10", "lines of de-fr is 10.0, but "),
    ],
)
def test_seeds_of_a_curve_have_learned_and_answered_alike(tmp_path, llr, command, there, here, message):
    """Of fewer lines, classifiers learn less."""
    llr(write_store(tmp_path / "s", noise))
    files = [tmp_path / "llr/llr.json", tmp_path / "other/llr.json"]
    shutil.copytree(files[0].parent, files[1].parent)
    changed(files[1], '"seed": 1', '"seed": 2')
    report = ("report", *files, "--output", tmp_path / "report")
    result = command(*report)
    assert result.status == 0, result.err
    changed(files[1], there, here)
    result = command(*report)
    assert result.status == 2 and result.err.startswith(f"error: {files[1]}: {message}")


def test_one_seed_has_the_deviation_of_its_classifiers_and_several_have_that_of_seeds(tmp_path):
    """Two classifiers of the first seed, three of the second: each seed counts once."""
    accuracies = {1: [0.1, 0.3], 2: [0.5, 0.7, 0.9]}
    measured = Measured()
    for seed, values in accuracies.items():
        rows = [
            {"kind": "zero-shot", "direction": direction, "part": "source", "layer": "L1", "repeat": repeat,
             "measure": "accuracy", "value": value + change}
            for direction, change in (("de-fr", 0.05), ("fr-de", -0.05))
            for repeat, value in enumerate(values)
        ]  # fmt: skip
        measured.add({"system": {"name": "A", "seed": seed}, "dataset": "toy"}, rows)
    file = write_measured(tmp_path, "llr", measured)
    record = json.loads(file.read_text())
    runs = tuple(Run(file, run, record, number) for number, run in enumerate(measured.runs))
    for count, expected in ((2, [0.2, 0.7]), (1, [0.1, 0.3])):
        means = Measurements.of([System("A", "toy", runs[:count])]).means("accuracy", ("layer",), scale=100)
        shown = means["A", "L1"]
        assert shown.mean == pytest.approx(100 * np.mean(expected))
        assert shown.std == pytest.approx(100 * np.std(expected, ddof=1))


def test_the_mean_over_the_layers_of_a_side_leaves_embeddings_and_norms_out():
    accuracies = {"L0": [0.9, 0.9], "L1": [0.2, 0.4], "L2": [0.4, 0.8], "encoder-norm": [0.9, 0.9]}
    rows = [
        {
            "kind": "zero-shot",
            "part": "source",
            "layer": layer,
            "repeat": seed,
            "measure": "accuracy",
            "value": value,
        }
        for layer, values in accuracies.items()
        for seed, value in enumerate(values)
    ]
    means = means_over_layers(rows, {"encoder": list(accuracies), "decoder": ["decoder-embedding"]})
    assert [(row["measure"], row["repeat"]) for row in means] == [("encoder_mean", 0), ("encoder_mean", 1)]
    assert [row["value"] for row in means] == pytest.approx([0.3, 0.6])


# --- bad input


@pytest.mark.parametrize(
    ("splits", "options", "message"),
    [
        ({"valid": [("en", "de")], "test": ZERO_SHOT}, [], "s: valid set: the only source language is en"),
        (
            {"valid": [("en", "de"), ("en", "fr")], "test": ZERO_SHOT},
            [],
            "language is en, so there is nothing to recognize; extract more directions, or use"
            " --questions target",
        ),
        ({"valid": ZERO_SHOT, "test": ZERO_SHOT}, [], "no valid states of supervised directions"),
        (None, ["--seeds", "1,x"], "--seeds: found 'x', expected a whole number from 0"),
        (None, ["--seeds", "1,1"], "--seeds: found '1,1': 1 occurs twice"),
        (None, ["--questions", "who"], "--questions: found 'who', expected one of source, target"),
        (None, ["--patience", "2", *PAPER], "--patience: --protocol paper has none; leave it out, or use --"),
        (None, ["--lr", "0.1"], "--lr: --protocol optimum has none; leave it out, or use --protocol paper"),
    ],
)
def test_bad_input(tmp_path, llr, splits, options, message, one_line):
    one_line(llr(write_store(tmp_path / "s", noise, splits), options=options), message)


def test_a_question_with_one_language_can_be_left_out(tmp_path, llr):
    splits = {"valid": [("en", "de"), ("en", "fr")], "test": [("en", "de"), ("en", "fr")]}
    llr(write_store(tmp_path / "s", noise, splits), options=["--questions", "target"])
    (run,) = json.loads((tmp_path / "llr/llr.json").read_text())["runs"]
    assert run["languages"] == {"target": ["de", "fr"]}


def test_a_direction_whose_outputs_are_all_empty(tmp_path, llr, monkeypatch, one_line):
    from tests.eval.probes import stores

    whole = stores.random_sentences

    def with_empty(rng, count, tag, first):
        sentences = whole(rng, count, tag, first)
        return [tokens[:2] for tokens in sentences] if first and tag == TAGS["fr"] else sentences

    monkeypatch.setattr(stores, "random_sentences", with_empty)
    store = write_store(tmp_path / "s", noise)
    assert len(llr(store))
    message = "decoder.de-fr: no tokens left: every output is empty; use --tokens all"
    one_line(llr(store, options=["--tokens", "words"]), message)


def test_states_of_no_numbered_layer_above_the_embeddings_have_a_figure(tmp_path, llr):
    layers = {"encoder": ["L0"], "decoder": ["decoder-norm"]}
    accuracy = chosen(
        llr(write_store(tmp_path / "s", planted("L0", "source"), layers=layers)), measure="accuracy"
    )
    assert list(accuracy.layer.unique()) == ["L0", "decoder-norm"]
    assert list((tmp_path / "llr").glob("llr_*.png"))
