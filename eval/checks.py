"""What runs must have in common to be shown or compared together.

Runs of one system have everything in common but their seed. Those on one dataset are of the same lines and
were measured in the same way. All in one report were scored by the same models.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from command_line.errors import InputError
from eval.systems import TOKENIZER, Run, System

ALLOWED = "give them other --dataset names, or show them together all the same by --allow-unlike"
LENGTH = ("max_update", "max_epoch", "total_num_update")  # of a schedule


def check_equal(what: str, first: Run, run: Run, expected, actual, remedy: str = "") -> None:
    """Compare what two runs say of one thing.

    Raises:
        InputError: they differ; names both files and, of dictionaries, the first field that differs.
    """
    if expected == actual:
        return
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        key = next(key for key in {**expected, **actual} if expected.get(key) != actual.get(key))
        what, expected, actual = f"{what}.{key}", expected.get(key), actual.get(key)
    here, there = ("missing" if value is None else str(value) for value in (actual, expected))
    if here == there or "" in (here, there):
        here, there = repr(actual), repr(expected)
    end = f"; {remedy}" if remedy else ""
    raise InputError(f"{run.path}: {what} is {here}, but {there} in {first.path}{end}")


def check_known(first: Run, run: Run, expected: Mapping, actual: Mapping, remedy: str) -> None:
    """Compare all that both runs say; None says nothing."""
    for name in expected:
        if None not in (values := (expected[name], actual.get(name))):
            check_equal(name, first, run, *values, remedy)


def only_seeds(run: Run) -> str:
    return f"runs named {run.name!r} must differ in their seed only"


def group_runs(runs: Iterable[Run]) -> list[System]:
    """The systems of runs, as they first appear; a dataset and a name are a system.

    Raises:
        InputError: two runs are the same seed or encoder, runs under one name are not the same system or were
            measured in different ways, or two on a dataset have other references; names both files.
    """
    from fairseq_ext.axes.record import check_record

    groups: dict[tuple[str, str], list[Run]] = {}
    runs = list(runs)
    for run in runs:
        check_record(run.system, run.path)
        others = groups.setdefault((run.dataset, run.name), [])
        for other in others:
            _check_another(other, run)
        if others:
            check_equal("system", others[0], run, others[0].settings, run.settings, only_seeds(run))
            check_measured_alike(others[0], run)
        others.append(run)
    check_test_sets(runs)
    return [
        System(name, dataset, tuple(sorted(members, key=lambda run: (run.seed is None, run.seed or 0))))
        for (dataset, name), members in groups.items()
    ]


def _check_another(first: Run, run: Run) -> None:
    """Two runs of a system are two trainings: other seeds, or other encoders where these are not known."""
    both = f"{run.path} and {first.path}"
    if (first.path.resolve(), first.number) == (run.path.resolve(), run.number):
        raise InputError(f"{run.path}: given twice")
    if run.seed is not None and run.seed == first.seed:
        same = f"both are seed {run.seed} of system {run.name!r}"
        raise InputError(f"{both}: {same}; give one of them another --name")
    encoders = [each.file.get("encoder") or {} for each in (first, run)]
    if {first.seed, run.seed} != {None} or not all("weights" in encoder for encoder in encoders):
        return
    if encoders[0]["weights"] == encoders[1]["weights"]:
        raise InputError(f"{both}: both are of one encoder, {run.name!r}; give one of them")
    folders = [Path(encoder["model"]).name for encoder in encoders]
    if all(encoder["name"].startswith(folder) for encoder, folder in zip(encoders, folders, strict=True)):
        raise InputError(
            f"{both}: are of two encoders in folders called {folders[0]}; give them other names by"
            " --encoder-name, or one, if they are trainings of one system"
        )


def check_test_sets(runs: Iterable[Run]) -> None:
    """A dataset is one test set: neither seeds nor columns of a table are of another one of its name."""
    firsts: dict[tuple[str, str], tuple[Run, dict]] = {}  # dataset and direction
    for run in runs:
        for direction, facts in run.test_sets.items():
            first, expected = firsts.setdefault((run.dataset, direction), (run, facts))
            for name, value in facts.items():
                remedy = f"expected one test set of {run.dataset}, others under another --dataset"
                if name == TOKENIZER:
                    remedy = "score both with the same --tokenize"
                check_equal(f"direction {direction}: {name}", first, run, expected[name], value, remedy)


def check_measured_alike(first: Run, run: Run) -> None:
    """Two runs of a system were measured in the same way: their mean would be of neither."""
    check_known(first, run, first.measured_with, run.measured_with, only_seeds(run))


def check_one_training(first: Run, run: Run) -> None:
    """Checkpoints of one training are of one system, whatever its length was to be."""
    expected, actual = (
        each.settings
        | {"schedule": {k: v for k, v in (each.settings.get("schedule") or {}).items() if k not in LENGTH}}
        for each in (first, run)
    )
    check_equal("system", first, run, expected, actual, only_seeds(run))


def check_lines(first: Run, run: Run, expected: Mapping, actual: Mapping, remedy: str) -> None:
    """Two runs are of the same lines of the same directions. What was translated through a pivot may lack
    directions: those from the pivot and into it.

    Args:
        expected, actual: lines by direction, as `lines_of` returns them.
    """
    has_pivot = first.record.get("pivot") or run.record.get("pivot")
    for name in expected.keys() & actual.keys() if has_pivot else {**expected, **actual}:
        sides = [side.get(name, "none") for side in (expected, actual)]
        check_equal(f"lines of {name}", first, run, *sides, remedy)


def lines_of(rows) -> dict[str, float | str]:
    """Every direction of the rows of a run, and its number of lines where they were counted."""
    lines = rows[rows.measure == "lines"].set_index("direction").value.to_dict()
    return {name: lines.get(name, "some") for name in rows.direction.unique() if name}


def check_identifier(runs: Iterable[Run]) -> None:
    """Languages of all that is shown together were identified by one model."""
    first, *others = list(runs) or [None]
    remedy = "score both by one --identifier, or give them apart"
    for run in others:
        names = [each.value("scoring", "identifier") for each in (first, run)]
        check_equal("the identifier of languages", first, run, *names, remedy)


def check_comet(runs: Iterable[Run]) -> None:
    """COMET of all that is shown or compared together is of one model, wherever that is stored."""
    first, *others = [run for run in runs if run.value("scoring", "comet_model")] or [None]
    remedy = "score both by one --comet-model, or give them apart"
    for run in others:
        models = [each.value("scoring", "comet_model") for each in (first, run)]
        sha256s = [each.value("scoring", "comet", "sha256") for each in (first, run)]
        if None not in sha256s:
            models = [f"{model} ({sha256[:12]})" for model, sha256 in zip(models, sha256s, strict=True)]
        if None in sha256s or sha256s[0] != sha256s[1]:
            check_equal("COMET's model", first, run, *models, remedy)
