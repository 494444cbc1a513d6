"""Stored sums of layers: training on them is training on the frozen encoder, in losses and gradients."""

import re
import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.layer_sums import LayerSums, layer_sums_path
from data_prep.formats.preparation import Preparation
from fairseq_ext.training_record import files_read
from tests.fairseq_ext.folders import write_preparation, write_sentences, write_toy_folder
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_pretrained_encoder import LAYERS, WIDTH, write_data, write_model
from tests.fairseq_ext.test_sentence_embedding import (
    make_criterion,
    make_model,
    make_task,
    model_options,
    train,
    validate,
    whole_part,
)
from tests.fairseq_ext.test_teachers import write_modules
from tests.our_commands import run_command

SIZES = {"encoder_embed_dim": 24, "encoder_attention_heads": 2, "norm_placement": "pre"}
UNPAIRED = "adversarial_alignment,cycle_consistency"
LONGEST = 5


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> tuple[Path, str]:
    """Data with a sentence that is cut, a checkpoint with all kinds of weights, and its stored sums."""
    folder = write_toy_folder(tmp_path_factory.mktemp("layers") / "data")
    write_sentences(folder / "train.de-en.de", [[4 + i % 20] * (1 + 2 * i) + [2] for i in range(6)])
    write_preparation(folder)
    task = make_task(folder)
    model = make_model(task, **SIZES)
    torch.manual_seed(3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    state = {
        "model": model.state_dict(),
        "cfg": {
            "model": Namespace(**vars(model_options(**SIZES))),
            "task": {"_name": "sentence_embedding", "max_source_positions": 9, "max_target_positions": 9},
            "common": {"seed": 1},
        },
        "task_state": task.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "extra_state": {}, "last_optimizer_state": None, "args": None,
    }  # fmt: skip
    path = save(folder.parent / "model.pt", state)
    assert store(folder, path) == 0
    return folder, path


def store(data, model, *others: str) -> int:
    words = [
        "embeddings",
        "encode",
        "--data",
        str(data),
        "--layer-sums",
        "--name",
        "frozen",
        "--model",
        str(model),
    ]
    return run_command([*words, "--max-tokens", str(LONGEST), "--cpu", *others])


def test_a_cluster_stores_the_same_sums(world, tmp_path, cluster):
    folder, path = world
    shared = shutil.copytree(folder, tmp_path / "data")
    assert store(shared, path, "--force", "--dask", cluster.scheduler_address) == 0
    names = [file.name for file in folder.glob("*.frozen.layers")]
    assert len(names) > 1
    for name in names:
        assert (folder / name).read_bytes() == (shared / name).read_bytes()


def trained(world, losses: str, name: str | None, model: dict, parts=(0, 1), **task_options):
    """Losses of a training, and what it has made of the weights."""
    folder, checkpoint = world
    task = make_task(folder, max_source_positions=LONGEST, layer_sums=name, **task_options)
    module = make_model(task, **SIZES, dropout=0.4, freeze_encoder=True, **model)
    criterion = make_criterion(task, losses)
    module.load_state_dict(torch.load(checkpoint, weights_only=False)["model"])
    for split in ("train", "valid"):
        task.load_dataset(split)
    task.begin_epoch(1, module)
    encoded = []
    module.encoder.embed_tokens.register_forward_hook(lambda *_: encoded.append(0))
    batches = [whole_part(task, "train", number) for number in parts]
    found = train(task, module, criterion, batches, updates=3)
    assert bool(encoded) == (name is None)
    found += [value for key, value in validate(task, module, criterion).items() if "loss" in key]
    return found, module


@pytest.mark.parametrize(
    ("losses", "task_options"),
    [
        ("triplet_ranking", {}),
        ("sentence_contrast", {"random_sides": True, "pair_budget": 9}),
        (UNPAIRED, {"unpaired": True, "min_tokens": 1}),
    ],
    ids=["paired", "sides at random", "unpaired"],
)
@pytest.mark.parametrize(
    "model",
    [
        {"pooling": "sum", "pooling_layer": "mix", "sentence_width": 6},
        {"pooling": "mean", "pooling_layer": "1", "sentence_width": 6},
        {"pooling": "mean", "pooling_layer": "average", "pooler_width": 7},
        {"pooling": "sum", "sentence_width": 5},
    ],
    ids=lambda one: "-".join(map(str, one.values())),
)
def test_training_is_that_on_the_encoder(world, losses, task_options, model):
    torch.manual_seed(1)
    stored, one = trained(world, losses, "frozen", model, **task_options)
    torch.manual_seed(1)
    encoded, other = trained(world, losses, None, model, **task_options)
    assert stored == pytest.approx(encoded, rel=1e-4)
    assert stored[0] != stored[2]  # it learns
    for (name, found), expected in zip(one.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4, msg=name)


def test_unpaired_training_on_monolingual_texts(world, tmp_path):
    """Of two languages that the folder has no bitext of, one of them in a text of its own."""
    shutil.copytree(world[0], tmp_path / "data", ignore=shutil.ignore_patterns("*.layers"))
    folder = tmp_path / "data"
    for language in ("de", "fr"):
        write_sentences(folder / f"train.{language}", [[7 + i % 5] * (1 + i % 7) + [2] for i in range(9)])
    assert store(folder, world[1]) == 0
    assert len(LayerSums(folder / "train.de.frozen.layers")) == 9
    options = {"pairs": "de-fr", "langs": "de,en,fr", "unpaired": True}
    model = {"pooling": "sum", "pooling_layer": "mix", "sentence_width": 6}
    found = []
    for name in ("frozen", None):
        torch.manual_seed(1)
        found.append(trained((folder, world[1]), UNPAIRED, name, model, parts=[0], **options)[0])
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    read = {path.name for path in files_read(folder, {"--layer-sums": "frozen"})}
    assert "train.de.frozen.layers" in read
    assert "train.de.frozen.layers" not in {path.name for path in files_read(folder, {})}


@pytest.mark.parametrize("kind", ["transformers", "sentence-transformers"])
def test_sums_are_those_of_the_library(tmp_path, kind):
    """Of a folder, sentence by sentence in a loop; of sentence-transformers, below what pools its states."""
    import transformers

    write = write_model if kind == "transformers" else write_modules
    folder = write(tmp_path / "model", "xlmr")
    data = write_data(tmp_path, folder, "--only-used")
    assert store(data, folder, "--split", "train,valid") == 0
    sums = LayerSums(layer_sums_path(data / "train.de-en.en", "frozen"))
    assert (sums.layers, len(sums)) == (
        LAYERS + 1,
        len((tmp_path / "raw/train.de-en.en").read_text().split("\n")) - 1,
    )
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = Preparation.load(data).subwords
    special = tokenizer.special
    for line, text in enumerate((tmp_path / "raw/train.de-en.en").read_text().splitlines()):
        ids = [special["<s>"], *tokenizer.ids(text)[: LONGEST - 1], special["</s>"]]
        with torch.no_grad():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        expected = np.stack([layer[0].sum(dim=0).numpy() for layer in states])
        assert sums[line].shape == (LAYERS + 1, WIDTH)
        np.testing.assert_allclose(sums[line], expected, atol=1e-4, rtol=1e-4)
    assert store(data, folder, "--split", "train,valid") == 0  # complete, skipped


# --- what is refused


def refused(world, losses="triplet_ranking", name="frozen", model=None, **task_options) -> str:
    with pytest.raises(InputError) as found:
        trained(world, losses, name, model or {"pooling": "sum", "pooling_layer": "mix"}, **task_options)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_what_sums_do_not_determine_is_refused(world, capsys):
    assert "--layer-sums: max pooling is no sum over tokens; expected --pooling sum or mean" in refused(
        world, model={"pooling": "max"}
    )
    assert "leave --pooling-without-eos out" in refused(
        world, model={"pooling": "mean", "pooling_without_eos": True}
    )
    assert "--layer-sums: --losses translation looks at more than vectors of sentences" in refused(
        world, losses="translation", model={"pooling": "sum", "decoder_layers": 1}
    )
    assert "--layer-sums: --losses unified_generation hides words from the encoder" in refused(
        world, losses="unified_generation"
    )
    with pytest.raises(InputError, match="--layer-sums: --encoder-vectors is given, too"):
        make_task(world[0], layer_sums="frozen", encoder_vectors="frozen")
    task = make_task(world[0], layer_sums="frozen")
    with pytest.raises(InputError, match="--layer-sums: the layers are trained; expected --freeze-encoder"):
        make_model(task, pooling="sum", **SIZES)


def test_files_that_do_not_fit_are_refused(world, tmp_path):
    folder, checkpoint = world
    assert "train.de-en.de.other.layers: no such file; `python -m embeddings encode --data" in refused(
        world, name="other"
    )
    with pytest.raises(InputError) as found:
        task = make_task(folder, layer_sums="frozen", max_source_positions=7)
        make_model(task, **SIZES, freeze_encoder=True, pooling="sum", pooling_layer="mix")
        make_criterion(task, "triplet_ranking")
        task.load_dataset("train")
    assert "at most 5 tokens; expected --max-source-positions 5, or" in str(found.value)
    shutil.copytree(folder, tmp_path / "data")
    write_sentences(tmp_path / "data/train.de-en.en", [[5, 6, 7, 2]] * 6)
    assert "vectors of another text than" in refused((tmp_path / "data", checkpoint))


def test_sums_of_other_weights_are_refused(world, tmp_path):
    folder, checkpoint = world
    state = torch.load(checkpoint, weights_only=False)
    state["model"]["encoder.layers.1.fc2.weight"] *= 1.02  # as of a checkpoint close by
    other = save(tmp_path / "other.pt", state)
    assert "--layer-sums: stored sums are not those of this encoder (5 layers of width 24" in refused(
        (folder, other)
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--text", "raw"], "--text: --layer-sums reads the binarized"),
        (["--normalize"], "--normalize: --layer-sums reads the binarized"),
        (["--pooling", "mean"], "--pooling: --layer-sums stores all layers as they are"),
        (
            ["--precision", "bfloat16"],
            "--precision bfloat16: --layer-sums are trained on as if the encoder ran",
        ),
    ],
)
def test_wrong_options_of_the_command(world, capsys, words, line):
    folder, checkpoint = world
    assert store(folder, checkpoint, *words) == 2
    assert line in capsys.readouterr().err


def test_as_many_tokens_as_the_encoder_reads(world, capsys):
    assert store(*world, "--max-tokens", "9999") == 2
    most = re.search(r"--max-tokens 9999: the encoder reads (\d+); expected", capsys.readouterr().err)[1]
    assert store(*world, "--max-tokens", most, "--name", "longest") == 0


def test_a_training_is_known_by_the_sums_that_it_reads(world):
    folder, _ = world
    name = "train.de-en.de.frozen.layers"
    assert name in {path.name for path in files_read(folder, {"--layer-sums": "frozen"})}
    assert name not in {path.name for path in files_read(folder, {})}
