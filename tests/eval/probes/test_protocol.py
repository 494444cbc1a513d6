"""Protocols of training: other curves, and classifiers that have not converged."""

import json

import numpy as np
import pytest

from eval.probes.protocol import Protocol
from tests.eval.probes.stores import LAYERS, SHOWN, noise, planted, write_store
from tests.eval.rows import chosen

PAPER = ("--protocol", "paper")
ZERO_SHOT_SOURCE = "Zero-shot, source language"


def test_other_protocols_are_other_curves(tmp_path, llr, report, row_of):
    """Two seeds of a system, one of each protocol: never a mean over both."""
    stores = [write_store(tmp_path / f"s{seed}", noise, system={"seed": seed}) for seed in (1, 2, 3)]
    llr(stores[0], output="optimum")
    papers = [llr(each, options=PAPER, output=each.folder.name) for each in stores[1:]]
    files = [tmp_path / name / "llr.json" for name in ("optimum", "s2", "s3")]
    html = (report(*files) / "report.html").read_text(encoding="utf-8")
    assert row_of(html, ZERO_SHOT_SOURCE, "PreNorm S-ENC-T-DEC")[0] == "1"
    shown = row_of(html, ZERO_SHOT_SOURCE, "PreNorm S-ENC-T-DEC, the paper&#39;s protocol")
    assert shown[0] == "2"
    values = [
        chosen(rows, measure="accuracy", kind="zero-shot", part="source", layer="L1").value.mean() * 100
        for rows in papers
    ]
    assert shown[1 + SHOWN.index("L1")] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


@pytest.mark.parametrize(
    ("settings", "name"),
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
def test_the_name_of_a_curve_says_what_is_no_default(settings, name):
    assert Protocol(**settings).variant == name


def test_classifiers_that_have_not_converged_are_named(tmp_path, llr, command):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    assert list(chosen(llr(store), measure="converged").value) == [1.0] * 12
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


def test_training_is_in_rows_table_and_figure(tmp_path, llr, command, monkeypatch):
    drawn = {}

    def draw(ticks, panels, title, **options):
        drawn.update(panels=panels, **options)
        return {"png": b""}

    store = write_store(tmp_path / "s", planted("L1", "source"), layers={**LAYERS, "decoder": ["L3"]})
    rows = llr(store)
    (run,) = json.loads((tmp_path / "llr/llr.json").read_text())["runs"]

    def course(measure: str) -> float:
        return chosen(rows, measure=measure, kind="training", part="source", layer="L1").value.item()

    assert course("accuracy") > 0.95 < course("held_out") and course("converged") == 1
    assert course("regularization") in run["training"]["grid"]
    assert course("gradient_norm") <= run["training"]["gradient_norm"]
    assert 1 <= course("epochs") <= run["training"]["epochs"]
    written = (tmp_path / "llr/llr_training_toy.csv").read_text()
    assert f"training,source,L1,held_out,{course('held_out')}" in written
    monkeypatch.setattr("eval.reporting.layers.lines", draw)
    assert command("report", tmp_path / "llr" / "llr.json", "--output", tmp_path / "report").status == 0
    assert list(drawn["panels"])[-2:] == ["Training, source language", "Training, target language"]
    curve = drawn["panels"]["Training, source language"]["PreNorm S-ENC-T-DEC"]
    assert curve[0].mean == pytest.approx(100 * course("accuracy"))
    levels = drawn["levels"]
    assert levels["Zero-shot, source language"] == {"chance": [(25.0,) * 4], "majority": [(0.0,) * 4]}
    majority = chosen(rows, measure="majority", kind="training", part="source")
    shares = [100 * chosen(majority, layer=layer).value.item() for layer in ("L1", "L3")]
    assert shares[0] != shares[1]
    assert levels["Training, source language"]["majority"] == [(shares[0], shares[0], shares[0], shares[1])]
