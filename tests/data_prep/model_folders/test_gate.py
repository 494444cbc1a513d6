"""What is refused of folders of models, and what a library gets to see of those that pass."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import data_prep
from command_line.errors import InputError
from data_prep.model_folders.adapters import check_adapter
from data_prep.model_folders.allowed import MODEL_TYPES
from data_prep.model_folders.identity import check_folder, files_of
from data_prep.model_folders.loading import load_model, load_modules, load_tokenizer
from data_prep.model_folders.models import check_model, check_tokenizer
from data_prep.model_folders.modules import check_modules
from tests.embeddings.encoders.folders import write_sentence_transformers, write_transformers


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Folders of transformers, `bert`, and of sentence-transformers, `whole`, which no test may change."""
    root = tmp_path_factory.mktemp("made")
    write_transformers(root / "bert")
    write_sentence_transformers(root, dense=8)
    return root


@pytest.fixture
def bert(made, tmp_path) -> Path:
    return shutil.copytree(made / "bert", tmp_path / "bert")


@pytest.fixture
def whole(made, tmp_path) -> Path:
    return shutil.copytree(made / "whole", tmp_path / "whole")


def change(path: Path, **fields) -> None:
    record = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(record | fields))


def refused(check, folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        check(folder, "--model")
    message = str(caught.value)
    assert "\n" not in message and str(folder) in message and len(message) < 600
    return message


# --- what passes


def test_a_library_sees_what_was_checked_and_nothing_else(bert):
    for name in ("README.md", "training_args.bin", "pytorch_model.bin", "config.4.0.0.json"):
        (bert / name).write_text("{}")
    (bert / "chat_template.jinja").write_text("{{ 1 }}")
    generation = {"eos_token_id": [1, 2], "num_beams": 4, "temperature": 0.5, "_from_model_config": True}
    change(bert / "generation_config.json", **generation)
    (bert / "onnx").mkdir()
    (bert / "onnx/model.onnx").touch()
    with check_model(bert).opened("transformers") as private:
        seen = {path.relative_to(private).as_posix() for path in private.rglob("*")}
        links = {path.name for path in private.iterdir() if path.is_symlink()}
        shown = json.loads((private / "generation_config.json").read_text())
    assert links == {"model.safetensors", "tokenizer.json"}
    settings = {"config.json", "generation_config.json", "special_tokens_map.json", "tokenizer_config.json"}
    assert seen == links | settings
    assert shown == {"eos_token_id": [1, 2], "num_beams": 4}
    assert not private.exists()
    assert files_of(bert).keys() == seen


def test_modules_without_files_need_no_folder(whole):
    modules = json.loads((whole / "modules.json").read_text())
    assert modules[-1]["type"].endswith("Normalize")
    shutil.rmtree(whole / modules[-1]["path"], ignore_errors=True)
    load_modules(whole)
    assert {"modules.json", "2_Dense/model.safetensors", "1_Pooling/config.json"} <= files_of(whole).keys()


def test_the_cache_of_the_hub_is_links(bert, tmp_path):
    """models--NAME/snapshots/REVISION/FILE is a link to models--NAME/blobs/CHECKSUM."""
    snapshot, blobs = tmp_path / "models--bert/snapshots/abc", tmp_path / "models--bert/blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(sorted(bert.iterdir())):
        path.rename(blobs / str(number))
        (snapshot / path.name).symlink_to(f"../../blobs/{number}")
    load_model(snapshot)
    load_tokenizer(snapshot)


def test_weights_in_several_files(bert):
    from transformers import AutoModel

    expected = AutoModel.from_pretrained(bert).state_dict()
    AutoModel.from_pretrained(bert).save_pretrained(bert / "parts", max_shard_size="20KB")
    (bert / "model.safetensors").unlink()
    for path in (bert / "parts").glob("model*"):
        path.rename(bert / path.name)
    found, notes = load_model(bert)
    assert not notes["missing_keys"] and len(list(bert.glob("*.safetensors"))) > 2
    assert all(found.state_dict()[name].equal(weight) for name, weight in expected.items())


def test_where_a_model_came_from_is_left_out(bert, tmp_path):
    change(bert / "config.json", _name_or_path="/home/somebody/bert")
    change(bert / "tokenizer_config.json", name_or_path="../x", special_tokens_map_file="/home/x.json")
    model, _ = load_model(bert)
    tokenizer = load_tokenizer(bert)
    assert model.name_or_path == tokenizer.name_or_path == str(bert)
    model.save_pretrained(tmp_path / "saved")
    tokenizer.save_pretrained(tmp_path / "saved")
    for path in (tmp_path / "saved").glob("*.json"):
        assert "checked-model-" not in path.read_text()


def test_weights_that_are_computed_are_not_missing(tmp_path):
    """OPUS-MT: the positions of Marian, which transformers never saves."""
    from transformers import MarianConfig, MarianMTModel

    sizes = {f"{side}_{name}": size for side in ("encoder", "decoder")
             for name, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))}  # fmt: skip
    config = MarianConfig(vocab_size=20, d_model=16, max_position_embeddings=32, pad_token_id=1, **sizes)
    saved = MarianMTModel(config).eval()
    saved.save_pretrained(tmp_path)
    assert not [name for name in load_file(tmp_path / "model.safetensors") if "positions" in name]
    found, notes = load_model(tmp_path)
    assert notes["missing_keys"] == []
    for name, weight in saved.model.state_dict().items():
        assert found.state_dict()[name].equal(weight), name


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"eos_token_id": "</s>"}, "field 'eos_token_id' is '</s>'"),
        ({"bad_words_ids": [["a"]]}, "field 'bad_words_ids[0][0]'"),
        ({"early_stopping": "soon"}, "field 'early_stopping' is 'soon'"),
        ({"trust_remote_code": True}, "field 'trust_remote_code' asks for code"),
    ],
)
def test_settings_of_generation(bert, fields, expected):
    change(bert / "generation_config.json", **fields)
    assert f"{bert}/generation_config.json: {expected}" in refused(check_model, bert)


# --- files


@pytest.mark.parametrize("name", ["modeling.py", "custom_generate", "train_script.py"])
@pytest.mark.parametrize("check", [check_model, check_tokenizer])
def test_code(bert, check, name):
    (bert / name).mkdir() if name == "custom_generate" else (bert / name).touch()
    assert f"{bert / name}: code in a folder of a model, which is never run" in refused(check, bert)


def test_code_in_a_module(whole):
    (whole / "1_Pooling/own.py").touch()
    assert f"{whole}/1_Pooling/own.py: code in a folder" in refused(check_modules, whole)


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "special_tokens_map.json"]
)
def test_links_that_lead_out(bert, tmp_path, name):
    shutil.move(bert / name, tmp_path / name)
    (bert / name).symlink_to(tmp_path / name)
    assert f"{bert / name}: a link to {tmp_path / name}; expected a file inside" in refused(check_model, bert)
    (bert / name).unlink()
    shutil.move(tmp_path / name, bert / "elsewhere")
    (bert / name).symlink_to("elsewhere")
    check_model(bert, "--model")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path)])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_is_no_file(bert, name, make):
    (bert / name).unlink()
    make(bert / name)
    assert f"{bert / name}: is no regular file" in refused(check_model, bert)


def test_a_folder_in_a_module_that_is_a_link(whole, tmp_path):
    shutil.move(whole / "2_Dense", tmp_path / "2_Dense")
    (whole / "2_Dense").symlink_to(tmp_path / "2_Dense")
    assert f"2_Dense/config.json: a link to {tmp_path}" in refused(check_modules, whole)


# --- weights


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "tf_model.h5", "flax_model.msgpack"])
def test_weights_of_other_formats(bert, name):
    (bert / "model.safetensors").rename(bert / name)
    assert f"{bert / name}: weights in a format that can run code" in refused(check_model, bert)


@pytest.mark.parametrize(
    ("shard", "expected"),
    [
        ("pytorch_model.bin", "names the file 'pytorch_model.bin'; expected *.safetensors"),
        ("../x.safetensors", "names the file '../x.safetensors'; expected"),
        ("/x.safetensors", "names the file '/x.safetensors'; expected"),
        ("gone.safetensors", "gone.safetensors: no such file, but "),
        (7, "'weight_map.a' is 7"),
    ],
)
def test_an_index_names_files_of_safetensors_in_the_folder(bert, shard, expected):
    (bert / "model.safetensors").unlink()
    (bert / "pytorch_model.bin").touch()
    (bert / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    assert expected in refused(check_model, bert)


@pytest.mark.parametrize("kind", ["tf", "flax", "own"])
def test_weights_of_other_libraries(bert, kind):
    save_file({"a": torch.zeros(1)}, bert / "model.safetensors", {"format": kind})
    assert f"model.safetensors: weights of the format {kind!r}" in refused(check_model, bert)


def test_weights_that_are_damaged_or_missing(bert):
    (bert / "model.safetensors").write_bytes(b"x" * 100)
    assert "model.safetensors: damaged weights" in refused(check_model, bert)
    (bert / "model.safetensors").unlink()
    assert "no weights in it, expected model.safetensors" in refused(check_model, bert)


def test_weights_of_a_module(whole):
    (whole / "2_Dense/model.safetensors").rename(whole / "2_Dense/pytorch_model.bin")
    assert "2_Dense/pytorch_model.bin: weights in a format that can run code" in refused(check_modules, whole)


# --- settings


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"auto_map": {"AutoModel": "own.Own"}}, "field 'auto_map' asks for code"),
        ({"backbone_kwargs": {"trust_remote_code": True}}, "field 'backbone_kwargs' asks for code"),
        ({"sizes": [{"trust_remote_code": True}]}, "field 'trust_remote_code' asks for code"),
        ({"quantization_config": {"quant_method": "own"}}, "field 'quantization_config' asks for code"),
        ({"configuration_files": ["config.4.0.0.json"]}, "field 'configuration_files' asks for code"),
        ({"model_type": "detr"}, "field 'model_type' is 'detr'; expected a text model"),
        ({"model_type": "llama4"}, "field 'model_type' is 'llama4'; expected a text model"),
        ({"model_type": None}, "field 'model_type' is None; expected a text model"),
        ({"model_type": ["bert"]}, "field 'model_type' is ['bert']; expected a text model"),
        ({"text_config": {"model_type": "bert"}}, "field 'text_config' is a model in a model"),
        ({"attn_implementation": "somebody/kernel"}, "field 'attn_implementation' is 'somebody/kernel'"),
        (
            {"_attn_implementation": "flash_attention_2"},
            "field '_attn_implementation' is 'flash_attention_2'",
        ),
        ({"transformers_version": "text"}, "field 'transformers_version' is 'text'; expected such as"),
        ({"max_position_embeddings": "x"}, "field 'max_position_embeddings' is 'x'"),
        ({"other": "/etc/passwd"}, "field 'other' is '/etc/passwd'; expected no path"),
        ({"other": ["../x"]}, "field 'other' is '../x'; expected no path"),
        ({"other": "https://example.org"}, "field 'other' is 'https://example.org'; expected no path"),
    ],
)
def test_configurations(bert, fields, expected):
    change(bert / "config.json", **fields)
    assert f"{bert}/config.json: {expected}" in refused(check_model, bert)


def test_labels_are_nobodys_paths(bert):
    change(bert / "config.json", id2label={"0": "/", "1": "../x"}, label2id={"/": 0, "../x": 1})
    check_model(bert, "--model")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"auto_map": {"AutoTokenizer": ["own.Own", None]}}, "field 'auto_map' asks for code"),
        ({"fast_tokenizer_files": ["tokenizer.4.0.0.json"]}, "field 'fast_tokenizer_files' asks for code"),
        ({"tokenizer_class": "TransfoXLTokenizer"}, "field 'tokenizer_class' is 'TransfoXLTokenizer'"),
        ({"tokenizer_class": 7}, "field 'tokenizer_class' is 7, expected a string"),
        ({"vocab_file": "/etc/passwd"}, "field 'vocab_file' is '/etc/passwd'; expected no file there"),
        ({"tokenizer_file": "other.json"}, "field 'tokenizer_file' is 'other.json'; expected no file there"),
        ({"gguf_file": "x.gguf"}, "field 'gguf_file' is 'x.gguf'; expected no file there"),
        ({"init_inputs": ["/etc/passwd"]}, "field 'init_inputs' is ['/etc/passwd']; expected no file there"),
        ({"sp_model_kwargs": {"model_file": "/x"}}, "field 'sp_model_kwargs.model_file' is '/x'"),
        ({"model_max_length": -5}, "field 'model_max_length' is -5; expected a number of tokens, at least 1"),
        ({"model_max_length": 0}, "field 'model_max_length' is 0; expected a number of tokens, at least 1"),
        ({"model_max_length": "x"}, "field 'model_max_length' is 'x', expected a number"),
        ({"pad_token": 3}, "field 'pad_token' is 3"),
        ({"added_tokens_decoder": {"0": 3}}, "field 'added_tokens_decoder.0' is 3"),
    ],
)
def test_settings_of_tokenizers(bert, fields, expected):
    change(bert / "tokenizer_config.json", **fields)
    for check in (check_model, check_tokenizer):
        assert f"{bert}/tokenizer_config.json: {expected}" in refused(check, bert)


def test_texts_that_no_tokenizer_needs_are_left_out(bert):
    change(bert / "tokenizer_config.json", other="text", flag=True, chat_template="{{ 1 }}")
    read = load_tokenizer(bert).init_kwargs
    assert read["flag"] is True and {"other", "chat_template"}.isdisjoint(read)


def test_special_tokens_are_no_arguments(bert):
    change(bert / "special_tokens_map.json", vocab_file="/etc/passwd")
    assert "special_tokens_map.json: field 'vocab_file'; expected special tokens" in refused(
        check_model, bert
    )


def test_added_tokens_have_ids(bert):
    (bert / "added_tokens.json").write_text('{"a": "b"}')
    assert "added_tokens.json: field 'a' is 'b', expected a whole number" in refused(check_model, bert)


def test_a_tokenizer_alone_is_named_by_its_settings(bert):
    """A tokenizer.json does not name its class, which AutoTokenizer would guess from the folder's name."""
    for name in ("config.json", "tokenizer_config.json"):
        (bert / name).unlink()
    assert "nothing says which tokenizer this is; expected tokenizer_config.json" in refused(
        check_tokenizer, bert
    )
    (bert / "tokenizer.json").unlink()
    assert "no tokenizer in it; expected tokenizer.json" in refused(check_tokenizer, bert)


def test_ids_without_vectors(bert):
    from data_prep.model_folders.loading import check_ids

    tokenizer, (model, _) = load_tokenizer(bert), load_model(bert)
    check_ids(tokenizer, model, bert)
    tokenizer.add_tokens(["new"])
    with pytest.raises(
        InputError, match=rf"ids up to {len(tokenizer) - 1}, and the model {len(tokenizer) - 1} vectors"
    ):
        check_ids(tokenizer, model, bert)


def test_an_adapter_in_the_folder_of_a_model(bert):
    (bert / "adapter_config.json").write_text(
        '{"peft_type": "LORA", "base_model_name_or_path": "/elsewhere"}'
    )
    assert "adapter_config.json: an adapter in the folder of a model" in refused(check_model, bert)


# --- modules


def modules_of(folder: Path) -> list[dict]:
    return json.loads((folder / "modules.json").read_text())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("own.Pooling", "a module of type 'own.Pooling'"),
        ("sentence_transformers.util.http_get", "a module of type 'sentence_transformers.util.http_get'"),
        ("sentence_transformers.own.Pooling", "a module of type 'sentence_transformers.own.Pooling'"),
        ("sentence_transformers.models.Router", "a module of type 'sentence_transformers.models.Router'"),
        ("sentence_transformers.models.WordEmbeddings", "a module of type"),
    ],
)
def test_classes_of_modules(whole, kind, expected):
    modules = modules_of(whole)
    modules[1]["type"] = kind
    (whole / "modules.json").write_text(json.dumps(modules))
    assert f"{whole}/modules.json: {expected}" in refused(check_modules, whole)


@pytest.mark.parametrize("path", ["/etc", "..", "../x", "a/b", "."])
def test_paths_of_modules(whole, path):
    modules = modules_of(whole)
    modules[1]["path"] = path
    (whole / "modules.json").write_text(json.dumps(modules))
    assert f"{whole}/modules.json: field '[1].path' is {path!r}; expected a plain name" in refused(
        check_modules, whole
    )


def test_a_dense_layer_without_a_folder(whole):
    """Its settings are then the model's own, where nobody would look for an activation."""
    modules = modules_of(whole)
    modules[2]["path"] = ""
    (whole / "modules.json").write_text(json.dumps(modules))
    change(whole / "config.json", activation_function="torch.hub.list")
    assert "config.json: no such file; expected the settings of the module Dense" in refused(
        check_modules, whole
    )


@pytest.mark.parametrize("drop", [[1], [0], [0, 1, 2, 3]])
def test_no_vector_of_a_sentence(whole, drop):
    modules = [module for number, module in enumerate(modules_of(whole)) if number not in drop]
    (whole / "modules.json").write_text(json.dumps(modules))
    assert "modules.json: has the modules " in refused(check_modules, whole)


def test_modules_in_another_order(whole):
    modules = modules_of(whole)
    (whole / "modules.json").write_text(json.dumps([modules[number] for number in (0, 2, 1, 3)]))
    assert "expected Transformer in front of Pooling" in refused(check_modules, whole)


@pytest.mark.parametrize(
    "name",
    [
        "torch.hub.list",
        "torch.nn.modules.activation.F",
        "os.system",
        "torch.nn.modules.activation.Threshold",
        3,
    ],
)
def test_activations(whole, name):
    change(whole / "2_Dense/config.json", activation_function=name)
    assert f"2_Dense/config.json: activation_function {name!r}" in refused(check_modules, whole)


TRANSFORMER, WHOLE = "sentence_bert_config.json", "config_sentence_transformers.json"


@pytest.mark.parametrize(
    ("file", "fields", "expected"),
    [
        ("2_Dense/config.json", {"module_input_name": "token_embeddings"}, "'module_input_name' is 'token_"),
        ("1_Pooling/config.json", {"embedding_dimension": "x"}, "field 'embedding_dimension' is 'x'"),
        (TRANSFORMER, {"max_seq_length": 0}, "field 'max_seq_length' is 0; expected a number of tokens"),
        (TRANSFORMER, {"max_seq_length": "x"}, "field 'max_seq_length' is 'x', expected a whole number"),
        (TRANSFORMER, {"model_args": {"attn_implementation": "a/b"}}, "field 'model_args' is "),
        (TRANSFORMER, {"tokenizer_args": {"trust_remote_code": True}}, "field 'trust_remote_code' asks"),
        (TRANSFORMER, {"transformer_task": "fill-mask"}, "field 'transformer_task' is 'fill-mask'"),
        (TRANSFORMER, {"modality_config": {"text": {"method": "save"}}}, "field 'modality_config'"),
        (WHOLE, {"model_type": "SparseEncoder"}, "field 'model_type' is 'SparseEncoder'"),
        (WHOLE, {"prompts": {"a": 3}}, "field 'prompts.a' is 3"),
        (WHOLE, {"default_prompt_name": "x"}, "field 'default_prompt_name' is 'x', which is not"),
    ],
)
def test_settings_of_modules(whole, file, fields, expected):
    change(whole / file, **fields)
    message = refused(check_modules, whole)
    assert message.startswith(f"{whole / file}: ") and expected in message


# --- adapters


@pytest.fixture(scope="module")
def lora(tmp_path_factory) -> Path:
    """An adapter as peft saves it, which no test may change."""
    from peft import LoraConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    base = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=1, n_head=2))
    folder = tmp_path_factory.mktemp("lora")
    base.save_pretrained(folder / "base")
    settings = LoraConfig(task_type="CAUSAL_LM", r=2, init_lora_weights=False, fan_in_fan_out=True)
    get_peft_model(base, settings).save_pretrained(folder / "adapter")
    return folder


@pytest.fixture
def adapter(lora, tmp_path) -> Path:
    return shutil.copytree(lora / "adapter", tmp_path / "adapter")


def adapted(lora: Path, adapter: Path):
    from transformers import GPT2LMHeadModel

    from data_prep.model_folders.adapters import load_adapter

    return load_adapter(GPT2LMHeadModel.from_pretrained(lora / "base"), adapter, is_trainable=False)


def test_an_adapter_is_added(lora, adapter):
    from peft import PeftModel
    from transformers import GPT2LMHeadModel

    change(adapter / "adapter_config.json", base_model_name_or_path="/nowhere", revision="x")
    tokens = torch.tensor([[1, 2, 3]])
    base = GPT2LMHeadModel.from_pretrained(lora / "base").eval()
    plain = base(tokens).logits
    expected = PeftModel.from_pretrained(base, lora / "adapter").eval()(tokens).logits
    assert adapted(lora, adapter).eval()(tokens).logits.equal(expected) and not expected.equal(plain)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"peft_type": "LOHA"}, "field 'peft_type' is 'LOHA', expected 'LORA'"),
        ({"megatron_config": {"a": 1}}, "field 'megatron_config' asks for code"),
        ({"corda_config": {"cache_file": "x.pt"}}, "field 'corda_config' is "),
        ({"init_lora_weights": "pissa"}, "field 'init_lora_weights' is 'pissa'"),
        ({"loftq_config": {"a": 1}}, "field 'loftq_config' is "),
        ({"something_new": True}, "field 'something_new' is True; expected a plain LoRA adapter"),
        ({"r": "x"}, "field 'r' is 'x', expected a whole number"),
        ({"target_modules": {"a": 1}}, "field 'target_modules' is "),
    ],
)
def test_settings_of_adapters(adapter, fields, expected):
    change(adapter / "adapter_config.json", **fields)
    assert f"{adapter}/adapter_config.json: {expected}" in refused(check_adapter, adapter)


@pytest.mark.parametrize(("keep", "count"), [(0, "2 of 2"), (1, "1 of 2")])
def test_an_adapter_that_lacks_weights_is_not_the_model_as_it_is(lora, adapter, keep, count):
    path = adapter / "adapter_model.safetensors"
    weights = load_file(path)
    assert len(weights) == 2
    save_file(dict(sorted(weights.items())[:keep]), path)
    with pytest.raises(
        InputError, match=rf"adapter_model\.safetensors: lacks weights: {count}, the first is base_model"
    ):
        adapted(lora, adapter)


def test_an_adapter_with_weights_of_another_model(lora, adapter):
    path = adapter / "adapter_model.safetensors"
    save_file(load_file(path) | {"base_model.model.other.lora_A.weight": torch.zeros(2, 8)}, path)
    with pytest.raises(
        InputError, match=r"has weights of another model: 1 of 2, the first is base_model\.model\.other"
    ):
        adapted(lora, adapter)


# --- folders of any kind


def test_a_folder_is_what_it_looks_like(bert, whole, adapter):
    assert set(check_folder(bert).files) < set(check_folder(whole).files)
    assert set(check_folder(adapter).files) == {"adapter_config.json", "adapter_model.safetensors"}
    assert "no such folder" in refused(check_folder, bert / "config.json")


def test_the_page_lists_what_is_allowed():
    page = (Path(data_prep.__file__).parents[1] / "docs/security.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^Types of models: `([^`]+)`", page, flags=re.M)
    assert set(re.split(r"[,\s]+", listed)) == MODEL_TYPES
