"""Validation loss of translation during training, of several systems (thesis 7.4.2, Figure 7.3).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`, for instance
`train.log` of a recipe's model; the same NAME with several files: its seeds. The loss is `nmt_loss` where
auxiliary losses are added, else `loss`; it is that of teacher forcing, also of the interlingua's length, in
bits per token, label smoothing included.
"""

import json
import re
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_lines

KIND = "validation-curves"
METRICS = ("nmt_loss", "loss")
VALID = "| valid | "


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments

    parser.add_argument("logs", nargs="+", metavar="NAME=FILE", help="log of a training")
    parser.add_argument("--dataset", required=True, help="name of the data in tables")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from eval.probes.findings import publish
    from eval.report_sections import validation_curves

    logs = [parse(text) for text in args.logs]
    publish(
        args,
        KIND,
        [path for _, path in logs],
        validation_curves.section,
        lambda: {"runs": [run(name, path, args.dataset) for name, path in logs]},
    )


def parse(text: str) -> tuple[str, Path]:
    """
    Raises:
        InputError: not NAME=FILE, or no such file.
    """
    name, sign, file = text.partition("=")
    if not (name and sign and file):
        raise InputError(f"{text}: expected NAME=FILE, for example MNMT=models/system1-seed1/train.log")
    if not Path(file).is_file():
        raise InputError(f"{file}: no such file; expected the log of a training")
    return name, Path(file)


def run(name: str, path: Path, dataset: str) -> dict:
    """One training. A validation that was repeated after a restart counts once, the last time.

    Raises:
        InputError: no validation in the log.
    """
    points = {}
    for line in read_lines(path):
        if VALID in line and (found := values_of(line.split(VALID, 1)[1])):
            metric = next((one for one in METRICS if one in found), None)
            if metric and "num_updates" in found:
                points[int(float(found["num_updates"]))] = (metric, float(found[metric]))
    if not points:
        raise InputError(f"{path}: no validation in it; expected a log of fairseq-train (simple or json)")
    updates = sorted(points)
    return {
        "system": {"name": name},
        "dataset": dataset,
        "log": str(path),
        "metric": points[updates[-1]][0],
        "updates": updates,
        "loss": [points[update][1] for update in updates],
    }


def values_of(text: str) -> dict[str, str]:
    """Names and values of a line of the log, without fairseq's prefix `valid_`."""
    is_json = text.startswith("{")
    found = json.loads(text) if is_json else dict(re.findall(r"(?:^|\| )(\w+) ([^|\s]+)", text))
    return {name.removeprefix("valid_"): value for name, value in found.items()}
