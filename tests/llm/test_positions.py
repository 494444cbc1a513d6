"""Models with few positions: what they cannot read is refused before any work, and nothing else is."""

from pathlib import Path

import pytest
import torch
import transformers

from llm.language_model import learned_positions
from tests.llm.tiny_model import write_gpt2
from tests.llm.toy_text import WORDS, write_lines, write_texts

FEW = 60
SMALL = {"vocab_size": 50, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
SMALL |= {"max_position_embeddings": 20}
CONFIGURATIONS = {
    "gpt2": transformers.GPT2Config(50, 20, n_embd=8, n_layer=1, n_head=2),
    "opt": transformers.OPTConfig(**SMALL, ffn_dim=16, word_embed_proj_dim=8),
    "xlm-roberta": transformers.XLMRobertaConfig(**SMALL, intermediate_size=16, is_decoder=True),
    "bloom": transformers.BloomConfig(50, 8, n_layer=1, n_head=2),
    "llama": transformers.LlamaConfig(**SMALL, intermediate_size=16),
    "gemma": transformers.GemmaConfig(**SMALL, intermediate_size=16, num_key_value_heads=1, head_dim=4),
}


def reads(model, tokens: int) -> bool:
    try:
        model(torch.full((1, tokens), 7))
    except (IndexError, RuntimeError):
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "most"),
    [("gpt2", 20), ("opt", 20), ("xlm-roberta", 18), ("bloom", None), ("llama", None), ("gemma", None)],
)
def test_learned_positions_are_as_many_as_a_model_reads(kind, most):
    model = transformers.AutoModelForCausalLM.from_config(CONFIGURATIONS[kind]).eval()
    assert learned_positions(model) == most
    assert reads(model, most or 20) and reads(model, (most or 20) + 1) is (most is None)


@pytest.fixture(scope="module")
def short(tmp_path_factory) -> Path:
    lines = [" ".join(words) for words in WORDS.values()]
    return write_gpt2(tmp_path_factory.mktemp("short") / "gpt2", lines, FEW)


@pytest.fixture
def long_lines(tmp_path) -> Path:
    """Test sets whose first line has more tokens than the model has positions."""
    data = write_texts(tmp_path / "data", pairs=["de-en"], splits=["test"])
    for language, word in (("de", "Haus "), ("en", "house ")):
        write_lines(data / f"text/test.de-en.{language}", [word * 99, word])
    return data


def test_prompts_and_answers_have_positions(short, command, refusal, long_lines, tmp_path):
    """Of an answer the last token is not read."""
    given = ("--model", short, "--data", long_lines, "--cpu", "--max-input", 40)
    for search in ((), ("--beam", 2)):
        output = ("--output", tmp_path / f"out{len(search)}")
        assert command("translate", *given, "--max-output", FEW - 39, *output, *search).status == 0
    line = refusal("translate", *given, "--max-output", FEW - 38, "--output", tmp_path / "more")
    assert line == (
        f"--max-input 40, --max-output {FEW - 38}: allow texts of {FEW + 1} tokens; --model {short} has"
        f" learned positions for {FEW}, give smaller ones"
    )


def test_sentences_have_positions(short, command, refusal, long_lines, tmp_path):
    given = ("--model", short, "--data", long_lines, "--cpu", "--split", "test", "--output", tmp_path / "out")
    assert command("states", *given, "--max-input", FEW).status == 0
    before = (tmp_path / "out/states.json").read_bytes()
    line = refusal("states", *given, "--force")
    assert line.startswith(f"--max-input 384: allow texts of 384 tokens; --model {short} has learned")
    assert (tmp_path / "out/states.json").read_bytes() == before


def test_instructions_have_positions(short, command, refusal, instructions, tmp_path):
    given = ("--model", short, "--instructions", instructions, "--curriculum", "mono-full", "--epochs", 1)
    given += (
        "--cpu",
        "--loader-workers",
        0,
        "--lora-rank",
        0,
        "--output",
        tmp_path / "out",
        "--max-input",
        50,
    )
    assert command("tune", *given, "--max-output", FEW - 50).status == 0
    before = (tmp_path / "out/tuning.json").read_bytes()
    line = refusal("tune", *given, "--max-output", FEW - 49, "--force")
    assert line.startswith(
        f"--max-input 50, --max-output {FEW - 49}: allow texts of {FEW + 1} tokens; --model"
    )
    assert (tmp_path / "out/tuning.json").read_bytes() == before
