"""Folders of `transformers` and `sentence-transformers` through our interface and through their own."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from data_prep.model_folders.identity import files_of
from embeddings.encoders.huggingface import source_code
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import LanguageNeeded
from tests.embeddings.encoders.folders import (
    POSITIONS,
    TEXT,
    tokenizer,
    write_sentence_transformers,
    write_transformers,
)

LINES = [*TEXT, "", "  ", TEXT[0], "a " * 100]


def load(folder, **options):
    return EncoderOptions(Path(folder), **options).load()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_transformers(tmp_path_factory.mktemp("bert") / "tiny")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_sentence_transformers(tmp_path_factory.mktemp("st"), dense=20)


# --- sentence-transformers


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_vectors_are_those_of_the_library(tmp_path, pooling):
    from sentence_transformers import SentenceTransformer

    folder = write_sentence_transformers(tmp_path, pooling)
    encoder = load(folder)
    expected = SentenceTransformer(str(folder), device="cpu").encode(LINES)
    vectors = encoder.encode(LINES)
    assert (
        (vectors.dtype, vectors.shape) == (np.float32, (len(LINES), encoder.width)) == (np.float32, (12, 32))
    )
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_dense_layers_and_lengths_of_1_are_part_of_the_model(whole):
    from sentence_transformers import SentenceTransformer

    encoder = load(whole)
    expected = SentenceTransformer(str(whole), device="cpu").encode(LINES)
    np.testing.assert_allclose(encoder.encode(LINES), expected, atol=1e-5)
    assert encoder.width == 20
    assert np.linalg.norm(expected, axis=1) == pytest.approx(1)


def test_the_model_s_own_prompt_or_another_prefix(tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = write_sentence_transformers(tmp_path)
    path = folder / "config_sentence_transformers.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"prompts": {"q": "no: "}, "default_prompt_name": "q"}))
    theirs = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(load(folder).encode(TEXT), theirs.encode(TEXT), atol=1e-5)
    expected = theirs.encode(TEXT, prompt="yes: ")
    np.testing.assert_allclose(load(folder, prefix="yes: ").encode(TEXT), expected, atol=1e-5)
    pooling = folder / "1_Pooling/config.json"
    pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"include_prompt": False}))
    expected = SentenceTransformer(str(folder), device="cpu").encode(TEXT)
    assert abs(expected - theirs.encode(TEXT)).max() > 1e-3
    np.testing.assert_allclose(load(folder).encode(TEXT), expected, atol=1e-5)


# --- transformers


def poolings_by_loops(folder, line: str) -> dict[str, torch.Tensor]:
    """Every pooling of one sentence alone, without padding."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    ids = tokenizer()(line, truncation=True, max_length=POSITIONS)["input_ids"]
    with torch.no_grad():
        output = model(torch.tensor([ids]))
    states = output.last_hidden_state[0]
    return {"mean": sum(states) / len(states), "cls": states[0], "pooler": output.pooler_output[0]}


@pytest.mark.parametrize("pooling", [None, "mean", "cls", "pooler"])
def test_poolings(bert, pooling):
    encoder = load(bert, pooling=pooling, batch_tokens=40)
    assert encoder.width == 32
    expected = torch.stack([poolings_by_loops(bert, line)[pooling or "mean"] for line in LINES])
    np.testing.assert_allclose(encoder.encode(LINES), expected.numpy(), atol=1e-5)


def test_what_is_cut_is_counted(bert):
    encoder = load(bert)
    encoder.encode(["Yes", "a " * 100, "a " * 100])
    assert (encoder.cut, encoder.longest) == (2, POSITIONS)


@pytest.mark.parametrize("batch_tokens", [1, 30, 10_000])
def test_padding_and_order_change_no_vector(bert, batch_tokens):
    together = load(bert, batch_tokens=batch_tokens).encode(LINES)
    single = load(bert)
    for line, vector in zip(LINES, together, strict=True):
        np.testing.assert_allclose(single.encode([line])[0], vector, atol=1e-5)
    np.testing.assert_allclose(single.encode(LINES[::-1])[::-1], together, atol=1e-5)


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_other_arithmetic_gives_nearly_the_same(whole, precision):
    exact, vectors = load(whole).encode(TEXT), load(whole, precision=precision).encode(TEXT)
    assert vectors.dtype == np.float32
    cosines = (exact * vectors).sum(axis=1) / np.linalg.norm(vectors, axis=1)
    assert cosines.min() > 0.99 and abs(exact - vectors).max() > 0


def test_a_prefix(bert):
    assert (load(bert, prefix="query: ").encode(["Yes"]) == load(bert).encode(["query: Yes"])).all()


def test_layers_above_the_one_that_is_read_are_not_counted(bert):
    """Of one layer: four matrices of attention, two of the feed-forward layer, two norms."""
    of_layer = 4 * (32 * 32 + 32) + (32 * 64 + 64) + (64 * 32 + 32) + 4 * 32
    whole, average, first, embeddings = (
        EncoderOptions(bert, layer=layer).load().size for layer in (None, "average", "1", "0")
    )
    assert whole == average and (whole.layers, whole.layer_parameters) == (2, 2 * of_layer)
    assert (first.layers, first.layer_parameters) == (1, of_layer)
    assert first.parameters == whole.parameters - of_layer
    assert (embeddings.layers, embeddings.layer_parameters) == (0, None)
    assert embeddings.parameters == whole.parameters - 2 * of_layer


def test_the_record_says_what_changes_vectors(bert, whole):
    first = load(bert).record()
    assert first["kind"] == "transformers" and first["pooling"] == "mean"
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= first["weights"].keys()
    second = load(whole).record()
    assert second["kind"] == "sentence-transformers"
    modules = {"modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors", "2_Dense/config.json"}
    assert modules <= second["weights"].keys()


def write_mbart(folder: Path) -> Path:
    """Whose tokenizer puts a language in front, and `</s>` behind."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = [(word, -2.0) for word in ("▁Das", "▁Wetter", "▁heute", "▁", "a", "b")]
    words = [(symbol, 0.0) for symbol in ("<s>", "<pad>", "</s>", "<unk>")] + words
    symbols = Tokenizer(models.Unigram(words, unk_id=3))
    symbols.pre_tokenizer = pre_tokenizers.Metaspace()
    folder.mkdir()
    symbols.save(str(folder / "tokenizer.json"))
    tokenizer = transformers.MBart50TokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    sizes = {f"{side}_{name}": size for side in ("encoder", "decoder")
             for name, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))}  # fmt: skip
    torch.manual_seed(3)
    config = transformers.MBartConfig(vocab_size=len(tokenizer), d_model=16, init_std=1.0, **sizes)
    transformers.MBartModel(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_tokenizer_with_language_tags_is_told_the_language(tmp_path):
    """mBART: the tag of each text's own language; without a language there is none to be read."""
    import transformers

    folder = write_mbart(tmp_path / "mbart")
    encoder = load(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).get_encoder().eval()
    vectors = {}
    for language, code in (("de", "de_DE"), ("deu", "de_DE"), ("en_XX", "en_XX")):
        tokenizer.src_lang = code
        with torch.no_grad():
            states = model(**tokenizer("Das Wetter", return_tensors="pt")).last_hidden_state[0]
        vectors[language] = encoder.encode(["Das Wetter"], language)[0]
        np.testing.assert_allclose(vectors[language], states.mean(dim=0), atol=1e-5)
    assert abs(vectors["de"] - vectors["en_XX"]).max() > 0.01
    with pytest.raises(LanguageNeeded, match="reads the tag of the language of the text, one of "):
        encoder.encode([])
    with pytest.raises(InputError, match="of the language of the text, which is eu; expected one of "):
        encoder.encode([], "eu")


@pytest.mark.parametrize(
    ("language", "code"),
    [("fa", "pes_Arab"), ("prs", "prs_Arab"), ("ar_AR", "arb_Arab"), ("zh_CN", "zho_Hans"),
     ("lv_LV", "lvs_Latn"), ("cmn_Hant", "zho_Hant"), ("ms", "zsm_Latn"), ("ps", "pbt_Arab"),
     ("az", "azj_Latn"), ("tw", "twi_Latn")],
)  # fmt: skip
def test_the_tag_of_a_language_among_those_of_nllb(language, code):
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    assert source_code(FAIRSEQ_LANGUAGE_CODES, language, "NLLB") == code


def test_a_language_with_several_tags_is_refused():
    with pytest.raises(InputError, match=r"of the text, which is de; expected one of de_AT, de_DE$"):
        source_code(["de_DE", "en_XX", "de_AT"], "de", "mBART")


# --- what is refused


def refused(folder, **options) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, **options)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    return message


def change(path: Path, **fields) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_code_of_the_folder_is_never_run(tmp_path):
    folder = write_transformers(tmp_path / "bert")
    change(folder / "config.json", auto_map={"AutoModel": "own.Own"}, model_type="own")
    assert "config.json: field 'auto_map' asks for code" in refused(folder)
    (folder / "own.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')\nclass Own: pass\n")
    assert f"{folder}/own.py: code in a folder of a model" in refused(folder)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("name", ["own.Own", "os.system", "sentence_transformers.util.http_get"])
def test_modules_of_other_kinds_are_never_imported(tmp_path, name, monkeypatch):
    folder = write_sentence_transformers(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')\nclass Own: pass\n")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*modules, {"idx": 2, "path": "", "type": name}]))
    assert f"modules.json: a module of type {name!r}" in refused(folder)
    assert not (tmp_path / "owned").exists()


def test_an_activation_function_is_one(tmp_path):
    folder = write_sentence_transformers(tmp_path, dense=8)
    change(folder / "2_Dense/config.json", activation_function="torch.hub.list")
    assert "activation_function 'torch.hub.list'" in refused(folder)


def test_tokens_without_vectors(tmp_path):
    folder = write_transformers(tmp_path / "bert")
    more = tokenizer()
    more.add_tokens(["bicycle"])
    more.save_pretrained(folder)
    assert f"has ids up to {len(more) - 1}, and the model {len(more) - 1} vectors" in refused(folder)


def test_more_tokens_than_positions(tmp_path):
    folder = write_sentence_transformers(tmp_path)
    change(folder / "sentence_bert_config.json", max_seq_length=POSITIONS + 1)
    expected = f"max_seq_length is {POSITIONS + 1}, but its model has positions for {POSITIONS} tokens"
    assert expected in refused(folder)


def test_pickled_weights(tmp_path):
    folder = write_transformers(tmp_path / "bert", safe_serialization=False)
    assert f"{folder}/pytorch_model.bin: weights in a format that can run code" in refused(folder)


def test_pickled_weights_of_one_module(tmp_path):
    folder = write_sentence_transformers(tmp_path, dense=8)
    (folder / "2_Dense/model.safetensors").rename(folder / "2_Dense/pytorch_model.bin")
    assert "2_Dense/pytorch_model.bin: weights in a format" in refused(folder)


def test_no_encoder(tmp_path, bert):
    assert "no such file or folder" in refused(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    assert "no encoder in this folder" in refused(tmp_path / "empty")
    assert "no weights in it" in refused(tmp_path / "empty", encoder="transformers")
    assert "modules.json: no such file" in refused(bert, encoder="sentence-transformers")
    assert "no such folder" in refused(bert / "config.json", encoder="transformers")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b'{"model_type": "nonsense"}'),
        ("config.json", b'{"model_type": "bert", "hidden_size": "x"}'),
        ("config.json", b'{"model_type": "bert", "hidden_size": 30, "num_attention_heads": 4}'),
        ("config.json", b"[]"),
        ("model.safetensors", b"x" * 100),
        ("tokenizer.json", b"{}"),
    ],
)
def test_damaged_folders(tmp_path, name, content):
    folder = write_transformers(tmp_path / "bert")
    (folder / name).write_bytes(content)
    assert str(folder) in refused(folder)


def test_missing_weights_are_not_drawn_by_chance(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = write_transformers(tmp_path / "bert")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "1 weights are missing from its files" in refused(folder)


def test_options_of_another_kind(bert, whole):
    assert refused(whole, pooling="cls").startswith("--pooling: ")
    assert refused(bert, model_data=bert).startswith("--model-data: ")
    assert refused(bert, pooling="words").startswith("--pooling words: ")


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (
            '[{"type": "sentence_transformers.models.Pooling", "path": "../other"}]',
            "'../other'; expected a plain name",
        ),
        ('[{"type": "sentence_transformers.models.Pooling", "path": 7}]', "'[0].path' is 7"),
        ("{}", "found an object, expected a list"),
    ],
)
def test_a_list_of_modules_that_names_folders_elsewhere_or_is_damaged(tmp_path, modules, message):
    """It is read of any folder that has one, also where the library is not asked."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "modules.json").write_text(modules)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        files_of(folder)
    assert str(folder / "modules.json") in str(caught.value) and "\n" not in str(caught.value)
