"""Small causal language models with byte-level tokenizers, as BLOOM's, made from a text."""

from collections.abc import Iterable
from pathlib import Path

from llm.new_model import NewModel, learn_tokenizer, random_model


def write_bloom(
    folder: Path, lines: Iterable[str], vocabulary: int = 500, width: int = 32, layers: int = 2
) -> Path:
    """A BLOOM of random weights with a tokenizer that is learned from lines."""
    tokenizer = learn_tokenizer(iter(lines), vocabulary)
    sizes = NewModel(folder, None, 1, vocabulary, width, layers, heads=4, seed=1)
    random_model(sizes, len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
