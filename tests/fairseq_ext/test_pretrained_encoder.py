"""`--pretrained-encoder` against the library itself; frozen encoders; folders and checkpoints that do not
fit."""

import copy
import dataclasses
import json
import shutil
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from command_line.dispatch import run
from command_line.errors import InputError
from data_prep.__main__ import STEPS
from data_prep.model_folders.libraries import reading
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.axes.record import describe
from fairseq_ext.criterions.weighted_losses import WeightedLosses, WeightedLossesConfig
from fairseq_ext.inference import load_for_inference
from fairseq_ext.losses.weighted_loss import vectors_of
from fairseq_ext.models.pretrained_configuration import config_of
from fairseq_ext.models.pretrained_encoder import data_tokenizer
from tests.data_prep.tokenizer_folders import KINDS, TEXT
from tests.fairseq_ext.models import SIZES
from tests.fairseq_ext.test_checkpoints import save

WIDTH, LAYERS = 16, 3


def write_model(folder: Path, kind: str, **changes) -> Path:
    """A tokenizer, and an encoder of random weights that is large enough for it."""
    import transformers

    KINDS[kind](folder)
    with reading(folder, "transformers"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sizes = {
        "vocab_size": len(tokenizer), "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 40,
        "pad_token_id": tokenizer.pad_token_id, "hidden_dropout_prob": 0.3,
    }  # fmt: skip
    name = {"bert": "Bert", "xlmr": "XLMRoberta"}[kind]
    torch.manual_seed(5)
    config = getattr(transformers, f"{name}Config")(**sizes | changes)
    getattr(transformers, f"{name}Model")(config).save_pretrained(folder)
    return folder


def write_data(root: Path, folder: Path, *subword: str) -> Path:
    (root / "raw").mkdir(exist_ok=True)
    for split in ("train", "valid"):
        for language in ("de", "en"):
            (root / f"raw/{split}.de-en.{language}").write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    given = ["--input", root / "raw", "--output", root / "sub", "--tokenizer", folder, *subword]
    binarize = ["--input", root / "sub", "--text", root / "raw", "--output", root / "data"]
    for words in (["subword", *given], ["binarize", *binarize]):
        assert run("data_prep", "", STEPS, [*map(str, words), "--workers", "1"]) == 0
    return root / "data"


@pytest.fixture(scope="module", params=["bert", "xlmr"])
def world(request, tmp_path_factory):
    """A folder of transformers, and data of its tokenizer."""
    root = tmp_path_factory.mktemp(request.param)
    folder = write_model(root / "model", request.param)
    return folder, write_data(root, folder)


@pytest.fixture(scope="module")
def xlmr(tmp_path_factory):
    root = tmp_path_factory.mktemp("xlmr")
    folder = write_model(root / "model", "xlmr")
    return folder, write_data(root, folder, "--only-used")


def task_of(data: Path):
    from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask

    return SentenceEmbeddingTask.setup_task(SentenceEmbeddingConfig(data=str(data), pairs="de-en"))


def build(folder, data, **given):
    """Task, model and options of a training that starts from a folder."""
    task = task_of(data)
    args = Namespace(
        _name="sentence_encoder", arch="sentence_encoder", pretrained_encoder=str(folder), **given
    )
    return task, task.build_model(args).eval(), args


def batch_of(task, data):
    """What the encoder reads of the text, padded on the right."""
    subwords = data_tokenizer(str(data))
    rows = [
        task.dictionary.encode_line(subwords.segment(line), add_if_not_exist=False).long() for line in TEXT
    ]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=task.dictionary.pad())


def theirs(folder, **given):
    """Hidden states of the library, of all lines, and the mask."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    inputs = tokenizer(TEXT, padding=True, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        output = model(**inputs, output_hidden_states=True)
    return output, inputs["attention_mask"].unsqueeze(2)


@pytest.mark.parametrize("layer", [0, 2, 3])
def test_a_layer_is_that_of_the_library(world, layer):
    folder, data = world
    task, model, _ = build(folder, data, pooling_layer=str(layer))
    found = vectors_of(model(batch_of(task, data)))
    output, mask = theirs(folder)
    expected = (output.hidden_states[layer] * mask).sum(1) / mask.sum(1)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    trained = {name for name, one in model.named_parameters() if one.requires_grad}
    assert any(f"layer.{layer - 1}." in name for name in trained) == (layer > 0)
    assert not any(f"layer.{layer}." in name for name in trained)


def test_poolings_and_checkpointed_states(world):
    folder, data = world
    output, mask = theirs(folder)
    task, model, _ = build(folder, data, pooling="cls", checkpoint_activations=True)
    assert model.encoder.model.is_gradient_checkpointing
    tokens = batch_of(task, data)
    torch.testing.assert_close(
        vectors_of(model(tokens)), output.last_hidden_state[:, 0], atol=1e-5, rtol=1e-4
    )
    _, model, _ = build(folder, data, pooling="pooler")
    torch.testing.assert_close(vectors_of(model(tokens)), output.pooler_output, atol=1e-5, rtol=1e-4)
    _, model, _ = build(folder, data, pooling="sum", pooling_layer="mix")
    expected = sum((states * mask).sum(1) for states in output.hidden_states) / (LAYERS + 1)
    torch.testing.assert_close(vectors_of(model(tokens)), expected, atol=1e-4, rtol=1e-4)


def test_the_mean_of_words_is_that_of_the_library(world):
    """Neither of the symbol in front of a sentence nor of that behind it."""
    folder, data = world
    output, mask = theirs(folder)
    task, model, _ = build(folder, data, pooling_without_eos=True)
    rows = zip(output.last_hidden_state, mask.sum(dim=(1, 2)).tolist(), strict=True)
    expected = torch.stack([states[1 : length - 1].mean(dim=0) for states, length in rows])
    torch.testing.assert_close(vectors_of(model(batch_of(task, data))), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("layer", ["2", "average"])
def test_sums_of_layers_are_pooled_as_the_states_of_the_library(world, pooling, layer):
    """What stands in front of a sentence is one of its tokens."""
    folder, data = world
    output, mask = theirs(folder)
    chosen = output.hidden_states[2:3] if layer == "2" else output.hidden_states
    expected = sum((states * mask).sum(dim=1) for states in chosen) / len(chosen)
    if pooling == "mean":
        expected = expected / mask.sum(dim=1)
    task, model, _ = build(folder, data, pooling=pooling, pooling_layer=layer)
    tokens = batch_of(task, data)
    found = model.encoder(tokens, layer_sums=model.encoder.sums_of_layers(tokens))["sentence_vectors"]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_states_that_are_computed_again_give_the_same_gradients(world):
    """Of all parameters, with dropout."""
    folder, data = world
    found = []
    for checkpointed in (True, False):
        task, model, _ = build(folder, data, pooling_layer="mix", checkpoint_activations=checkpointed)
        assert model.encoder.model.is_gradient_checkpointing == checkpointed
        torch.manual_seed(3)
        vectors_of(model.train()(batch_of(task, data))).pow(2).sum().backward()
        found.append({name: one.grad for name, one in model.named_parameters() if one.grad is not None})
    again, stored = found
    assert again.keys() == stored.keys() == {n for n, one in model.named_parameters() if one.requires_grad}
    for name, gradient in stored.items():
        torch.testing.assert_close(again[name], gradient, msg=name)
        assert gradient.abs().sum() > 0 or "key.bias" in name, name  # softmax is blind to those


def test_a_used_part_of_the_vocabulary_reads_the_same(xlmr):
    folder, data = xlmr
    task, model, _ = build(folder, data)
    output, mask = theirs(folder)
    expected = (output.last_hidden_state * mask).sum(1) / mask.sum(1)
    torch.testing.assert_close(vectors_of(model(batch_of(task, data))), expected, atol=1e-5, rtol=1e-4)


def test_the_folder_that_is_saved_gives_the_same_vectors(xlmr, tmp_path):
    folder, data = xlmr
    task, model, _ = build(folder, data)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    model.encoder.save_pretrained(tmp_path / "saved", data_tokenizer(str(data)))
    found = vectors_of(model(batch_of(task, data)))
    output, mask = theirs(tmp_path / "saved")
    torch.testing.assert_close(
        found, (output.last_hidden_state * mask).sum(1) / mask.sum(1), atol=1e-5, rtol=1e-4
    )
    _, again, _ = build(tmp_path / "saved", data)
    for (name, one), other in zip(again.state_dict().items(), model.state_dict().values(), strict=True):
        if "embed_tokens" not in name:
            assert torch.equal(one, other), name


def state_of(task, model, args) -> dict:
    config = {"_name": "sentence_embedding", "max_source_positions": 40, "max_target_positions": 40}
    return {
        "args": None, "cfg": {"model": copy.deepcopy(args), "task": config, "common": {"seed": 1}},
        "model": model.state_dict(), "task_state": task.state_dict(), "extra_state": {},
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "last_optimizer_state": None,
    }  # fmt: skip


def test_a_checkpoint_needs_no_folder(xlmr, tmp_path):
    folder, data = xlmr
    task, model, args = build(folder, data, sentence_width=6)
    state = state_of(task, model, args)
    state["cfg"]["model"].pretrained_encoder = str(tmp_path / "nothing")
    loaded = load_for_inference(save(tmp_path / "model.pt", state), data, translates=False)
    tokens = batch_of(task, data)
    torch.testing.assert_close(vectors_of(loaded.model(tokens)), vectors_of(model(tokens)))
    record = loaded.system()
    assert record["token_encoder"] == "xlm-roberta"
    assert "xlm-roberta, mean pooling (sentence width 6)" in record["name"]
    assert record["initialization"]["file"] == "model/model.safetensors"
    assert len(record["initialization"]["sha256"]) == 64


def test_a_checkpoint_of_another_tokenizer(xlmr, tmp_path):
    folder, data = xlmr
    state = state_of(*build(folder, data))
    state["cfg"]["model"].token_encoder_checksum = "0" * 64
    with pytest.raises(
        InputError, match="its tokenizer is not that of the checkpoint; use the folder of its"
    ):
        load_for_inference(save(tmp_path / "model.pt", state), data, translates=False)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"model_type": "detr"}, "of the kind 'detr'; expected an encoder of text"),
        ({"model_type": "bart", "is_encoder_decoder": True}, "bart is no encoder alone"),
        ({"auto_map": "x--y.Z"}, "field 'auto_map' is not expected in a configuration of plain values"),
        ({"attn_implementation": "a/kernel"}, "field 'attn_implementation' is not expected"),
        ({"backbone_config": {"model_type": "timm"}}, "field 'backbone_config' is not expected"),
        ({"a": [{"auto_map": "x--y.Z"}]}, "field 'a' is not expected"),
        ({"_attn_implementation": "a/kernel"}, "field '_attn_implementation' is not expected"),
        ({"languages": ["en"] * 2000}, "field 'languages' is not expected"),
        ({"attention_window": [10**9]}, "field 'attention_window' is 1000000000; expected at most"),
        ({"model_type": ["bert"]}, "of the kind \"['bert']\"; expected an encoder of text"),
        (
            {"max_position_embeddings": 10**9},
            "field 'max_position_embeddings' is 1000000000; expected at most",
        ),
        (
            {"num_hidden_layers": 4},
            "option token_encoder has encoder_layers 4, the options have 3; expected the",
        ),
    ],
)
def test_configurations_of_strangers(xlmr, tmp_path, change, line):
    folder, data = xlmr
    state = state_of(*build(folder, data))
    given = state["cfg"]["model"]
    given.token_encoder = json.dumps(json.loads(given.token_encoder) | change)
    with pytest.raises(InputError) as found:
        load_for_inference(save(tmp_path / "model.pt", state), data, translates=False)
    assert line in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("text", ["", "[1]", "{", '"bert"', "null"])
def test_configurations_that_are_none(text):
    with pytest.raises(InputError):
        config_of(text)


def test_folders_that_do_not_fit(xlmr, tmp_path):
    folder, data = xlmr

    def refused(path, **given) -> str:
        with pytest.raises(InputError) as found:
            build(path, data, **given)
        assert "\n" not in str(found.value)
        return str(found.value)

    assert "--pretrained-encoder /nothing: no such folder" in refused("/nothing")
    (tmp_path / "empty").mkdir()
    assert "no weights in it, expected model.safetensors" in refused(tmp_path / "empty")
    assert "--pooling-layer 9: expected top, mix, average or a number from 0 to 3" in refused(
        folder, pooling_layer="9"
    )
    other = write_model(tmp_path / "other", "bert")
    assert f"{data}: its tokenizer is not that of --pretrained-encoder {other}; expected the text" in refused(
        other
    )
    shutil.copytree(folder, tmp_path / "code")
    config = tmp_path / "code/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"auto_map": {"AutoModel": "evil.Model"}}))
    assert "field 'auto_map' asks for code" in refused(tmp_path / "code")
    from tests.fairseq_ext.folders import write_preparation, write_toy_folder

    toy = write_toy_folder(tmp_path / "toy")
    write_preparation(toy)
    with pytest.raises(
        InputError, match="its subwords are not those of a tokenizer of transformers; expected"
    ):
        data_tokenizer(str(toy), folder)
    small = write_model(tmp_path / "small", "xlmr", vocab_size=60)
    assert "embeddings end before 60; expected a model with its own tokenizer" in refused(small)


@pytest.mark.parametrize("pretrained", [True, False])
def test_a_frozen_encoder_is_bit_equal_after_training(xlmr, pretrained):
    folder, data = xlmr
    task = task_of(data)
    given = {"pretrained_encoder": str(folder)} if pretrained else {**SIZES, "decoder_layers": 0}
    args = Namespace(arch="sentence_encoder", freeze_encoder=True, pooling_layer="mix", sentence_width=6,
                     dropout=0.4, **given)  # fmt: skip
    model = task.build_model(args).train()
    before = copy.deepcopy(model.state_dict())
    tokens = batch_of(task, data)
    first, second = (vectors_of(model(tokens)) for _ in range(2))
    assert torch.equal(first, second)  # no dropout
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        vectors_of(model(tokens)).pow(2).sum().backward()
        optimizer.step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    own = {"encoder.layer_weights", "encoder.sentence_map.weight", "encoder.sentence_map.bias"}
    assert changed == own == {name for name, one in model.named_parameters() if one.grad is not None}


def test_the_pooler_of_a_folder_is_fixed_below_a_trained_map(xlmr):
    """3.2.2: nothing is trained but the dense layer that is new; of a new pooler both are."""
    frozen = {"freeze_encoder": True, "pooling": "pooler", "sentence_width": 6}
    own = {"encoder.sentence_map.weight", "encoder.sentence_map.bias"}
    pooler = {"encoder.pooler.weight", "encoder.pooler.bias"}
    for given, expected in (
        (frozen, own),
        ({**frozen, "pooler_width": 7}, own | pooler),
        ({**frozen, "sentence_width": None}, pooler),
    ):
        _, model, _ = build(*xlmr, **given)
        assert {name for name, one in model.named_parameters() if one.requires_grad} == expected


def test_systems_differ_in_name():
    """By what is frozen, and by the kind of encoder."""
    usual = Namespace(arch="sentence_encoder", _name="sentence_encoder", pooling="mean", **SIZES)
    given = [{}, {"freeze_encoder": True}, {"token_encoder": json.dumps({"model_type": "bert"})}]
    names = {
        describe({"model": Namespace(**vars(usual) | one), "common": {"seed": 1}}, "none")["name"]
        for one in given
    }
    assert len(names) == 3


def train(folder, data, output, *others: str) -> None:
    """fairseq's own command."""
    from fairseq_cli.train import main

    words = [
        str(data), "--user-dir", "fairseq_ext", "--task", "sentence_embedding", "--pairs", "de-en",
        "--arch", "sentence_encoder", "--pretrained-encoder", str(folder), "--freeze-encoder",
        "--sentence-width", "6", "--criterion", "weighted_losses", "--optimizer", "fused_adam",
        "--lr", "1e-2", "--batch-size", "4", "--cpu", "--save-dir", str(output),
        "--max-source-positions", "38", "--autocast-bf16", "--disable-validation", *others,
    ]  # fmt: skip
    main(convert_namespace_to_omegaconf(options.parse_args_and_arch(options.get_training_parser(), words)))


def test_trains_and_goes_on_from_its_checkpoint(xlmr, tmp_path):
    """The second training has the checkpoint that the first one left."""
    folder, data = xlmr
    for updates in ("2", "3"):
        train(folder, data, tmp_path, "--losses", "additive_margin", "--max-update", updates)
    loaded = load_for_inference(tmp_path / "checkpoint_last.pt", data, translates=False)
    assert loaded.state["optimizer_history"][-1]["num_updates"] == 3
    _, start, _ = build(folder, data)
    found = loaded.model.state_dict()
    for name, tensor in start.state_dict().items():
        assert torch.equal(found.pop(name), tensor), name
    assert set(found) == {"encoder.sentence_map.weight", "encoder.sentence_map.bias"}  # which are trained
    assert loaded.system()["initialization"]["file"] == "model/model.safetensors"


def test_8_bit_products_are_those_of_the_layers(xlmr, tmp_path):
    """Which have other names than ours."""
    folder, data = xlmr
    train(folder, data, tmp_path, "--losses", "additive_margin", "--max-update", "1")
    encoder = EncoderOptions(tmp_path / "checkpoint_last.pt", model_data=data, cpu=True)
    exact, found = (
        dataclasses.replace(encoder, precision=precision).load().encode(TEXT)
        for precision in ("float32", "int8")
    )
    cosines = (exact * found).sum(axis=1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(found, axis=1)
    assert cosines.min() > 0.9 and abs(exact - found).max() > 0


def gradients_of_global_ranking(task, model, bfloat16: bool) -> tuple[float, dict]:
    """Loss and gradients of a step of fairseq's on BERT-scores, every line with the next one."""
    task.cfg.autocast_bf16, task.cfg.max_update = bfloat16, 0
    given = WeightedLossesConfig(sentence_avg=False, losses="global_ranking")
    criterion = WeightedLosses.build_criterion(given, task)
    assert str(criterion.losses["global_ranking"].options.similarity) == "bert-score"
    tokens = batch_of(task, Path(task.cfg.data))
    source, mirror = ({"src_tokens": side, "src_lengths": side.ne(task.dictionary.pad()).sum(1)}
                      for side in (tokens, tokens.roll(1, 0)))  # fmt: skip
    sample = {"net_input": {**source, "prev_output_tokens": tokens}, "mirror": mirror, "target": tokens,
              "ntokens": tokens.numel(), "nsentences": len(tokens)}  # fmt: skip
    optimizer = SimpleNamespace(backward=lambda loss: loss.backward())
    model.zero_grad()
    loss, *_ = task.train_step(sample, model, criterion, optimizer, 1)
    return loss.item(), {n: one.grad.clone() for n, one in model.named_parameters() if one.grad is not None}


@pytest.mark.parametrize("checkpointed", [False, True])
def test_an_encoder_learns_global_ranking_in_bfloat16(tmp_path, checkpointed):
    """As the recipe of OneAligner trains on a GPU: all of the encoder, by tokens, under autocast."""
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.1}
    folder = write_model(tmp_path / "model", "xlmr", **still)
    task, model, _ = build(folder, write_data(tmp_path, folder), checkpoint_activations=checkpointed)
    (exact, expected), (loss, found) = (gradients_of_global_ranking(task, model, b) for b in (False, True))
    assert loss == pytest.approx(exact, rel=0.01) and loss != exact
    assert found.keys() == expected.keys() == {n for n, one in model.named_parameters() if one.requires_grad}
    for name, gradient in found.items():
        assert gradient.dtype == torch.float32 and gradient.isfinite().all(), name
        if "key.bias" not in name:  # softmax is blind to those
            distance = (gradient - expected[name]).norm() / expected[name].norm()
            assert distance < 0.1, name


def test_a_frozen_encoder_without_anything_above_it(xlmr):
    """Whatever losses have weights of their own."""
    with pytest.raises(
        InputError, match="--freeze-encoder: nothing of the encoder is trained; add --pooling"
    ):
        build(*xlmr, freeze_encoder=True)
    build(*xlmr, freeze_encoder=True, pooling_layer="mix")


def test_a_loss_that_nothing_learns_from(xlmr, tmp_path):
    with pytest.raises(InputError, match="--freeze-encoder: the losses look at nothing that is trained"):
        train(*xlmr, tmp_path, "--losses", "sentence_contrastive", "--max-update", "1")


# --- the head of a masked language model


def language_model_of(world_kind: str, folder: Path):
    """A masked language model in a folder that had an encoder alone, with a bias that is not 0."""
    import transformers

    kind = {"bert": "Bert", "xlm-roberta": "XLMRoberta"}[world_kind]
    torch.manual_seed(6)
    model = getattr(transformers, f"{kind}ForMaskedLM").from_pretrained(folder)
    torch.nn.init.normal_(model.get_output_embeddings().bias)
    model.save_pretrained(folder)
    return model.eval()


def modelling_loss(task):
    cfg = WeightedLossesConfig(losses="translation_language_modelling")
    owner = SimpleNamespace(target_dictionary=task.dictionary, model_sizes=task.model_sizes)
    return WeightedLosses.build_criterion(cfg, owner).losses["translation_language_modelling"]


def test_translation_language_modelling_begins_with_the_scores_of_the_folders_model(world, tmp_path):
    """And with its mask, for every word of the dictionary."""
    given, data = world
    folder = tmp_path / "model"
    shutil.copytree(given, folder)
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    library = language_model_of(kind, folder)
    task, model, _ = build(folder, data, pooling="cls")
    loss = modelling_loss(task)
    ids = model.encoder.tokenizer_ids
    assert loss.mask == (ids == data_tokenizer(str(data)).special["mask"]).nonzero().item()
    tokens = batch_of(task, data)[:1]
    tokens = tokens[tokens.ne(task.dictionary.pad())][None]
    read = torch.cat([torch.full_like(tokens[:, :1], task.dictionary.bos()), tokens], dim=1)
    with torch.no_grad():
        states = model.encoder(tokens)["read_states"][0][:, 0]
        found = torch.nn.functional.linear(loss.head(states), model.encoder.embed_tokens.weight, loss.bias)
        expected = library(ids[read]).logits[0]
    known = ids >= 0
    torch.testing.assert_close(found[:, known], expected[:, ids[known]], atol=1e-4, rtol=1e-4)
    lower = build(folder, data, pooling_layer="2")[1]
    assert lower.encoder.word_head() is None  # what it reads are other states


def test_a_folder_with_an_encoder_alone_has_an_untrained_head(world):
    task, model, _ = build(*world)
    assert model.encoder.word_head() is None
    assert not modelling_loss(task).bias.any()
