"""Layer-wise language recognition on one store of states (thesis 8.2.3): training, test, and their record."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
from torch import Tensor

from command_line.errors import InputError
from command_line.measurements import numbers
from command_line.progress import progress
from data_prep.formats.directions import Direction, format_direction
from eval.probes.classifiers import Trained, train
from eval.probes.labels import ControlTask, LabelFile, Labels, Languages
from eval.probes.parallel import FINAL_NORM, OUTPUT, describe
from eval.probes.protocol import unconverged
from eval.probes.store import SIDES, StatePart, StateStore
from eval.probes.tested import GROUPS, Answers, answered
from eval.probes.training_set import TrainingSet

KINDS = ("supervised", "zero-shot")
TRAINING = "training"


@dataclass(frozen=True)
class Recognition:
    """What LLR of one store gives.

    Attributes:
        run: what it is of.
        rows: in these `part` is the question, `repeat` the seed of a classifier. Of kind "training" is what
            holds for the tokens that the classifiers were trained on.
        weights: side and name of a parameter -> layers x … of the classifiers for states as they are.
    """

    run: dict
    rows: list[dict]
    weights: dict[str, np.ndarray]


@dataclass(frozen=True)
class Side:
    """One side of the network, its classifiers, and what they answered.

    Attributes:
        layers: name in figures -> number among the stored layers.
        tested: direction -> what was answered, per question.
    """

    name: str
    layers: dict[str, int]
    sentences: TrainingSet
    trained: Trained
    tested: dict[Direction, list[Answers]]


def recognize(folder, options) -> Recognition:
    """LLR of one store. Warns of classifiers that have not converged.

    Raises:
        InputError: a set without states or without tokens, or one language only.
    """
    store, protocol = StateStore.open(folder), options.complete()
    labels = labels_of(store, options)
    directions = {
        side: directions_of(store, options, labels, side) for side in SIDES if layers_of(store, side)
    }
    directions = {side: both for side, both in directions.items() if all(both)}
    if not directions:
        raise InputError(
            f"{store.folder}: no states with labels in both sets, {options.train_split!r} and"
            f" {options.test_split!r}"
        )
    sides = [learn(store, options, labels, side, both, "") for side, both in directions.items()]
    seeds = protocol.seeds or (None,)
    rows = [
        *counts(store, options, sides),
        *(row for side in sides for row in results(store, labels, side, seeds)),
        *(row for side in sides for row in courses(labels, side, seeds)),
        *(row for side in sides for row in baselines(store, labels, side)),
    ]
    rows += means_over_layers(rows, {side.name: side.layers for side in sides})
    if options.control:
        for side in sides:
            rows += control(store, options, labels, side, directions[side.name], seeds)
        rows += selectivity(rows)
    run = describe(store, options.test_split) | {
        "forced": store.record.get("forced"),
        "beam_of_states": store.record.get("beam") if store.record.get("forced") == "output" else None,
        "tokens": options.tokens,
        "train_split": options.train_split,
        "train_sentences": len(sides[0].sentences),
        "training": protocol.record() | {"balance": options.balance, "directions": options.train_on},
        "languages": labels.classes,
        "layers": {side.name: list(side.layers) for side in sides},
    }
    texts = {
        format_direction(direction): store.text_sha256(options.test_split, direction)
        for direction in store.directions(options.test_split)
    }
    run["texts"] = {name: text for name, text in texts.items() if text}
    if missing := unconverged(row for row in rows if row.get("layer") not in repeated(sides)):
        print(f"warning: {folder}: {missing}; {protocol.advice}", file=sys.stderr)
        named = f"{store.system['name']} on {run['dataset']}, seed {store.system.get('seed')}"
        run["notes"] = [f"Warning: {named}: {missing}. They say less than the states hold."]
    weights = {
        f"{side.name} {name}": values.numpy()
        for side in sides
        for name, values in side.trained.classifiers.state_dict().items()
    }
    return Recognition(run, rows, weights)


def repeated(sides: list[Side]) -> set[str]:
    """Names of layers that are another name of one before."""
    return {
        name
        for side in sides
        for place, (name, number) in enumerate(side.layers.items())
        if number in list(side.layers.values())[:place]
    }


# --- what is learned and tested


def labels_of(store: StateStore, options) -> Labels:
    """What the classifiers are to recognize."""
    if options.labels:
        with_states = {split: store.directions(split) for split in store.splits}
        return LabelFile.read(options.labels, with_states, options.train_split)
    directions = trained_directions(store, options)
    return Languages.known_from(directions, options.questions, f"{store.folder}: {options.train_split} set")


def trained_directions(store: StateStore, options) -> list[Direction]:
    """Directions whose states the classifiers of languages learn from.

    Raises:
        InputError: there is none.
    """
    directions = store.directions(options.train_split)
    if options.train_on == "all":
        return directions
    supervised = [direction for direction in directions if direction in store.supervised]
    if not supervised:
        raise InputError(
            f"{store.folder}: no {options.train_split} states of supervised directions to train on"
        )
    return supervised


def layers_of(store: StateStore, side: str) -> dict[str, int]:
    """Name in figures -> number among the stored layers. The encoder's output, what the decoder attends to,
    is the last of the encoder: its final norm, or its last layer once more.
    """
    names = getattr(store, f"{side}_layers")
    layers = {name: number for number, name in enumerate(names) if name != FINAL_NORM}
    output = store.record["encoder_output"]
    return layers | ({OUTPUT: names.index(output)} if side == "encoder" and output in names else {})


def directions_of(store: StateStore, options, labels: Labels, side: str) -> tuple[list[Direction], ...]:
    """Directions whose states of a side the classifiers learn from, and those that they are tested on."""
    if isinstance(labels, LabelFile):
        return labels.directions(options.train_split, side), labels.directions(options.test_split, side)
    return trained_directions(store, options), store.directions(options.test_split)


def learn(
    store: StateStore, options, labels: Labels, side: str, directions: tuple[list[Direction], ...], task: str
) -> Side:
    """Train and test the classifiers of a side. All labels are read before the training, which takes long."""
    (parts, gold), test_set = (
        labelled_parts(store, labels, split, of_split, side)
        for split, of_split in zip((options.train_split, options.test_split), directions, strict=True)
    )
    classes = [len(names) for names in labels.classes.values()]
    sentences = TrainingSet(parts, gold, options.tokens)
    if not sentences.token_counts().any():
        raise InputError(f"{parts[0].path}: no tokens left to learn from; use --tokens all")
    trained = train(sentences, classes, options.complete(), f"train {side}{task}", options.balance)
    answers = tested(test_set, trained.classifiers, options.tokens, classes, side)
    return Side(
        side, layers_of(store, side), sentences, trained, dict(zip(directions[1], answers, strict=True))
    )


def tested(
    test_set: tuple[list[StatePart], list[np.ndarray]],
    classifiers,
    tokens: str,
    classes: list[int],
    side: str,
) -> Iterator[list[Answers]]:
    """What the classifiers answer, per direction and question; parts that directions share are read once."""
    of_parts: dict[Path, list[Tensor]] = {}
    for part, gold in progress(zip(*test_set, strict=True), len(test_set[0]), f"test {side}", "direction"):
        if part.path not in of_parts:
            of_parts[part.path] = answered(classifiers, part)
        answers = [
            Answers.of(*of_question, part, tokens, size)
            for *of_question, size in zip(of_parts[part.path], gold, classes, strict=True)
        ]
        if not answers[0].tokens:
            empty = ": every output is empty" if side == "decoder" else ""
            raise InputError(f"{part.path}: no tokens left{empty}; use --tokens all")
        yield answers


def labelled_parts(
    store: StateStore, labels: Labels, split: str, directions: list[Direction], side: str
) -> tuple[list[StatePart], list[np.ndarray]]:
    """The states of every direction, and the labels of their tokens, questions x tokens."""
    parts = [getattr(store, side)(split, direction) for direction in directions]
    return parts, [
        labels.of(part, split, direction, side) for part, direction in zip(parts, directions, strict=True)
    ]


# --- rows


def kind_of(store: StateStore, direction: Direction) -> str:
    return "supervised" if direction in store.supervised else "zero-shot"


def counts(store: StateStore, options, sides: list[Side]) -> list[dict]:
    """The lines of every direction, and the tokens of every side, of training, too."""
    rows = [
        {
            "kind": TRAINING,
            "part": side.name,
            "measure": "tokens",
            "value": side.sentences.token_counts().sum(),
        }
        for side in sides
    ]
    for direction in dict.fromkeys(direction for side in sides for direction in side.tested):
        place = {"kind": kind_of(store, direction), "direction": format_direction(direction)}
        of_direction = [side for side in sides if direction in side.tested]
        part = getattr(store, of_direction[0].name)(options.test_split, direction)
        rows += numbers({"lines": len(part)}, **place)
        for side in of_direction:
            rows += numbers({"tokens": side.tested[direction][0].tokens}, **place, part=side.name)
    return rows


def results(
    store: StateStore, labels: Labels, side: Side, seeds: Sequence[int | None], measure: str = "accuracy"
) -> list[dict]:
    """What the classifiers of a side recognize, per question, layer and seed.

    "accuracy" of every direction; for each kind of directions "macro_accuracy", the mean over classes;
    "class_accuracy" of every class (`direction`); "taken_for", the share of its tokens that get the class in
    `group`; and "token_accuracy" of the tokens in `group`. The latter three are means over directions.
    """
    rows: list[dict] = []
    for number, (question, classes) in enumerate(labels.classes.items()):
        place = partial(_places, side, question, seeds)
        for kind in KINDS:
            of_kind = {
                format_direction(direction): answers[number]
                for direction, answers in side.tested.items()
                if kind_of(store, direction) == kind and answers[number].labelled
            }
            for direction, answers in of_kind.items():
                rows += place(answers.accuracy, kind=kind, direction=direction, measure=measure)
            if not of_kind:
                continue
            confused = Answers.mean(answers.confusion for answers in of_kind.values())
            diagonal = confused.diagonal(dim1=2, dim2=3)
            rows += place(diagonal.nanmean(dim=2), kind=kind, measure="macro_accuracy")
            for gold, name in enumerate(classes):
                rows += place(diagonal[..., gold], kind=kind, direction=name, measure="class_accuracy")
                for answer, group in enumerate(classes):
                    rows += place(
                        confused[:, :, gold, answer],
                        kind=kind,
                        direction=name,
                        group=group,
                        measure="taken_for",
                    )
            of_groups = Answers.mean(answers.accuracy_of_groups for answers in of_kind.values())
            for column, group in enumerate(GROUPS):
                rows += place(of_groups[..., column], kind=kind, group=group, measure="token_accuracy")
    return rows


def _places(
    side: Side, question: str, seeds: Sequence[int | None], values: Tensor, **columns
) -> Iterator[dict]:
    """A row per layer and seed of values, L x S, that are numbers."""
    for layer, number in side.layers.items():
        for seed, value in zip(seeds, values[number].tolist(), strict=True):
            if value == value:
                yield columns | {"part": question, "layer": layer, "repeat": seed, "value": value}


def control(
    store: StateStore, options, labels: Labels, side: Side, directions: tuple[list[Direction], ...], seeds
) -> list[dict]:
    """The accuracy of the same classifiers on the control task."""
    classes = [len(names) for names in labels.classes.values()]
    frequencies = dict(zip(labels.classes, side.sentences.class_counts(classes), strict=True))
    task = ControlTask(labels.classes, labels, frequencies)
    of_task = learn(store, options, task, side.name, directions, ", control task")
    rows = results(store, task, of_task, seeds, "control")
    return [row for row in rows if row["measure"] == "control"]


def selectivity(rows: Iterable[Mapping]) -> list[dict]:
    """The accuracy minus that on the control task (Hewitt and Liang, 2019)."""

    def place(row: Mapping) -> tuple:
        return tuple(row.get(column) for column in ("kind", "direction", "part", "layer", "repeat"))

    rows = list(rows)
    accuracies = {place(row): row["value"] for row in rows if row["measure"] == "accuracy"}
    return [
        {**row, "measure": "selectivity", "value": accuracies[place(row)] - row["value"]}
        for row in rows
        if row["measure"] == "control"
    ]


def courses(labels: Labels, side: Side, seeds: Sequence[int | None]) -> list[dict]:
    """How training went, per question, layer and seed, as far as the protocol has it: "accuracy" per token of
    what was trained on, and of the "held_out" part, "epochs", "converged", "regularization" (C), and
    "gradient_norm".
    """
    trained = side.trained
    values = {
        "accuracy": trained.training_accuracy,
        "held_out": trained.held_out_accuracy,
        "epochs": trained.epochs,
        "converged": trained.converged,
        "regularization": trained.regularization,
        "gradient_norm": trained.gradient_norm,
    }
    return [
        row
        for number, question in enumerate(labels.classes)
        for measure, array in values.items()
        if array is not None
        for row in _places(
            side, question, seeds, array[:, :, number].double(), kind=TRAINING, measure=measure
        )
    ]


def baselines(store: StateStore, labels: Labels, side: Side) -> list[dict]:
    """What would be right by "chance" (one of the classes) and by "majority": always the most frequent class
    of the training tokens of this side. Of training it is a share of tokens, else the mean over directions.
    """
    rows: list[dict] = []
    classes = [len(names) for names in labels.classes.values()]
    for number, (question, tokens) in enumerate(
        zip(labels.classes, side.sentences.class_counts(classes), strict=True)
    ):
        best = int(tokens.argmax())
        majority = {TRAINING: tokens[best] / tokens.sum()}
        for kind in KINDS:
            shares = [
                answers[number].share_of(best)
                for direction, answers in side.tested.items()
                if kind_of(store, direction) == kind and answers[number].labelled
            ]
            if shares:
                majority[kind] = fmean(shares)
        for kind, share in majority.items():
            for layer in side.layers:
                rows += numbers(
                    {"chance": 1 / len(tokens), "majority": share}, kind=kind, part=question, layer=layer
                )
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
