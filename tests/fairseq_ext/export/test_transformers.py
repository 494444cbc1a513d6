"""`export --to transformers`: a trained encoder of transformers comes back to its library."""

import json
import shutil
import unicodedata

import numpy as np
import pytest
import torch

from command_line.dispatch import run
from data_prep.formats.preparation import Preparation
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.__main__ import COMMANDS
from fairseq_ext.losses.weighted_loss import vectors_of
from tests.data_prep.tokenizer_folders import TEXT
from tests.fairseq_ext.export.test_sentence_transformers import exported_vectors
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_pretrained_encoder import batch_of, build, state_of, write_data, write_model


@pytest.fixture(scope="module", params=["bert", "xlmr"])
def world(request, tmp_path_factory):
    """A folder of transformers, and data of its tokenizer, of which the dictionary has a part."""
    root = tmp_path_factory.mktemp(request.param)
    folder = write_model(root / "model", request.param)
    return folder, write_data(root, folder, "--only-used")


def trained(world, path, **given):
    """The vectors of TEXT by a checkpoint that is not the folder it began with."""
    folder, data = world
    task, model, args = build(folder, data, **given)
    with torch.no_grad():
        for parameter in model.parameters():  # an average of layers has weights that nothing trains
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
                parameter.add_(0.05 * noise)
    save(path, state_of(task, model, args))
    return vectors_of(model(batch_of(task, data))).detach().numpy()


def export(world, checkpoint, output, *others: str, to="transformers") -> int:
    words = ["export", "--to", to, str(checkpoint), str(output), "--data", str(world[1]), *others]
    return run("fairseq_ext", "", COMMANDS, words)


@pytest.mark.parametrize(
    ("given", "pooled"),
    [
        ({}, lambda states, mask: (states[-1] * mask).sum(1) / mask.sum(1)),
        ({"pooling": "cls", "pooling_layer": "2"}, lambda states, mask: states[2][:, 0]),
        ({"pooling": "max", "pooling_layer": "average"},
         lambda states, mask: (sum(states) / 4).masked_fill(mask == 0, -1e9).max(1).values),
    ],
)  # fmt: skip
def test_the_library_computes_the_same_vectors(world, tmp_path, capsys, given, pooled):
    expected = trained(world, tmp_path / "model.pt", **given)
    assert export(world, tmp_path / "model.pt", tmp_path / "out") == 0
    assert "export: 22 lines, lowest cosine" in capsys.readouterr().out
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    model = transformers.AutoModel.from_pretrained(tmp_path / "out").eval()
    batch = tokenizer(TEXT, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**batch, output_hidden_states=True).hidden_states
    found = pooled(states, batch["attention_mask"].unsqueeze(2)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-4)
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert "auto_map" not in config
    assert not list((tmp_path / "out").glob("*.bin"))  # safetensors alone


@pytest.mark.parametrize("to", ["transformers", "sentence-transformers", "onnx"])
def test_text_is_normalized_as_that_of_the_training_was(world, tmp_path, to):
    data = shutil.copytree(world[1], tmp_path / "data")
    preparation = Preparation.load(data)
    preparation.normalized = True
    preparation.save()
    trained(world, tmp_path / "model.pt")
    raw = tmp_path / "raw.de"
    composed = TEXT[:4]
    decomposed = [unicodedata.normalize("NFD", line).replace(" ", "\u200b \ufeff ") for line in composed]
    raw.write_text("".join(f"{line}\n" for line in decomposed), encoding="utf-8")
    given = ("--check-text", str(raw), "--check-lines", "4")
    assert export((world[0], data), tmp_path / "model.pt", tmp_path / "out", *given, to=to) == 0
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer(decomposed)["input_ids"] == tokenizer(composed)["input_ids"]


def test_long_text_is_cut_where_the_training_cut_it(world, tmp_path):
    state = state_of(*build(*world))
    state["cfg"]["task"]["max_source_positions"] = 8
    save(tmp_path / "model.pt", state)
    long = tmp_path / "long.de"
    long.write_text(" ".join(TEXT * 3) + "\n", encoding="utf-8")
    assert export(world, tmp_path / "model.pt", tmp_path / "out", "--check-text", str(long)) == 0
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert len(tokenizer(" ".join(TEXT * 3), truncation=True)["input_ids"]) == 9
    assert "cut to 9 tokens" in (tmp_path / "out/README.md").read_text()


def test_the_code_of_the_model_card_runs(world, tmp_path):
    trained(world, tmp_path / "model.pt", pooling="sum", pooling_layer="1")
    assert export(world, tmp_path / "model.pt", tmp_path / "out") == 0
    card = (tmp_path / "out/README.md").read_text()
    code = card.split("```python\n")[1].split("```")[0].replace("PATH OF THIS FOLDER", str(tmp_path / "out"))
    found = {}
    exec(code, found)
    assert found["vectors"].shape == (2, 16)
    assert "layers[1]" in code and "lowest cosine" in card


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"sentence_width": 6}, "--sentence-width: a folder of transformers has states of tokens, and"),
        ({"pooling_layer": "mix"}, "--pooling-layer mix: a folder of transformers has states"),
        ({"pooling": "pooler"}, "--pooling pooler: a folder of transformers has states"),
        ({"pooling_without_eos": True}, "--pooling-without-eos: a folder of transformers has states"),
    ],
)
def test_what_is_above_the_tokens_is_not_lost_silently(world, tmp_path, capsys, given, line):
    trained(world, tmp_path / "model.pt", **given)
    assert export(world, tmp_path / "model.pt", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert f"model.pt: cannot be exported: {line}" in error
    assert not (tmp_path / "out/config.json").exists()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"pooling": "sum", "pooling_layer": "mix", "sentence_width": 24},  # dual-pivot transfer
        {"pooling": "pooler", "sentence_width": 6},  # LaBSE with fewer dimensions (thesis 3.2.2)
        {"pooling": "max", "pooling_layer": "average"},
        {"pooling_without_eos": True},
        {"pooling": "cls", "pooling_layer": "1"},
    ],
    ids=str,
)
def test_onnx_has_the_layers_and_all_that_is_above_them(world, tmp_path, capsys, given):
    expected = trained(world, tmp_path / "model.pt", **given)
    assert export(world, tmp_path / "model.pt", tmp_path / "out", to="onnx") == 0, capsys.readouterr().err
    assert "export: 22 lines, lowest cosine" in capsys.readouterr().out
    encoder = EncoderOptions(tmp_path / "out").load()
    np.testing.assert_allclose(encoder.encode(TEXT), expected, atol=1e-5, rtol=1e-4)
    for line, vector in zip(TEXT[:3], expected, strict=False):  # other sizes than the batch that was traced
        np.testing.assert_allclose(encoder.encode([line])[0], vector, atol=1e-5, rtol=1e-4)
    assert encoder.size == EncoderOptions(tmp_path / "model.pt", model_data=world[1]).load().size
    card = (tmp_path / "out/README.md").read_text()
    names: dict = {}
    exec(
        card.split("```python\n")[1].split("```")[0].replace("PATH OF THIS FOLDER", str(tmp_path / "out")),
        names,
    )
    assert names["vectors"].shape == (2, expected.shape[1])


def test_onnx_of_8_bits_has_products_of_whole_numbers(world, tmp_path, capsys):
    trained(world, tmp_path / "model.pt")
    words = ("--precision", "int8")
    assert export(world, tmp_path / "model.pt", tmp_path / "out", *words, to="onnx") == 0
    assert b"MatMulInteger" in (tmp_path / "out/model.onnx").read_bytes()


def test_a_model_that_a_file_of_onnx_cannot_hold(world, tmp_path, capsys, monkeypatch):
    from fairseq_ext.export import onnx_folder

    trained(world, tmp_path / "model.pt")
    monkeypatch.setattr(onnx_folder, "LARGEST", 1000)
    assert export(world, tmp_path / "model.pt", tmp_path / "out", to="onnx") == 2
    assert (
        "parameters in float32 are more than a file of ONNX may have (2 GiB); choose"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "given",
    [
        {"pooling": "pooler", "sentence_width": 6},  # LaBSE with fewer dimensions (thesis 3.2.2)
        {"sentence_width": 6, "pooler_width": 9},
        {"pooling": "max", "pooling_layer": "mix"},
        {"pooling": "cls", "pooling_layer": "1"},
    ],
    ids=str,
)
def test_sentence_transformers_has_what_is_above_the_tokens(world, tmp_path, capsys, given):
    expected = trained(world, tmp_path / "model.pt", **given)
    assert export(world, tmp_path / "model.pt", tmp_path / "out", to="sentence-transformers") == 0
    assert "export: 22 lines, lowest cosine" in capsys.readouterr().out
    found = exported_vectors(tmp_path / "out", TEXT)
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-4)
    modules = json.loads((tmp_path / "out/modules.json").read_text())
    assert {one["type"].split(".")[0] for one in modules} == {"sentence_transformers"}
    ours = EncoderOptions(tmp_path / "out").load()
    np.testing.assert_allclose(ours.encode(TEXT), expected, atol=1e-5, rtol=1e-4)


def test_sentence_transformers_has_no_sum(world, tmp_path, capsys):
    trained(world, tmp_path / "model.pt", pooling="sum")
    assert export(world, tmp_path / "model.pt", tmp_path / "out", to="sentence-transformers") == 2
    assert "model.pt: cannot be exported: --pooling sum: sentence-tran" in capsys.readouterr().err
