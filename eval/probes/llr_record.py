"""What layer-wise language recognition found, as the JSON of one run."""

from collections.abc import Mapping

import numpy as np

from command_line.errors import InputError
from eval.probes.recognition import UNKNOWN, Labels, TrainingSet, recognized, train, training_sets
from eval.probes.store import Direction, StateStore

KINDS = ("supervised", "zero-shot")


def recognize(folder, args, questions: list[str], seeds: list[int]) -> dict:
    """LLR of one store: one run of llr.json.

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
    classifiers = train(sets, classes, seeds, args.epochs, args.lr, args.batch_size)
    tested = {side: recognized(store, args, side, classifiers[side]) for side in classifiers}
    return run_record(store, args, labels, seeds, sets, tested)


def run_record(
    store: StateStore,
    args,
    labels: Labels,
    seeds: list[int],
    sets: Mapping[str, TrainingSet],
    tested: Mapping,
) -> dict:
    """
    Args:
        sets: training set per side.
        tested: side -> direction -> per question layers x seeds x classes, numbers of tokens.

    Returns:
        "layers" per side; "directions" with "accuracy" (question -> layer -> one number per seed; null where
        no training direction has the language); "averages", unweighted means over the directions of a kind;
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
        "seeds": seeds,
        "training": {
            "split": args.train_split,
            "sentences": len(sets[first].sentences),
            "tokens": {side: int(one.token_counts().sum()) for side, one in sets.items()},
            "epochs": args.epochs,
            "lr": args.lr,
            "batch_size": args.batch_size,
        },
        "languages": labels.languages,
        "layers": layers,
        "chance": {question: 1 / len(found) for question, found in labels.languages.items()},
        "majority": majority(labels, sets, list(tested[first]), store),
        "averages": averages(directions, layers, labels),
        "directions": directions,
    }


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
    """question -> side -> the most frequent language of the training tokens, and what share of directions (as
    in `averages`, unweighted) would be right with it.
    """
    found: dict = {}
    for number, (question, languages) in enumerate(labels.languages.items()):
        found[question] = {}
        for side, one in sets.items():
            tokens = np.bincount(one.labels[:, number], weights=one.token_counts(), minlength=len(languages))
            best = int(tokens.argmax())
            found[question][side] = {"language": languages[best]}
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
