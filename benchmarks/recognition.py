"""What layer-wise language recognition costs, and how far it is from scikit-learn's softmax regression.

Extracts the states of the quickstart's two models (or of others), runs `eval probe llr` on them as a user
does, and fits scikit-learn's `LogisticRegression` with the same C to every layer and question.

    OMP_NUM_THREADS=1 python -m benchmarks.recognition [--checkpoints A.pt B.pt --data DATA] [--max-lines N]
    OMP_NUM_THREADS=1 python -m benchmarks.recognition --states FOLDER …

`--states` takes stores that are there, of any model. The goals are those of one core.
"""

import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.option_classes import option
from eval.probes import llr
from eval.probes.recognition import layers_of, recognize, trained_directions
from eval.probes.store import SIDES, StateStore
from eval.reporting.result_file import Written

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "outputs" / "quickstart"
CHECKPOINTS = [QUICKSTART / f"models/system{number}-seed1/checkpoint_best.pt" for number in (1, 2)]
POSITIONS = {"source": 0, "target": 1}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is recognized."""

    checkpoints: list[Path] = option("trained models", CHECKPOINTS, nargs="+")
    data: Path = option("their binarized folder", QUICKSTART / "data/phrasebook")
    states: list[Path] = option("folders of eval probe states, in place of models", [], nargs="+")
    max_lines: int = option("lines per set and direction", 2000)


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folders = options.states or extracted(options, Path(temporary))
        for folder in folders:
            say_size(folder)
        before = processor_seconds()
        probe("llr", *folders, "--output", Path(temporary) / "llr")
        print(
            f"llr: {processor_seconds() - before:.1f} s of processor time (goal: 60 for 2 x 5,600 sentences)"
        )
        for folder in folders:
            compare(folder)


def extracted(options: Options, output: Path) -> list[Path]:
    """The stores of the checkpoints."""
    folders = []
    for number, checkpoint in enumerate(options.checkpoints):
        if not checkpoint.exists():
            raise InputError(
                f"{checkpoint}: no such file; run `make quickstart`, or give --checkpoints and --data"
            )
        folders.append(output / f"states{number}")
        given = (
            "--checkpoint",
            checkpoint,
            "--data",
            options.data,
            "--max-lines",
            options.max_lines,
            "--cpu",
        )
        probe("states", *given, "--output", folders[-1])
    return folders


def probe(*words) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eval", "probe", *map(str, words)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr[-2000:])


def processor_seconds() -> float:
    """Of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say_size(folder: Path) -> None:
    record = StateStore.open(folder).record
    sentences = sum(each["sentences"] for split in record["splits"].values() for each in split.values())
    size = sum(path.stat().st_size for path in folder.iterdir())
    took = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in record.get("seconds", {}).items())
    print(f"{record['system']['name']}: {sentences} sentences, {size / 1e6:.0f} MB of states; {took}")


def compare(folder: Path) -> None:
    """The largest difference of zero-shot accuracies from scikit-learn's, over layers and questions."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    store = StateStore.open(folder)
    options = llr.Options(states=[folder], written=Written(output=folder))
    rows = pd.DataFrame(recognize(folder, options).rows)
    learned = trained_directions(store, options)
    tested = [one for one in store.directions("test") if one not in store.supervised]
    differences = {}
    for side in (side for side in SIDES if layers_of(store, side)):
        parts = [getattr(store, side)("valid", one) for one in learned]
        for layer, number in layers_of(store, side).items():
            scaler = StandardScaler()
            states = scaler.fit_transform(np.concatenate([states_of(part, number) for part in parts]))
            tests = [scaler.transform(states_of(getattr(store, side)("test", one), number)) for one in tested]
            for question, position in POSITIONS.items():
                of_layer = rows[(rows.part == question) & (rows.layer == layer)]
                strength = of_layer[of_layer.measure == "regularization"].value.item()
                labels = [
                    one[position] for one, part in zip(learned, parts, strict=True) for _ in part.tokens
                ]
                theirs = LogisticRegression(C=strength, tol=1e-6, max_iter=5000).fit(states, labels)
                accuracies = [
                    (theirs.predict(test) == one[position]).mean()
                    for one, test in zip(tested, tests, strict=True)
                ]
                is_zero_shot = (of_layer.measure == "accuracy") & (of_layer.kind == "zero-shot")
                ours = of_layer[is_zero_shot].value.mean()
                differences[layer, question] = 100 * abs(ours - np.mean(accuracies))
    worst = max(differences, key=differences.get)
    print(
        f"{store.system['name']}: zero-shot accuracies of {len(differences)} classifiers differ from"
        f" scikit-learn's by at most {differences[worst]:.2f} points ({', '.join(worst)}; goal: 0.3)"
    )


def states_of(part, number: int) -> np.ndarray:
    """tokens x C of a layer, float32."""
    return np.asarray(part.all_states[number], dtype=np.float32)


if __name__ == "__main__":
    sys.exit(run_script())
