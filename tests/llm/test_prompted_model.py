"""Adapters and models of strangers: nothing in them is run, and what does not fit is one line."""

import json
import pickle
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from command_line.errors import InputError
from command_line.option_classes import from_arguments
from llm.prompted_model import PromptedModel
from tests.llm.tiny_model import write_bloom
from tests.our_commands import parse_command


def prompted(bloom: Path, *words) -> PromptedModel:
    given = ("translate", "--model", bloom, "--data", "data", "--output", "out", "--cpu", *words)
    return from_arguments(PromptedModel, parse_command(["python", "-m", "llm", *map(str, given)]))


@pytest.fixture
def adapter(tuned, tmp_path) -> Path:
    return shutil.copytree(tuned / "stage-1", tmp_path / "stranger")


class Harm:
    """Leaves a file where it is read."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def write_harm(module: Path, harm: Path) -> None:
    """A module that leaves a file where it is imported."""
    module.write_text(f"import pathlib\npathlib.Path({str(harm)!r}).touch()\n")


def test_an_adapter_that_is_pickled_is_refused_unread(bloom, adapter, tmp_path):
    (adapter / "adapter_model.safetensors").unlink()
    (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Harm(tmp_path / "harm")))
    with pytest.raises(InputError, match=r"adapter_model\.safetensors: no such file; expected an adapter"):
        prompted(bloom, "--tuned", adapter).load()
    assert not (tmp_path / "harm").exists()


def test_beside_safe_weights_pickled_ones_are_not_read(bloom, adapter, tmp_path):
    (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Harm(tmp_path / "harm")))
    prompted(bloom, "--tuned", adapter).load()
    assert not (tmp_path / "harm").exists()


def test_a_model_that_is_pickled_is_refused_unread(bloom, tmp_path):
    folder = shutil.copytree(bloom, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Harm(tmp_path / "harm")))
    with pytest.raises(InputError, match=r"pytorch_model\.bin: weights in a format that can run code"):
        prompted(folder).load()
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("name", "auto_map"),
    [
        ("config.json", {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}),
        ("tokenizer_config.json", {"AutoTokenizer": ["own.Own", "own.Own"]}),
    ],
)
def test_code_that_a_model_brings_is_not_run(bloom, tmp_path, name, auto_map):
    folder = shutil.copytree(bloom, tmp_path / "with-code")
    settings = json.loads((folder / name).read_text()) | {"auto_map": auto_map}
    if name == "config.json":
        settings["model_type"] = "own"
    (folder / name).write_text(json.dumps(settings))
    with pytest.raises(InputError, match=rf"with-code/{name}: field 'auto_map' asks for code"):
        prompted(folder).load()
    write_harm(folder / "own.py", tmp_path / "harm")
    with pytest.raises(
        InputError, match=r"with-code/own\.py: code in a folder of a model, which is never run"
    ):
        prompted(folder).load()
    assert not (tmp_path / "harm").exists()


def test_code_that_an_adapter_names_is_not_run(bloom, adapter, tmp_path, monkeypatch):
    """peft imports the module, if it is one of those that it allows itself."""
    write_harm(tmp_path / "own.py", tmp_path / "harm")
    monkeypatch.syspath_prepend(tmp_path)
    config = adapter / "adapter_config.json"
    settings = json.loads(config.read_text()) | {"megatron_config": {"a": 1}, "megatron_core": "own"}
    config.write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"adapter_config\.json: field 'megatron_config' asks for code"):
        prompted(bloom, "--tuned", adapter).load()
    assert not (tmp_path / "harm").exists()


def test_a_model_without_its_tokenizer(bloom, tmp_path):
    folder = shutil.copytree(bloom, tmp_path / "alone")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"^--model .*/alone: no tokenizer in it; save_pretrained"):
        prompted(folder).load()


def test_an_adapter_without_its_library_is_one_line(bloom, adapter, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(InputError, match=r"^--tuned .*: peft is not installed; pip install '\.\[llm\]'$"):
        prompted(bloom, "--tuned", adapter).load()


@pytest.mark.parametrize("change", ["width", "layers", "names"])
def test_an_adapter_of_another_model_is_one_line(bloom, adapter, tmp_path, change):
    model, expected = bloom, "not a model of adapters of peft|field 'peft_type' is missing"
    if change == "width":
        model = write_bloom(tmp_path / "other", ["a"], 300, width=16, layers=1)
    elif change == "layers":
        config = json.loads((adapter / "adapter_config.json").read_text())
        (adapter / "adapter_config.json").write_text(json.dumps(config | {"target_modules": ["q_proj"]}))
    else:
        (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match=expected) as found:
        prompted(model, "--tuned", adapter).load()
    assert "\n" not in str(found.value) and str(adapter) in str(found.value)


def test_an_adapter_is_of_the_weights_that_were_tuned(bloom, tuned, tuned_whole, tmp_path):
    """Others of the same shape give no error but nonsense; the same in another place are the same."""
    copied = shutil.copytree(bloom, tmp_path / "copied")
    prompted(copied, "--tuned", tuned).load()
    other = write_bloom(tmp_path / "other", ["a"], 300, width=8, layers=1)
    weights = load_file(bloom / "model.safetensors")
    save_file(
        {name: weight + 1 for name, weight in weights.items()}, copied / "model.safetensors", {"format": "pt"}
    )
    for model in (copied, other):
        with pytest.raises(InputError) as found:
            prompted(model, "--tuned", tuned).load()
        assert str(found.value) == (
            f"--model {model}: its weights are not those that {tuned} was tuned on, {bloom}; give that model,"
            f" or, if they are the same in other files, --tuned {tuned}/stage-1"
        )
    prompted(copied, "--tuned", tuned / "stage-1").load()
    prompted(copied, "--tuned", tuned_whole).load()  # of which it takes nothing but the name


def test_it_is_loaded_as_it_was_tuned(bloom, tuned, tuned_whole):
    """An adapter is merged into the weights; without one the weights are those of the last stage."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    tokens = torch.tensor([[5, 6, 7, 8]])
    plain = AutoModelForCausalLM.from_pretrained(bloom).eval()
    with torch.inference_mode():
        expected = [
            plain(tokens).logits,
            AutoModelForCausalLM.from_pretrained(tuned_whole / "stage-1").eval()(tokens).logits,
            PeftModel.from_pretrained(plain, tuned / "stage-1").eval()(tokens).logits,
        ]
        for words, scores in zip(((), ("--tuned", tuned_whole), ("--tuned", tuned)), expected, strict=True):
            model, _ = prompted(bloom, *words).load()
            assert not model.training
            torch.testing.assert_close(model(tokens).logits, scores)
    assert not torch.allclose(expected[0], expected[1]) and not torch.allclose(expected[0], expected[2])


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_rounds_once_behind_the_sum(bloom, tuned, precision):
    """The product of an adapter is float32, as it was beside the weights in tuning."""
    name = "transformer.h.0.self_attention.query_key_value"
    layer = "base_model.model." + name
    weights = load_file(tuned / "stage-1/adapter_model.safetensors")
    product = weights[f"{layer}.lora_B.weight"] @ weights[f"{layer}.lora_A.weight"] * (32 / 4)
    kind = getattr(torch, precision)
    before = load_file(bloom / "model.safetensors")[f"{name}.weight"].to(kind)
    model, _ = prompted(bloom, "--tuned", tuned, "--precision", precision).load()
    weight = model.get_submodule(name).weight
    assert weight.equal((before.float() + product).to(kind))
    assert not weight.equal(before + product.to(kind))


def test_what_output_depends_on(bloom, tuned, tuned_whole):
    files = {kind: prompted(bloom, *words).files() for kind, words in
             (("plain", ()), ("tuned", ("--tuned", tuned)), ("whole", ("--tuned", tuned_whole)))}  # fmt: skip
    assert set(files["plain"]) < set(files["tuned"])
    assert {tuned / "tuning.json", tuned / "stage-1/adapter_model.safetensors"} < set(files["tuned"])
    assert bloom / "model.safetensors" not in files["whole"]
    assert {tuned_whole / "tuning.json", tuned_whole / "stage-1/model.safetensors"} < set(files["whole"])
