"""A tiny system with raw text, packaged: what nobody trained translates, too, and always the same."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch

from command_line.dispatch import run
from fairseq_ext.__main__ import COMMANDS
from tests.fairseq_ext.folders import write_pair, write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save

PAIRS = ("de-en", "en-fr", "de-fr")
SENTENCES = {
    "de": [[5, 6, 7, 2], [8, 2], [9, 10, 11, 12, 13, 2], [3, 5, 2]],
    "en": [[14, 15, 2], [16, 17, 2], [19, 20, 21, 22, 2], [14, 2]],
    "fr": [[23, 24, 25, 2], [26, 2], [29, 30, 31, 2], [23, 2]],
}

WITH_EMPTY_LINES = {
    "de": [[5, 6, 7, 2], [8, 2], [2], [9, 10, 11, 12, 13, 2]],
    "en": [[14, 15, 2], [16, 17, 2], [18, 2], [19, 20, 21, 22, 2]],
    "fr": [[23, 24, 25, 2], [26, 2], [27, 28, 2], [29, 30, 31, 2]],
}


def words_of(sentence: list[int]) -> str:
    """Raw text of token ids; the fourth special symbol is an unknown word."""
    return " ".join("unknown" if token == 3 else f"w{token - 4}" for token in sentence[:-1])


def write_data(folder: Path) -> Path:
    """A binarized folder with a test set of three pairs, and its raw text."""
    write_binarized(folder, SENTENCES)
    (folder / "text").mkdir()
    for pair in PAIRS:
        for language in pair.split("-"):
            lines = "".join(f"{words_of(sentence)}\n" for sentence in SENTENCES[language])
            (folder / f"text/test.{pair}.{language}").write_text(lines)
    return folder


def write_binarized(folder: Path, sentences: dict[str, list[list[int]]]) -> Path:
    """The same of any sentences, without text."""
    write_toy_folder(folder)
    for pair in PAIRS:
        write_pair(folder, "test", pair, *(sentences[language] for language in pair.split("-")))
    write_preparation(folder)
    return folder


def write_checkpoint(path: Path, data: Path, seed: int = 1, updates: int = 7, **options) -> Path:
    """A checkpoint with other weights for every seed, of one training."""
    state = checkpoint_state(data, **{"share_all_embeddings": False, **options})
    generator = torch.Generator().manual_seed(seed)
    for name, values in state["model"].items():
        if values.is_floating_point() and values.dim() > 1:
            state["model"][name] = torch.randn(values.shape, generator=generator) / values.shape[-1] ** 0.5
    state["model"]["decoder.output_projection.weight"] *= 8  # not all hypotheses are the same
    state["optimizer_history"][0]["num_updates"] = updates
    state["last_optimizer_state"] = {"moments": torch.zeros(1000)}
    save(path, state)
    return path


def fairseq_ext(*words) -> int:
    """Run `python -m fairseq_ext …` in this process; its exit status."""
    return run("fairseq_ext", "", COMMANDS, [str(word) for word in words])


def package(output: Path, data: Path, *checkpoints: Path, options=()) -> Path:
    assert fairseq_ext("package", *checkpoints, "--data", data, "--output", output, *options) == 0
    return output


@contextlib.contextmanager
def types_of_products() -> Iterator[set[torch.dtype]]:
    """The types of what linear layers of any model give meanwhile."""
    types = set()

    def note(module, _, output) -> None:
        if isinstance(module, torch.nn.Linear):
            types.add(output.dtype)

    hook = torch.nn.modules.module.register_module_forward_hook(note)
    try:
        yield types
    finally:
        hook.remove()
