"""`eval bleurt` against the PyTorch port itself, on a tiny model that the port has saved."""

import json

import pytest
import torch
from bleurt_pytorch import BleurtForSequenceClassification
from bleurt_pytorch.bleurt.tokenization_bleurt_sp import BleurtSPTokenizer

from tests.eval.probes.bleurt_folder import write_bleurt
from tests.eval.rows import by_name


@pytest.fixture
def model(tmp_path):
    return write_bleurt(tmp_path / "BLEURT-tiny")


def by_the_port(folder, references: list[str], hypotheses: list[str]) -> list[float]:
    port = BleurtForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = BleurtSPTokenizer(str(folder / "spm.model"))
    scores = []
    for pair in zip(references, hypotheses, strict=True):
        with torch.no_grad():
            inputs = tokenizer(*pair, truncation=True, max_length=96, return_tensors="pt")
            scores.append(port(**inputs).logits.item())
    return scores


def test_scores_are_those_of_the_port(model, translated, texts, command, tmp_path):
    hypotheses = {"de-en": [texts["en"][1], "", *texts["en"][:2]], "de-fr": texts["fr"][::-1]}
    folder = translated("one", hypotheses)
    output = tmp_path / "bleurt"
    done = command("bleurt", folder, "--model", model, "--batch-size", 3, "--cpu", "--output", output)
    assert done.status == 0, done.err
    expected = {}
    for direction, lines in hypotheses.items():
        scores = by_the_port(model, texts[direction[-2:]], lines)
        assert len({round(score, 4) for score in scores}) == len(scores)  # the model tells lines apart
        expected[direction] = sum(scores) / len(scores)
    assert by_name(output / "bleurt.csv", "direction", measure="bleurt") == pytest.approx(expected, abs=1e-5)
    report = command("report", output, "--output", tmp_path / "report")
    assert report.status == 0, report.err
    page = (tmp_path / "report/report.md").read_text()
    assert f"| one | 1 | {100 * expected['de-en']:.1f} | {100 * expected['de-fr']:.1f} |" in page


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "no such file; expected that of BLEURT-20"),
        (lambda folder: (folder / "spm.model").unlink(), "no such file; expected the pieces of BLEURT-20"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "safetensors"),
        (lambda folder: change(folder, model_type="bert"), "model_type"),
        (lambda folder: change(folder, num_hidden_layers=3), "weights are missing"),
    ],
)
def test_another_folder_is_refused(model, translated, texts, command, tmp_path, broken, message):
    broken(model)
    done = command(
        "bleurt", translated("one", {"de-en": texts["en"]}), "--model", model, "--output", tmp_path / "x"
    )
    assert done.status == 2
    assert message in done.err and done.err.count("\n") == 1, done.err


def change(folder, **fields) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
