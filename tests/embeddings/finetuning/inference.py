"""A toy of inference in English and a "German" whose words are like the English ones."""

import json
from pathlib import Path

from tests.embeddings.calibration.english import sentences, translated
from tests.embeddings.test_retrieve import write

COLUMNS = ("sentence1", "sentence2", "gold_label")


def pairs(count: int, seed: int) -> list[tuple[str, str, str]]:
    """Premise, hypothesis (its words back to front; before them "no" or "is" thrice, or nothing), label."""
    rows = []
    for premise in sentences(count, seed):
        turned = " ".join(premise.split()[::-1])
        rows += [
            (premise, turned, "entailment"),
            (premise, "no no no " + turned, "contradiction"),
            (premise, "is is is " + turned, "neutral"),
        ]
    return rows


def in_german(text: str) -> str:
    *before, words, two, three = text.split()
    return " ".join([*before, translated(f"{words} {two} {three}")])


def write_inference(folder: Path, count: int = 40) -> Path:
    """`train.en.jsonl`, as MultiNLI's; `train.de.tsv`, its translation as XNLI's; `valid.tsv` and `test.tsv`
    with both languages, as XNLI's.
    """
    folder.mkdir(parents=True)
    rows = pairs(count, seed=1)
    write(folder / "train.en.jsonl", [json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows])
    other_names = {"contradiction": "contradictory"}
    lines = [(in_german(a), in_german(b), other_names.get(label, label)) for a, b, label in rows]
    write(folder / "train.de.tsv", ["premise\thypo\tlabel", *("\t".join(row) for row in lines)])
    for split, seed in (("valid", 2), ("test", 3)):
        held_out = pairs(10, seed)
        table = [("language", "gold_label", "sentence1_tokenized", "sentence1", "sentence2", "genre")]
        table += [("en", label, "x", first, second, "y") for first, second, label in held_out]
        table += [("de", label, "x", in_german(a), in_german(b), "y") for a, b, label in held_out]
        write(folder / f"{split}.tsv", ["\t".join(row) for row in table])
    return folder
