"""Small causal language models with byte-level tokenizers, as BLOOM's, made from a text."""

from collections.abc import Iterable
from pathlib import Path

from llm.new_model import NewModel, learn_tokenizer, random_model


def write_bloom(
    folder: Path, lines: Iterable[str], vocabulary: int = 500, width: int = 32, layers: int = 2
) -> Path:
    """A BLOOM of random weights with a tokenizer that is learned from lines."""
    tokenizer = learn_tokenizer(iter(lines), vocabulary)
    sizes = NewModel(text=folder, width=width, layers=layers, output=folder)
    random_model(sizes, len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_gpt2(folder: Path, lines: Iterable[str], positions: int) -> Path:
    """A GPT-2 of random weights, which has learned its positions."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = learn_tokenizer(iter(lines), 300)
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    config = GPT2Config(len(tokenizer), positions, n_embd=8, n_layer=1, n_head=2, **ends)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
