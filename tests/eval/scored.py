"""Parts of `scores.json`, as whole as those of `python -m eval score`."""

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
