"""Windows of questions with contexts of any length, and the spans of best answers."""

import numpy as np
import pytest

from command_line.errors import InputError
from embeddings.finetuning.answer_windows import (
    LONGEST_QUESTION,
    OVERLAP,
    best_answer,
    best_span,
    count_windows,
    windows_of,
)
from embeddings.finetuning.questions import Question
from embeddings.finetuning.task import Reader
from tests.embeddings.finetuning.squad import pieces, word_pieces

CONTEXT = "Das Wetter ist heute sehr schön; zwei Kinder spielen Fußball in the park. ½ 北京 "
LONG = CONTEXT * 9


@pytest.fixture(scope="module", params=[word_pieces, pieces])
def tokenizer(request):
    return request.param()


def asked(text: str, context: str, answer: str, start: int = 0) -> Question:
    begin = context.index(answer, start)
    return Question("q", text, context, (answer,), (begin, begin + len(answer)))


def characters(window, name: str) -> slice:
    """Of the context, which a position stands for."""
    begin, end = window["_offsets"][window[name] - window["_first"]]
    return slice(begin, end)


def answered(question: Question, window) -> str:
    begin, end = characters(window, "start_positions").start, characters(window, "end_positions").stop
    return question.context[begin:end].strip()


def test_a_short_context_is_one_window(tokenizer):
    question = asked("Was ist heute?", CONTEXT, "schön")
    (window,) = windows_of(question, Reader(tokenizer, 386))
    plain = tokenizer(question.text, question.context)
    assert {name: values for name, values in window.items() if name in plain} == dict(plain)
    assert window.keys() - plain.keys() == {"start_positions", "end_positions", "_first", "_offsets"}
    assert answered(question, window) == "schön"
    assert tokenizer.decode(window["input_ids"][window["_first"] - 1]) in ("[SEP]", "</s>")
    assert window["_offsets"].shape == (len(window["input_ids"]) - window["_first"] - 1, 2)
    assert count_windows(question, Reader(tokenizer, 386)) == 1


@pytest.mark.parametrize("longest", [20, 64, 300, 386])
def test_windows_cover_the_context_and_overlap(tokenizer, longest):
    reader = Reader(tokenizer, longest)
    question = asked("Was ist?", LONG, "Fußball")
    windows = windows_of(question, reader)
    assert len(windows) == count_windows(question, reader) > 1
    whole = tokenizer(question.context, add_special_tokens=False, return_offsets_mapping=True)
    contents = [window["input_ids"][window["_first"] : -1] for window in windows]
    room = len(contents[0])
    overlap = min(OVERLAP, room // 2)
    begin = 0
    for window, content in zip(windows, contents, strict=True):
        assert content == whole["input_ids"][begin : begin + room]
        assert window["_offsets"].tolist() == [
            list(offsets) for offsets in whole["offset_mapping"][begin:][:room]
        ]
        assert len(window["input_ids"]) <= longest
        begin += room - overlap
    assert begin + overlap >= len(whole["input_ids"])  # the last window has the end, and the one before not
    assert begin - room + 2 * overlap < len(whole["input_ids"])
    assert overlap == 128 or longest < 386


def test_windows_are_counted_without_being_made(tokenizer):
    reader = Reader(tokenizer, 60)
    for length in range(20, 200):
        for text in ("Was?", "Was ist heute in the park? " * 3):
            question = asked(text, LONG[:length], "Wetter")
            assert count_windows(question, reader) == len(windows_of(question, reader))


@pytest.mark.parametrize(
    "answer", ["Das", "Wetter ist", "Fußball in the park", "½", "北京", "F", "etter", "park. ½"]
)
@pytest.mark.parametrize("longest", [24, 60, 386])
def test_the_answer_is_where_a_window_says(tokenizer, answer, longest):
    """Of the windows that have it, all; the others say the first token."""
    question = asked("Was ist?", LONG, answer, start=len(LONG) // 2)
    begin, end = question.span

    def of_answer(offsets) -> int:
        return sum(first < end and last > begin for first, last in offsets)

    whole = tokenizer(LONG, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    whole_answers = 0
    for window in windows_of(question, Reader(tokenizer, longest)):
        if of_answer(window["_offsets"]) == of_answer(whole):
            first, last = characters(window, "start_positions"), characters(window, "end_positions")
            assert first.start <= begin < first.stop and last.start < end <= last.stop
            assert answer in answered(question, window)
            whole_answers += 1
        else:
            assert window["start_positions"] == window["end_positions"] == 0
    assert whole_answers >= (longest > 50)


def test_an_answer_at_either_end_of_the_context(tokenizer):
    for answer, start, place in (("Das", 0, 0), ("北京", len(LONG) - 4, -1)):
        windows = windows_of(asked("Was?", LONG, answer, start), Reader(tokenizer, 100))
        told = [window["start_positions"] > 0 for window in windows]
        assert told[place] and sum(told) == 1


def test_an_answer_that_the_tokenizer_drops_is_nowhere():
    question = asked("Was?", "Das \u200b Wetter", "\u200b")
    (window,) = windows_of(question, Reader(word_pieces(), 386))
    assert window["start_positions"] == window["end_positions"] == 0
    nothing = asked("Was?", "\u200b", "\u200b")
    (window,) = windows_of(nothing, Reader(word_pieces(), 386))
    logits = np.zeros(len(window["input_ids"]))
    assert window["_offsets"].shape == (0, 2)
    assert best_answer("\u200b", [window], [{"start_logits": logits, "end_logits": logits}]) == ""


@pytest.mark.parametrize(("longest", "most"), [(386, LONGEST_QUESTION), (23, 10)])
def test_a_long_question_is_cut(tokenizer, longest, most):
    question = asked("Was ist ½½ heute? " * 9, LONG, "schön")
    windows = windows_of(question, Reader(tokenizer, longest))
    special = tokenizer.num_special_tokens_to_add(pair=True)
    whole = tokenizer(question.text)["input_ids"][1:-1]
    for window in windows:
        own = window["input_ids"][1 : window["_first"] - special + 2]
        assert own == whole[: len(own)]
        assert most - 2 <= len(own) <= most  # ½ is three of XLM-R's pieces, which are not parted
    assert len(windows) == count_windows(question, Reader(tokenizer, longest))


def test_a_window_without_room_is_refused(tokenizer):
    question = asked("Was?", CONTEXT, "Das")
    special = tokenizer.num_special_tokens_to_add(pair=True)
    assert len(windows_of(question, Reader(tokenizer, special + 2))) > 20
    for refused in (windows_of, count_windows):
        with pytest.raises(InputError, match=f"--max-length.* expected at least {special + 2}"):
            refused(question, Reader(tokenizer, special + 1))


@pytest.mark.parametrize("count", [1, 2, 29, 30, 31, 80])
def test_the_best_of_all_spans(count):
    random = np.random.default_rng(count)
    for _ in range(50):
        starts, ends = random.normal(size=(2, count)).astype(np.float32)
        spans = {
            (first, last): float(starts[first]) + float(ends[last])
            for first in range(count)
            for last in range(first, min(count, first + 30))
        }
        score, *span = best_span(starts, ends)
        assert spans[tuple(span)] == score == max(spans.values())


def test_the_best_answer_of_all_windows_is_in_the_context(tokenizer):
    question = asked("Was ist?", LONG, "Fußball", start=len(LONG) // 2)
    windows = windows_of(question, Reader(tokenizer, 60))
    random = np.random.default_rng(1)
    outputs = [
        {name: random.normal(size=len(window["input_ids"])) for name in ("start_logits", "end_logits")}
        for window in windows
    ]
    for output, window in zip(outputs, windows, strict=True):
        for logits in output.values():
            logits[: window["_first"]] = logits[-1] = 50
            logits[window["_first"] - 1] = 100
    place = next(number for number, window in enumerate(windows) if window["start_positions"])
    outputs[place]["start_logits"][windows[place]["start_positions"]] = 20
    outputs[place]["end_logits"][windows[place]["end_positions"]] = 20
    assert best_answer(LONG, windows, iter(outputs)).strip() == "Fußball"
