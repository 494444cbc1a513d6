"""Layer-wise language recognition on one store of states (thesis 8.2.3): training, test, and their record."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np
import torch

from command_line.errors import InputError
from command_line.measurements import numbers
from command_line.progress import progress
from data_prep.formats.directions import Direction
from eval.probes.classifiers import LinearClassifiers, Trained, train
from eval.probes.parallel import describe
from eval.probes.protocol import unconverged
from eval.probes.store import SIDES, StatePart, StateStore
from eval.probes.training_set import UNKNOWN, Labels, TrainingSet, kept_tokens

BLOCK = 2048  # tokens that are tested at once
KINDS = ("supervised", "zero-shot")
TRAINING = "training"


def recognize(folder, options) -> tuple[dict, list[dict]]:
    """LLR of one store. Warns of classifiers that have not converged.

    Args:
        folder: of the store.
        options: `eval.probes.llr.Options`.

    Returns:
        The run, and its rows. In these `part` is the question, `repeat` the seed of a classifier. Of kind
        "training" is what holds for the tokens that the classifiers were trained on.

    Raises:
        InputError: a set without states or without tokens, or one language only.
    """
    store, protocol = StateStore.open(folder), options.chosen()
    supervised = [one for one in store.directions(options.train_split) if one in store.supervised]
    if not supervised:
        raise InputError(f"{folder}: no {options.train_split} states of supervised directions to train on")
    labels = Labels.of(supervised, options.questions, f"{folder}: {options.train_split} set")
    sets = training_sets(store, options, supervised, labels)
    classes = [len(languages) for languages in labels.languages.values()]
    trained = {side: train(one, classes, protocol, f"train {side}") for side, one in sets.items()}
    tested = {side: recognized(store, options, side, one.classifiers) for side, one in trained.items()}
    layers = {side: getattr(store, f"{side}_layers") for side in sets}
    seeds = protocol.seeds or [None]
    rows = [
        *counts(store, options, sets, tested),
        *accuracies(store, labels, layers, seeds, tested),
        *courses(labels, layers, seeds, trained),
        *baselines(store, labels, layers, sets, next(iter(tested.values()))),
    ]
    rows += means_over_layers(rows, layers)
    run = describe(store, options.test_split) | {
        "forced": store.record["forced"],
        "tokens": options.tokens,
        "train_split": options.train_split,
        "train_sentences": len(next(iter(sets.values())).sentences),
        "training": protocol.record(),
        "languages": labels.languages,
        "layers": layers,
    }
    texts = {
        "-".join(direction): store.text_sha256(options.test_split, direction)
        for direction in store.directions(options.test_split)
    }
    run["texts"] = {name: text for name, text in texts.items() if text}
    if missing := unconverged(rows):
        print(f"warning: {folder}: {missing}; {protocol.advice}", file=sys.stderr)
        named = f"{store.system['name']} on {run['dataset']}, seed {store.system.get('seed')}"
        run["notes"] = [f"Warning: {named}: {missing}. They say less than the states hold."]
    return run, rows


def kind_of(store: StateStore, direction: Direction) -> str:
    return "supervised" if direction in store.supervised else "zero-shot"


def counts(store: StateStore, options, sets: Mapping[str, TrainingSet], tested: Mapping) -> list[dict]:
    """The lines of every direction, and the tokens of every side, of training, too."""
    rows = [
        {"kind": TRAINING, "part": side, "measure": "tokens", "value": one.token_counts().sum()}
        for side, one in sets.items()
    ]
    first = next(iter(sets))
    for direction in tested[first]:
        place = {"kind": kind_of(store, direction), "direction": "-".join(direction)}
        lines = len(getattr(store, first)(options.test_split, direction))
        rows += numbers({"lines": lines}, **place)
        for side in sets:
            rows += numbers({"tokens": tested[side][direction][0][0, 0].sum()}, **place, part=side)
    return rows


def accuracies(
    store: StateStore, labels: Labels, layers: Mapping, seeds: Sequence[int | None], tested: Mapping
) -> list[dict]:
    """Accuracy per direction, question, layer and seed; none where no training direction has the language.

    Args:
        layers: names, per side.
        tested: side -> direction -> per question layers x seeds x classes, numbers of tokens.
    """
    rows = []
    for direction in next(iter(tested.values())):
        place = {"kind": kind_of(store, direction), "direction": "-".join(direction), "measure": "accuracy"}
        for number, question in enumerate(labels.languages):
            label = labels.label(question, direction)
            for side, names in layers.items() if label != UNKNOWN else ():
                answered = tested[side][direction][number].double()
                right = (answered[:, :, label] / answered.sum(dim=2)).tolist()
                rows += [
                    place | {"part": question, "layer": layer, "repeat": seed, "value": value}
                    for layer, values in zip(names, right, strict=True)
                    for seed, value in zip(seeds, values, strict=True)
                ]
    return rows


def courses(
    labels: Labels, layers: Mapping, seeds: Sequence[int | None], trained: Mapping[str, Trained]
) -> list[dict]:
    """How training went, per question, layer and seed, as far as the protocol has it: "accuracy" per token of
    what was trained on, and of the "held_out" part, "epochs", "converged", "regularization" (C), and
    "gradient_norm".
    """
    rows = []
    for number, question in enumerate(labels.languages):
        for side, names in layers.items():
            of_side = trained[side]
            values = {
                "accuracy": of_side.training_accuracy,
                "held_out": of_side.held_out_accuracy,
                "epochs": of_side.epochs,
                "converged": of_side.converged,
                "regularization": of_side.regularization,
                "gradient_norm": of_side.gradient_norm,
            }
            known = {measure: array[:, :, number] for measure, array in values.items() if array is not None}
            for row, layer in enumerate(names):
                for column, seed in enumerate(seeds):
                    found = {measure: array[row, column] for measure, array in known.items()}
                    rows += numbers(found, kind=TRAINING, part=question, layer=layer, repeat=seed)
    return rows


def baselines(
    store: StateStore,
    labels: Labels,
    layers: Mapping,
    sets: Mapping[str, TrainingSet],
    tested: Iterable[Direction],
) -> list[dict]:
    """What would be right by "chance" (one of the languages) and by "majority": always the most frequent
    language of the training tokens of this side. Of training it is a share of tokens, else of directions.
    """
    tested, rows = list(tested), []
    for number, (question, languages) in enumerate(labels.languages.items()):
        for side, one in sets.items():
            tokens = np.bincount(one.labels[:, number], weights=one.token_counts(), minlength=len(languages))
            best = int(tokens.argmax())
            majority = {TRAINING: tokens[best] / tokens.sum()}
            for kind in KINDS:
                gold = [labels.label(question, each) for each in tested if kind_of(store, each) == kind]
                known = [label for label in gold if label != UNKNOWN]
                if known:
                    majority[kind] = known.count(best) / len(known)
            for kind, share in majority.items():
                for layer in layers[side]:
                    levels = {"chance": 1 / len(languages), "majority": share}
                    rows += numbers(levels, kind=kind, part=question, layer=layer)
    return rows


def means_over_layers(rows: Iterable[Mapping], layers: Mapping) -> list[dict]:
    """Accuracy on average over the layers of a side ("encoder_mean", "decoder_mean"), without embeddings and
    final norms.
    """
    names = {
        layer: f"{side}_mean"
        for side, members in layers.items()
        for layer in members
        if re.fullmatch(r"L[1-9]\d*", layer)
    }
    groups: dict[tuple, list[float]] = {}
    for row in rows:
        if row["measure"] == "accuracy" and row["layer"] in names:
            place = tuple(row.get(column) for column in ("kind", "direction", "part", "repeat"))
            groups.setdefault((*place, names[row["layer"]]), []).append(row["value"])
    columns = ("kind", "direction", "part", "repeat", "measure")
    return [
        dict(zip(columns, place, strict=True)) | {"value": fmean(values)} for place, values in groups.items()
    ]


# --- training sets and the test


def training_sets(store: StateStore, options, directions: list[Direction], labels: Labels) -> dict:
    """The validation set of the supervised directions, per side that has layers."""
    sets = {}
    for side in SIDES:
        if not getattr(store, f"{side}_layers"):
            continue
        parts = [getattr(store, side)(options.train_split, direction) for direction in directions]
        rows = [labels.labels(direction) for direction in directions]
        gold = np.repeat(np.array(rows), [len(part) for part in parts], axis=0)
        sets[side] = TrainingSet(parts, gold, options.tokens)
        if not sets[side].token_counts().any():
            raise InputError(f"{store.folder}: no {side} tokens left to train on; use --tokens all")
    return sets


def recognized(
    store: StateStore, options, side: str, classifiers: LinearClassifiers
) -> dict[Direction, list]:
    """`answers` per direction; parts that directions share are tested once."""
    directions = store.directions(options.test_split)
    names = {direction: store.part_name(options.test_split, direction, side) for direction in directions}
    done: dict[str, list] = {}
    for direction in progress(directions, len(directions), f"test {side}", "direction"):
        if names[direction] not in done:
            part = getattr(store, side)(options.test_split, direction)
            counts = answers(classifiers, part, options.tokens)
            if not counts[0].any():
                raise InputError(
                    f"{part.path}: no tokens left of direction {'-'.join(direction)}"
                    + (": every output is empty" if side == "decoder" else "")
                    + "; use --tokens all"
                )
            done[names[direction]] = counts
    return {direction: done[name] for direction, name in names.items()}


def answers(classifiers: LinearClassifiers, part: StatePart, tokens: str) -> list[torch.Tensor]:
    """How many tokens of a part are taken for which language, per question: layers x seeds x classes."""
    kept, total = kept_tokens(part, tokens), None
    for first, end in part.blocks(BLOCK):
        start, stop = part.offsets[first], part.offsets[end]
        block = part.read(start, stop)
        block = block if kept is None else block[:, kept[start:stop]]
        counts = classifiers.answers(torch.from_numpy(block))
        total = counts if total is None else [a + b for a, b in zip(total, counts, strict=True)]
    return total
