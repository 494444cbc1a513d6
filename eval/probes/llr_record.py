"""What layer-wise language recognition found, as the JSON of one run."""

import sys
from collections.abc import Mapping

import numpy as np

from command_line.errors import InputError
from eval.probes.classifier_training import Trained, train
from eval.probes.protocol import Protocol, unconverged
from eval.probes.recognition import UNKNOWN, Labels, TrainingSet, recognized, training_sets
from eval.probes.store import Direction, StateStore

KINDS = ("supervised", "zero-shot")


def recognize(folder, args, protocol: Protocol, questions: list[str]) -> dict:
    """LLR of one store: one run of llr.json. Warns of classifiers that have not converged.

    Args:
        folder: of the store.
        args: options of `eval probe llr`.

    Raises:
        InputError: a set without states or without tokens, or one language only.
    """
    store = StateStore.open(folder)
    supervised = [one for one in store.directions(args.train_split) if one in store.supervised]
    if not supervised:
        raise InputError(f"{folder}: no {args.train_split} states of supervised directions to train on")
    labels = Labels.of(supervised, questions, f"{folder}: {args.train_split} set")
    sets = training_sets(store, args, supervised, labels)
    classes = [len(languages) for languages in labels.languages.values()]
    trained = {side: train(one, classes, protocol, f"train {side}") for side, one in sets.items()}
    tested = {side: recognized(store, args, side, one.classifiers) for side, one in trained.items()}
    run = run_record(store, args, protocol, labels, sets, trained, tested)
    if missing := unconverged(run["classifiers"]):
        print(f"warning: {folder}: {missing}; {protocol.advice}", file=sys.stderr)
    return run


def run_record(
    store: StateStore,
    args,
    protocol: Protocol,
    labels: Labels,
    sets: Mapping[str, TrainingSet],
    trained: Mapping[str, Trained],
    tested: Mapping,
) -> dict:
    """
    Args:
        sets, trained: per side.
        tested: side -> direction -> per question layers x seeds x classes, numbers of tokens.

    Returns:
        "layers" per side; "directions" with "accuracy" (question -> layer -> one number per seed; null where
        no training direction has the language); "averages", unweighted means over the directions of a kind;
        "classifiers", how training went, as `courses` has it;
        "chance" (1 / classes) and "majority" (always the most frequent class of the training tokens).
    """
    layers = {side: getattr(store, f"{side}_layers") for side in sets}
    first = next(iter(sets))
    directions = {
        "-".join(direction): {
            "kind": "supervised" if direction in store.supervised else "zero-shot",
            "tokens": {side: int(tested[side][direction][0][0, 0].sum()) for side in sets},
            "accuracy": accuracies(direction, labels, layers, tested),
        }
        for direction in tested[first]
    }
    return {
        "system": store.system,
        "dataset": store.record["dataset"],
        "split": args.test_split,
        "states": str(store.folder),
        "forced": store.record["forced"],
        "tokens": args.tokens,
        "seeds": list(protocol.seeds or []),
        "training": {
            "split": args.train_split,
            "sentences": len(sets[first].sentences),
            "tokens": {side: int(one.token_counts().sum()) for side, one in sets.items()},
            **protocol.record(),
        },
        "languages": labels.languages,
        "layers": layers,
        "chance": {question: 1 / len(found) for question, found in labels.languages.items()},
        "majority": majority(labels, sets, list(tested[first]), store),
        "classifiers": courses(labels, layers, trained),
        "averages": averages(directions, layers, labels),
        "directions": directions,
    }


def courses(labels: Labels, layers: Mapping, trained: Mapping[str, Trained]) -> dict[str, dict]:
    """question -> layer -> accuracy per token on the "training" and on the "held_out" part (null if there
    is none), "epochs" and "converged", one of each per seed.
    """
    found: dict = {}
    for number, question in enumerate(labels.languages):
        found[question] = {}
        for side, names in layers.items():
            one = trained[side]
            for row, name in enumerate(names):
                held_out = one.held_out_accuracy
                found[question][name] = {
                    "training": one.training_accuracy[row, :, number].tolist(),
                    "held_out": None if held_out is None else held_out[row, :, number].tolist(),
                    "epochs": one.epochs[row, :, number].tolist(),
                    "converged": one.converged[row, :, number].tolist(),
                }
    return found


def accuracies(direction: Direction, labels: Labels, layers: Mapping, tested: Mapping) -> dict[str, dict]:
    found = {}
    for number, question in enumerate(labels.languages):
        label = labels.label(question, direction)
        found[question] = {}
        for side, names in layers.items():
            counts = tested[side][direction][number].double()
            right = (counts[:, :, label] / counts.sum(dim=2)).tolist()
            found[question] |= {
                name: None if label == UNKNOWN else row for name, row in zip(names, right, strict=True)
            }
    return found


def averages(directions: Mapping[str, Mapping], layers: Mapping, labels: Labels) -> dict[str, dict]:
    """kind -> number of directions, and question -> layer -> mean over directions, one number per seed."""
    found = {}
    names = [name for side in layers.values() for name in side]
    for kind in KINDS:
        members = [entry["accuracy"] for entry in directions.values() if entry["kind"] == kind]
        if not members:
            continue
        found[kind] = {"directions": len(members)}
        for question in labels.languages:
            known = [entry[question] for entry in members if entry[question][names[0]] is not None]
            found[kind][question] = {
                name: np.mean([one[name] for one in known], axis=0).tolist() if known else None
                for name in names
            }
    return found


def majority(labels: Labels, sets: Mapping[str, TrainingSet], tested: list[Direction], store) -> dict:
    """question -> side -> the most frequent language of the training tokens, its share of them ("training"),
    and what share of directions (as in `averages`, unweighted) would be right with it.
    """
    found: dict = {}
    for number, (question, languages) in enumerate(labels.languages.items()):
        found[question] = {}
        for side, one in sets.items():
            tokens = np.bincount(one.labels[:, number], weights=one.token_counts(), minlength=len(languages))
            best = int(tokens.argmax())
            found[question][side] = {
                "language": languages[best],
                "training": float(tokens[best] / tokens.sum()),
            }
            for kind in KINDS:
                gold = [
                    labels.label(question, direction)
                    for direction in tested
                    if (direction in store.supervised) == (kind == "supervised")
                ]
                known = [label for label in gold if label != UNKNOWN]
                if known:
                    found[question][side][kind] = known.count(best) / len(known)
    return found
