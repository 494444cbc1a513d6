"""`python -m llm new-model`: sizes, a tokenizer that writes any text, and seeds."""

import pytest
import torch

from llm.language_model import load_model, load_tokenizer
from llm.new_model import lines_of
from tests.our_commands import run_command

SMALL = "--vocabulary-size 300 --width 16 --layers 3 --heads 2"


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    for language, line in (("de", "das Haus"), ("en", "the house"), ("ru", "дом")):
        for split in ("train", "valid"):
            (folder / f"{split}.{language}").write_text(f"{line}\n" * 20, encoding="utf-8")
    return folder


@pytest.fixture
def made(text, tmp_path):
    def make(name: str, *words: str):
        output = tmp_path / name
        command = ["llm", "new-model", "--text", str(text), *SMALL.split(), *words, "--output", str(output)]
        assert run_command(command) == 0
        return output

    return make


def test_a_model_of_the_sizes_asked_for(made):
    model = load_model(made("new"), "float32")
    config = model.config
    assert (config.hidden_size, config.n_layer, config.n_head) == (16, 3, 2)
    assert 260 < config.vocab_size <= 300  # the text has no more pairs
    layer = 12 * 16 * 16 + 13 * 16  # attention 4 C^2 + 4 C, feed-forward 8 C^2 + 5 C, two norms 4 C
    assert (
        sum(parameter.numel() for parameter in model.parameters())
        == config.vocab_size * 16 + 3 * layer + 2 * 2 * 16
    )


@pytest.mark.parametrize("line", ["the house", "Ünïcode ☃ 家 \U0001f40d", " two  spaces ", "дом"])
def test_its_tokenizer_writes_any_text_again(made, line):
    tokenizer = load_tokenizer(made("new", "--languages", "de,en"))
    tokens = tokenizer(line)["input_ids"]
    assert tokenizer.decode(tokens, clean_up_tokenization_spaces=False) == line
    assert tokenizer.unk_token_id not in tokens


def test_its_tokenizer_gives_what_the_model_generates_from(made):
    """Types of tokens, which `generate` of BLOOM refuses, are none of it."""
    from transformers import AutoModelForCausalLM

    folder = made("new")
    read = load_tokenizer(folder)("the house", return_tensors="pt")
    assert set(read) == {"input_ids", "attention_mask"}
    written = AutoModelForCausalLM.from_pretrained(folder).generate(**read, max_new_tokens=2, do_sample=False)
    assert written.shape[1] > read["input_ids"].shape[1]


def test_words_of_the_languages_asked_for_are_short(made):
    both, unknown = made("all"), made("two", "--languages", "de,en")
    lengths = [len(load_tokenizer(folder)("дом дом")["input_ids"]) for folder in (both, unknown)]
    assert lengths[0] == 2 or lengths[0] < lengths[1]
    assert lengths[1] == 13  # bytes


def test_special_tokens_have_the_numbers_of_bloom(made):
    tokenizer = load_tokenizer(made("new"))
    names = (tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    assert names == (0, 1, 2, 3)


def test_the_seed_is_that_of_the_weights(made):
    first, again, other = (
        load_model(made(name, "--seed", seed), "float32").transformer.word_embeddings.weight
        for name, seed in (("a", "3"), ("b", "3"), ("c", "4"))
    )
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_of_long_files_lines_are_evenly_spread(tmp_path):
    path = tmp_path / "train.de"
    path.write_text("".join(f"{number}\n" for number in range(10)))
    assert list(lines_of([path], 5)) == ["0", "2", "4", "6", "8"]
    assert list(lines_of([path], 6)) == ["0", "2", "4", "6", "8"]  # not all ten
    assert list(lines_of([path], 10)) == list(lines_of([path], 99)) == [str(number) for number in range(10)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--heads", "3"), "--heads 3: do not share --width 16 evenly"),
        (("--languages", "fr"), "no training text of these languages: fr;"),
        (("--languages", "de,fr"), "no training text of these languages: fr;"),
        (("--vocabulary-size", "259"), "--vocabulary-size: found '259', expected a whole number from 260"),
    ],
)
def test_what_is_refused(text, tmp_path, capsys, words, message):
    command = ["llm", "new-model", "--text", str(text), *SMALL.split(), "--output", str(tmp_path / "new")]
    assert run_command([*command, *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
