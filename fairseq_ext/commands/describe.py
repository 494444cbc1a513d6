"""Say what a checkpoint is: its system on every axis, languages, data, training and parameters.

Of checkpoints of this toolkit and of fairseq's translation models, and of folders of `package`;
nothing in the file is run. P and P_E are those of Table 3.1: all parameters, and those of the encoder's
layers. Options are shown where they differ from the default of their architecture, task, criterion or
section.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line.option_classes import positional, switch
from data_prep.formats.package import single_checkpoint
from fairseq_ext.checkpoints.tasks import languages_of


@dataclass(frozen=True, kw_only=True)
class DescribeJob:
    """Which checkpoint is described."""

    checkpoint: Path = positional("a checkpoint of fairseq, or a folder of package", metavar="CHECKPOINT")
    json: bool = switch("as JSON")


def main(job: DescribeJob) -> None:
    record = described(single_checkpoint(job.checkpoint))
    print(json.dumps(record, indent=2, ensure_ascii=False) if job.json else as_text(record))


def described(path: Path) -> dict:
    """The record of a checkpoint.

    Raises:
        InputError: as `read_checkpoint`; its options or its state make no sense.
    """
    from fairseq_ext.set_up import set_up_process

    set_up_process()

    from fairseq_ext.axes.record import AXES
    from fairseq_ext.axes.record import describe as describe_system
    from fairseq_ext.checkpoints import origin
    from fairseq_ext.checkpoints.averaging import averaged_from
    from fairseq_ext.checkpoints.changed_options import changed_options, name_in
    from fairseq_ext.checkpoints.parameters import count_parameters
    from fairseq_ext.checkpoints.reading import as_one_line, read_checkpoint
    from fairseq_ext.provenance import describe_checkpoint

    state = read_checkpoint(path)
    cfg = state["cfg"]
    with as_one_line(path):
        languages = languages_of(state, path)
        system = describe_system(
            cfg,
            languages["language_tags"],
            origin.initialized_from(state, path),
            len(averaged_from(state, path)) or 1,
            teacher=origin.teacher_of(state, path),
        )
        return {
            "checkpoint": describe_checkpoint(path, state),
            "task": name_in("task", cfg["task"]),
            "criterion": name_in("criterion", cfg["criterion"]) if cfg.get("criterion") else None,
            "system": system["name"],
            "seed": system["seed"],
            "axes": {axis.name: {field: system.get(field) for field in axis.fields} for axis in AXES},
            **languages,
            "parameters": count_parameters(state["model"]),
            "options": changed_options(cfg),
        }


def as_text(record: dict) -> str:
    """Lines of "what  value"; nothing of what is not known."""
    checkpoint, parameters = record["checkpoint"], record["parameters"]
    rows = [
        ("checkpoint", checkpoint["path"]),
        ("sha256", checkpoint["sha256"]),
        ("task", record["task"]),
        ("criterion", record["criterion"]),
        ("system", record["system"]),
        ("seed", record["seed"]),
        ("languages", ", ".join(record["languages"])),
        ("directions", ", ".join(record["directions"])),
        ("data", record["data"]["path"]),
        ("dictionary", record["data"]["dictionary_sha256"]),
        ("updates", checkpoint["updates"]),
        ("epoch", checkpoint["epoch"]),
        ("best loss", checkpoint["best_valid_loss"]),
        ("started from", (checkpoint["initialized_from"] or {}).get("file")),
        ("P", f"{parameters['total']:,}"),
        ("P_E", f"{parameters['encoder layers']:,}"),
    ]
    sections = {
        "axes": {axis: _fields(fields) for axis, fields in record["axes"].items()},
        "parameters": {part: f"{count:,}" for part, count in parameters.items() if count},
        **{f"options: {section}": changed for section, changed in record["options"].items()},
    }
    lines = _aligned(rows)
    for title, content in sections.items():
        if content:
            lines += [title, *(f"  {line}" for line in _aligned(list(content.items())))]
    return "\n".join(lines)


def _fields(fields: dict[str, Any]) -> str:
    """For example "interlingua fixed, interlingua_length 10"; as usual, if nothing is said."""
    said = [f"{name} {_one_line(value)}" for name, value in fields.items() if value not in (None, "", {}, [])]
    return ", ".join(said) or "-"


def _aligned(rows: list[tuple[str, Any]]) -> list[str]:
    filled = [(name, value) for name, value in rows if value is not None and value != ""]
    width = max((len(name) for name, _ in filled), default=0)
    return [f"{name:<{width}}  {_one_line(value)}" for name, value in filled]


def _one_line(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
