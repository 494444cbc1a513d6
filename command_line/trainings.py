"""What commands share that train for hours into a folder: one process, and going on after a kill."""

import os
import shutil
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.outputs import write_json
from command_line.records import check, read_json

WORK = "work.json"  # in the folder of the trainer's state: what is being done


def check_one_process(training: str) -> None:
    """Refuse to be one of several processes of a launcher, which would all write the same folder.

    Args:
        training: what runs in one process, for the message.
    """
    processes = os.environ.get("WORLD_SIZE", "1")
    if processes != "1":
        raise InputError(
            f"WORLD_SIZE {processes}: {training} runs in one process, on one device; start it without"
            " torchrun"
        )


def check_training(stamp: Stamp, folder: Path, state: str, results: str, force: bool) -> bool:
    """Whether a training goes on from a state, or begins; nothing is changed.

    Args:
        state: folder in it with the trainer's states, checkpoint-N.
        results: pattern of the folders that the training makes.

    Raises:
        InputError: another training has been here, or one that cannot go on, which nobody has allowed to be
            forgotten. One that was begun and has no state yet has nothing to lose.
    """
    goes_on = not force and any((folder / state).glob("checkpoint-*"))
    known = {} if force else stamp.recorded() or (_begun(folder / state / WORK) if goes_on else {})
    stamp.check_same(known, "trained")
    kept = sorted(path.name for path in folder.glob(results))
    if kept and not (goes_on or force):  # copied without the record, or one of them was removed
        raise InputError(
            f"{folder}: has {kept[0]}, but neither the record of a complete training nor a state to go on"
            " from; give another --output, or --force to train anew"
        )
    return goes_on


def begin_training(stamp: Stamp, folder: Path, state: str, results: str, force: bool) -> None:
    """Make the folder ready for this training, or for its rest. What may still be refused is read before: a
    training that begins anew removes what the last one made.

    Args, raises: as `check_training`.
    """
    goes_on = check_training(stamp, folder, state, results, force)
    stamp.begin()
    if not goes_on:
        for path in (folder / state, *folder.glob(results)):
            if path.is_dir():
                shutil.rmtree(path)
    write_json(folder / state / WORK, stamp.work)


def _begun(work: Path) -> dict:
    """What a training that was killed was doing."""
    if not work.is_file():
        return {}
    known = read_json(work)
    check(known, {"settings": {}, "inputs": {}}, work)
    return known
