"""`python -m eval probe llr`: its record, its figure and tables, and what it refuses."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from eval.probes.llr import accuracy, mean_accuracy
from eval.results.systems import Run, System
from tests.eval.probes.stores import (
    ENGLISH_CENTRIC,
    NAMES,
    TAGS,
    ZERO_SHOT,
    noise,
    parts_of,
    planted,
    write_store,
)

PAPER = ("--protocol", "paper")


def test_the_record(tmp_path, llr):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    (run,) = llr(store, options=[*PAPER, "--seeds", "5,6"])["runs"]
    assert run["training"] == {
        "split": "valid", "sentences": 120, "tokens": run["training"]["tokens"],
        "protocol": "paper", "epochs": 3, "lr": 0.001, "batch_size": 64,
    }  # fmt: skip
    valid = parts_of(store, "valid", ENGLISH_CENTRIC)
    english = sum(len(part.tokens) for part in valid if ".en-" in part.path.name)
    share = english / sum(len(part.tokens) for part in valid)
    assert run["training"]["tokens"]["encoder"] == sum(len(part.tokens) for part in valid)
    assert run["chance"] == {"source": 0.25, "target": 0.25}
    assert run["majority"]["source"]["encoder"] == {
        "language": "en", "supervised": 0.5, "zero-shot": 0.0, "training": share
    }  # fmt: skip
    assert set(run["directions"]) == {"-".join(direction) for direction in ENGLISH_CENTRIC + ZERO_SHOT}
    assert run["directions"]["de-fr"]["kind"] == "zero-shot"
    for kind, members in (("supervised", ENGLISH_CENTRIC), ("zero-shot", ZERO_SHOT)):
        for layer in NAMES:
            rows = [run["directions"]["-".join(one)]["accuracy"]["target"][layer] for one in members]
            assert np.allclose(run["averages"][kind]["target"][layer], np.mean(rows, axis=0))
            assert len(rows[0]) == 2


def test_a_language_that_no_training_direction_has_is_no_error_of_the_classifier(tmp_path, llr):
    splits = {"valid": [("en", "de"), ("de", "en")], "test": [("en", "de"), ("de", "fr"), ("fr", "de")]}
    (run,) = llr(write_store(tmp_path / "s", noise, splits))["runs"]
    assert set(run["directions"]["fr-de"]["accuracy"]["source"].values()) == {None}
    assert None not in run["directions"]["fr-de"]["accuracy"]["target"].values()
    assert run["averages"]["zero-shot"]["source"] == run["directions"]["de-fr"]["accuracy"]["source"]


def test_a_finished_probe_is_skipped(tmp_path, llr, command):
    store = write_store(tmp_path / "s", noise)
    llr(store)
    again = command("probe", "llr", store.folder, "--output", tmp_path / "llr")
    assert "complete, skipped" in again.err
    assert not again.out


def test_figure_and_numbers(tmp_path, llr, command, row_of):
    stores = [
        write_store(
            tmp_path / f"{name}{seed}",
            planted(layer, "target", distance=1 + seed),
            system={"name": name, "seed": seed},
        )
        for name, layer in (("Pre", "L3"), ("Post", "L2"))
        for seed in (1, 2)
    ]
    record = llr(*stores, options=[])
    assert (tmp_path / "llr" / "llr_toy.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((tmp_path / "llr" / "llr_toy.csv").open()))
    assert len(rows) == 4 * 10 * 2 * 5
    chosen = next(
        row
        for row in rows
        if (row["system"], row["seed"], row["direction"], row["question"], row["layer"])
        == ("Post", "2", "de-fr", "target", "L2")
    )
    expected = record["runs"][3]["directions"]["de-fr"]["accuracy"]["target"]["L2"]
    assert float(chosen["accuracy"]) == pytest.approx(np.mean(expected))
    result = command("report", tmp_path / "llr" / "llr.json", "--output", tmp_path / "report")
    assert result.status == 0, result.err
    html = (tmp_path / "report" / "report.html").read_text()
    assert "Layer-wise language recognition" in html
    assert "data:image/png;base64" in html and 'download="llr_toy.csv"' in html
    values = [np.mean(run["averages"]["zero-shot"]["target"]["L2"]) * 100 for run in record["runs"][2:]]
    shown = row_of(html, "Zero-shot", "target", "Post")
    assert np.std(values) > 0.1
    assert shown[:4] == ["1, 2", "25.0", "0.0", "0.0"]
    assert shown[4 + NAMES.index("L2")] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    found = [run["averages"]["zero-shot"]["target"] for run in record["runs"][2:]]
    for place, layers in ((-2, ["L1", "L2"]), (-1, ["L3", "L4"])):  # of encoder and decoder, without L0
        means = [100 * np.mean([one[layer] for layer in layers]) for one in found]
        assert shown[place] == f"{np.mean(means):.1f} ± {np.std(means, ddof=1):.1f}"


def test_other_tokens_are_another_curve(tmp_path, llr, command, row_of):
    store = write_store(tmp_path / "s", noise)
    llr(store, output="all")
    llr(store, options=["--tokens", "words"], output="words")
    files = [tmp_path / name / "llr.json" for name in ("all", "words")]
    assert command("report", *files, "--output", tmp_path / "report").status == 0
    html = (tmp_path / "report" / "report.html").read_text()
    assert row_of(html, "Supervised", "source", "PreNorm S-ENC-T-DEC")
    assert row_of(html, "Supervised", "source", "PreNorm S-ENC-T-DEC, only words")
    twice = command("report", files[0], files[0], "--output", tmp_path / "report")
    assert twice.status == 2 and "both are seed 1 of system" in twice.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: run["training"].update(sentences=60), "training.sentences is 60, but 120 in "),
        (lambda run: run["training"].update(split="dev"), "training.split is 'dev', but 'valid' in "),
        (lambda run: run["directions"]["de-fr"].update(lines=10), "directions.de-fr.lines is 10, but 20 in "),
    ],
)
def test_seeds_of_a_curve_have_learned_and_answered_alike(tmp_path, llr, command, change, message):
    """Of fewer lines, classifiers learn less."""
    store = write_store(tmp_path / "s", noise)
    llr(store)
    files = [tmp_path / "llr/llr.json", tmp_path / "other.json"]
    record = json.loads(files[0].read_text())
    record["runs"][0]["system"]["seed"] = 2
    files[1].write_text(json.dumps(record))
    report = ("report", *files, "--output", tmp_path / "report")
    assert command(*report).status == 0
    change(record["runs"][0])
    files[1].write_text(json.dumps(record))
    result = command(*report)
    assert result.status == 2 and result.err.startswith(f"error: {files[1]}: {message}{files[0]}; runs named")


def system_of(*runs: dict) -> System:
    return System("A", "toy", tuple(Run(Path("llr.json"), run) for run in runs))


def test_the_deviation_is_that_of_the_systems_seeds_or_of_the_classifiers_of_one():
    """Two classifiers of the first seed, three of the second: each seed counts once."""
    runs = [
        {
            "averages": {"zero-shot": {"source": {"L1": values, "L2": None}}},
            "classifiers": {"source": {"L1": {"training": [value / 2 for value in values], "held_out": [0]}}},
        }
        for values in ([0.1, 0.3], [0.5, 0.7, 0.9])
    ]
    one, both = system_of(runs[0]), system_of(*runs)
    for kind, scale in (("zero-shot", 100), ("training", 50)):
        found = accuracy(both, kind, "source", "L1")
        assert (found.mean, found.std) == pytest.approx((0.45 * scale, np.std([0.2, 0.7], ddof=1) * scale))
        found = accuracy(one, kind, "source", "L1")
        assert (found.mean, found.std) == pytest.approx((0.2 * scale, np.std([0.1, 0.3], ddof=1) * scale))
    assert accuracy(both, "zero-shot", "source", "L2") is accuracy(both, "training", "target", "L1") is None


def test_the_mean_over_the_layers_of_a_side_leaves_embeddings_and_norms_out():
    """Of one system seed the deviation is that of the classifiers, each of which has a mean."""
    accuracies = {"L0": [0.9, 0.9], "L1": [0.2, 0.4], "L2": [0.4, 0.8], "encoder-norm": [0.9, 0.9]}
    layers = {"encoder": list(accuracies), "decoder": ["decoder-embedding"]}
    run = {"averages": {"zero-shot": {"source": accuracies}}, "layers": layers}
    found = mean_accuracy(system_of(run), "zero-shot", "source", "encoder")
    assert (found.mean, found.std) == pytest.approx((45, np.std([30, 60], ddof=1)))
    assert mean_accuracy(system_of(run), "zero-shot", "source", "decoder") is None
    assert mean_accuracy(system_of(run), "training", "source", "encoder") is None


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
        ({"test": ZERO_SHOT}, [], "no states of the set 'valid', it has: test"),
        (None, ["--test-split", "dev"], "no states of the set 'dev', it has: valid, test"),
        (None, ["--seeds", "1,x"], "--seeds: found 'x', expected a whole number from 0"),
        (None, ["--seeds", "1,1"], "--seeds: found '1,1': 1 occurs twice"),
        (None, ["--questions", "who"], "--questions: found 'who', expected one of source, target"),
        (None, ["--lr", "0"], "--lr: found '0', expected a number above 0 to 100"),
        (None, ["--epochs", "0"], "--epochs: found '0', expected a whole number from 1"),
        (None, ["--patience", "2", *PAPER], "--patience: --protocol paper has none; leave it out, or use --"),
        (None, ["--lr", "0.1"], "--lr: --protocol optimum has none; leave it out, or use --protocol paper"),
    ],
)
def test_bad_input(tmp_path, llr, splits, options, message, one_line):
    one_line(llr(write_store(tmp_path / "s", noise, splits), options=options), message)


def test_a_question_with_one_language_can_be_left_out(tmp_path, llr):
    splits = {"valid": [("en", "de"), ("en", "fr")], "test": [("en", "de"), ("en", "fr")]}
    (run,) = llr(write_store(tmp_path / "s", noise, splits), options=["--questions", "target"])["runs"]
    assert run["languages"] == {"target": ["de", "fr"]}


def test_a_direction_whose_outputs_are_all_empty(tmp_path, llr, monkeypatch, one_line):
    from tests.eval.probes import stores

    whole = stores.random_sentences

    def with_empty(rng, count, tag, first):
        found = whole(rng, count, tag, first)
        return [tokens[:2] for tokens in found] if first and tag == TAGS["fr"] else found

    monkeypatch.setattr(stores, "random_sentences", with_empty)
    store = write_store(tmp_path / "s", noise)
    assert "runs" in llr(store)
    message = "no tokens left of direction de-fr: every output is empty; use --tokens all"
    one_line(llr(store, options=["--tokens", "words"]), message)


def test_a_folder_that_is_no_store(tmp_path, llr, one_line):
    one_line(llr(tmp_path), "states.json: no such file; expected the complete output of `eval probe states`")


def test_states_of_no_numbered_layer_above_the_embeddings_have_a_figure(tmp_path, llr):
    store = write_store(
        tmp_path / "s", planted("L0", "source"), layers={"encoder": ["L0"], "decoder": ["L0"]}
    )
    assert llr(store)["runs"][0]["layers"] == {"encoder": ["L0"], "decoder": ["L0"]}
    assert list((tmp_path / "llr").glob("llr_*.png"))
