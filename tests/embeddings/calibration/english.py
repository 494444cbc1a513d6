"""Toy data of calibration: sentences of a few words, and their word-by-word translations."""

import json
from pathlib import Path

import numpy as np

from tests.embeddings.test_retrieve import write

# English and a "German" that has most letters in common, so that a tokenizer of characters sees both.
WORDS = {
    "house": "haus", "mouse": "maus", "garden": "garten", "water": "wasser", "winter": "winter",
    "hand": "hand", "finger": "finger", "night": "nacht", "light": "licht", "bread": "brot",
    "apple": "apfel", "cat": "katze",
}  # fmt: skip


def sentences(count: int, seed: int = 1) -> list[str]:
    """Different ones of three words."""
    random, words, drawn = np.random.default_rng(seed), list(WORDS), {}
    while len(drawn) < count:
        drawn[" ".join(random.choice(words, 3, replace=False))] = None
    return list(drawn)


def translated(sentence: str) -> str:
    return " ".join(WORDS[word] for word in sentence.split())


def write_english(folder: Path, premises: int = 24) -> Path:
    """`snli.jsonl`, `stsb.csv`, `valid.en` and `valid.de`."""
    folder.mkdir(parents=True)
    rows = []
    lines = sentences(2 * premises)
    for premise, other in zip(lines[:premises], lines[premises:], strict=True):
        words = premise.split()
        rows.append((premise, " ".join(words[::-1]), "entailment"))
        rows.append((premise, " ".join(words[:2]) + " is", "entailment"))
        rows.append((premise, "no " + other, "contradiction"))
        rows.append((premise, other, "neutral"))
    names = ("sentence1", "sentence2", "gold_label")
    write(folder / "snli.jsonl", [json.dumps(dict(zip(names, row, strict=True))) for row in rows])
    rated = [(line, " ".join(line.split()[::-1]), 5.0) for line in lines[:8]]
    rated += [(line, other, 0.5) for line, other in zip(lines[:8], lines[8:16], strict=True)]
    write(folder / "stsb.csv", [",".join(map(str, row)) for row in rated])
    held_out = sentences(12, seed=2)
    write(folder / "valid.en", held_out)
    write(folder / "valid.de", map(translated, held_out))
    return folder


def write_bert(folder: Path, layers: int = 2) -> Path:
    """A BERT of width 16, with random weights."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    from tests.data_prep.tokenizer_folders import write_bert as write_tokenizer

    write_tokenizer(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=48,
    )  # fmt: skip
    BertModel(config).eval().save_pretrained(folder)
    return folder
