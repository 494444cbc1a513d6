"""`python -m fairseq_ext trim-mbart`: from text and a small mBART to a checkpoint that says the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import data_prep.__main__ as preparation
import fairseq_ext.__main__ as plug_ins
from command_line.dispatch import run
from fairseq_ext.checkpoints.mbart import LANGUAGES
from fairseq_ext.checkpoints.reading import read_checkpoint
from fairseq_ext.commands.mbart_comparison import check_outputs
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.mbart import train_pieces, write_mbart
from tests.integration.toy_corpus import random_concepts, sentence, write_sides

PAIR = ("de", "en")


def command(package, *words) -> int:
    steps = preparation.STEPS if package == "data_prep" else plug_ins.COMMANDS
    return run(package, "", steps, [str(word) for word in words])


def corpus(folder: Path) -> Path:
    import random

    folder.mkdir()
    rng = random.Random(1)
    for split, lines in (("train", 40), ("valid", 6), ("test", 6)):
        write_sides(folder, f"{split}", PAIR, random_concepts(rng, lines))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folders mbart and data; mBART's pieces and dictionary are of more languages than the corpus has."""
    folder = tmp_path_factory.mktemp("mbart")
    text = corpus(folder / "text")
    every = [
        sentence(language, [i, j]) for language in ("cs", "de", "en", "fr") for i in range(12) for j in (3, 7)
    ]
    pieces = train_pieces(folder / "mbart", every, 70)
    write_mbart(folder / "mbart", pieces)
    words, subword, data = (folder / name for name in ("words", "subword", "data"))
    for step in (
        ("tokenize", "--tokenizer", "none", "--input", text, "--output", words),
        ("subword", "--pretrained", folder / "mbart", "--input", words, "--output", subword),
        ("binarize", "--input", subword, "--text", text, "--output", data),
    ):
        assert command("data_prep", *step, "--workers", 1) == 0
    return folder


@pytest.fixture(scope="module")
def trimmed(made, tmp_path_factory):
    output = tmp_path_factory.mktemp("trimmed") / "model.pt"
    assert trim(made, output) == 0
    return output


def trim(made, output, *options) -> int:
    words = ("--pretrained", made / "mbart", "--data", made / "data", "--output", output)
    return command("fairseq_ext", "trim-mbart", *words, *options)


def test_the_dictionary_is_what_the_training_text_uses(made):
    lines = [line.split(" ")[0] for line in (made / "subword/dict.txt").read_text("utf-8").splitlines()]
    symbols = [line for line in lines if not line.startswith("madeupword")]
    used = {
        u for name in ("de", "en") for u in (made / f"subword/train.de-en.{name}").read_text("utf-8").split()
    }
    known = {line.split(" ")[0] for line in (made / "mbart/dict.txt").read_text("utf-8").splitlines()}
    assert set(symbols) == used & known
    assert len(symbols) < len(known)  # cs and fr are gone


def test_marks_of_the_default_tokenizer_are_refused(made, tmp_path, capsys):
    words = ("--input", made / "text", "--output", tmp_path / "words")
    assert command("data_prep", "tokenize", *words, "--workers", 1) == 0
    given = ("--pretrained", made / "mbart", "--input", tmp_path / "words", "--output", tmp_path / "subword")
    assert command("data_prep", "subword", *given) == 2
    error = capsys.readouterr().err
    assert "de is tokenized by unicode, whose marks are in no piece of" in error
    assert "--tokenizer none, or moses" in error


def test_rows_follow_the_new_dictionary(made, trimmed):
    old = torch.load(made / "mbart/model.pt", weights_only=True)["model"]["encoder.embed_tokens.weight"]
    state = read_checkpoint(trimmed)
    new = state["model"]["encoder.embed_tokens.weight"]
    lines = (made / "mbart/dict.txt").read_text("utf-8").splitlines()
    places = {line.split(" ")[0]: number for number, line in enumerate(lines, start=4)}
    symbols = [line.split(" ")[0] for line in (made / "data/dict.de.txt").read_text("utf-8").splitlines()]
    for row, symbol in enumerate(symbols, start=4):
        if not symbol.startswith("madeupword"):
            assert torch.equal(new[row], old[places[symbol]]), symbol
    assert torch.equal(new[:4], old[:4])
    first_tag = 4 + len(lines)
    tags = [old[first_tag + LANGUAGES.index(name)] for name in ("de_DE", "en_XX")]
    assert torch.equal(new[-2:], torch.stack(tags))
    assert len(new) == 4 + len(symbols) + 2
    assert state["criterion"] is None
    for name in ("decoder.embed_tokens.weight", "decoder.output_projection.weight"):
        assert torch.equal(state["model"][name], new)


def test_inference_knows_tags_and_lengths(made, trimmed):
    loaded = load_for_inference(trimmed, made / "data")
    assert (loaded.task.tags.placement_name, loaded.task.tags.languages) == ("mbart", ["de", "en"])
    assert loaded.task.max_positions() == (40, 40)


def test_what_it_says_about_itself(made, tmp_path, capsys):
    assert trim(made, tmp_path / "model.pt") == 0
    compared, kept, options = capsys.readouterr().out.splitlines()
    tokens = int(compared.removeprefix("trim-mbart: equal outputs at ").removesuffix(" tokens"))
    assert tokens > 2 * 4 * 4  # directions, lines, at least so many words
    assert "embeddings kept" in kept
    assert (
        "--langs de,en --language-tags mbart --arch mnmt_transformer_mbart --finetune-from-model" in options
    )
    assert options.endswith("--max-source-positions 40 --max-target-positions 40")
    assert trim(made, tmp_path / "model.pt") == 0
    again = capsys.readouterr()
    assert "complete, skipped" in again.err and again.out.splitlines() == [options]
    assert json.loads((tmp_path / "model.json").read_text())["settings"]["langs"] == ["de", "en"]


def test_a_comparison_that_is_asked_for_later_is_made(made, tmp_path, capsys):
    for lines, compared in ((0, False), (4, True)):
        assert trim(made, tmp_path / "model.pt", "--check-lines", str(lines)) == 0
        assert ("equal outputs at" in capsys.readouterr().out) == compared


def refused(made, tmp_path, capsys, *options) -> str:
    assert trim(made, tmp_path / "refused.pt", *options) == 2
    assert not (tmp_path / "refused.pt").exists()
    return capsys.readouterr().err


def test_bad_options(made, tmp_path, capsys):
    for options, message in (
        (("--tags", "de"), "error: --tags: found 'de', expected NAME=VALUE, for example de=de_DE"),
        (("--tags", "de=xx_XX"), "error: --tags: no tag of mBART for xx_XX; give de=NAME with one of ar_AR"),
        (("--langs", "de,sw"), f"error: --langs: 'sw' is not in {made}/data; it has de, en"),
        (("--check-split", "dev"), f"error: {made}/data: no set 'dev'; --check-split chooses another one"),
        (("--mbart-langs", "de_DE,en_XX"), f"error: {made}/mbart/model.pt: "),
    ):
        assert refused(made, tmp_path, capsys, *options).startswith(message)


def test_data_of_another_dictionary(made, tmp_path, capsys):
    other = tmp_path / "other"
    write_mbart(other, ["a", "b"])
    words = ("--pretrained", other, "--data", made / "data", "--output", tmp_path / "x.pt")
    assert command("fairseq_ext", "trim-mbart", *words) == 2
    assert "is not in mBART's dictionary; make the data with" in capsys.readouterr().err


def test_outputs_that_differ_are_noticed(made, trimmed):
    from command_line.errors import InputError

    loaded = load_for_inference(trimmed, made / "data")
    inputs = {
        "src_tokens": torch.tensor([[5, 6, 2]]), "src_lengths": torch.tensor([3]),
        "prev_output_tokens": torch.tensor([[2, 5]]),
    }  # fmt: skip
    rows = torch.arange(len(loaded.task.dictionary))
    samples = [{"net_input": inputs}]
    assert check_outputs(loaded.model, loaded.model, rows, samples, "model.pt") == 2
    with pytest.raises(InputError, match=r"model.pt: trimmed, its outputs differ"):
        check_outputs(loaded.model, loaded.model, rows.roll(1), samples, "model.pt")


@pytest.mark.parametrize("words", [["--help"], ["trim-mbart", "--help"], []])
def test_help_needs_neither_torch_nor_fairseq(words, tmp_path):
    """Where they would be imported, there are files that refuse."""
    for name in ("torch", "fairseq"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('imported')")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])
    done = subprocess.run(
        [sys.executable, "-m", "fairseq_ext", *words],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0 if words else 2, "")
    assert "trim-mbart" in done.stdout
