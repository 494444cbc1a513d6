"""What `python -m embeddings mine` and `bucc` leave behind."""

import json
from pathlib import Path

from tests.eval.rows import by_name, values_of


def mined_in(output: Path) -> list[dict]:
    """Of every run what it says of itself, and its numbers by their measures; of both texts as lists."""
    table = output / "mining.csv"
    runs = json.loads((output / "mining.json").read_text())["runs"]
    return [
        run
        | by_name(table, "measure", run=number, part="")
        | {name: values_of(table, run=number, measure=name) for name in ("lines", "sentences")}
        for number, run in enumerate(runs)
    ]
