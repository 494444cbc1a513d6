"""Parallel sentences in a store of states: a-b and b-a, whose sentences i say the same in two languages."""

import hashlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import option, positional, switch
from command_line.progress import progress
from eval.probes.store import INDEX, StatePart, StateStore

FINAL_NORM = "encoder-norm"
ALLOW_UNLIKE = "show them together all the same by --allow-unlike"
OUTPUT = "output"  # of the encoder, what the decoder attends to, with or without a final norm below it


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """The options that all probes of parallel sentences have."""

    states: list[Path] = positional("folder of `python -m eval probe states`", nargs="+", metavar="STATES")
    split: str = option("which set; all STATES must have it", "test", type=types.split)
    only_words: bool = switch("leave language tags and </s> out of the means of sentences")


def index_files(folders: Iterable[Path], splits: Iterable[str], allow_unlike: bool) -> list[Path]:
    """The index of every store, for a probe's record of what it read.

    Raises:
        InputError: a folder is no store, or stores of one dataset have other sentences in a set, unless they
            may be unlike.
    """
    stores = [StateStore.open(folder) for folder in folders]
    first: dict[str, StateStore] = {}
    for store in stores if not allow_unlike else ():
        other = first.setdefault(store.record["dataset"], store)
        for split in splits:
            check_sentences(other, store, split)
    return [store.folder / INDEX for store in stores]


def check_sentences(first: StateStore, store: StateStore, split: str) -> None:
    """Stores have the same sentences of the same directions, as far as they know their text."""
    texts, others = store.texts(split), first.texts(split)
    for direction in sorted({*texts, *others}):
        facts = [of.get(direction) for of in (texts, others)]
        if None in facts or any(one != other for one, other in zip(*facts, strict=True) if one and other):
            raise InputError(
                f"{store.folder}: has other {split} sentences of {direction} than {first.folder}; give one of"
                f" them another --dataset name, or {ALLOW_UNLIKE}"
            )


@dataclass
class ParallelPair:
    """Encoder states of both directions of a pair of languages.

    Attributes:
        first, second: the languages, in alphabetical order.
        kind: "supervised" if both directions were trained, else "zero-shot".
        parts: states of direction first-second (sentences in `first`), and of second-first.
    """

    first: str
    second: str
    kind: str
    parts: tuple[StatePart, StatePart]

    @property
    def name(self) -> str:
        return f"{self.first}-{self.second}"

    def __len__(self) -> int:
        return len(self.parts[0])


def parallel_pairs(store: StateStore, split: str) -> list[ParallelPair]:
    """All pairs of languages that the store has in both directions, in alphabetical order.

    Raises:
        InputError: there is none, or the two directions of one have different numbers of sentences.
    """
    directions = store.directions(split)
    alone = [direction for direction in directions if direction[::-1] not in directions]
    pairs = [direction for direction in directions if direction[0] < direction[1] and direction not in alone]
    named = ", ".join("-".join(direction) for direction in alone)
    if not pairs:
        raise InputError(
            f"{store.folder}: no pair of languages in both directions in the set {split!r}, only {named};"
            " extract the states of the opposite directions too"
        )
    if alone:
        print(f"warning: {store.folder}: without the opposite direction, left out: {named}", file=sys.stderr)
    parallel = []
    for pair in pairs:
        parts = store.encoder(split, pair), store.encoder(split, pair[::-1])
        if len(parts[0]) != len(parts[1]):
            raise InputError(
                f"{store.folder}: {len(parts[0])} sentences of {'-'.join(pair)} but {len(parts[1])} of"
                f" {'-'.join(pair[::-1])}, expected parallel ones; extract both with the same --max-lines"
            )
        kind = "supervised" if {pair, pair[::-1]} <= store.supervised else "zero-shot"
        parallel.append(ParallelPair(*pair, kind, parts))
    return parallel


def encoder_layers(store: StateStore) -> dict[str, str]:
    """Label in figures -> name in the store: `L0` … `LN` and "output", which all architectures have.

    Raises:
        InputError: the store was extracted without the encoder's output.
    """
    output = store.record["encoder_output"]
    if output not in store.encoder_layers:
        raise InputError(
            f"{store.folder}: has no states of the encoder's output, {output}, only of"
            f" {', '.join(store.encoder_layers) or 'no encoder layer'}; extract it too (--layers)"
        )
    return {name: name for name in store.encoder_layers if name != FINAL_NORM} | {OUTPUT: output}


@dataclass
class Pooled:
    """Mean-pooled sentences of one layer. Directions may share a part, which is pooled once.

    Args:
        then: what is made of them (sentences x C), for example normalized.
    """

    layer: str
    only_words: bool
    then: Callable[[np.ndarray], np.ndarray]
    _done: dict[Path, np.ndarray] = dataclass_field(default_factory=dict)

    def __call__(self, part: StatePart) -> np.ndarray:
        if part.path not in self._done:
            pooled = part.mean_pooled(self.layer, self.only_words)
            try:
                self._done[part.path] = self.then(pooled)
            except ValueError as error:
                raise InputError(f"{part.path}: layer {self.layer}: {error}") from None
        return self._done[part.path]


def layerwise(
    folder,
    options: StoreOptions,
    then: Callable[[np.ndarray], np.ndarray],
    compare: Callable[..., list[dict]],
    task: str,
) -> tuple[dict, list[dict]]:
    """Compare the two sides of every pair in every encoder layer of a store.

    Args:
        then: applied to the mean-pooled sentences of each side.
        compare: function of the pair and of what `then` gave for both sides -> rows.

    Returns:
        The run, and its rows: those of `compare` for every pair and layer, and the "lines" of every pair.
    """
    store = StateStore.open(folder)
    pairs, layers = parallel_pairs(store, options.split), encoder_layers(store)
    rows = [
        {"kind": pair.kind, "direction": pair.name, "measure": "lines", "value": len(pair)} for pair in pairs
    ]
    for layer, name in progress(layers.items(), len(layers), task, "layer"):
        pooled = Pooled(name, options.only_words, then)
        for pair in pairs:
            place = {"kind": pair.kind, "direction": pair.name, "layer": layer}
            rows += [place | row for row in compare(pair, *map(pooled, pair.parts))]
    run = describe(store, options.split) | {"only_words": options.only_words}
    if texts := {pair.name: text for pair in pairs if (text := text_of(store, options.split, pair))}:
        run["texts"] = texts
    return run, rows


def text_of(store: StateStore, split: str, pair: ParallelPair) -> str | None:
    """What tells the sentences of a pair from as many others; None where a store does not know."""
    languages = pair.first, pair.second
    digests = [store.text_sha256(split, direction) for direction in (languages, languages[::-1])]
    return None if None in digests else hashlib.sha256("".join(digests).encode()).hexdigest()


def describe(store: StateStore, split: str) -> dict:
    """What a run says about where it comes from."""
    record = store.record
    return {
        "system": store.system, "dataset": record["dataset"], "split": split, "states": str(store.folder),
        "checkpoint": record.get("checkpoint"),
    }  # fmt: skip
