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

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import option, positional
from eval.checks import check_equal, check_measured_alike, check_one_training, check_test_sets
from eval.derived.llr_and_bleu import ACCURACY
from eval.reporting.result_file import Written, publish
from eval.result_files import field, result_file
from eval.result_set import ResultSet
from eval.scored import SCORES, Scores
from eval.systems import Run

KIND = "learning-curves"
LLR_FILE = "llr.json"
# Of the field "training".
RECOGNIZED_WITH = (
    *("protocol", "epochs", "grid", "gradient_norm", "patience", "hidden", "lr", "batch_size"),
    *("balance", "directions"),
)
MEASURES = ("bleu", "off_target")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    scores: list[Path] = positional("scored folders of checkpoints", nargs="+", metavar="OUT")
    llr: list[Path] = option("outputs of `eval probe llr` of the same checkpoints", [], metavar="DIR")
    written: Written


def main(options: Options) -> None:
    inputs = [result_file(path, SCORES) for path in options.scores]
    inputs += [result_file(path, LLR_FILE) for path in options.llr]
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """One run per training."""
    trainings = trainings_of(options.scores)
    recognized = recognition(options.llr)
    known = {checkpoint_of(one) for checkpoints in trainings.values() for one in checkpoints.values()}
    if unused := set(recognized) - known:
        path, _ = recognized[min(unused)]
        raise InputError(f"--llr: {path} is of a checkpoint that no scored folder has")
    measured = Measured()
    for checkpoints in trainings.values():
        first = next(iter(checkpoints.values()))
        run = {"dataset": first.dataset, "split": first.record["split"]}
        measured.add({"system": first.system | {"name": first.name}} | run, curves(checkpoints, recognized))
    return measured


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
    check_test_sets(scores for checkpoints in found.values() for scores in checkpoints.values())
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


def recognition(folders: Iterable[Path]) -> dict[str, tuple[Path, dict]]:
    """SHA-256 of a checkpoint -> its result file; and (question, layer) -> accuracy in zero-shot directions,
    the mean over these and over classifiers.

    Raises:
        InputError: two are of one checkpoint, or were measured in different ways.
    """
    from eval.measurements import rows_of  # with pandas: not before it is needed

    recognized, first = {}, {}
    results = ResultSet.load((result_file(folder, LLR_FILE) for folder in folders), ["llr"])
    for path, record in results.of_kind("llr"):
        for number, one in enumerate(record["runs"]):
            run = Run(path, one, record, number)
            # Other data sets have other numbers of sentences.
            check_recognized_alike(first.setdefault(run.dataset, run), run)
            rows = rows_of(run)
            rows = rows[(rows.kind == "zero-shot") & (rows.measure == ACCURACY)]
            checkpoint = field(one, "checkpoint.sha256", str, path)
            if checkpoint in recognized:
                other, _ = recognized[checkpoint]
                raise InputError(f"{path} and {other}: both are of one checkpoint; give one")
            recognized[checkpoint] = path, rows.groupby(["part", "layer"]).value.mean().to_dict()
    return recognized


def check_recognized_alike(first: Run, run: Run) -> None:
    """Accuracies that are correlated together are of one protocol and of the same tokens."""
    for name in ("tokens", "forced", "split", "train_split", "train_sentences"):
        check_equal(name, first, run, first.value(name), run.value(name))
    for name in RECOGNIZED_WITH:
        values = [one.value("training", name) for one in (first, run)]
        check_equal(f"training.{name}", first, run, *values)


def curves(checkpoints: dict[int, Scores], recognized: dict[str, tuple[Path, dict]]) -> list[dict]:
    """The rows of one training, checkpoint by checkpoint.

    Args:
        recognized: as `recognition` returns it.
    """
    from eval.measurements import rows_of  # with pandas: not before it is needed

    rows = []
    for update, scores in sorted(checkpoints.items()):
        scored = rows_of(scores)
        averages = scored[scored.measure.isin(MEASURES)].groupby(["kind", "measure"]).value.mean()
        for (kind, measure), average in averages.items():
            rows += numbers({measure: average}, kind=kind, update=update)
        _, accuracies = recognized.get(checkpoint_of(scores), (None, {}))
        for (question, layer), accuracy in accuracies.items():
            place = {"kind": "zero-shot", "part": question, "layer": layer, "update": update}
            rows += numbers({ACCURACY: accuracy}, **place)
    return rows
