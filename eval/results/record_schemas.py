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


LLR_RUN = {
    **SEEDED,
    "checkpoint": Optional({"sha256": Optional(str)}),
    "tokens": OneOf("all", "no-tags", "words"),
    "forced": str,
    "seeds": [int],
    "training": Objects(Anything),
    "layers": Objects([str]),
    "chance": Objects(float),
    "majority": Objects(Objects(Anything)),
    "averages": Objects(Objects(Anything)),
    "directions": Objects({"kind": KIND, "accuracy": Objects(Anything), "texts_sha256": Optional(str)}),
    "classifiers": Objects(Objects(Anything)),
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
ESTIMATE = {"effect": float, "low": Optional(float), "high": Optional(float)}
MEAN = {"mean": float, "std": Optional(float)}
TRANSFERRED = {
    "zero_shot": MEAN,
    "translate_train": Optional(MEAN),
    "rate": Optional(float),
    "retrieval": Optional(float),
}
PEARSON = dict.fromkeys(("r", "p_value", "low", "high", "language_low", "language_high"), Optional(float))
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
    "llr": {"runs": [LLR_RUN]},
    "correlation": {
        "correlations": [
            {
                "dataset": str,
                "baseline": str,
                "system": str,
                "measure": str,
                "pairs": Objects({"kind": KIND, "precision_change": float, "bleu_change": float}),
                "pearson": Objects({"n": int, **PEARSON}),
                "by_seed": Objects(Objects(Optional(float))),
            }
        ]
    },
    "off-target": {
        "runs": [
            {
                **SEARCHED,
                "directions": Objects(
                    {
                        "kind": KIND,
                        "intended": str,
                        "lines": int,
                        "off_target": SHARE,
                        "identifier_error": SHARE,
                        "identified": Objects(int),
                        "identified_references": Objects(int),
                        "off_target_as": Optional(Objects(int)),
                        "worst": [
                            {
                                "line": int,
                                "identified": str,
                                "confidence": float,
                                "source": str,
                                "reference": str,
                                "hypothesis": str,
                            }
                        ],
                    }
                ),
            }
        ]
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
    "combination": {
        "combinations": [
            {
                "dataset": str,
                "systems": [str],
                "seeds": [int],
                "paired": bool,
                "effects": Objects(Objects(ESTIMATE)),
            }
        ]
    },
    "language-groups": {
        "runs": [
            {
                **SEARCHED,
                "split": str,
                "pairs": Objects(
                    {
                        "directions": int,
                        **dict.fromkeys(("bleu", "chrf", "comet", "off_target"), Optional(float)),
                    }
                ),
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
    "retrieval-curves": {
        "runs": [
            {
                **SEEDED,
                "updates": [int],
                "loss": [Optional(float)],
                **{name: Optional([float]) for name in ("sentence", "word")},
                "pearson": Objects({"n": int, "r": Optional(float)}),
            }
        ]
    },
    "learning-curves": {
        "runs": [
            {
                **SEEDED,
                "split": str,
                "updates": [int],
                "averages": Objects(Objects([Optional(float)])),
                "llr": Objects(Objects([SHARE])),
            }
        ],
        "correlations": [
            {
                "dataset": Optional(str),
                "question": str,
                "layer": str,
                "points": OneOf("all", "last"),
                "n": int,
                "r": float,
                "p_value": Optional(float),
            }
        ],
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
                "languages": Objects(Objects(float)),
            }
        ]
    },
    "transfer": {
        "transfers": [
            {
                **dict.fromkeys(("dataset", "task", "measure", "encoder", "source"), str),
                "seeds": {"zero_shot": int, "translate_train": Optional([int])},
                "translate_train": Optional(OneOf("all", "each")),
                "source_score": Optional(MEAN),
                "languages": Objects(TRANSFERRED),
                "average": TRANSFERRED,
                "gap": Optional(ESTIMATE),
                "rate": Optional(ESTIMATE),
            }
        ],
        "correlations": [
            {
                **dict.fromkeys(("dataset", "task", "measure", "source"), str),
                "encoders": [str],
                "pearson": Objects(
                    {
                        "languages": Objects(Optional(float)),
                        "average": Optional({"r": float, "low": Optional(float), "high": Optional(float)}),
                    }
                ),
            }
        ],
    },
    "adequacy": {
        "encoder": {"name": str, "model": str},
        **CUT,
        "runs": [
            {
                **SEARCHED,
                "directions": Objects(
                    {"kind": KIND, "lines": int, "cosine": float, "reference_cosine": float}
                ),
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
