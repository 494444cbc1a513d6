"""Zero-shot and supervised translation during training: does one rise while the other falls? (chapter 8)

OUT are scored folders of checkpoints of the same trainings (`eval translate --split valid` with
`checkpoint_*_UPDATES.pt`); those of one system and seed become one curve over its updates. With `--llr`, the
layer-wise language recognition of the same checkpoints is correlated with their zero-shot BLEU, which the
thesis holds to be consistent (E.1): over all checkpoints, and over systems by the last ones, where time does
not make both rise.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.probes import equal_supervised
from eval.probes.llr import QUESTIONS
from eval.reporting.exhibits import Figure, Section, Table, cells, mean_cell, number_cell, slug, tidy
from eval.reporting.plots import lines
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import field, result_file
from eval.results.result_set import ResultSet
from eval.results.scores import SCORES, Scores, check_measured_alike, check_references
from eval.results.system_pairs import check_equal
from eval.results.systems import MeanStd, Run, System, by_dataset, check_one_training
from eval.scoring.significance import holm

KIND = "learning-curves"
LLR_FILE = "llr.json"
# Of the field "training".
RECOGNIZED_WITH = ("split", "sentences", "protocol", "epochs", "grid", "gradient_norm", "patience", "lr")
RECOGNIZED_WITH += ("batch_size",)
FEWEST = 3  # points: through two there is always a line
KINDS = ("zero-shot", "supervised")
MEASURES = {"bleu": ("BLEU", 1), "off_target": ("off-target %", 100)}  # title, and factor for people
POINTS = {"all": "all checkpoints", "last": "last checkpoints, mean of each system"}
NOTES = [
    "Checkpoints of the same trainings on one set. r: Pearson's correlation of the accuracy of layer-wise"
    " language recognition in zero-shot directions with zero-shot BLEU. Its classifiers learn from the"
    " validation set and are tested on the set that its own result names, usually the test set; BLEU is of"
    " the set of the curves. p: two-sided, corrected by Holm over the table, of means over seeds of last"
    " checkpoints only, since neither checkpoints of one training nor seeds of one system are independent."
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        scores: scored folders of checkpoints.
        llr: outputs of `eval probe llr` of the same checkpoints.
    """

    scores: list[Path]
    llr: list[Path]


def add_arguments(parser) -> None:
    parser.add_argument(
        "scores", nargs="+", type=types.path, metavar="OUT", help="scored folders of checkpoints"
    )
    parser.add_argument(
        "--llr",
        nargs="+",
        type=types.path,
        default=[],
        metavar="DIR",
        help="outputs of `eval probe llr` of the same checkpoints",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    inputs = [result_file(path, SCORES) for path in options.scores]
    inputs += [result_file(path, LLR_FILE) for path in options.llr]
    publish(KIND, options, inputs, lambda: measure(options), args)


def measure(options: Options) -> dict:
    """One run per training, and the correlations."""
    trainings = trainings_of(options.scores)
    recognized = recognition(options.llr)
    known = {checkpoint_of(one) for checkpoints in trainings.values() for one in checkpoints.values()}
    if unused := set(recognized) - known:
        path = recognized[min(unused)]["path"]
        raise InputError(f"--llr: {path} is of a checkpoint that no scored folder has")
    runs = [run(dict(sorted(checkpoints.items())), recognized) for checkpoints in trainings.values()]
    return {"runs": runs, "correlations": correlations(runs)}


def trainings_of(folders: Iterable[Path]) -> dict[tuple, dict[int, Scores]]:
    """Dataset, system and seed -> updates -> the scores of that checkpoint.

    Raises:
        InputError: two are of one checkpoint, or checkpoints of a system were measured in different ways.
    """
    found: dict[tuple, dict[int, Scores]] = defaultdict(dict)
    first: dict[tuple, Scores] = {}
    for folder in folders:
        scores = Scores.load(result_file(folder, SCORES))
        checkpoints = found[scores.dataset, scores.name, scores.seed]
        check_beside(scores, checkpoints)
        check_measured_alike(first.setdefault((scores.dataset, scores.name), scores), scores)
        checkpoints[updates_of(scores)] = scores
    check_references(scores for checkpoints in found.values() for scores in checkpoints.values())
    return found


def check_beside(scores: Scores, checkpoints: dict[int, Scores]) -> None:
    """Is it another checkpoint of the same training, and of the same set?"""
    if other := checkpoints.get(updates_of(scores)):
        raise InputError(f"{scores.path} and {other.path}: both are after {updates_of(scores)} updates")
    for other in checkpoints.values():
        check_one_training(other, scores)
        if other.record["split"] != scores.record["split"]:
            raise InputError(f"{scores.path} and {other.path}: are of different sets")


def updates_of(scores: Scores) -> int:
    updates = scores.value("checkpoint", "updates")
    if not isinstance(updates, int):
        raise InputError(f"{scores.path}: does not say after how many updates; translate it again")
    return updates


def checkpoint_of(scores: Scores) -> str:
    return field(scores.record, "checkpoint.sha256", str, scores.path)


def recognition(folders: Iterable[Path]) -> dict[str, dict]:
    """SHA-256 of a checkpoint -> "path" of the result file, and "zero-shot" accuracies: question -> layer ->
    mean over classifiers.

    Raises:
        InputError: two are of one checkpoint, or were measured in different ways.
    """
    found, first = {}, {}
    results = ResultSet.load((result_file(folder, LLR_FILE) for folder in folders), ["llr"])
    for path, record in results.of_kind("llr"):
        for one in record["runs"]:
            run = Run(path, one)  # other data sets have other numbers of sentences
            check_recognized_alike(first.setdefault(run.dataset, run), run)
            accuracy = {
                question: {layer: float(np.mean(values)) for layer, values in layers.items() if values}
                for question, layers in one["averages"].get("zero-shot", {}).items()
                if question in QUESTIONS  # beside them: how many directions are averaged
            }
            checkpoint = field(one, "checkpoint.sha256", str, path)
            if known := found.get(checkpoint):
                raise InputError(f"{path} and {known['path']}: both are of one checkpoint; give one")
            found[checkpoint] = {"path": str(path), "zero-shot": accuracy}
    return found


def check_recognized_alike(first: Run, run: Run) -> None:
    """Accuracies that are correlated together are of one protocol and of the same tokens."""
    for name in ("tokens", "forced", "split"):
        check_equal(name, first, run, first.value(name), run.value(name))
    for name in RECOGNIZED_WITH:
        values = [one.value("training", name) for one in (first, run)]
        check_equal(f"training.{name}", first, run, *values)


def run(checkpoints: dict[int, Scores], recognized: dict[str, dict]) -> dict:
    """One training.

    Args:
        checkpoints: by their updates, in order.
    """
    first, every = next(iter(checkpoints.values())), list(checkpoints.values())
    known = [recognized.get(checkpoint_of(one), {}).get("zero-shot", {}) for one in every]
    layers = {(question, layer) for one in known for question in one for layer in one[question]}
    llr: dict[str, dict[str, list]] = defaultdict(dict)
    for question, layer in sorted(layers):
        llr[question][layer] = [one.get(question, {}).get(layer) for one in known]
    return {
        "system": first.system | {"name": first.name},
        "dataset": first.dataset,
        "split": first.record["split"],
        "updates": list(checkpoints),
        "averages": {
            kind: {measure: [one.value("averages", kind, measure) for one in every] for measure in MEASURES}
            for kind in KINDS
        },
        "llr": llr,
    }


def correlations(runs: list[dict]) -> list[dict]:
    """Of every dataset, question, layer and choice of points that has `FEWEST` of them, which are not all the
    same.
    """
    found = []
    for dataset in dict.fromkeys(one["dataset"] for one in runs):
        found += _correlations(dataset, [one for one in runs if one["dataset"] == dataset])
    tested = [one for one in found if one["p_value"] is not None]
    for one, corrected in zip(tested, holm([one["p_value"] for one in tested]), strict=True):
        one["p_value"] = corrected
    return found


def _correlations(dataset: str, runs: list[dict]) -> list[dict]:
    from scipy.stats import pearsonr

    layers = {(question, layer) for one in runs for question in one["llr"] for layer in one["llr"][question]}
    found = []
    for question, layer in sorted(layers):
        every = [(one["system"]["name"], points(one, question, layer)) for one in runs]
        chosen = {
            "all": [pair for _, pairs in every for pair in pairs if None not in pair],
            "last": last_of_systems(every),
        }
        for which, pairs in chosen.items():
            columns = np.array(pairs, dtype=float).T
            if len(pairs) >= FEWEST and np.ptp(columns, axis=1).all():
                result = pearsonr(*columns)
                found.append(
                    {
                        "dataset": dataset,
                        "question": question,
                        "layer": layer,
                        "points": which,
                        "n": len(pairs),
                        "r": float(result.statistic),
                        "p_value": float(result.pvalue) if which == "last" else None,
                    }
                )
    return found


def last_of_systems(trainings: list[tuple[str, list[tuple[float, float]]]]) -> list[tuple[float, float]]:
    """The mean over its seeds of every system's last points.

    Args:
        trainings: name of the system, and points of one of its trainings. Where the last lacks a number, it
            has none: an earlier one is of another time.
    """
    by_system: dict[str, list] = defaultdict(list)
    for name, pairs in trainings:
        by_system[name] += [pair for pair in pairs[-1:] if None not in pair]
    return [tuple(np.mean(pairs, axis=0)) for pairs in by_system.values() if pairs]


def points(run: dict, question: str, layer: str) -> list[tuple[float | None, float | None]]:
    """(accuracy, zero-shot BLEU) of the checkpoints in their order; None for what is not known."""
    accuracy = run["llr"].get(question, {}).get(layer, [])
    return list(zip(accuracy, run["averages"]["zero-shot"]["bleu"], strict=False))


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = by_dataset(results.probed(KIND)).items()
    parts = [curves(found, kind, dataset) for dataset, found in systems for kind in KINDS]
    parts += [equal_supervised.table(found, dataset) for dataset, found in systems]
    # of the trainings of all files together, as these tables compare them
    found = correlations([run for _, members in systems for one in members for run in one.records])
    parts.append(correlation_table(found) if found else None)
    return Section("Learning curves", [part for part in parts if part], NOTES)


def curves(systems: list[System], kind: str, dataset: str) -> Figure | None:
    """BLEU and off-target rate over the updates, a curve per system; None without directions of the kind."""
    runs = [run for system in systems for run in system.records]
    if not any(value is not None for run in runs for value in run["averages"][kind]["bleu"]):
        return None
    updates = sorted({update for run in runs for update in run["updates"]})
    panels = {
        title: {
            system.name: [at(system, kind, one, update, scale) for update in updates] for system in systems
        }
        for one, (title, scale) in MEASURES.items()
    }
    rows = [
        [
            *cells(title, system.name, len(system.runs)),
            *(mean_cell(value, 1) for value in series[system.name]),
        ]
        for title, series in panels.items()
        for system in systems
    ]
    name = slug("learning_curves", kind, dataset)
    caption = f"{kind.capitalize()} directions on {dataset} over the updates; bands: deviation over seeds."
    header, rules = [cells("", "System", "Seeds", *updates)], frozenset({len(systems)})
    table = Table(name, caption, header, rows, rules, data(systems, kind, dataset), folded=True)
    return Figure(name, caption, lines([str(update) for update in updates], panels, "BLEU, %"), table)


def at(system: System, kind: str, measure: str, update: int, scale: float) -> MeanStd | None:
    """Mean over the runs; None where one was not measured."""
    runs = [dict(zip(run["updates"], run["averages"][kind][measure], strict=True)) for run in system.records]
    found = MeanStd.of(run.get(update) for run in runs)
    return found and found.scaled(scale)


def data(systems: list[System], kind: str, dataset: str) -> list[list]:
    """One row per system, seed and checkpoint; rates from 0 to 1."""
    rows = [
        [dataset, run["split"], kind, system.name, seed, update]
        + [run["averages"][kind][measure][number] for measure in MEASURES]
        for system in systems
        for seed, run in system.labelled()
        for number, update in enumerate(run["updates"])
    ]
    return tidy(["dataset", "split", "kind", "system", "seed", "updates", *MEASURES], rows)


def correlation_table(correlations: list[dict]) -> Table:
    caption = "Correlation of layer-wise language recognition in zero-shot directions with zero-shot BLEU."
    rows = [
        [
            *cells(one["dataset"], one["question"], one["layer"], POINTS[one["points"]], one["n"]),
            number_cell(one["r"], ".2f"),
            number_cell(one["p_value"], ".3f"),
        ]
        for one in correlations
    ]
    return Table(
        "llr_and_bleu", caption, [cells("Dataset", "Language", "Layer", "Points", "n", "r", "p")], rows
    )
