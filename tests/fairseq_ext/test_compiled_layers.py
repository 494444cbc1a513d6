"""`--compile`: the same model, whose layers torch.compile has seen."""

import pytest
import torch
from torch import nn

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.compiled_layers import compile_layers
from fairseq_ext.modules.transformer_layers import Layer
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.models import build, random_batch, toy_dictionary


def gradients(model: nn.Module, batches: list[dict]) -> dict[str, torch.Tensor]:
    model.train()
    for batch in batches:
        model(**batch["net_input"])[0].float().log_softmax(-1)[..., 0].sum().backward()
    return {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_compiled_model_is_the_same(placement):
    dictionary = toy_dictionary()
    plain, compiled = (build(MnmtTransformerModel, dictionary, norm_placement=placement) for _ in range(2))
    compile_layers(compiled, backend="eager")
    batches = [random_batch(dictionary), random_batch(dictionary, lengths=((9, 2), (3, 3)))]
    expected, found = gradients(plain, batches), gradients(compiled, batches)
    assert expected.keys() == found.keys()
    for name, each in expected.items():
        torch.testing.assert_close(found[name], each, msg=lambda text, name=name: f"{name}: {text}")
    assert compiled.state_dict().keys() == plain.state_dict().keys()


def test_graphs_are_whole_and_shared():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    dictionary = toy_dictionary()
    torch._dynamo.reset()
    model = build(MnmtTransformerModel, dictionary).train()
    compile_layers(model, backend=backend)
    for lengths in (((7, 5), (4, 6)), ((9, 3), (2, 8), (5, 4)), ((12, 11),)):
        model(**random_batch(dictionary, lengths=lengths)["net_input"])
    layers = sum(isinstance(module, Layer) for module in model.modules())
    assert 0 < len(graphs) < layers * 3  # not one per layer and batch


@pytest.mark.parametrize("wanted", [True, False])
def test_a_search_compiles_nothing(tmp_path, wanted):
    """Its caches grow with every token."""
    folder, compiled = write_toy_folder(tmp_path / "data"), []
    cfg = MultilingualNmtConfig(data=str(folder), lang_pairs="de-en", compile=wanted)
    cfg.update_freq, cfg.train_subset, cfg.seed, cfg.max_update = [1], "train", 1, 0
    task = MultilingualNmtTask.setup_task(cfg)
    torch._dynamo.reset()

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    model = build(MnmtTransformerModel, task.source_dictionary).eval()
    compile_layers(model, backend=backend)

    class Generator:
        def generate(self, models, sample, **options):
            models[0].encoder(sample["net_input"]["src_tokens"])

    batch = {"net_input": {"src_tokens": torch.tensor([[7, 8, 2]])}}
    task.inference_step(Generator(), [model], batch, prefix_tokens=torch.ones(1, 0, dtype=torch.long))
    assert bool(compiled) != wanted


def test_a_model_without_our_layers_is_refused():
    with pytest.raises(InputError, match="--compile: the model has no layer of this project"):
        compile_layers(nn.Sequential(nn.Linear(2, 2)))


@pytest.mark.parametrize(
    "wanted, from_checkpoint, compiled", [(True, False, True), (True, True, False), (False, False, False)]
)
def test_only_a_training_compiles(tmp_path, monkeypatch, wanted, from_checkpoint, compiled):
    """A checkpoint of such a training is read by all commands as it is."""
    folder = write_toy_folder(tmp_path / "data")
    cfg = MultilingualNmtConfig(data=str(folder), lang_pairs="de-en", compile=wanted)
    cfg.update_freq, cfg.train_subset, cfg.seed, cfg.max_update = [1], "train", 1, 0
    task = MultilingualNmtTask.setup_task(cfg)
    monkeypatch.setattr(
        "fairseq.models.build_model", lambda *_: build(MnmtTransformerModel, task.source_dictionary)
    )
    model = task.build_model(None, from_checkpoint)
    assert {each._compiled_call_impl is not None for each in model.modules() if isinstance(each, Layer)} == {
        compiled
    }
