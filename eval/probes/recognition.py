"""Layer-wise language recognition on one store of states (thesis 8.2.3): training, test, and their record."""

import sys
from collections.abc import Mapping

import numpy as np
import torch

from command_line.errors import InputError
from command_line.progress import progress
from data_prep.formats.directions import Direction
from eval.probes.classifiers import LinearClassifiers, Trained, train
from eval.probes.protocol import unconverged
from eval.probes.store import SIDES, StatePart, StateStore
from eval.probes.training_set import UNKNOWN, Labels, TrainingSet, kept_tokens

BLOCK = 2048  # tokens that are tested at once
KINDS = ("supervised", "zero-shot")


def recognize(folder, options) -> dict:
    """LLR of one store: one run of llr.json. Warns of classifiers that have not converged.

    Args:
        folder: of the store.
        options: `eval.probes.llr.Options`.

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
    run = run_record(store, options, labels, sets, trained, tested)
    if missing := unconverged(run["classifiers"]):
        print(f"warning: {folder}: {missing}; {protocol.advice}", file=sys.stderr)
    return run


def run_record(
    store: StateStore,
    options,
    labels: Labels,
    sets: Mapping[str, TrainingSet],
    trained: Mapping[str, Trained],
    tested: Mapping,
) -> dict:
    """The run of one store, as the result file has it.

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
            "lines": len(getattr(store, first)(options.test_split, direction)),
            "texts_sha256": store.text_sha256(options.test_split, direction),
            "tokens": {side: int(tested[side][direction][0][0, 0].sum()) for side in sets},
            "accuracy": accuracies(direction, labels, layers, tested),
        }
        for direction in tested[first]
    }
    return {
        "system": store.system,
        "dataset": store.record["dataset"],
        "checkpoint": store.record.get("checkpoint"),
        "split": options.test_split,
        "states": str(store.folder),
        "forced": store.record["forced"],
        "tokens": options.tokens,
        "seeds": list(options.chosen().seeds or []),
        "training": {
            "split": options.train_split,
            "sentences": len(sets[first].sentences),
            "tokens": {side: int(one.token_counts().sum()) for side, one in sets.items()},
            **options.chosen().record(),
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
    """question -> layer -> accuracy per token on the "training" and on the "held_out" part, "epochs",
    "converged", "regularization" (C) and "gradient_norm": one of each per seed; null where the protocol has
    none.
    """
    courses_by_question: dict = {}
    for number, question in enumerate(labels.languages):
        courses_by_question[question] = {}
        for side, names in layers.items():
            of_side = trained[side]
            values = {
                "training": of_side.training_accuracy,
                "held_out": of_side.held_out_accuracy,
                "epochs": of_side.epochs,
                "converged": of_side.converged,
                "regularization": of_side.regularization,
                "gradient_norm": of_side.gradient_norm,
            }
            for row, name in enumerate(names):
                courses_by_question[question][name] = {
                    measure: None if value is None else value[row, :, number].tolist()
                    for measure, value in values.items()
                }
    return courses_by_question


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


# --- training sets and the test


def training_sets(store: StateStore, options, directions: list[Direction], labels: Labels) -> dict:
    """The validation set of the supervised directions, per side that has layers."""
    sets = {}
    for side in SIDES:
        parts = [getattr(store, side)(options.train_split, direction) for direction in directions]
        if parts[0].layers:
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
