"""What every kind of result file must hold for those who read it: probes, `compare` and the report."""

from command_line.records import AnyOf, Anything, Objects, OneOf, Optional, check
from embeddings.encoders.sizes import SCHEMA as SIZES
from embeddings.search.sentence_scores import MEASURES as SIMILARITIES

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
SEARCHED = {**SEEDED, "search": Objects(Anything)}
SHARE = Optional(float)
SCORED = {"kind": KIND, "bleu_signature": str, "chrf_signature": str, "reference_sha256": str}
SCORES = {
    **TRANSLATION,
    "directions": Objects(SCORED),
    "rows_sha256": str,
    "scoring": {
        "command": str,
        "versions": Objects(str),
        "comet": Optional({name: Optional(str) for name in ("package", "checkpoint", "sha256")}),
        "statistics": {"file": str, "sha256": str},
    },
}
INPUTS = {"inputs": [{"path": str, "sha256": str}]}  # what a result was made from, where it says so
TESTED = {
    **dict.fromkeys(("baseline", "system", "difference", "low", "high"), float),
    **dict.fromkeys(("p_value", "adjusted_p_value"), float),
    "adjusted_p_value_with_seeds": Optional(float),
    "agreement": Optional(float),
    "neither_translates": bool,
    "significant": bool,
}
COMPARISON = {
    "test": OneOf("randomization", "sacrebleu-bootstrap"),
    "correction": OneOf("holm", "none"),
    "samples": int,
    "seed": int,
    "level": float,
    **INPUTS,
    "comparisons": [
        {
            **dict.fromkeys(("dataset", "baseline", "system"), str),
            "axis": Optional(str),
            "measure": AnyOf(
                OneOf("bleu", "chrf", "comet", *SIMILARITIES),
                {"baseline": OneOf(*SIMILARITIES), "system": OneOf(*SIMILARITIES)},
            ),
            "family": {"overall": int, "directions": int},
            "overall": Objects(TESTED),
            "directions": Objects(TESTED),
        }
    ],
}


LENGTHS = {
    "lines": int,
    "accuracy": float,
    "absolute_error": float,
    "bias": float,
    "mean_length": float,
    "bleu_predicted": float,
    "bleu_gold": float,
    "p_value": float,
    "adjusted_p_value": float,
}
AVERAGES = {
    "average": Objects(float),
    "groups": Objects(Objects({"mean": Optional(float), "pairs": int, "names": [str]})),
}
MEASURED = {"p_at_1": float, "p_at_1_by_text": float, "error": float, "hits": str}
RETRIEVED = {
    "queries": int,
    "candidates": int,
    "texts_sha256": str,
    "recall": Optional(float),  # of inverted lists
    **dict.fromkeys(SIMILARITIES, Optional(MEASURED)),
}
CUT = {"cut": Optional(int)}  # sentences of which an encoder read a part, as far as the file says it
RUNS = {"runs": [SEEDED]}
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
        "splits": Objects(
            Objects({"encoder": str, "decoder": Optional(str), "text_sha256": Optional(str)})
        ),  # language models have no decoder
    },
    "interlingua": {
        "runs": [
            {
                **SEARCHED,
                "length_candidates": int,
                "lengths": Objects(LENGTHS),
                "similarity": Objects({"kind": KIND, "cosine": SHARE, "cosine_by_chance": SHARE}),
            }
        ]
    },
    "data-size": {
        "of": OneOf("encoders", "languages"),
        "unit": str,
        "similarity": str,
        "group": Optional(str),
        "direction": Optional(OneOf("from", "to")),
        "points": [{"dataset": str, "encoder": str, "name": str, "size": float, "p_at_1": float}],
    },
    "sentence-retrieval": {
        **CUT,
        "neighbours": int,
        "runs": [
            {
                **SEEDED,
                "directions": Objects(RETRIEVED),
                **AVERAGES,
                "by_direction": Optional({"pivot": str, "from": AVERAGES, "to": AVERAGES}),
                "size": {"width": int, **SIZES},
                "smaller": Objects({"bytes": int, "p_at_1": float}),
            }
        ],
    },
    "neighbours": {
        **CUT,
        "runs": [
            {
                **SEEDED,
                "sentences": [
                    {"sentence": str, "neighbours": [{"line": int, "sentence": str, "cosine": float}]}
                ],
            }
        ],
    },
    "finetuning": {
        "runs": [
            {
                **SEEDED,
                "task": str,
                "measure": str,
                "train_languages": [str],
                "code_switching": bool,
            }
        ]
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
