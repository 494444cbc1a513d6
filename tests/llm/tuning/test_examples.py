"""Instructions as tokens: any line at once, where the answer begins, and what is cut."""

import json
import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Subset

from command_line.errors import InputError
from llm.new_model import learn_tokenizer
from llm.tuning import examples
from llm.tuning.examples import IGNORED, Examples, InstructionLines, Padding, split_tokens
from llm.tuning.overlong import Overlong

TEXTS = [
    ("Translate from German to English.\nGerman: Das Haus.\nEnglish:", "The house."),
    ("English:", "école, Größe 我们去 🙂"),
    ("我们", "去学校。"),
    ("Ends with é", "é"),
    ("two  spaces ", " and  more "),
    ('Assertion: "x" can be aligned with "y" statistically.', "True"),
]


def write(path: Path, records: list[dict], end: str = "\n") -> Path:
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    path.write_text(text + end, encoding="utf-8")
    return path


def records(count: int, name: str = "é") -> list[dict]:
    return [
        {"direction": "de-en", "input": f"{name}{number}" * (number % 7 + 1), "output": "a\nb"}
        for number in range(count)
    ]


@pytest.mark.parametrize("at_once", [1, 7, 64, 1 << 26])
@pytest.mark.parametrize("end", ["\n", ""])
def test_any_line_of_several_files(tmp_path, monkeypatch, at_once, end):
    """However large the blocks are in which lines are counted, and with or without a last line end."""
    monkeypatch.setattr(examples, "_AT_ONCE", at_once)
    written = [records(9), records(1, "x"), records(4, "我")]
    paths = [write(tmp_path / str(number), lines, end) for number, lines in enumerate(written)]
    read = InstructionLines(paths)
    expected = [line for lines in written for line in lines]
    assert len(read) == 14
    assert [read[index] for index in reversed(range(14))] == expected[::-1]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 9, 10, 11])
def test_of_many_lines_some_evenly_spread(tmp_path, most):
    paths = [write(tmp_path / "a", records(6)), write(tmp_path / "b", records(4, "x"))]
    lines = InstructionLines(paths, most)
    taken = [(records(6) + records(4, "x")).index(lines[index]) for index in range(len(lines))]
    assert len(taken) == min(most, 10)
    parts = [round(10 * number / most) for number in range(most + 1)] if most < 10 else range(11)
    assert all(start <= line < end for line, (start, end) in zip(taken, pairwise(parts), strict=True))
    again = InstructionLines(paths, most)
    assert [again[index] for index in range(len(again))] == [lines[index] for index in range(len(lines))]


@pytest.mark.parametrize("most", [100, 200])
def test_lines_that_are_taken_are_of_both_directions_of_every_pair(tmp_path, most):
    """Which take turns in the files."""
    paths = []
    for pair in ("de-en", "en-fi"):
        directions = [pair, "-".join(reversed(pair.split("-")))] * 100
        lines = [{"direction": direction, "input": "x", "output": "y"} for direction in directions]
        paths.append(write(tmp_path / pair, lines))
    read = InstructionLines(paths, most)
    counts = Counter(read[index]["direction"] for index in range(most))
    assert set(counts) == {"de-en", "en-de", "en-fi", "fi-en"}
    assert min(counts.values()) > 0.15 * most


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{broken", r"b:2: not JSON: Expecting property name"),
        (b'{"direction": "de-en", "input": "x"}', r"b:2: field 'output' is missing"),
        (b'{"direction": "de-en", "input": 3, "output": "x"}', r"b:2: field 'input' is 3, expected a string"),
        (b"\xff", r"b:2: "),
        (b"[1]", r"b:2: "),
    ],
)
def test_lines_that_are_no_instructions_name_file_and_line(tmp_path, line, message):
    good = json.dumps(records(1)[0]).encode()
    (tmp_path / "b").write_bytes(b"\n".join([good, line, good, b""]))
    lines = InstructionLines([write(tmp_path / "a", records(3)), tmp_path / "b"])
    assert lines[3] == lines[5] == records(1)[0]
    with pytest.raises(InputError, match=message):
        lines[4]


def test_a_file_without_lines(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match=r"a: is empty, expected instructions; make them by `llm instruct`"):
        InstructionLines([tmp_path / "a"])


def adding(template: str):
    """A tokenizer that puts special tokens around a text."""
    from tokenizers import processors

    tokenizer = learn_tokenizer(["Das Haus The house Translate from German to English"], 320)
    ends = [("<s>", tokenizer.bos_token_id), ("</s>", tokenizer.eos_token_id)]
    tokenizer.backend_tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets="trimmed" in template),
            processors.TemplateProcessing(single=template.removesuffix(" trimmed"), special_tokens=ends),
        ]
    )
    return tokenizer


TEMPLATES = {"$A": ([], []), "<s> $A": ([1], []), "$A </s>": ([], [2]), "<s> $A </s>": ([1], [2])}


@pytest.mark.parametrize("template", [*TEMPLATES, "<s> $A </s> trimmed"])
@pytest.mark.parametrize(("question", "answer"), TEXTS)
def test_question_and_answer_are_the_tokens_of_the_joined_text(template, question, answer):
    tokenizer = adding(template)
    begin, end = TEMPLATES[template.removesuffix(" trimmed")]
    joined = tokenizer(f"{question} {answer}")["input_ids"]
    first, second = split_tokens(tokenizer, question, answer)
    assert first + second + end == joined
    assert first[: len(begin)] == begin and not set(second) & {1, 2}
    assert tokenizer.decode(first[len(begin) :]) == question
    assert tokenizer.decode(second) == f" {answer}"


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_end_of_an_answer_is_learned_once(template, tmp_path):
    tokenizer = adding(template)
    examples = Examples([{"input": "The house:", "output": "Das Haus"}], tokenizer, 99, 99)
    assert len(examples) == 1
    question, answer = split_tokens(tokenizer, "The house:", "Das Haus")
    assert examples[0] == {
        "input_ids": [*question, *answer, tokenizer.eos_token_id],
        "labels": [*[IGNORED] * len(question), *answer, tokenizer.eos_token_id],
    }
    learned = [token for token in examples[0]["labels"] if token != IGNORED]
    assert tokenizer.decode(learned, skip_special_tokens=True) == " Das Haus"


def test_what_is_longer_is_cut_behind(tokenizer):
    record = {"input": TEXTS[0][0], "output": TEXTS[0][1]}
    question, answer = split_tokens(tokenizer, *TEXTS[0])
    assert min(len(question), len(answer)) > 4
    (cut,) = Examples([record], tokenizer, 3, 4)
    assert cut["input_ids"] == [*question[:3], *answer[:3], tokenizer.eos_token_id]
    assert cut["labels"] == [*[IGNORED] * 3, *answer[:3], tokenizer.eos_token_id]
    (whole,) = Examples([record], tokenizer, len(question), len(answer) + 1)
    assert whole["input_ids"] == [*question, *answer, tokenizer.eos_token_id]


@pytest.mark.parametrize("skip", [False, True])
def test_what_is_longer_is_noted(tokenizer, tmp_path, skip):
    """By whichever device and process of its loader; of what is skipped nothing is learned."""
    question, answer = split_tokens(tokenizer, *TEXTS[0])
    limits = len(question), len(answer) + 1
    texts = [TEXTS[0], (f"a {TEXTS[0][0]}", "b"), ("a", f"{TEXTS[0][1]} b"), TEXTS[0], ("a", "b")]
    lines = [{"input": first, "output": second} for first, second in texts]
    parts = [
        Examples(lines, tokenizer, *limits, Overlong(tmp_path / f"{number}.overlong", SIZES), skip)
        for number in range(2)
    ]
    read = list(DataLoader(Subset(parts[0], [1, 2]), batch_size=None, num_workers=1, collate_fn=list_of))
    assert [any(label != IGNORED for label in labels) for labels in read] == [not skip] * 2
    parts[1] = pickle.loads(pickle.dumps(parts[1]))
    assert parts[1][0]["labels"][-2:] == [answer[-1], tokenizer.eos_token_id]
    parts[1][2]
    again = Overlong(tmp_path / "0.overlong", SIZES)  # after a kill
    assert again.counts() == {
        "mt": {"instructions": 2, "questions": 1, "answers": 0},
        "align": {"instructions": 1, "questions": 0, "answers": 1},
    }
    done = "were left out; give larger limits" if skip else "lost their ends; give larger limits"
    assert parts[0].overlong_line() == (
        f"longer than --max-input {limits[0]}: 1 of 2 questions of mt; longer than --max-output {limits[1]}:"
        f" 1 of 1 answers of align, which {done}{'' if skip else ', or --skip-overlong'}"
    )
    assert Examples(lines, tokenizer, *limits).overlong_line() is None


SIZES = {"mt": 2, "align": 3}


def list_of(example: dict) -> list[int]:
    return example["labels"]


def test_where_all_are_short_enough_there_is_nothing_to_say(tokenizer, tmp_path):
    notes = Overlong(tmp_path / "0.overlong", {"mt": 1})
    examples = Examples([{"input": "a", "output": "b"}], tokenizer, 9, 9, notes)
    assert examples[0] and examples.overlong_line() is None


def test_batches_are_padded_behind():
    batch = Padding(3)(
        [{"input_ids": [5, 6, 2], "labels": [IGNORED, 6, 2]}, {"input_ids": [7], "labels": [IGNORED]}]
    )
    assert batch["input_ids"].tolist() == [[5, 6, 2], [7, 3, 3]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[IGNORED, 6, 2], [IGNORED] * 3]
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}
