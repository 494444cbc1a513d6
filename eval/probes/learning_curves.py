"""Zero-shot and supervised translation during training: does one rise while the other falls? (chapter 8)

OUT are scored folders of checkpoints of the same trainings (`eval translate --split valid` with
`checkpoint_*_UPDATES.pt`); those of one system and seed become one curve over its updates. With `--llr`, the
layer-wise language recognition of the same checkpoints is correlated with their zero-shot BLEU; thesis E.1
holds both to be consistent. This is done over all checkpoints, and over systems by the last ones, where time
does not make both rise.
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
    scored = {checkpoint_of(scores) for checkpoints in trainings.values() for scores in checkpoints.values()}
    if unused := set(recognized) - scored:
        path, _ = recognized[min(unused)]
        raise InputError(f"--llr: {path} is of a checkpoint that no scored folder has")
    measured = Measured()
    for checkpoints in trainings.values():
        first = next(iter(checkpoints.values()))
        run = {"dataset": first.dataset, "split": first.record["split"]}
        measured.add({"system": training_of(first)} | run, curves(checkpoints, recognized))
    return measured


def trainings_of(folders: Iterable[Path]) -> dict[tuple, dict[int, Scores]]:
    """Dataset, system and seed -> updates -> the scores of that checkpoint.

    Raises:
        InputError: as `by_training`; or other references.
    """
    scored = [Scores.load(result_file(folder, SCORES)) for folder in folders]
    trainings = by_training(scored)
    check_test_sets(scored)
    return trainings


def by_training(runs: Iterable[Run]) -> dict[tuple, dict[int, Run]]:
    """Dataset, system and seed -> updates, rising -> the run of that checkpoint.

    Raises:
        InputError: a run does not say after how many updates it is, two are of one checkpoint, or those of a
            system were measured in different ways.
    """
    trainings: dict[tuple, dict[int, Run]] = defaultdict(dict)
    first: dict[tuple, Run] = {}
    for run in runs:
        updates = run.value("checkpoint", "updates")
        if not isinstance(updates, int):
            raise InputError(
                f"{run.path}: does not say after how many updates its checkpoint is; make it again"
            )
        name = training_of(run)["name"]
        checkpoints = trainings[run.dataset, name, run.seed]
        if other := checkpoints.get(updates):
            raise InputError(f"{run.path} and {other.path}: both are after {updates} updates")
        for other in checkpoints.values():
            check_one_training(other, run)
        check_measured_alike(first.setdefault((run.dataset, name), run), run)
        checkpoints[updates] = run
    return {key: dict(sorted(checkpoints.items())) for key, checkpoints in trainings.items()}


def training_of(run: Run) -> dict:
    """The record of its system, whose name is that of the whole training."""
    from fairseq_ext.checkpoints.progress import progress_label

    label = progress_label(field(run.record, "checkpoint.path", str, run.path))
    return run.system | {"name": run.name.removesuffix(label)}


def checkpoint_of(run: Run) -> str:
    return field(run.record, "checkpoint.sha256", str, run.path)


def recognition(folders: Iterable[Path]) -> dict[str, tuple[Path, dict]]:
    """SHA-256 of a checkpoint -> its result file; and (question, layer) -> accuracy in zero-shot directions,
    the mean over these and over classifiers.

    Raises:
        InputError: two are of one checkpoint, or were measured in different ways.
    """
    from eval.measurements import rows_of  # with pandas: not before it is needed

    recognized, first = {}, {}
    for run in runs_in((result_file(folder, LLR_FILE) for folder in folders), "llr"):
        # Other data sets have other numbers of sentences.
        check_recognized_alike(first.setdefault(run.dataset, run), run)
        rows = rows_of(run)
        rows = rows[(rows.kind == "zero-shot") & (rows.measure == ACCURACY)]
        checkpoint = checkpoint_of(run)
        if checkpoint in recognized:
            other, _ = recognized[checkpoint]
            raise InputError(f"{run.path} and {other}: both are of one checkpoint; give one")
        recognized[checkpoint] = run.path, rows.groupby(["part", "layer"]).value.mean().to_dict()
    return recognized


def runs_in(files: Iterable[Path], kind: str) -> list[Run]:
    """The runs of result files."""
    return [
        Run(path, run, record, number)
        for path, record in ResultSet.load(files, [kind]).of_kind(kind)
        for number, run in enumerate(record["runs"])
    ]


def check_recognized_alike(first: Run, run: Run) -> None:
    """Accuracies that are correlated together are of one protocol and of the same tokens."""
    for name in ("tokens", "forced", "split", "train_split", "train_sentences"):
        check_equal(name, first, run, first.value(name), run.value(name))
    for name in RECOGNIZED_WITH:
        values = [each.value("training", name) for each in (first, run)]
        check_equal(f"training.{name}", first, run, *values)


def curves(checkpoints: dict[int, Scores], recognized: dict[str, tuple[Path, dict]]) -> list[dict]:
    """The rows of one training, checkpoint by checkpoint."""
    from eval.measurements import rows_of  # with pandas: not before it is needed

    rows = []
    for update, scores in checkpoints.items():
        scored = rows_of(scores)
        averages = scored[scored.measure.isin(MEASURES)].groupby(["kind", "measure"]).value.mean()
        for (kind, measure), average in averages.items():
            rows += numbers({measure: average}, kind=kind, update=update)
        _, accuracies = recognized.get(checkpoint_of(scores), (None, {}))
        for (question, layer), accuracy in accuracies.items():
            place = {"kind": "zero-shot", "part": question, "layer": layer, "update": update}
            rows += numbers({ACCURACY: accuracy}, **place)
    return rows
