"""Exported graphs of ONNX, run by onnxruntime, against the checkpoint's own encoder."""

import json
import re
import shutil

import numpy as np
import pytest

from command_line.errors import InputError
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.commands.export import export
from tests.fairseq_ext.export.folders import HARD, LANGUAGES, write_data, write_encoder
from tests.fairseq_ext.export.test_sentence_transformers import ENCODERS, job
from tests.fairseq_ext.models import OTHER_PLACEMENTS
from tests.our_commands import run_command

LINES = [*LANGUAGES["de"], "", *LANGUAGES["el"], *HARD]
MORE = {  # that sentence-transformers has no modules for
    **{reason: options for options, reason in OTHER_PLACEMENTS},
    "without a residual connection": {"drop_residual_layers": "1"},
    "no final norm": {"norm_placement": "pre", "no_encoder_final_norm": True},
    "sum": {"pooling": "sum"},
    "mean without </s>": {"pooling_without_eos": True},
    "max without </s>": {"pooling_without_eos": True, "pooling": "max"},
    "embeddings alone": {"pooling_layer": "0"},
    "mixture of pre": {"norm_placement": "pre", "pooling_layer": "mix"},
    "average without final norm": {
        "norm_placement": "pre",
        "no_encoder_final_norm": True,
        "pooling_layer": "average",
    },
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("onnx") / "data", tokenizer="none+lowercase")


def vectors(path, **options):
    return EncoderOptions(path, **options).load().encode(LINES)


@pytest.mark.parametrize("name", [*ENCODERS, *MORE])
def test_vectors_are_equal(data, tmp_path, name):
    checkpoint = write_encoder(tmp_path / "model.pt", data, **{**ENCODERS, **MORE}[name])
    export(job(checkpoint, data, tmp_path, to="onnx"), tmp_path)
    found, expected = vectors(tmp_path), vectors(checkpoint, model_data=data)
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)
    assert not found[len(LANGUAGES["de"])].any()


def test_8_bit_products_give_nearly_the_same_and_say_so(data, tmp_path, capsys):
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    words = f"fairseq_ext export --to onnx --precision int8 {checkpoint} {tmp_path}/small --data {data}"
    assert run_command(words.split()) == 0
    assert "lowest cosine 0.9" in capsys.readouterr().out
    encoder = EncoderOptions(tmp_path / "small").load()
    assert encoder.record()["precision"] == "int8" and encoder.record()["kind"] == "onnx"
    whole = EncoderOptions(checkpoint, model_data=data).load().size
    assert encoder.size == whole
    assert whole.parameters > whole.layer_parameters > 1000
    assert (whole.layers, whole.state_width, whole.heads) == (2, 32, 4)
    assert whole.ffn_width == 64
    found, expected = encoder.encode(LINES), vectors(checkpoint, model_data=data)
    assert 1e-4 < np.abs(found - expected).max() < 0.3
    assert b"MatMulInteger" in (tmp_path / "small/model.onnx").read_bytes()


def test_the_shown_code_gives_these_vectors(data, tmp_path):
    """The Python of the model card, as it stands."""
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    export(job(checkpoint, data, tmp_path, to="onnx"), tmp_path)
    card = (tmp_path / "README.md").read_text()
    code = card[card.index("```python") + 9 : card.index("```\n", card.index("```python"))]
    names: dict = {}
    exec(code.replace("PATH OF THIS FOLDER", str(tmp_path)), names)
    expected = EncoderOptions(tmp_path).load().encode(["A sentence.", "Ein Satz."])
    np.testing.assert_allclose(names["vectors"], expected, atol=1e-5)


def test_what_is_refused(data, tmp_path, capsys):
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    words = f"fairseq_ext export {checkpoint} {tmp_path}/out --data {data} --precision int8"
    assert run_command([*words.split(), "--to", "sentence-transformers"]) == 2
    assert (
        "--precision int8: needs --to onnx and --to ctranslate2; --to sentence-transformers has"
        in capsys.readouterr().err
    )
    export(job(checkpoint, data, tmp_path, to="onnx"), tmp_path)
    with pytest.raises(InputError, match="has products of float32; give --precision to fairseq_ext export"):
        EncoderOptions(tmp_path, precision="int8").load()
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a model of onnx"):
        EncoderOptions(tmp_path).load()


# --- graphs of strangers


@pytest.fixture(scope="module")
def exported(data, tmp_path_factory):
    """A folder of a graph with a table of positions, which no test may change."""
    folder = tmp_path_factory.mktemp("exported")
    checkpoint = write_encoder(folder / "model.pt", data, encoder_learned_pos=True)
    words = f"fairseq_ext export --to onnx {checkpoint} {folder}/graph --data {data}"
    assert run_command(words.split()) == 0
    return folder / "graph"


def external(model, folder):
    """Its largest tensor lies in a file of another folder."""
    from onnx.external_data_helper import set_external_data

    tensor = max(model.graph.initializer, key=lambda one: len(one.raw_data))
    set_external_data(tensor, location="../weights")
    tensor.ClearField("raw_data")


def other_operator(model, folder):
    model.graph.node[0].domain = "somebody"


def other_inputs(model, folder):
    model.graph.input[0].name = "tokens"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (external, "lies in another file; expected all weights in it"),
        (other_operator, "of 'somebody'; expected those of ONNX"),
        (other_inputs, "; expected the inputs input_ids and attention_mask, and one output"),
    ],
)
def test_graphs_that_are_refused_unread(exported, tmp_path, change, expected):
    import onnx

    folder = shutil.copytree(exported, tmp_path / "graph")
    model = onnx.load_model(folder / "model.onnx")
    change(model, folder)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        EncoderOptions(folder).load()
    assert str(caught.value).startswith(f"{folder}/model.onnx: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("longest", 0), ("pad", -1), ("width", 0)])
def test_records_of_graphs(exported, tmp_path, name, value):
    folder = shutil.copytree(exported, tmp_path / "graph")
    record = json.loads((folder / "encoder.json").read_text())
    (folder / "encoder.json").write_text(json.dumps(record | {name: value}))
    with pytest.raises(InputError, match=rf"encoder\.json: field '{name}' is {value}; expected \d or more"):
        EncoderOptions(folder).load()


@pytest.mark.parametrize(("name", "value"), [("longest", 900), ("pad", 10**6), ("width", 3)])
def test_a_record_of_another_graph(exported, tmp_path, name, value):
    """More tokens than positions, an id without a vector, another width: found before a text is encoded."""
    folder = shutil.copytree(exported, tmp_path / "graph")
    record = json.loads((folder / "encoder.json").read_text())
    (folder / "encoder.json").write_text(json.dumps(record | {name: value}))
    with pytest.raises(InputError, match=f"--model {folder}: not a model of onnx: "):
        EncoderOptions(folder).load()
