"""What is learned from English inference and similarity, and the batches of it."""

import gzip
import json
import random

import pytest

from command_line.errors import InputError
from embeddings.calibration.examples import (
    NLI,
    STS,
    Course,
    Inference,
    Rated,
    columns_of,
    read_inferences,
    read_rated,
    without_duplicates,
)
from tests.embeddings.test_retrieve import write

ROWS = [
    ("A dog runs.", "An animal moves.", "entailment"),
    ("A dog runs.", "A dog sleeps.", "contradiction"),
    ("A dog runs.", "It is  big. ", "neutral"),
    ("Two men eat.", "Nobody eats.", "contradiction"),
    ("A dog runs.", "It runs.", "entailment"),
    ("A dog runs.", "A dog runs.", "entailment"),
    ("A dog runs.", "An animal moves.", "-"),
    ("A dog runs.", "A dog lies.", "contradiction"),
    ("A dog runs.", " A dog\tis not still.", "entailment"),
    ("A dog runs.", "It runs.", "contradiction"),
    ("A cat sits.", "An animal sits.", "entailment"),
]
EXAMPLES = [  # both contradictions go round; the sentence that is both is no negative
    Inference("A dog runs.", "An animal moves.", "A dog sleeps."),
    Inference("A dog runs.", "It runs.", "A dog lies."),
    Inference("A dog runs.", "A dog is not still.", "A dog sleeps."),
    Inference("A cat sits.", "An animal sits.", None),
]


def json_lines(path, rows=ROWS):
    names = ("sentence1", "sentence2", "gold_label")
    return write(path, [json.dumps(dict(zip(names, row, strict=True)) | {"pairID": "1"}) for row in rows])


def all_nli(path, rows=ROWS):
    head = "split\tdataset\tfilename\tsentence1\tsentence2\tlabel"
    lines = ["\t".join(("train", "SNLI", "x", *(each.replace("\t", " ") for each in row))) for row in rows]
    return write(path, [head, *lines, 'dev\tSNLI\tx\tSome "one.\tOther.\tentailment'])


@pytest.mark.parametrize("written", [json_lines, all_nli])
@pytest.mark.parametrize("compressed", [False, True])
def test_both_layouts_of_inference(tmp_path, written, compressed):
    path = written(tmp_path / ("nli.jsonl" if written is json_lines else "AllNLI.tsv"))
    if compressed:
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    assert read_inferences([path]) == EXAMPLES


def test_a_premise_of_several_files_is_one(tmp_path):
    paths = [json_lines(tmp_path / "a.jsonl", ROWS[:1]), json_lines(tmp_path / "b.jsonl", ROWS[1:3])]
    assert read_inferences(paths) == EXAMPLES[:1]


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("a.jsonl", ['{"sentence1": "a", "sentence2": "b"}'], "a.jsonl:1: .*gold_label"),
        ("a.jsonl", ['{"sentence1": "a", "sentence2": "b", "gold_label": "-"}', "{"], "a.jsonl:2: not JSON"),
        ("a.jsonl", ['{"sentence1": "a", "sentence2": "b", "gold_label": "yes"}'],
         "a.jsonl:1: label 'yes', expected one of entailment, neutral, contradiction, -"),
        ("a.jsonl", ['{"sentence1": "a", "sentence2": "b", "gold_label": "neutral"}'],
         "a.jsonl: no premise entails a hypothesis"),
        ("a.tsv", ["split\tlabel"], "a.tsv:1: found 'split.*expected sentence, sentence, label"),
        ("a.tsv", ["split\tdataset\tfilename\tsentence1\tsentence2\tlabel", "train\tx"], "a.tsv:2: found"),
        ("a.csv", [""], r"a.csv: expected .jsonl \(SNLI, MultiNLI\) or .tsv \(AllNLI, XNLI\)"),
        ("a.jsonl", [], "a.jsonl: no premise entails a hypothesis"),
    ],
)  # fmt: skip
def test_inference_that_is_refused(tmp_path, name, lines, message):
    with pytest.raises(InputError, match=message):
        read_inferences([write(tmp_path / name, lines)])


def test_ratings_become_similarities(tmp_path):
    path = write(tmp_path / "sts.csv", ['"a, b",c,5.0', "d,e,1.25", "f,g,0"])
    assert read_rated(path) == [Rated("a, b", "c", 1.0), Rated("d", "e", 0.25), Rated("f", "g", 0.0)]
    write(path, ["a,b,1", "c,d,5.1"])
    with pytest.raises(InputError, match=r"sts.csv: row 2 is rated 5.1, expected 0 to 5"):
        read_rated(path)


def drawn(count: int) -> list[Inference]:
    """Examples that share many sentences."""
    chance = random.Random(1)
    return [
        Inference(
            f"p{chance.randrange(8)}", f"e{chance.randrange(9)}", chance.choice([None, "c0", "c1", "c2"])
        )
        for _ in range(count)
    ]


def test_no_sentence_comes_twice_in_a_batch_and_every_example_once_in_an_epoch():
    examples, order = drawn(60), random.Random(2).sample(range(60), 60)
    batches = without_duplicates(examples, order, 4)
    assert sorted(row for rows in batches for row in rows) == list(range(60))
    assert max(map(len, batches)) == 4
    for rows in batches:
        texts = [text for row in rows for text in (examples[row].anchor, examples[row].positive)]
        texts += [examples[row].negative for row in rows if examples[row].negative]
        assert len(set(texts)) == len(texts)


def test_batches_are_as_few_as_the_sentences_allow():
    """Those of a plain search: an example waits only where one of its sentences is in the batch already."""
    examples = drawn(40)
    expected, waiting = [], list(range(40))
    while waiting:
        batch, texts = [], set()
        for row in list(waiting):
            sentences = {examples[row].anchor, examples[row].positive, examples[row].negative} - {None}
            if len(batch) < 4 and not sentences & texts:
                batch.append(row)
                texts |= sentences
                waiting.remove(row)
        expected.append(batch)
    assert without_duplicates(examples, range(40), 4) == expected


def test_a_course_has_all_of_inference_and_then_all_of_similarity():
    inferences = [Inference(f"a{number}", f"b{number}", None) for number in range(10)]
    rated = [Rated(f"c{number}", f"d{number}", 0.5) for number in range(7)]
    course = Course(inferences, rated, nli_epochs=2, sts_epochs=3, size=4, seed=1)
    assert course.stages == (6, 6) and len(course) == 12
    batches = [course[number] for number in range(12)]
    assert [objective for objective, _ in batches] == [NLI] * 6 + [STS] * 6
    assert [len(examples) for _, examples in batches] == [4, 4, 2] * 2 + [4, 3] * 3
    epochs = [batches[0:3], batches[3:6], batches[6:8], batches[8:10], batches[10:12]]
    orders = [[example for _, examples in epoch for example in examples] for epoch in epochs]
    for order in orders[:2]:
        assert sorted(order, key=str) == sorted(inferences, key=str)
    for order in orders[2:]:
        assert sorted(order, key=str) == sorted(rated, key=str)
    assert orders[0] != orders[1] and orders[2] != orders[3]
    again, other = (Course(inferences, rated, 2, 3, 4, seed).batches for seed in (1, 2))
    assert again == course.batches != other


def test_columns_are_anchors_positives_and_the_negatives_that_there_are():
    assert columns_of(NLI, EXAMPLES[1:]) == [
        ["A dog runs.", "A dog runs.", "A cat sits."],
        ["It runs.", "A dog is not still.", "An animal sits."],
        ["A dog lies.", "A dog sleeps."],
    ]
    assert columns_of(NLI, EXAMPLES[3:]) == [["A cat sits."], ["An animal sits."]]
    assert columns_of(STS, [Rated("a", "b", 0.1), Rated("c", "d", 1)]) == [["a", "c"], ["b", "d"]]
