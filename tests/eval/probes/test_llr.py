"""Layer-wise language recognition finds planted languages, and only those, as separate classifiers do."""

import csv
import json
import re

import numpy as np
import pytest
import torch
from torch import nn

from eval.probes.classifier_training import batches, train
from eval.probes.classifiers import LinearClassifiers
from eval.probes.protocol import PROTOCOLS, Protocol, variant
from eval.probes.recognition import answers
from eval.probes.training_set import TrainingSet
from tests.eval.probes.stores import ENGLISH_CENTRIC, TAGS, ZERO_SHOT, noise, write_store
from tests.eval.probes.stores import LAYERS as STORE_LAYERS

LANGUAGES = sorted(TAGS)
LAYERS = ["L0", "L1", "L2", "L3", "L4"]
PAPER = ("--protocol", "paper")
STEPS = Protocol("paper", epochs=2, lr=0.01, batch_size=16, seeds=(3, 8))


def planted(at: str, question: str, only_tags: bool = False, distance: float = 12):
    """States from which the language of a question can be read in one layer, and nothing in others."""

    def states(rng, direction, side, layer, tokens):
        found = noise(rng, direction, side, layer, tokens)
        if layer == at:
            language = direction[0 if question == "source" else 1]
            mask = np.isin(tokens, list(TAGS.values())) if only_tags else np.ones(len(tokens), bool)
            found[mask, LANGUAGES.index(language)] += distance
        return found

    return states


@pytest.fixture
def llr(command, tmp_path):
    """Run the probe on stores and return its record."""

    def run(*stores, options=(), output="llr"):
        folders = [getattr(store, "folder", store) for store in stores]
        result = command("probe", "llr", *folders, "--output", tmp_path / output, *options)
        return result if result.status else json.loads((tmp_path / output / "llr.json").read_text())

    return run


# --- what it finds


@pytest.mark.parametrize("question", ["source", "target"])
@pytest.mark.parametrize("layer", LAYERS)
def test_a_planted_language_is_found_in_its_layer_only(tmp_path, llr, layer, question):
    (run,) = llr(write_store(tmp_path / "s", planted(layer, question)), options=[])["runs"]
    for kind in ("supervised", "zero-shot"):
        found = run["averages"][kind]
        assert found[question][layer][0] > 0.95
        noise_ = [found[one][other] for one in ("source", "target") for other in LAYERS if other != layer]
        assert len(noise_) == 8
        assert max(values[0] for values in noise_) < 0.6  # English is half of the training tokens


def parts_of(store, split, directions, side="encoder"):
    return [getattr(store, side)(split, direction) for direction in directions]


def test_unrelated_labels_give_chance(tmp_path):
    """Every language is as often a source as every other, so that chance is a quarter."""
    directions = [(one, other) for one, other in zip(LANGUAGES, [*LANGUAGES[1:], LANGUAGES[0]], strict=True)]
    splits = {"valid": directions, "test": directions}
    store = write_store(tmp_path / "s", planted("L1", "source"), splits, sentences=60)
    gold = np.repeat(np.arange(4), 60)[:, None]
    unrelated = np.tile(np.arange(4), 60)[:, None]  # every language as often in every direction
    accuracy = {}
    for name, labels in (("true", gold), ("unrelated", unrelated)):
        one = TrainingSet(parts_of(store, "valid", directions), labels, "all")
        classifiers = train(one, [4], PROTOCOLS["converged"], "train").classifiers
        right = [
            answers(classifiers, part, "all")[0][1, :, label] / len(part.tokens)
            for label, part in enumerate(parts_of(store, "test", directions))
        ]
        accuracy[name] = torch.stack(right).mean(dim=0)
    assert (accuracy["true"] > 0.95).all()
    assert ((accuracy["unrelated"] - 0.25).abs() < 0.1).all()


@pytest.mark.parametrize(("tokens", "readable"), [("all", True), ("no-tags", False), ("words", False)])
def test_states_of_tags_can_be_left_out(tmp_path, llr, tokens, readable):
    store = write_store(tmp_path / "s", planted("L2", "source", only_tags=True), sentences=40)
    (run,) = llr(store, options=["--tokens", tokens])["runs"]
    planted_, other = (np.mean(run["averages"]["supervised"]["source"][layer]) for layer in ("L2", "L1"))
    assert (planted_ > other + 0.08) == readable
    part = store.encoder("test", ("de", "fr"))
    left = {"all": len(part.tokens), "no-tags": (~part.is_tag).sum(), "words": part.is_word.sum()}
    assert run["directions"]["de-fr"]["tokens"]["encoder"] == left[tokens]


# --- batched training is separate training


def separate(store, layer: int, side: str, start: LinearClassifiers, seed: int, question: int, labels, steps):
    """One classifier alone: `nn.Linear`, sentence by sentence, torch's loss."""
    one = nn.Linear(8, 4)
    columns = slice(seed * 8 + question * 4, seed * 8 + question * 4 + 4)
    one.weight.data = start.weight.data[layer, :, columns].T.clone()
    one.bias.data = start.bias.data[layer, 0, columns].clone()
    optimizer = torch.optim.Adam(one.parameters(), lr=steps.lr)
    sentences = [
        torch.tensor(
            np.array(part.all_states[layer, part.offsets[i] : part.offsets[i + 1]], dtype=np.float32)
        )
        for part in parts_of(store, "valid", ENGLISH_CENTRIC, side)
        for i in range(len(part))
    ]
    for _, batch in batches(len(sentences), steps.batch_size, steps.epochs):
        states = torch.cat([sentences[i] for i in batch])
        gold = torch.cat([torch.full((len(sentences[i]),), labels[i, question]) for i in batch])
        optimizer.zero_grad()
        nn.functional.cross_entropy(one(states), gold).backward()
        optimizer.step()
    return one


def gold_labels(sentences: int = 20) -> np.ndarray:
    rows = [[LANGUAGES.index(language) for language in direction] for direction in ENGLISH_CENTRIC]
    return np.repeat(np.array(rows), sentences, axis=0)


def test_classifiers_trained_together_equal_those_trained_alone(tmp_path):
    store = write_store(tmp_path / "s", planted("L1", "source"))
    labels, seeds = gold_labels(), STEPS.seeds
    sets = {
        side: TrainingSet(parts_of(store, "valid", ENGLISH_CENTRIC, side), labels, "all")
        for side in ("encoder", "decoder")
    }
    trained = {side: train(one, [4, 4], STEPS, side).classifiers for side, one in sets.items()}
    for side, layers in (("encoder", 3), ("decoder", 2)):
        start = LinearClassifiers(layers, 8, [4, 4], seeds)
        assert not torch.allclose(start.weight, trained[side].weight, atol=1e-3)
        for layer, seed, question in np.ndindex(layers, len(seeds), 2):
            alone = separate(store, layer, side, start, seed, question, labels, STEPS)
            columns = slice(seed * 8 + question * 4, seed * 8 + question * 4 + 4)
            assert torch.allclose(trained[side].weight[layer, :, columns].T, alone.weight, atol=1e-5)
            assert torch.allclose(trained[side].bias[layer, 0, columns], alone.bias, atol=1e-5)
            part = (
                store.decoder("test", ("de", "fr"))
                if side == "decoder"
                else store.encoder("test", ("de", "fr"))
            )
            best = alone(torch.tensor(np.array(part.all_states[layer], dtype=np.float32))).argmax(dim=1)
            counted = answers(trained[side], part, "all")[question][layer, seed]
            assert counted.tolist() == torch.bincount(best, minlength=4).tolist()


def test_a_seed_starts_the_same_way_whatever_other_seeds_there_are():
    both, one = LinearClassifiers(2, 8, [4, 3], [3, 8]), LinearClassifiers(2, 8, [4, 3], [8])
    assert torch.equal(both.weight[:, :, 7:], one.weight)
    assert one.weight.abs().max() <= 1 / np.sqrt(8)
    assert not torch.equal(both.weight[:, :, :7], one.weight)


def test_every_sentence_is_in_one_batch_of_every_epoch_in_another_order():
    epochs, found = zip(*batches(10, 4, 2), strict=True)
    assert [len(batch) for batch in found] == [4, 4, 2, 4, 4, 2]
    assert epochs == (1, 1, 1, 2, 2, 2)
    first, second = np.concatenate(found[:3]), np.concatenate(found[3:])
    assert sorted(first) == sorted(second) == list(range(10))
    assert first.tolist() != second.tolist()


# --- what it reports


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
        for layer in LAYERS:
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


def test_figure_and_numbers(tmp_path, llr, command):
    stores = [
        write_store(
            tmp_path / f"{name}{seed}",
            planted(layer, "target", distance=2),
            sentences=10 * seed,
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
    shown = cells_of(html, "Zero-shot", "target", "Post")
    assert np.std(values) > 0.1
    assert shown[:4] == ["1, 2", "25.0", "0.0", "0.0"]
    assert shown[4 + LAYERS.index("L2")] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


def cells_of(html: str, *first: str) -> list[str]:
    """The other cells of the row of a table that begins with these."""
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in html.split("<tr")]
    (found,) = [row[len(first) :] for row in rows if tuple(map(str.strip, row[: len(first)])) == first]
    return [text.strip() for text in found]


def test_other_tokens_are_another_curve(tmp_path, llr, command):
    store = write_store(tmp_path / "s", noise)
    llr(store, output="all")
    llr(store, options=["--tokens", "words"], output="words")
    files = [tmp_path / name / "llr.json" for name in ("all", "words")]
    assert command("report", *files, "--output", tmp_path / "report").status == 0
    html = (tmp_path / "report" / "report.html").read_text()
    assert cells_of(html, "Supervised", "source", "PreNorm S-ENC-T-DEC")
    assert cells_of(html, "Supervised", "source", "PreNorm S-ENC-T-DEC, only words")
    twice = command("report", files[0], files[0], "--output", tmp_path / "report")
    assert twice.status == 2 and "both are seed 1 of system" in twice.err


# --- bad input


def one_line(result, message: str) -> None:
    assert result.status == 2
    (line,) = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert message in line


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
        (None, ["--lr", "0.1"], "--lr: --protocol converged has none; leave it out, or use --protocol paper"),
    ],
)
def test_bad_input(tmp_path, llr, splits, options, message):
    one_line(llr(write_store(tmp_path / "s", noise, splits), options=options), message)


def test_a_question_with_one_language_can_be_left_out(tmp_path, llr):
    splits = {"valid": [("en", "de"), ("en", "fr")], "test": [("en", "de"), ("en", "fr")]}
    (run,) = llr(write_store(tmp_path / "s", noise, splits), options=["--questions", "target"])["runs"]
    assert run["languages"] == {"target": ["de", "fr"]}


def test_a_direction_whose_outputs_are_all_empty(tmp_path, llr, monkeypatch):
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


def test_a_folder_that_is_no_store(tmp_path, llr):
    one_line(llr(tmp_path), "states.json: no such file; expected the complete output of `eval probe states`")


# --- protocols


def old(record: dict) -> dict:
    """The record as version 0.1 wrote it: one protocol, without a name, and nothing about training."""
    runs = []
    for run in record["runs"]:
        training = {name: value for name, value in run["training"].items() if name != "protocol"}
        majority = {
            question: {
                side: {name: value for name, value in one.items() if name != "training"}
                for side, one in sides.items()
            }
            for question, sides in run["majority"].items()
        }
        runs.append(run | {"training": training, "majority": majority})
        del runs[-1]["classifiers"]
    return record | {"runs": runs}


def test_other_protocols_are_other_curves_and_old_files_are_the_papers(tmp_path, llr, command):
    """Two seeds of a system, one of each protocol: never a mean over both."""
    stores = [write_store(tmp_path / f"s{seed}", noise, system={"seed": seed}) for seed in (1, 2, 3)]
    llr(stores[0], output="converged")
    papers = [llr(one, options=PAPER, output=one.folder.name) for one in stores[1:]]
    (tmp_path / "s2" / "llr.json").write_text(json.dumps(old(papers[0])))
    files = [tmp_path / name / "llr.json" for name in ("converged", "s2", "s3")]
    result = command("report", *files, "--output", tmp_path / "report")
    assert result.status == 0, result.err
    html = (tmp_path / "report" / "report.html").read_text()
    assert cells_of(html, "Zero-shot", "source", "PreNorm S-ENC-T-DEC")[0] == "1"
    shown = cells_of(html, "Zero-shot", "source", "PreNorm S-ENC-T-DEC, the paper&#39;s protocol")
    assert shown[0] == "2, 3"
    values = [
        np.mean(run["averages"]["zero-shot"]["source"]["L1"]) * 100 for one in papers for run in one["runs"]
    ]
    assert shown[4 + LAYERS.index("L1")] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    (tmp_path / "s3" / "llr.json").write_text(json.dumps(papers[1]).replace('"paper"', '"another"'))
    refused = command("report", *files, "--output", tmp_path / "report")
    one_line(
        refused, "llr.json: found the protocol 'another', expected converged or paper; run `eval probe llr`"
    )


@pytest.mark.parametrize(
    ("training", "name"),
    [
        ({"protocol": "converged", "epochs": 100, "patience": 5}, ""),
        ({"protocol": "converged", "epochs": 20, "patience": 5}, ", 20 epochs"),
        ({"protocol": "converged", "epochs": 100, "patience": 2}, ", patience 2"),
        ({"protocol": "paper", "epochs": 3, "lr": 1e-3, "batch_size": 64}, ", the paper's protocol"),
        ({"epochs": 3, "lr": 1e-3, "batch_size": 64}, ", the paper's protocol"),
        ({"epochs": 8, "lr": 0.05, "batch_size": 64}, ", the paper's protocol, 8 epochs, lr 0.05"),
    ],
)
def test_the_name_of_a_curve_says_what_is_no_default(training, name):
    assert variant(training, "llr.json") == name


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

    store = write_store(tmp_path / "s", planted("L1", "source"), layers={**STORE_LAYERS, "decoder": ["L3"]})
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
