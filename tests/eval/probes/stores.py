"""Folders of hidden states with contents that the test chooses."""

from pathlib import Path

import numpy as np

from eval.probes.store import StateStore, write_index
from eval.probes.storing import PartWriter

EOS, TAGS, FIRST_WORD = 2, {"cs": 90, "de": 91, "en": 92, "fr": 93}, 10
ENGLISH_CENTRIC = [("cs", "en"), ("de", "en"), ("en", "cs"), ("en", "de"), ("en", "fr"), ("fr", "en")]
ZERO_SHOT = [("cs", "de"), ("de", "cs"), ("de", "fr"), ("fr", "de")]
LANGUAGES = sorted(TAGS)
LAYERS = {"encoder": ["L0", "L1", "L2"], "decoder": ["L3", "L4"]}
NAMES = [name for side in LAYERS.values() for name in side]
SHOWN = [*LAYERS["encoder"], "output", *LAYERS["decoder"]]  # in results; "output" is L2 once more
SYSTEM = {
    "name": "PreNorm S-ENC-T-DEC", "norm_placement": "pre", "language_tags": "s-enc-t-dec",
    "drop_residual_layers": "", "norm_affine": True, "encoder_final_norm": True,
    "architecture": "mnmt_transformer_tiny", "seed": 1,
}  # fmt: skip


def random_sentences(rng, count: int, tag: int, first: bool) -> list[np.ndarray]:
    """`__xx__ w1 … </s>` (encoder), or with `</s>` in front (decoder input)."""
    sentences = []
    for _ in range(count):
        words = rng.integers(FIRST_WORD, FIRST_WORD + 50, rng.integers(1, 6)).tolist()
        sentences.append(np.array([EOS, tag, *words] if first else [tag, *words, EOS]))
    return sentences


def write_store(
    folder: Path,
    states,
    splits=None,
    sentences: int = 20,
    width: int = 8,
    system=None,
    layers=LAYERS,
    encoder_output: str = "L2",
) -> StateStore:
    """
    Args:
        states: function of (rng, direction, side, layer, tokens) -> tokens x `width`.
        splits: split -> directions.
    """
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    index: dict = {}
    splits = splits or {"valid": ENGLISH_CENTRIC, "test": ENGLISH_CENTRIC + ZERO_SHOT}
    for split, directions in splits.items():
        for direction in directions:
            entry = index.setdefault(split, {})["-".join(direction)] = {"sentences": sentences}
            for side, tag in (("encoder", TAGS[direction[0]]), ("decoder", TAGS[direction[1]])):
                tokens = random_sentences(rng, sentences, tag, side == "decoder")
                entry[side] = f"{split}.{side}.{'-'.join(direction)}"
                part = PartWriter(folder / entry[side], tokens, len(layers[side]), width)
                flat = np.concatenate(tokens)
                part.write(
                    range(sentences),
                    np.stack([states(rng, direction, side, layer, flat) for layer in layers[side]])
                    if layers[side]
                    else np.zeros((0, len(flat), width)),
                )
                part.close()
    record = {
        "system": {**SYSTEM, **(system or {})},
        "checkpoint": {"path": "checkpoint_best.pt", "sha256": "ab" * 32},
        "data": {"path": "data"},
        "dataset": "toy",
        "forced": "output",
        "supervised": ["-".join(direction) for direction in ENGLISH_CENTRIC],
        "layers": layers,
        "encoder_output": encoder_output,
        "tags": list(TAGS.values()),
        "eos": EOS,
        "splits": index,
    }
    write_index(folder, record)
    return StateStore.open(folder)


def noise(rng, direction, side, layer, tokens) -> np.ndarray:
    return rng.normal(size=(len(tokens), 8))


def planted(at: str, question: str, only_tags: bool = False, distance: float = 12):
    """States from which the language of a question can be read in one layer, and nothing in others."""

    def states(rng, direction, side, layer, tokens):
        values = noise(rng, direction, side, layer, tokens)
        if layer == at:
            language = direction[0 if question == "source" else 1]
            mask = np.isin(tokens, list(TAGS.values())) if only_tags else np.ones(len(tokens), bool)
            values[mask, LANGUAGES.index(language)] += distance
        return values

    return states


def parts_of(store, split, directions, side="encoder"):
    return [getattr(store, side)(split, direction) for direction in directions]


def per_token(parts, labels: np.ndarray) -> list[np.ndarray]:
    """Labels of sentences, sentences x questions over all parts, for each of their tokens."""
    starts = np.cumsum([0, *map(len, parts)])
    return [
        np.repeat(labels[start : start + len(part)].T, np.diff(part.offsets), axis=1)
        for start, part in zip(starts[:-1], parts, strict=True)
    ]
