"""What a training was initialized from, which a checkpoint says in its `task_state`, "initialized_from":

    {}                                             nothing: from scratch
    {"file": …, "sha256": …, "system": {…}}        a checkpoint, and the record of its system
    {"file": …, "sha256": …}                       a file that is no checkpoint of ours (mBART's)
    {…, "new_rows": …}                             how embeddings began that its dictionary did not have
    {"file": …}                                    all that the options of a training by stock fairseq say

and None where nothing is known.
"""

import re
from pathlib import PurePath

from typing_extensions import TypedDict

from command_line.outputs import checksum
from command_line.records import check
from fairseq_ext.axes.record import check_record, describe
from fairseq_ext.checkpoints.progress import updates_of

OPTION = "finetune_from_model"
FIELD, TEACHER = "initialized_from", "teacher"
LONGEST_NAME = 100


class Start(TypedDict, total=False):
    """The checkpoint that a training started from."""

    file: str | None
    sha256: str | None
    seed: int | None
    new_rows: str | None


class NamedTeacher(TypedDict):
    """The encoder that it learned from."""

    name: str


def origin_of(path, state: dict) -> dict:
    """What is to be said of a training that starts from this checkpoint."""
    before = initialized_from(state, path)
    if before and updates_of(state) == 0:
        return before  # another file that was only brought into our form
    tags = (state.get("task_state") or {}).get("language_tags")
    system = describe(state["cfg"], tags, before, teacher=teacher_of(state, path))
    choices = {name: value for name, value in system.items() if name not in ("name", "seed")}
    return {**origin_of_file(path), "seed": system["seed"], "system": choices}


def origin_of_file(path) -> dict:
    """As `origin_of`, of a file of another program."""
    path = PurePath(path)
    return {"file": _plain(f"{path.parent.name}/{path.name}"), "sha256": checksum(path)}


def initialized_from(state: dict, path) -> dict | None:
    """What the contents of a checkpoint say.

    Raises:
        InputError: nothing that makes sense.
    """
    saved = state.get("task_state") or {}
    initialization = saved.get(FIELD, state.get(FIELD))
    check(initialization, Start | None, path, f"task_state.{FIELD}")
    if initialization and initialization.get("system"):
        check_record(initialization["system"], path, f"task_state.{FIELD}.system")
    return initialization


def teacher_of(state: dict, path) -> str | None:
    """The name of the encoder that the student in a checkpoint learned from; None if it had no teacher.

    Raises:
        InputError: the checkpoint says nothing that makes sense.
    """
    saved = state.get("task_state") or {}
    check(saved.get(TEACHER), NamedTeacher | None, path, f"task_state.{TEACHER}")
    return (saved.get(TEACHER) or {}).get("name")


def named_by_options(state: dict) -> dict:
    """What the options of stock fairseq say, before they pass the gate, which leaves names of files out.

    Args:
        state: whatever a file holds; nothing is expected of its values.
    """
    sections = [state.get("args")]
    if isinstance(state.get("cfg"), dict):
        sections.append(state["cfg"].get("checkpoint"))
    for section in sections:
        options = section if isinstance(section, dict) else getattr(section, "__dict__", {})
        if isinstance(value := options.get(OPTION), str) and value:
            return {"file": _plain(PurePath(value).name)}
    return {}


def _plain(name: str) -> str:
    """A name that does no harm wherever it is shown."""
    return re.sub(r"[^\w./+-]", "_", name)[-LONGEST_NAME:]
