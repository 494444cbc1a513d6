"""Scored folders as `python -m eval score` writes them, of numbers that a test chooses."""

import json
from pathlib import Path

from command_line.measurements import write_rows
from eval.results.files import read_result
from eval.results.scores import card_and_rows, with_numbers

SCORING = {
    "command": "python -m eval score out",
    "versions": {},
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
    """The record of a scored folder, whose directions have their numbers."""
    return with_numbers(read_result(file), file)
