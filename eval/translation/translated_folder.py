"""A folder of translated test sets: SRC-TGT.txt of every direction, and translate.json."""

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from command_line.journal import Journal
from command_line.outputs import checksum, write_json, write_text
from data_prep.formats.directions import Direction, format_direction
from eval.scored import TRANSLATION


def write_translations(
    output: Path,
    described: dict,
    hypotheses: Mapping[Direction, Sequence[str]],
    supervised: Collection[Direction],
    started: float,
    cost: dict | None = None,
    details: Mapping[Direction, dict] | None = None,
) -> list[Path]:
    """Write the folder; returns its files.

    Args:
        described: what translate.json says of model, data and search.
        supervised: directions; all others are zero-shot.
        started: when this run began, by `time.monotonic`.
        cost: from `decoding_cost`, where it is counted.
    """
    files, entries = [output / TRANSLATION], {}
    for direction, lines in hypotheses.items():
        name = format_direction(direction)
        files.append(output / f"{name}.txt")
        write_text(files[-1], "".join(f"{line}\n" for line in lines))
        entries[name] = {
            "kind": "supervised" if direction in supervised else "zero-shot",
            "lines": len(lines),
            "sha256": checksum(files[-1]),
            **(details or {}).get(direction, {}),
        }
    record = {
        "format": 1,
        **described,
        "directions": entries,
        "seconds": round(time.monotonic() - started, 1),  # of this run; `decoding` is of killed ones, too
    }
    if cost:
        record["decoding"] = {"sentences": sum(map(len, hypotheses.values())), **cost}
    write_json(output / TRANSLATION, record)
    return files


def decoding_cost(journal: Journal) -> dict:
    """What all batches took, those of runs that were killed included.

    `seconds` go from batch to hypotheses; `decoder_tokens` are the tokens for which the decoder was run, of
    all hypotheses of the beam, contrasts, members of an ensemble and both halves of a pivot: the same on any
    machine, and None of an engine that does not count them.
    """
    costs = [entry["cost"] for entry in journal.entries]
    tokens = [cost["decoder_tokens"] for cost in costs]
    return {
        "seconds": round(sum(cost["seconds"] for cost in costs), 2),
        "decoder_tokens": None if None in tokens else sum(tokens),
    }
