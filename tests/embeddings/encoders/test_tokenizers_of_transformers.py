"""Checkpoints with the vocabulary of a tokenizer of transformers read raw text; with all of it or a part."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from command_line.dispatch import run
from command_line.errors import InputError
from data_prep.__main__ import STEPS
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.__main__ import COMMANDS
from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask
from tests.data_prep.tokenizer_folders import KINDS, TEXT
from tests.fairseq_ext.models import SIZES
from tests.fairseq_ext.test_checkpoints import save

LINES = [*TEXT, "  Das   Wetter\u3000ist", "", "The weather"]


@pytest.fixture(scope="module", params=("bert", "xlmr", "llama"))
def folders(request, tmp_path_factory):
    """The data with the full vocabulary, and with what its training text uses."""
    root = tmp_path_factory.mktemp(request.param)
    (root / "raw").mkdir()
    for split in ("train", "test"):
        for language in ("de", "en"):
            (root / f"raw/{split}.de-en.{language}").write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    KINDS[request.param](root / "tokenizer")
    for name, option in (("full", []), ("used", ["--only-used"])):
        subword = [
            "--input",
            root / "raw",
            "--output",
            root / f"{name}.sub",
            "--tokenizer",
            root / "tokenizer",
        ]
        binarize = ["--input", root / f"{name}.sub", "--text", root / "raw", "--output", root / name]
        for words in (["subword", *subword, *option], ["binarize", *binarize]):
            assert run("data_prep", "", STEPS, [*map(str, words), "--workers", "1"]) == 0
    return root / "full", root / "used"


def state_of(data) -> tuple[dict, SentenceEmbeddingTask]:
    """A checkpoint of a sentence encoder of random weights, and its task."""
    task = SentenceEmbeddingTask.setup_task(SentenceEmbeddingConfig(data=str(data), pairs="de-en"))
    options = Namespace(_name="sentence_encoder", arch="sentence_encoder", pooling="cls", **SIZES)
    options.decoder_layers = 0
    torch.manual_seed(1)
    weights = task.build_model(options).state_dict()
    config = {"_name": "sentence_embedding", "max_source_positions": 64, "max_target_positions": 64}
    cfg = {"model": options, "task": config, "common": {"seed": 1}}
    state = {"args": None, "cfg": cfg, "model": weights, "task_state": task.state_dict()}
    history = [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}]
    return state | {"optimizer_history": history, "extra_state": {}, "last_optimizer_state": None}, task


def encoder_of(data, state: dict):
    return EncoderOptions(Path(save(data / "model.pt", state)), model_data=data).load()


def test_a_vocabulary_that_is_trimmed_to_what_is_used_gives_equal_vectors(folders, tmp_path, capsys):
    """By the command, of a sentence encoder: text that the smaller vocabulary covers (thesis 3.4)."""
    full, used = folders
    state, task = state_of(full)
    checkpoint = save(tmp_path / "model.pt", state)
    words = ["--checkpoint", checkpoint, "--data", full, "--trimmed", used, "--output", tmp_path / "small.pt"]
    assert run("fairseq_ext", "", COMMANDS, ["trim-vocabulary", *map(str, words)]) == 0
    assert "embeddings kept" in capsys.readouterr().out
    small = EncoderOptions(tmp_path / "small.pt", model_data=used).load()
    assert len(small.dictionary) < len(task.dictionary)
    expected = encoder_of(full, state).encode(TEXT)
    np.testing.assert_allclose(small.encode(TEXT), expected, atol=1e-6)
    assert np.ptp(expected, axis=0).max() > 0.1


def test_the_encoder_reads_the_ids_of_the_tokenizer(folders):
    from transformers import AutoTokenizer

    full, _ = folders
    theirs = AutoTokenizer.from_pretrained(full.parent / "tokenizer")
    encoder = encoder_of(full, state_of(full)[0])
    ids = encoder.segmentation.preparation.subwords.tokenizer_ids(encoder.dictionary)
    for line, tokens in zip(LINES, encoder.tokens(LINES, None), strict=True):
        expected = theirs(line, add_special_tokens=False)["input_ids"]
        assert ids[tokens[:-1]].tolist() == expected and bool(tokens) == bool(expected)
    assert (encoder.tokens(LINES, "fr"), encoder.cut) == (encoder.tokens(LINES, "de"), 0)


def test_a_missing_tokenizer_is_named(folders, tmp_path):
    import shutil

    shutil.copytree(folders[0], tmp_path / "data")
    (tmp_path / "data/subword.tokenizer.json").unlink()
    encoder = encoder_of(tmp_path / "data", state_of(folders[0])[0])
    with pytest.raises(InputError, match=r"subword.tokenizer.json: no such file, expected the subword model"):
        encoder.encode(["a"])
