"""What every kind of result file must hold for those who read it: probes, `compare` and the report."""

from command_line.records import Objects, OneOf, Optional, check

KIND = OneOf("supervised", "zero-shot")
SYSTEM = {"name": str}  # its other fields are those of `fairseq_ext.axes`, which checks them
RUN = {"system": SYSTEM, "dataset": str}
SEEDED = {**RUN, "system": {**SYSTEM, "seed": Optional(int)}}
ROWS = {"runs": [SEEDED], "rows_sha256": str}  # of a kind whose numbers are rows

TRANSLATION = {
    "system": {**SYSTEM, "seed": Optional(int)},
    "data": {"path": str, "dictionary_sha256": Optional(str)},
    "dataset": Optional(str),
    "split": str,
    "pivot": Optional(str),
    **dict.fromkeys(("source_contrast", "language_contrast", "language_rescoring"), Optional(float)),
    "checkpoint": Optional({"path": Optional(str), "sha256": Optional(str), "epoch": Optional(int)}),
    "directions": Objects({"kind": KIND, "lines": Optional(int)}),
    "decoding": Optional({"sentences": int, "seconds": float, "decoder_tokens": Optional(int)}),
    "command": Optional(str),
    "versions": Optional(Objects(str)),
}
SCORED = {"kind": KIND, "bleu_signature": str, "chrf_signature": str, "reference_sha256": str}
SCORES = {
    **TRANSLATION,
    "directions": Objects(SCORED),
    "rows_sha256": str,
    "scoring": {
        "command": str,
        "versions": Objects(str),
        "identifier": str,
        "identifier_labels": Objects(Optional(str)),
        "comet": Optional({name: Optional(str) for name in ("package", "checkpoint", "sha256")}),
        "statistics": {"file": str, "sha256": str},
    },
}
INPUTS = {"inputs": [{"path": str, "sha256": str}]}  # what a result was made from, where it says so
COMPARISON = {
    "runs": [
        {
            **RUN,
            **dict.fromkeys(("baseline", "compared"), str),
            **dict.fromkeys(("axis", "measure"), Optional(str)),
            "measures": Objects(str),
            "family": {"overall": int, "directions": int},
        }
    ],
    "rows_sha256": str,
    "test": OneOf("randomization", "sacrebleu-bootstrap"),
    "correction": OneOf("holm", "none"),
    **dict.fromkeys(("samples", "seed"), int),
    "level": float,
    **INPUTS,
}

SCHEMAS = {
    "scores": SCORES,
    "comparison": COMPARISON,
    "states": {
        **SEEDED,
        "supervised": [str],
        "layers": {"encoder": [str], "decoder": [str]},
        "encoder_output": str,
        "forced": Optional(str),
        "tags": [int],
        "eos": int,
        "splits": Objects(  # language models have one side
            Objects({"encoder": Optional(str), "decoder": Optional(str), "text_sha256": Optional(str)})
        ),
    },
    "data-size": {
        **ROWS,
        **dict.fromkeys(("of", "unit", "similarity"), str),
        **dict.fromkeys(("group", "direction"), Optional(str)),
    },
    "sentence-retrieval": {
        **ROWS,
        "arrays_sha256": str,
        "neighbours": int,
        "runs": [{**SEEDED, "texts": Objects(str), "groups": Objects({"pairs": [str]})}],
    },
    "finetuning": {
        **ROWS,
        "runs": [
            {
                **SEEDED,
                "task": str,
                "measure": str,
                "train_languages": [str],
                "texts": Objects(str),
                "code_switching": bool,
            }
        ],
    },
}


def check_result(record: dict, kind: str, path) -> None:
    """Compare a result file with the schema of its kind; most have runs, whose numbers are rows beside it.

    Raises:
        InputError: the record is not as its kind demands; names the field.
    """
    check(record, SCHEMAS.get(kind, ROWS), path)
    if "inputs" in record:
        check(record, INPUTS, path)
