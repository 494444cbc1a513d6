"""`llm states`: means over the tokens of sentences in every layer, and the probes that take them."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from eval.__main__ import COMMANDS as EVAL
from eval.probes.store import StateStore
from llm.language_model import load_model, load_tokenizer
from tests.eval.rows import rows_of
from tests.llm.tiny_model import write_bloom
from tests.llm.toy_text import WORDS, sentences, text_of, write_lines, write_texts

LAYERS = ["L0", "L1", "encoder-norm"]


@pytest.fixture(scope="module")
def deeper(tmp_path_factory) -> Path:
    lines = [" ".join(words) for words in WORDS.values()]
    return write_bloom(tmp_path_factory.mktemp("deeper") / "bloom", lines, 300, width=8, layers=2)


@pytest.fixture
def states(completed, texts, tmp_path):
    """Extract the states of a model; their store."""

    def call(model: Path, *words, output: str = "states") -> StateStore:
        given = ("--model", model, "--data", texts, "--cpu", "--output", tmp_path / output, *words)
        completed("states", *given)
        return StateStore.open(tmp_path / output)

    return call


def plain_means(model, tokenizer, lines: list[str], most: int = 384) -> np.ndarray:
    """Layers x sentences x C, sentence by sentence."""
    rows = []
    for line in lines:
        tokens = torch.tensor([tokenizer(line)["input_ids"][:most]])
        with torch.inference_mode():
            hidden = model(tokens, output_hidden_states=True).hidden_states
        rows.append([layer[0].mean(dim=0).numpy() for layer in hidden])
    return np.array(rows).transpose(1, 0, 2)


@pytest.mark.parametrize(("batch", "most"), [(1, 384), (3, 384), (16, 5)])
def test_a_sentence_is_the_mean_of_its_tokens_in_every_layer(states, deeper, batch, most):
    store = states(deeper, "--batch-sentences", batch, "--max-input", most)
    model, tokenizer = load_model(deeper, "float32").eval(), load_tokenizer(deeper)
    for direction in (("de", "en"), ("en", "de"), ("fr", "en")):
        lines = [
            text_of(sentence, direction[0]) for sentence in sentences("valid", "-".join(sorted(direction)))
        ]
        expected = plain_means(model, tokenizer, lines, most)
        part = store.encoder("valid", direction)
        assert len(part) == len(lines)
        for layer, values in zip(LAYERS, expected, strict=True):
            np.testing.assert_allclose(part.mean_pooled(layer), values, rtol=1e-4, atol=1e-6)


def test_sentences_of_which_only_the_beginning_is_read_are_said(command, deeper, tmp_path):
    data = write_texts(tmp_path / "data", pairs=["de-en"])
    write_lines(data / "text/valid.de-en.de", ["Haus " * 200, "ein Baum"])
    write_lines(data / "text/valid.de-en.en", ["the house", "a tree"])
    given = ("--model", deeper, "--data", data, "--cpu", "--output", tmp_path / "states")
    said = [line for line in command("states", *given).err.splitlines() if "max-input" in line]
    assert said == [
        "warning: 1 of 4 sentences are longer than --max-input 384, and the mean is of their beginnings;"
        " give a larger one"
    ]
    entries = StateStore.open(tmp_path / "states").record["splits"]["valid"]
    assert {name: entry["cut_lines"] for name, entry in entries.items()} == {"de-en": 1, "en-de": 0}
    assert "max-input" not in command("states", *given, "--max-input", 999).err


def answer_by_hand(model, tokenizer, prompt: str, most: int) -> list[int]:
    """Greedily, token by token, to the end of the text or of the first line with something in it."""
    tokens = tokenizer(prompt)["input_ids"]
    answer: list[int] = []
    while len(answer) < most:
        with torch.inference_mode():
            best = int(model(torch.tensor([[*tokens, *answer]])).logits[0, -1].argmax())
        if best == tokenizer.eos_token_id:
            break
        answer.append(best)
        if "\n" in tokenizer.decode([best]) and tokenizer.decode(answer).rpartition("\n")[0].strip():
            break
    return answer


@pytest.mark.parametrize("batch", [1, 3])
def test_states_of_answers_are_those_of_the_last_token_of_the_prompt_and_of_the_answer(
    states, deeper, tmp_path, batch
):
    (tmp_path / "prompt").write_text("{source} to {target}: {text} =\n", encoding="utf-8")
    given = ("--asked", "--prompt", tmp_path / "prompt", "--max-output", 5, "--splits", "valid,test")
    store = states(deeper, *given, "--batch-sentences", batch)
    assert store.encoder_layers == [] and store.decoder_layers == ["L0", "L1", "decoder-norm"]
    model, tokenizer = load_model(deeper, "float32").eval(), load_tokenizer(deeper)
    for split, direction in (("valid", ("de", "en")), ("test", ("fr", "en"))):
        lines = [
            text_of(sentence, direction[0]) for sentence in sentences(split, "-".join(sorted(direction)))
        ]
        part, names = store.decoder(split, direction), {"de": "German", "fr": "French", "en": "English"}
        assert len(part) == len(lines)
        for number, line in enumerate(lines):
            prompt = f"{names[direction[0]]} to {names[direction[1]]}: {line} ="
            answer = answer_by_hand(model, tokenizer, prompt, 5)
            first, end = part.offsets[number : number + 2]
            before = tokenizer(prompt)["input_ids"]
            assert part.tokens[first:end].tolist() == [before[-1], *answer]
            with torch.inference_mode():
                hidden = model(torch.tensor([[*before, *answer]]), output_hidden_states=True).hidden_states
            expected = torch.stack(hidden)[:, 0, len(before) - 1 :]
            np.testing.assert_allclose(part.all_states[:, first:end], expected, rtol=1e-4, atol=1e-5)


def test_in_which_layer_the_target_language_of_answers_can_be_read(states, deeper, tmp_path):
    """The probe reads a folder that has states of a decoder alone."""
    (tmp_path / "prompt").write_text("{text} {target} =\n", encoding="utf-8")
    given = ("--asked", "--prompt", tmp_path / "prompt", "--max-output", 1, "--splits", "valid,test")
    states(deeper, *given, "--supervised", "de-en,en-de,en-fr,fr-en")
    words = ("probe", "llr", tmp_path / "states", "--questions", "target", "--output", tmp_path / "llr")
    assert evaluate(*words, "--protocol", "paper") == 0
    rows = rows_of(tmp_path / "llr/llr.csv", measure="accuracy", part="target")
    assert {"L0", "L1", "decoder-norm"} <= set(rows.layer)


def test_prompts_are_not_read_unasked(refusal, deeper, texts, tmp_path):
    given = ("--model", deeper, "--data", texts, "--cpu", "--output", tmp_path / "states")
    message = "--prompt, --chat, --shots, --max-output: without --asked"
    for unasked in (("--shots", 2), ("--max-output", 5)):
        assert message in refusal("states", *given, *unasked)


def test_bad_text_removes_no_earlier_states(refusal, states, deeper, texts, tmp_path):
    states(deeper, "--split", "valid")
    before = sorted((tmp_path / "states").iterdir())
    bad = shutil.copytree(texts, tmp_path / "bad")
    (bad / "text/valid.de-en.de").write_bytes(b"\xe9\n" * 4)
    given = ("--model", deeper, "--data", bad, "--split", "valid", "--cpu", "--output", tmp_path / "states")
    assert "valid.de-en.de:1: byte 0xe9" in refusal("states", *given, "--force")
    assert sorted((tmp_path / "states").iterdir()) == before


def test_only_the_first_lines(states, deeper):
    assert len(states(deeper, "--max-lines", 2, "--split", "test").encoder("test", ("de", "en"))) == 2


def cosines(first: np.ndarray, second: np.ndarray) -> list[float]:
    """Per layer, the mean over parallel sentences."""
    products = (first * second).sum(axis=2)
    return (products / np.linalg.norm(first, axis=2) / np.linalg.norm(second, axis=2)).mean(axis=1).tolist()


def evaluate(*words) -> int:
    from command_line.dispatch import run

    return run("eval", "", EVAL, [str(word) for word in words])


def test_the_change_of_cosines_between_two_models(states, bloom, tuned, tmp_path):
    """As in Figure 6.3."""
    states(bloom, output="before")
    states(bloom, "--tuned", tuned, output="after")
    words = ("probe", "cosine", tmp_path / "before", tmp_path / "after", "--split", "valid")
    assert evaluate(*words, "--output", tmp_path / "cosine") == 0
    rows = rows_of(tmp_path / "cosine/cosine.csv", direction="de-en", measure="cosine")
    of_systems = rows.set_index(["system", "layer"]).value.unstack()
    assert list(of_systems.columns) == ["L0", "output"]
    from peft import PeftModel

    tokenizer = load_tokenizer(bloom)
    plain = load_model(bloom, "float32").eval()
    adapted = PeftModel.from_pretrained(load_model(bloom, "float32"), tuned / "stage-1").eval()
    lines = {
        language: [text_of(each, language) for each in sentences("valid", "de-en")]
        for language in ("de", "en")
    }
    before, after = (
        cosines(*(plain_means(model, tokenizer, lines[language]) for language in ("de", "en")))
        for model in (plain, adapted)
    )
    changes = list(of_systems.loc["tiny-bloom MT"] - of_systems.loc["tiny-bloom w/o fine-tuning"])
    assert changes == pytest.approx([b - a for a, b in zip(before, after, strict=True)], abs=1e-5)
    assert changes[0] == pytest.approx(0, abs=1e-6) and abs(changes[1]) > 1e-4


def test_a_probe_of_decoders_is_refused_in_one_line(states, deeper, tmp_path, capsys):
    states(deeper)
    capsys.readouterr()
    words = ("probe", "llr", tmp_path / "states", "--split", "valid", "--output", tmp_path / "llr")
    assert evaluate(*words) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1 and errors[0].startswith("error: ")


def test_lines_that_are_empty_on_a_side_are_skipped_on_both(command, states, bloom, tuned, tmp_path):
    """The same ones of every system, so that the probe compares pairs."""
    data = write_texts(tmp_path / "data", pairs=["de-en", "en-fr"])
    german, english = ["das Haus", "  ", "ein Baum", "a", "Kind"], ["the house", "x", "a tree", "", "child"]
    for whole, folder in ((True, data), (False, write_texts(tmp_path / "kept", pairs=["de-en", "en-fr"]))):
        for language, lines in (("de", german), ("en", english)):
            kept = lines if whole else [lines[0], lines[2], lines[4]]
            write_lines(folder / f"text/valid.de-en.{language}", kept)
    store = states(bloom, "--data", data, output="before")
    states(bloom, "--tuned", tuned, "--data", data, output="after")
    expected = states(bloom, "--data", tmp_path / "kept", output="expected")
    for direction in (("de", "en"), ("en", "de"), ("en", "fr")):
        parts = [one.encoder("valid", direction).mean_pooled("encoder-norm") for one in (store, expected)]
        np.testing.assert_allclose(*parts, rtol=1e-5, atol=1e-7)
    entries = store.record["splits"]["valid"]
    assert {name: entry["skipped_lines"] for name, entry in entries.items()} == {
        "de-en": 2, "en-de": 2, "en-fr": 0, "fr-en": 0,
    }  # fmt: skip
    words = ("probe", "cosine", tmp_path / "before", tmp_path / "after", "--split", "valid")
    assert evaluate(*words, "--output", tmp_path / "cosine") == 0
    lines = rows_of(tmp_path / "cosine/cosine.csv", direction="de-en", measure="lines")
    assert list(lines.value) == [3, 3]
    given = ("--model", bloom, "--data", data, "--cpu", "--output", tmp_path / "again")
    said = [line for line in command("states", *given).err.splitlines() if "skipped" in line]
    assert said == ["states: valid lines that are empty on a side are skipped: 2 of de-en"]


def test_a_set_without_words(refusal, deeper, tmp_path):
    data = write_texts(tmp_path / "data", pairs=["de-en"])
    write_lines(data / "text/valid.de-en.de", ["", "ein Baum"])
    write_lines(data / "text/valid.de-en.en", ["the house", " "])
    given = ("--model", deeper, "--data", data, "--cpu", "--output", tmp_path / "states")
    assert "text: valid set of de-en: no line has words on both sides" in refusal("states", *given)
    assert not (tmp_path / "states/states.json").exists()


def test_what_is_done_is_skipped(states, deeper, command, texts, tmp_path):
    states(deeper)
    given = ("--model", deeper, "--data", texts, "--cpu", "--output", tmp_path / "states")
    assert "complete, skipped" in command("states", *given).err
    assert "complete, skipped" not in command("states", *given, "--max-lines", 3).err


def test_supervised_directions_without_a_set_are_said(deeper, command, texts, tmp_path):
    given = ("--model", deeper, "--data", texts, "--cpu", "--supervised", "de-en,de-ne")
    said = command("states", *given, "--output", tmp_path / "states").err
    assert f"warning: --supervised: de-ne: no valid set in {texts / 'text'}, which has de-en," in said


def test_a_set_that_is_not_there(deeper, refusal, texts, tmp_path):
    for path in write_texts(tmp_path / "own").glob("text/valid.*"):
        path.unlink()
    given = ("--model", deeper, "--data", tmp_path / "own", "--cpu", "--output", tmp_path / "states")
    assert refusal("states", *given).endswith("text: no valid set")


def test_folders_that_are_read_are_not_written(deeper, refusal, texts):
    for output in (deeper, texts / "text"):
        before = sorted(output.iterdir())
        given = ("--model", deeper, "--data", texts, "--cpu", "--output", output)
        assert f"--output {output}: is a folder that is read" in refusal("states", *given)
        assert sorted(output.iterdir()) == before
