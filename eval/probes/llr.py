"""Layer-wise language recognition (LLR, thesis 8.2.3): from which layer can the language be read?

For every layer and both questions, "which source language?" and "which target language?", a linear classifier
of tokens is trained on the validation set of the supervised directions and tested on supervised and zero-shot
directions apart. STATES are folders of `eval probe states`; those of one system with several seeds become
one curve. Writes llr.json, the figure (Figures 8.2 and E.4) and its numbers as CSV.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from command_line import options as types
from command_line.option_classes import from_arguments
from eval.probes.parallel import index_files
from eval.probes.protocol import ProtocolOptions, add_protocol_arguments, unconverged, variant
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, mean_cell, number_cell, slug, tidy
from eval.reporting.plots import lines
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.labels import UNKNOWN
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, Run, System, by_dataset, check_alike, check_same

KIND = "llr"
TOKENS = ("all", "no-tags", "words")
QUESTIONS = {"source": "source language", "target": "target language"}
TRAINING = "training"  # in the place of a kind of directions: the tokens that the classifiers were trained on
KINDS = {"supervised": "Supervised", "zero-shot": "Zero-shot", TRAINING: "Training"}
SIDES = ("encoder", "decoder")
VARIANTS = {"all": "", "no-tags": ", without tags", "words": ", only words"}
NOTES = [
    "Accuracy of linear classifiers that recognize the source or the target language of a sentence from the"
    " state of one token in one layer, trained on the validation sets of the supervised directions. Layers"
    " are counted through encoder and decoder, before their final norms. Chance: one of as many languages;"
    " majority: always the most frequent language of the training tokens, in encoder and in decoder."
    " The last columns are means over the layers of the encoder and of the decoder, without embeddings and"
    " final norms."
    " \"Training\" is the accuracy on the tokens that the classifiers were trained on: where it is low, the"
    " state does not tell the language, or the classifier has not learned it.",
    "By default the states are standardized, and each classifier is the minimum of its L2-regularized loss;"
    " held-out sentences choose the strength. \"Early stopping\" takes the lowest held-out loss without"
    " regularization. \"The paper's protocol\" (thesis 8.2.3: 3 epochs on states as they are; Adam is our"
    " guess) depends on the norm of the states. It does not compare layers or systems whose norms differ.",
]  # fmt: skip
COURSES = {"held_out": ("held-out accuracy", 100), "epochs": ("epochs", 1), "regularization": ("C", 1)}


@dataclass(frozen=True)
class Options(ProtocolOptions):
    """Options of the probe: the tokens to learn from and to test on; those of the training are inherited.

    Attributes:
        states: folders of `eval probe states`.
        train_split, test_split: sets of the store.
        tokens: "all", "no-tags" or "words".
        questions: "source", "target" or both.
    """

    states: list[Path]
    train_split: str
    test_split: str
    tokens: str
    questions: list[str]


def add_arguments(parser) -> None:
    parser.add_argument(
        "states", nargs="+", type=types.path, metavar="STATES", help="folder of `eval probe states`"
    )
    add_output_arguments(parser, KIND)
    parser.add_argument(
        "--train-split", type=types.split, default="valid", help="set of supervised directions to train on"
    )
    parser.add_argument("--test-split", type=types.split, default="test", help="set to test on")
    parser.add_argument(
        "--tokens", choices=TOKENS, default="all", help="all, without language tags, or also without </s>"
    )
    parser.add_argument(
        "--questions",
        type=types.items(types.one_of(QUESTIONS)),
        default=",".join(QUESTIONS),
        help="languages to recognize",
    )
    add_protocol_arguments(parser)


def main(args) -> None:
    options = from_arguments(Options, args)
    options.chosen()  # refuses settings that the protocol does not have before anything is read
    inputs = index_files(options.states)
    publish(KIND, options, inputs, lambda: measure(options), args)


def measure(options: Options) -> dict:
    """One run per store."""
    from eval.probes.recognition import recognize

    return {"runs": [recognize(folder, options) for folder in options.states]}


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = results.probed(KIND, with_variant)
    check_alike(systems, check_trained_alike)
    exhibits = []
    for dataset, members in by_dataset(systems).items():
        layers = layers_of([run for system in members for run in system.records])
        exhibits += [figure(members, layers, dataset), *courses(members, layers, dataset)]
    return Section("Layer-wise language recognition", exhibits, [*NOTES, *warnings(systems)])


def with_variant(run: Run) -> Run:
    """The run under a name that says how it differs: other tokens or another protocol make another curve."""
    record = run.record
    name = run.name + VARIANTS[record["tokens"]] + variant(record["training"], run.path)
    name += ", references" if record["forced"] == "reference" else ""
    return replace(run, record=record | {"system": run.system | {"name": name}})


def check_trained_alike(first: Run, run: Run) -> None:
    """The classifiers of two seeds have learned from as many sentences of one set; else an `InputError`."""
    for name in ("split", "sentences"):
        values = [one.value("training", name) for one in (first, run)]
        if None not in values:
            check_same(first, run, f"training.{name}", *values)


def layers_of(runs: list[dict]) -> list[str]:
    """All layers of the runs, from the bottom of the encoder to the top of the decoder."""
    longest = {side: max((run["layers"].get(side, []) for run in runs), key=len) for side in SIDES}
    return [*longest["encoder"], *longest["decoder"]]


def figure(systems: list[System], layers: list[str], dataset: str) -> Figure:
    """Panels of supervised and zero-shot directions and of training, for both questions; one curve each."""
    every = [run for system in systems for run in system.records]
    shown = numbered(layers) or layers
    sides = [side for side in SIDES if any(numbered(run["layers"].get(side, [])) for run in every)]
    panels, levels, rows, rules = {}, {}, [], set()
    for kind, kind_title in KINDS.items():
        for question, question_title in QUESTIONS.items():
            curves = {}
            for system in systems:
                values = [accuracy(system, kind, question, layer) for layer in layers]
                if any(values):
                    curves[system.name] = [values[layers.index(layer)] for layer in shown]
                    means = [mean_accuracy(system, kind, question, side) for side in sides]
                    rows.append(row(kind_title, question, system, [*values, *means], kind))
            if curves:
                title = f"{kind_title}, {question_title}"
                panels[title] = curves
                levels[title] = baselines(every, kind, question, shown)
                rules.add(len(rows))
    caption = (
        f"Layer-wise language recognition on {dataset}: accuracy in %, mean over directions (of training:"
        " over tokens) and seeds; bands: standard deviation over seeds of the system, or of the classifiers"
        " where there is one system seed."
    )
    encoder = [layer for layer in shown if any(side_of(run, layer) == "encoder" for run in every)]
    png = lines(
        shown, panels, "accuracy %", columns=2, rules=[len(encoder)] if 0 < len(encoder) < len(shown) else [],
        levels=levels,
    )  # fmt: skip
    header = ["Directions", "Language", "System", "Seeds", "chance", "majority enc.", "majority dec."]
    header += [*layers, *(f"mean {side[:3]}." for side in sides)]
    table = Table(
        slug("llr", dataset), caption, [cells(*header)], rows, frozenset(rules - {len(rows)}),
        data(systems, dataset),
    )  # fmt: skip
    return Figure(slug("llr", dataset), caption, png, table)


def accuracy(system: System, kind: str, question: str, layer: str) -> MeanStd | None:
    """In percent, over the system's seeds, each the mean over its classifiers; with one system seed, over the
    classifiers. None where a run lacks the kind, the question or the layer.
    """
    found = [found_in(run, kind, question, layer) for run in system.runs]
    return over_seeds([values and [100 * value for value in values] for values in found])


def mean_accuracy(system: System, kind: str, question: str, side: str) -> MeanStd | None:
    """As `accuracy`, of the mean over the layers of a run's encoder or decoder."""
    found = []
    for run in system.runs:
        layers = numbered(run.record["layers"].get(side, []))
        known = [found_in(run, kind, question, layer) for layer in layers]
        whole = all(known) and known
        found.append([100 * fmean(values) for values in zip(*known, strict=True)] if whole else None)
    return over_seeds(found)


def found_in(run: Run, kind: str, question: str, layer: str) -> list[float] | None:
    """From 0 to 1, one number per classifier."""
    if kind == TRAINING:
        return run.value("classifiers", question, layer, "training")
    return run.value("averages", kind, question, layer)


def numbered(layers: Iterable[str]) -> list[str]:
    """Those that are outputs of layers, not embeddings or final norms."""
    return [layer for layer in layers if re.fullmatch(r"L[1-9]\d*", layer)]


def side_of(run: dict, layer: str) -> str | None:
    return next((side for side in SIDES if layer in run["layers"].get(side, [])), None)


def baselines(runs: list[dict], kind: str, question: str, layers: list[str]) -> dict[str, list]:
    """Chance and majority in percent, one line per different one among the runs, one height per layer."""
    found: dict[str, dict] = {"chance": {}, "majority": {}}
    for run in runs:
        if question in run["chance"]:
            known = [side_of(run, layer) for layer in layers]
            sides = run["majority"][question]
            majority = [sides.get(side, {}).get(kind) for side in known]
            for name, values in (("chance", [run["chance"][question]] * len(layers)), ("majority", majority)):
                found[name][tuple(None if value is None else 100 * value for value in values)] = None
    return {name: list(rows) for name, rows in found.items()}


def row(kind_title: str, question: str, system: System, values: list, kind: str) -> list:
    first = system.records[0]
    majority = [first["majority"][question].get(side, {}).get(kind) for side in SIDES]
    baselines = [first["chance"][question], *majority]
    return [
        *cells(kind_title, question, system.name, ", ".join(system.run_labels)),
        *(number_cell(None if one is None else 100 * one, ".1f") for one in baselines),
        *(mean_cell(value, 1) for value in values),
    ]


def data(systems: list[System], dataset: str) -> list[list]:
    """One row per system, seed, direction, question and layer; accuracies from 0 to 1, over classifiers."""
    rows = []
    for system in systems:
        for seed, run in system.labelled():
            for direction, entry in run["directions"].items():
                for question, layers in entry["accuracy"].items():
                    for layer, values in layers.items():
                        found = MeanStd.of(values or [])
                        majority = run["majority"][question].get(side_of(run, layer), {}).get(entry["kind"])
                        course = course_of(run, question, layer)
                        means = [
                            MeanStd.of(course.get(one) or []) for one in ("training", *COURSES, "converged")
                        ]
                        rows.append(
                            [
                                dataset, system.name, seed, entry["kind"], direction, question, layer,
                                found and found.mean, found and found.std, len(run["seeds"]) or None,
                                run["chance"][question], majority, *(one and one.mean for one in means),
                            ]
                        )  # fmt: skip
    header = ["dataset", "system", "seed", "kind", "direction", "question", "layer", "accuracy"]
    header += ["deviation", "classifier_seeds", "chance", "majority"]
    header += ["training_accuracy", "held_out_accuracy", "epochs", "regularization", "converged"]
    return tidy(header, rows)


def courses(systems: list[System], layers: list[str], dataset: str) -> list[Table]:
    """Accuracy on held-out sentences, epochs and the chosen C; * where a classifier has not converged."""
    rows, rules = [], set()
    for question in ("source", "target"):
        for system in systems:
            known = {layer: [course_of(run, question, layer) for run in system.records] for layer in layers}
            if any(all(found) for found in known.values()):
                rows += [
                    [
                        *cells(question, system.name, title),
                        *(of_course(found, measure) for found in known.values()),
                    ]
                    for measure, (title, _) in COURSES.items()
                ]
        rules.add(len(rows))
    caption = (
        f"Training of the classifiers on {dataset}: accuracy in % on the tokens of held-out sentences, epochs"
        " that the classifiers come from, and C, the inverse strength of regularization; mean ± deviation as"
        " above. *: not all have converged."
    )
    name = slug("llr_training", dataset)
    header = [cells("Language", "System", "", *layers)]
    rules -= {0, len(rows)}
    return [Table(name, caption, header, rows, frozenset(rules), folded=True)] if rows else []


def of_course(found: list[dict], measure: str):
    if not all(found):
        return cell(UNKNOWN)
    scale = COURSES[measure][1]
    values = [one[measure] and [scale * value for value in one[measure]] for one in found]
    return mean_cell(over_seeds(values), 1, "" if all(all(one["converged"]) for one in found) else "*")


def warnings(systems: list[System]) -> list[str]:
    """A line per run with classifiers that have not converged."""
    return [
        f"Warning: {system.name} on {system.dataset}, {seed}: {missing}. They say less than the states hold."
        for system in systems
        for seed, run in system.labelled()
        if (missing := unconverged(run["classifiers"]))
    ]


def course_of(run: dict, question: str, layer: str) -> dict:
    """How the training of these classifiers went; empty where the run lacks the question or the layer."""
    return run["classifiers"].get(question, {}).get(layer, {})


def over_seeds(found: list[list[float] | None]) -> MeanStd | None:
    """Of one list per system seed, of one value per classifier; None if one is missing."""
    if not all(found):
        return None
    per_run = [MeanStd.of(values) for values in found]
    return per_run[0] if len(found) == 1 else MeanStd.of(value.mean for value in per_run)
