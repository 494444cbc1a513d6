"""Low-rank adapters: how many numbers they train, and what they compute."""

import pytest
import torch
import transformers
from safetensors.torch import load_file

from command_line.errors import InputError
from llm.language_model import add_adapter, load_model
from llm.tuning.model import trained_parameters, with_new_adapter
from llm.tuning.options import Lora

THESIS = Lora(8, 32, 0.1, None)  # 6.3.2
TOKENS = torch.tensor([[5, 6, 7, 8, 9], [10, 11, 12, 13, 14]])


@pytest.mark.parametrize(
    ("name", "hidden", "layers", "heads", "millions"),
    [("7b1", 4096, 30, 32, "3.9"), ("3b", 2560, 30, 32, "2.5"), ("1b1", 1536, 24, 16, "1.2")],
)
def test_bloomz_has_as_many_trainable_parameters_as_the_thesis_says(name, hidden, layers, heads, millions):
    config = transformers.BloomConfig(
        vocab_size=250_880, hidden_size=hidden, n_layer=layers, n_head=heads
    )  # fmt: skip
    with torch.device("meta"):
        model = with_new_adapter(transformers.BloomForCausalLM(config), THESIS)
    assert trained_parameters(model) == layers * 8 * (hidden + 3 * hidden)
    assert f"{trained_parameters(model) / 1e6:.1f}" == millions


def test_a_new_adapter_changes_nothing(bloom):
    plain, adapted = load_model(bloom, "float32"), with_new_adapter(load_model(bloom, "float32"), THESIS)
    assert adapted.eval()(TOKENS).logits.equal(plain.eval()(TOKENS).logits)
    trained = {name for name, weight in adapted.named_parameters() if weight.requires_grad}
    assert trained and all("query_key_value.lora_" in name for name in trained)


def test_an_adapter_adds_its_product_scaled_by_alpha_over_rank(bloom, tmp_path):
    """Also the one that is read from its folder."""
    plain = load_model(bloom, "float32").eval()
    adapted = with_new_adapter(load_model(bloom, "float32"), Lora(2, 6.0, 0.1, None)).eval()
    layer = adapted.base_model.model.transformer.h[0].self_attention.query_key_value
    torch.manual_seed(3)
    down, up = torch.randn(2, 8), torch.randn(24, 2)
    layer.lora_A["default"].weight.data.copy_(down)
    layer.lora_B["default"].weight.data.copy_(up)
    adapted.save_pretrained(tmp_path / "adapter")
    weight = plain.transformer.h[0].self_attention.query_key_value.weight
    weight.data += 6.0 / 2 * up @ down
    expected = plain(TOKENS).logits
    torch.testing.assert_close(adapted(TOKENS).logits, expected)
    read = add_adapter(load_model(bloom, "float32"), tmp_path / "adapter").eval()
    torch.testing.assert_close(read(TOKENS).logits, expected)
    torch.testing.assert_close(read.merge_and_unload()(TOKENS).logits, expected)
    assert trained_parameters(add_adapter(load_model(bloom, "float32"), tmp_path / "adapter", True)) == 64


def test_adapters_of_other_layers(bloom, tmp_path):
    model = with_new_adapter(load_model(bloom, "float32"), Lora(2, 6.0, 0.0, ["dense", "dense_h_to_4h"]))
    model.save_pretrained(tmp_path / "adapter")
    names = load_file(tmp_path / "adapter/adapter_model.safetensors")
    assert {name.split(".")[-3] for name in names} == {"dense", "dense_h_to_4h"}


def test_layers_that_the_model_does_not_have(bloom):
    with pytest.raises(InputError, match=r"--lora-modules: .*; expected names of linear layers") as found:
        with_new_adapter(load_model(bloom, "float32"), Lora(2, 6.0, 0.0, ["q_proj"]))
    assert "\n" not in str(found.value)


def test_one_layer_of_several_that_the_model_does_not_have(bloom):
    with pytest.raises(
        InputError, match=r"--lora-modules: 'q_proj' is no layer of the model; expected names"
    ):
        with_new_adapter(load_model(bloom, "float32"), Lora(2, 6.0, 0.0, ["query_key_value", "q_proj"]))


def test_adapters_stay_float32(bloom):
    model = with_new_adapter(load_model(bloom, "bfloat16"), THESIS)
    kinds = {(parameter.requires_grad, parameter.dtype) for parameter in model.parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
