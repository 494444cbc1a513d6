"""Stores of parallel sentences with chosen encoder states, written without a model."""

from pathlib import Path

import numpy as np

from eval.probes.store import write_index
from eval.probes.storing import PartWriter

TAG, EOS, WORD = 50, 2, 10  # token ids


def write_store(
    folder: Path,
    states: dict[tuple[str, str], list[np.ndarray]],
    layers=("L0", "L1", "encoder-norm"),
    supervised=(("de", "en"), ("en", "de")),
    seed: int | None = 1,
    name: str = "A",
    tagged: bool = True,
    dtype: str = "float32",
) -> Path:
    """
    Args:
        states: per direction, one array (layers x T x C) per sentence; the first token is a tag (unless not
            `tagged`), the last is `</s>`.
    """
    folder.mkdir(parents=True)
    directions = {}
    for direction, sentences in states.items():
        text = "-".join(direction)
        part = f"test.encoder.{text}"
        tokens = [
            np.array([*[TAG] * tagged, *[WORD] * (sentence.shape[1] - 1 - tagged), EOS], dtype=np.int32)
            for sentence in sentences
        ]
        writer = PartWriter(folder / part, tokens, len(layers), sentences[0].shape[2], dtype)
        writer.write(range(len(sentences)), np.concatenate(sentences, axis=1))
        writer.close()
        directions[text] = {"encoder": part, "decoder": part}
    record = {
        "system": {"name": name, "seed": seed},
        "dataset": "toy",
        "supervised": ["-".join(direction) for direction in supervised],
        "layers": {"encoder": list(layers), "decoder": []},
        "encoder_output": layers[-1],
        "tags": [TAG],
        "eos": EOS,
        "splits": {"test": directions},
    }
    write_index(folder, record)
    return folder


def sentence_states(vectors: np.ndarray, length: int = 4) -> list[np.ndarray]:
    """One sentence per row of layers x n x C, whose tokens vary around the row and have it as their mean."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(vectors.shape[1], vectors.shape[0], length, vectors.shape[2]))
    noise -= noise.mean(axis=2, keepdims=True)
    return [vectors[:, i, None] + noise[i] for i in range(vectors.shape[1])]
