"""Exported folders, read by sentence-transformers alone, against the checkpoint's own encoder."""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.dictionary import lines_in_order, write_dictionary
from data_prep.formats.preparation import Preparation
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.commands.export import export
from fairseq_ext.export import transformers_model
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.transformers_model import through_a_norm
from tests.embeddings.encoders.folders import tokenizer
from tests.fairseq_ext.export.folders import HARD, LANGUAGES, write_data, write_encoder
from tests.fairseq_ext.models import OTHER_PLACEMENTS
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save
from tests.our_commands import run_command

LINES = [line for line in (*LANGUAGES["de"], *LANGUAGES["el"], *HARD) if line.strip()]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("export") / "data")


def job(checkpoint, data, output, **options):
    given = {
        "to": "sentence-transformers",
        "precision": "float32",
        "pretokenized": False,
        "check_text": [],
        "check_lines": 0,
    }
    return ExportJob(checkpoint=checkpoint, data=data, output=output, **{**given, **options})


READER = """
import sys, numpy
from sentence_transformers import SentenceTransformer
lines = open(sys.argv[2], encoding="utf-8").read().split(chr(0))
numpy.save(sys.argv[3], SentenceTransformer(sys.argv[1], device="cpu").encode(lines, batch_size=4))
"""


def exported_vectors(folder, lines):
    """What the library makes of lines: the installed version, or that of the interpreter which
    SENTENCE_TRANSFORMERS_PYTHON names (CONTRIBUTING.md), where nothing of ours can be imported.
    """
    if other := os.environ.get("SENTENCE_TRANSFORMERS_PYTHON"):
        with TemporaryDirectory() as scratch:
            text, vectors = Path(scratch) / "text", Path(scratch) / "vectors.npy"
            text.write_text("\0".join(lines), encoding="utf-8")
            words = [other, "-c", READER, *map(str, (folder, text, vectors))]
            clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            subprocess.run(words, check=True, cwd=scratch, env=clean, capture_output=True)
            return np.load(vectors)
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode(lines, batch_size=4)


ENCODERS = {
    "post": {},
    "learned positions, gelu": {"encoder_learned_pos": True, "activation_fn": "gelu"},
    "post, norm of embeddings": {"layernorm_embedding": True, "no_scale_embedding": True},
    "pre": {"norm_placement": "pre", "activation_fn": "gelu_fast"},
    "pre, norm of embeddings": {"norm_placement": "pre", "layernorm_embedding": True},
    "no affine norms, no positions": {"no_norm_affine": True, "no_token_positional_embeddings": True},
    "max, lower layer": {"pooling": "max", "pooling_layer": "1"},
    "lower layer of pre": {"norm_placement": "pre", "pooling_layer": "1"},
    "cls": {"pooling": "cls"},
    "pooler and map": {"pooling": "pooler", "sentence_width": 12, "norm_placement": "pre"},
    "linear below the map": {"pooler_width": 20, "sentence_width": 12},
    "linear on top": {"pooling": "max", "pooler_width": 20},
    "mixture": {"pooling_layer": "mix"},
    "average, cls": {"pooling_layer": "average", "pooling": "cls", "layernorm_embedding": True},
}


@pytest.mark.parametrize("name", ENCODERS)
def test_vectors_are_equal(data, tmp_path, name):
    checkpoint = write_encoder(tmp_path / "model.pt", data, **ENCODERS[name])
    export(job(checkpoint, data, tmp_path), tmp_path)
    ours = EncoderOptions(checkpoint, model_data=data).load().encode(LINES)
    np.testing.assert_allclose(exported_vectors(tmp_path, LINES), ours, atol=2e-4, rtol=1e-4)
    kept = {one["type"].split(".")[0] for one in json.loads((tmp_path / "modules.json").read_text())}
    assert kept == {"sentence_transformers"}
    EncoderOptions(tmp_path).load()  # whose gate lets nothing through that could run code


@pytest.mark.parametrize("arch", ["transformer", "mnmt_transformer"])
@pytest.mark.parametrize("to", ["sentence-transformers", "onnx"])
def test_a_translation_models_encoder_is_the_mean_of_its_states(data, tmp_path, arch, to):
    state = checkpoint_state(data, arch, encoder_layers=2, decoder_layers=1)
    state["task_state"]["language_tags"] = "t-dec"
    checkpoint = tmp_path / "model.pt"
    save(checkpoint, state)
    export(job(checkpoint, data, tmp_path, to=to), tmp_path)
    ours = EncoderOptions(checkpoint, model_data=data).load().encode(LINES)
    exported = EncoderOptions(tmp_path).load().encode(LINES)
    np.testing.assert_allclose(exported, ours, atol=2e-4, rtol=1e-4)
    state["task_state"]["language_tags"] = "t-enc"
    save(checkpoint, state)
    with pytest.raises(InputError, match="its encoder reads a language tag"):
        export(job(checkpoint, data, tmp_path), tmp_path)


@pytest.mark.parametrize(
    "options", [{}, {"norm_placement": "pre", "layernorm_embedding": True, "pooling": "cls"}]
)
def test_vocabularies_of_transformers_keep_their_ids(tmp_path, capsys, options):
    """A folder has the tokenizer that the training took its vocabulary from; some words were never seen."""
    from data_prep.transformers_tokenizer import TransformersTokenizer, store_tokenizer

    data = write_data(tmp_path / "data")
    given = tokenizer()
    given.save_pretrained(tmp_path / "given")
    store_tokenizer(tmp_path / "given", data / "subword.tokenizer.json")
    stored = TransformersTokenizer(data / "subword.tokenizer.json")
    counts = Counter(unit for line in LANGUAGES["de"] for unit in stored.segment(line).split())
    symbols = stored.dictionary_symbols(counts, min_count=2)
    for language in LANGUAGES:
        write_dictionary(data / f"dict.{language}.txt", lines_in_order(symbols, counts))
    preparation = Preparation.load(data)
    preparation.subword = {"type": "transformers", "model": "subword.tokenizer.json"}
    preparation.tokenizers = dict.fromkeys(LANGUAGES, "raw")
    preparation.save()
    checkpoint = write_encoder(tmp_path / "model.pt", data, **options)
    lines = tmp_path / "lines.de"
    lines.write_text("\n".join([*LANGUAGES["de"], *LANGUAGES["el"], "quick foxes"]))
    assert command(checkpoint, data, tmp_path / "out", "--check-text", str(lines)) == 0, (
        capsys.readouterr().err
    )
    from transformers import AutoTokenizer

    exported = AutoTokenizer.from_pretrained(tmp_path / "out")
    found = exported("Das Wetter", add_special_tokens=False)
    assert found["input_ids"] == given("Das Wetter", add_special_tokens=False)["input_ids"]
    one, other = (exported(text)["input_ids"] for text in ("Das Wetter", "quick"))
    has_cls = options.get("pooling") == "cls"
    assert exported("Das Wetter", "quick")["input_ids"] == [*one, *other[has_cls:]]


REFUSED = {
    **{reason: options for options, reason in OTHER_PLACEMENTS},
    "--drop-residual-layers 2": {"drop_residual_layers": "2"},
    "--no-encoder-final-norm": {"norm_placement": "pre", "no_encoder_final_norm": True},
    "--pooling sum": {"pooling": "sum"},
    "--pooling-without-eos": {"pooling_without_eos": True},
    "--pooling-layer mix or average of --norm-placement pre": {
        "norm_placement": "pre",
        "pooling_layer": "average",
    },
    "--pooling-layer 0": {"pooling_layer": "0"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_it_cannot_express_is_refused_with_the_reason(data, tmp_path, reason):
    checkpoint = write_encoder(tmp_path / "model.pt", data, **REFUSED[reason])
    with pytest.raises(InputError, match=f"model.pt: cannot be exported: {reason}"):
        export(job(checkpoint, data, tmp_path), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_an_interlingua_is_refused(data, tmp_path):
    state = checkpoint_state(
        data, "interlingua_transformer", interlingua="fixed-universal", interlingua_length=3
    )
    state["task_state"]["language_tags"] = "t-dec"
    save(tmp_path / "model.pt", state)
    with pytest.raises(InputError, match="its encoder is a InterlinguaEncoder"):
        export(job(tmp_path / "model.pt", data, tmp_path), tmp_path)


def test_sums_of_embeddings_come_through_a_norm():
    """The plain sum, against a layer norm of torch and the map."""
    torch.manual_seed(1)
    tokens, positions = 20 * torch.randn(50, 16), torch.randn(9, 16)
    wide_tokens, wide_positions, back = through_a_norm(tokens, positions)
    summed = wide_tokens[:, None] + wide_positions[None]
    found = torch.nn.functional.linear(torch.nn.LayerNorm(19)(summed), back.weight, back.bias)
    torch.testing.assert_close(found, tokens[:, None] + positions[None], rtol=1e-4, atol=1e-3)


def command(checkpoint, data, output, *more) -> int:
    words = (
        f"fairseq_ext export --to sentence-transformers {checkpoint} --data {data} {output} --check-lines 50"
    )
    return run_command([*words.split(), *more])


def test_the_command_compares_lines_of_every_language_and_says_so(data, tmp_path, capsys):
    checkpoint = write_encoder(tmp_path / "model.pt", data, encoder_layers=1)
    options = {"--lr": "0.0005", "--save-dir": "somewhere"}
    record = {"format": 1, "options": options, "inputs": {}, "outputs": None}
    (tmp_path / "training.json").write_text(json.dumps(record))
    assert command(checkpoint, data, tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "lines, lowest cosine 0.99999" in said or "lowest cosine 1.0000000" in said
    card = (tmp_path / "out/README.md").read_text()
    assert "lines of 3 languages token ids are equal" in card
    assert '`sentence_transformers.quantize_embeddings(vectors, "int8")` or `"ubinary"`' in card
    for fact in ("| updates | 7 |", '- "el"\n', "| pairs of languages | de-en |", "| layers | 1 |"):
        assert fact in card
    assert "| width of feed-forward networks | 64 |" in card
    assert "| `--lr` | 0.0005 |" in card and "--save-dir" not in card
    assert command(checkpoint, data, tmp_path / "out") == 0  # is done
    assert "lowest cosine" not in capsys.readouterr().out


def test_an_encoder_that_differs_is_not_written(data, tmp_path, monkeypatch, capsys):
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    monkeypatch.setattr(transformers_model, "EPSILON", 3.0)
    assert command(checkpoint, data, tmp_path / "out") == 2
    assert "the exported encoder differs from the checkpoint: cosine 0." in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".export.unfinished"]


def test_text_that_is_split_into_words_before(tmp_path, capsys):
    data = write_data(tmp_path / "data", tokenizer="moses+lowercase")
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    assert command(checkpoint, data, tmp_path / "out") == 2
    assert "give --pretokenized" in capsys.readouterr().err
    assert command(checkpoint, data, tmp_path / "out", "--pretokenized") == 0
    assert "split into words, separated by spaces, by moses" in (tmp_path / "out/README.md").read_text()


def test_without_a_line_to_compare_nothing_is_written(data, tmp_path, capsys):
    """As of a package, which has no evaluation sets unless it is asked to."""
    checkpoint = write_encoder(tmp_path / "model.pt", data)
    bare = tmp_path / "bare"
    shutil.copytree(data, bare, ignore=shutil.ignore_patterns("text"))
    assert command(checkpoint, bare, tmp_path / "out") == 2
    assert "no line of text to compare the folder with" in (said := capsys.readouterr().err)
    assert said.rstrip().endswith("give --check-text FILE, or --check-lines 0 to compare nothing")
    assert not (tmp_path / "out/README.md").exists() or (tmp_path / "out/.export.unfinished").exists()
    assert command(checkpoint, bare, tmp_path / "out", "--check-text", str(data / "text/valid.de-en.de")) == 0
