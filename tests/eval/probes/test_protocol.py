"""Protocols of training: other curves, and classifiers that have not converged."""

import csv
import json

import numpy as np
import pytest

from eval.probes.protocol import PROTOCOLS, variant
from tests.eval.probes.stores import LAYERS, NAMES, noise, planted, write_store

PAPER = ("--protocol", "paper")


def test_other_protocols_are_other_curves(tmp_path, llr, command, row_of, one_line):
    """Two seeds of a system, one of each protocol: never a mean over both."""
    stores = [write_store(tmp_path / f"s{seed}", noise, system={"seed": seed}) for seed in (1, 2, 3)]
    llr(stores[0], output="optimum")
    papers = [llr(one, options=PAPER, output=one.folder.name) for one in stores[1:]]
    files = [tmp_path / name / "llr.json" for name in ("optimum", "s2", "s3")]
    result = command("report", *files, "--output", tmp_path / "report")
    assert result.status == 0, result.err
    html = (tmp_path / "report" / "report.html").read_text()
    assert row_of(html, "Zero-shot", "source", "PreNorm S-ENC-T-DEC")[0] == "1"
    shown = row_of(html, "Zero-shot", "source", "PreNorm S-ENC-T-DEC, the paper&#39;s protocol")
    assert shown[0] == "2, 3"
    values = [
        np.mean(run["averages"]["zero-shot"]["source"]["L1"]) * 100 for one in papers for run in one["runs"]
    ]
    assert shown[4 + NAMES.index("L1")] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    (tmp_path / "s3" / "llr.json").write_text(json.dumps(papers[1]).replace('"paper"', '"another"'))
    refused = command("report", *files, "--output", tmp_path / "report")
    one_line(refused, "found the protocol 'another', expected optimum, early-stopping, paper; run")


@pytest.mark.parametrize(
    ("training", "name"),
    [
        ({}, ""),
        ({"epochs": 20}, ", 20 epochs"),
        ({"grid": [0.01, 1.0]}, ", C of 0.01,1"),
        ({"gradient_norm": 1e-6}, ", gradient norm 1e-06"),
        ({"protocol": "early-stopping"}, ", early stopping"),
        ({"protocol": "early-stopping", "patience": 2}, ", early stopping, patience 2"),
        ({"protocol": "paper"}, ", the paper's protocol"),
        ({"protocol": "paper", "epochs": 8, "lr": 0.05}, ", the paper's protocol, 8 epochs, lr 0.05"),
    ],
)
def test_the_name_of_a_curve_says_what_is_no_default(training, name):
    defaults = PROTOCOLS[training.get("protocol", "optimum")].record()
    assert variant(defaults | training, "llr.json") == name


def test_classifiers_that_have_not_converged_are_named(tmp_path, llr, command):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    (run,) = llr(store)["runs"]
    assert all(all(one["converged"]) for layers in run["classifiers"].values() for one in layers.values())
    result = command("probe", "llr", store.folder, "--output", tmp_path / "few", "--epochs", "2")
    assert result.status == 0
    (line,) = [line for line in result.err.splitlines() if line.startswith("warning")]
    assert "s: 10 of 10 classifiers have not converged (source: L0, L1, L2, L3, L4; target: L0," in line
    assert line.endswith("; allow more than --epochs 2")
    for name, shown in (("few", True), ("llr", False)):
        report = tmp_path / f"report-{name}"
        assert command("report", tmp_path / name / "llr.json", "--output", report).status == 0
        html = (report / "report.html").read_text()
        assert ("10 of 10 classifiers have not converged" in html) == shown
        assert ("*</td>" in html) == shown


def test_training_is_in_record_table_and_figure(tmp_path, llr, command, monkeypatch):
    drawn = {}

    def draw(ticks, panels, title, **options):
        drawn.update(panels=panels, **options)
        return b""

    store = write_store(tmp_path / "s", planted("L1", "source"), layers={**LAYERS, "decoder": ["L3"]})
    (run,) = llr(store)["runs"]
    course = run["classifiers"]["source"]["L1"]
    assert course["training"][0] > 0.95 < course["held_out"][0] and course["converged"] == [True]
    rows = list(csv.DictReader((tmp_path / "llr" / "llr_toy.csv").open()))
    (row,) = [
        row for row in rows if (row["direction"], row["question"], row["layer"]) == ("de-fr", "source", "L1")
    ]
    assert float(row["training_accuracy"]) == course["training"][0]
    assert float(row["held_out_accuracy"]) == course["held_out"][0]
    assert (row["epochs"], row["converged"]) == (str(float(course["epochs"][0])), "1.0")
    assert float(row["regularization"]) == course["regularization"][0] in run["training"]["grid"]
    assert course["gradient_norm"][0] <= run["training"]["gradient_norm"]
    assert (row["chance"], row["majority"]) == ("0.25", "0.0")
    monkeypatch.setattr("eval.probes.llr.lines", draw)
    assert command("report", tmp_path / "llr" / "llr.json", "--output", tmp_path / "report").status == 0
    assert list(drawn["panels"])[-2:] == ["Training, source language", "Training, target language"]
    curve = drawn["panels"]["Training, source language"]["PreNorm S-ENC-T-DEC"]
    assert curve[0].mean == pytest.approx(100 * course["training"][0])
    levels = drawn["levels"]
    assert levels["Zero-shot, source language"] == {"chance": [(25.0,) * 3], "majority": [(0.0,) * 3]}
    shares = [100 * run["majority"]["source"][side]["training"] for side in ("encoder", "decoder")]
    assert shares[0] != shares[1]
    assert levels["Training, source language"]["majority"] == [(shares[0], shares[0], shares[1])]
