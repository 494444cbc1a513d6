"""How fast a training is: run its own command for half a minute, in a temporary folder, and note the rate.

Writes OUTPUT/NAME.json, NAME being the folder of the training without its seed: seconds and words (of
targets) per update, parameters, and how many updates the training will make. The time of the first update, in
which memory is found, is not counted. A second training of the same NAME (another seed) is only counted. If
the data are not there yet, nothing is run.
"""

import re
import sys
from itertools import chain
from pathlib import Path

from command_line import options
from command_line.records import Optional
from fairseq_ext.commands.run_training import WORD

RECORD = {
    "name": str,
    "trainings": int,
    "missing": Optional(str),
    "rate": Optional(
        {
            "parameters": int,
            "updates": Optional(int),
            "stops_early": bool,
            "words_per_update": float,
            "seconds_per_update": float,
        }
    ),
}
_STARTS = {  # change no rate, and are left out while they are not there yet; with what goes with them
    "--pretrained-checkpoint": ("--pretrained-dictionary", "--new-rows"),
    "--finetune-from-model": (),
}
_OWN = ("--log-file", "--tensorboard-logdir", "--wandb-project", "--aim-repo")  # of the training


def add_arguments(parser) -> None:
    parser.add_argument(
        "--output", required=True, type=options.output_folder, metavar="DIR", help="folder of the notes"
    )
    parser.add_argument("--data", required=True, type=options.path, help="binarized folder that it reads")
    parser.add_argument(
        "--seconds", type=options.number(0, 3600, above=True), default=30, help="that are measured"
    )
    parser.add_argument(
        "words", nargs="*", type=WORD, metavar="WORD", help="of the command that trains, after --"
    )


def main(args) -> None:
    from command_line.outputs import write_json
    from command_line.records import read_record
    from fairseq_ext.training_record import files_read

    name = _system(args.words)
    path = Path(args.output) / f"{name}.json"
    if path.exists():
        record = read_record(path, RECORD)
        record["trainings"] += 1
    else:
        record = {"name": name, "trainings": 1, "missing": None, "rate": None}
        if not args.data.exists():
            record["missing"] = str(args.data)
        else:
            print(f"== {name}: a pilot of {args.seconds:g} seconds", file=sys.stderr)
            files_read(args.data, {})
            record["rate"] = measured(args.words, args.output, args.seconds)
    write_json(path, record)


def _system(words: list[str]) -> str:
    """What is trained: the name of the folder that the command saves to, without the seed.

    Raises:
        InputError: the command has no such folder.
    """
    from command_line.errors import InputError
    from fairseq_ext.training_record import parse_options

    folder = Path(parse_options(words).get("--save-dir", ""))
    if not folder.name:
        raise InputError("after --: expected a command with --save-dir FOLDER")
    return re.sub(r"-seed\d+$", "", folder.name)


def measured(words: list[str], folder, seconds: float) -> dict:
    """The field "rate" of the record.

    Args:
        folder: in which the pilot has its temporary one.

    Raises:
        InputError: the command ends before two updates; says its last line.
    """
    from command_line.outputs import scratch_folder
    from fairseq_ext.training_record import parse_options

    end = parse_options(words)
    Path(folder).mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as scratch:
        found = _run(_short(words, scratch), seconds)
    updates = [int(end["--max-update"])] if int(end.get("--max-update", 0)) else []
    if int(end.get("--max-epoch", 0)):
        updates.append(int(end["--max-epoch"]) * found.pop("updates_per_epoch"))
    found.pop("updates_per_epoch", None)
    stops_early = int(end.get("--patience", -1)) > 0
    return {"updates": min(updates, default=None), "stops_early": stops_early, **found}


def _short(words: list[str], scratch: Path) -> list[str]:
    """The command, which saves and validates nothing."""
    from fairseq_ext.training_record import parse_options

    given = parse_options(words)
    missing = [name for name in _STARTS if name in given and not Path(given[name]).exists()]
    left_out = {*_OWN, *missing, *chain.from_iterable(_STARTS[name] for name in missing)}
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if before not in left_out and word.partition("=")[0] not in left_out
    ]
    short = ["--save-dir", str(scratch), "--no-save", "--disable-validation"]
    return [*kept, *short, "--log-format", "simple", "--log-interval", "1"]


def _run(command: list[str], seconds: float) -> dict:
    import contextlib
    import subprocess
    import time

    from command_line.errors import InputError
    from command_line.options import LONGEST_TEXT, shown
    from command_line.processes import SECONDS_TO_END, ProcessGroup, how_it_ended

    update = re.compile(r"epoch \d+:\s+\d+ / (\d+) .*\bwpb=([\d.]+).*\bnum_updates=(\d+)")
    parameters, times, words_seen, line, size = 0, [], [], "", 0
    with ProcessGroup() as group:
        process = group.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            if found := re.search(r"shared model params: ([\d,]+)", line):
                parameters = int(found[1].replace(",", ""))
            if found := update.search(line):
                times.append(time.monotonic())
                words_seen.append(float(found[2]))
                size = int(found[1])
                if len(times) > 1 and times[-1] - times[0] > seconds:
                    break
        else:
            ended = how_it_ended(process.wait())
            if len(times) < 2:
                words, said = shown(" ".join(command)), line.strip()[-LONGEST_TEXT:]
                raise InputError(f"the pilot {ended} before its second update: {said} (after --: {words})")
        process.terminate()  # srun ends its step
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
        group.kill()
    return {
        "parameters": parameters,
        "words_per_update": sum(words_seen) / len(words_seen),
        "seconds_per_update": (times[-1] - times[0]) / (len(times) - 1),
        "updates_per_epoch": size,
    }
