"""What a model reads of a question with its context, and how its answer is read out of what it says.

A window is the question and a part of the context ("Multilingual BERT Post-Pretraining Alignment", 2.3). The
paper does not say how contexts are cut that are too long for one. Windows share 128 tokens here, the
`doc_stride` of transformers' example for questions and answers (run_qa; that of run_squad is how far the next
one begins behind the beginning of the last one). Questions have at most 64 tokens, answers 30, as in XTREME's
run_squad.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from command_line.errors import InputError
from embeddings.finetuning.questions import Question
from embeddings.finetuning.task import Outputs, Reader, Window

OVERLAP = 128  # tokens of the context that a window has of the one before it
LONGEST_QUESTION = 64  # tokens
LONGEST_ANSWER = 30  # tokens
NOWHERE = 0  # the first token, which is none of a context: the answer is not in this window
_CONTEXT = 1  # what tokenizers call the second of two texts
_NOT_READ = ("offset_mapping", "overflow_to_sample_mapping")


@dataclass(frozen=True)
class Cut:
    """How a context is cut.

    Attributes:
        room: tokens of it in a window.
    """

    room: int

    @property
    def overlap(self) -> int:
        """Tokens that a window has of the one before it: less than usual in small windows."""
        return min(OVERLAP, self.room // 2)

    @property
    def step(self) -> int:
        return self.room - self.overlap

    def count(self, tokens: int) -> int:
        """Windows of a context of so many tokens."""
        return 1 + max(0, math.ceil((tokens - self.room) / self.step))


def windows_of(question: Question, reader: Reader) -> list[Window]:
    """The windows of a question, from the beginning of its context to the end.

    Returns:
        what the tokenizer gives, T numbers each; "start_positions" and "end_positions", the tokens of the
        answer, both `NOWHERE` of a window that lacks one of them; "_first", the first of the C tokens of the
        context; "_offsets", C x 2, their characters in the whole context, from and to.

    Raises:
        InputError: windows have too few tokens for a question and a context.
    """
    text, tokens = _cut_question(question.text, reader)
    cut = Cut(_space(reader) - tokens)
    encoded = reader.tokenizer(
        text,
        question.context,
        truncation="only_second",
        max_length=reader.longest,
        stride=cut.overlap,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    firsts, offsets = zip(*map(_context_in, encoded.encodings), strict=True)
    begin, end = _tokens_of(question.span, _whole(offsets, cut.overlap))
    windows = []
    for number, (first, own) in enumerate(zip(firsts, offsets, strict=True)):
        passed = number * cut.step
        has_all = passed <= begin <= end < passed + len(own)
        window = {name: values[number] for name, values in encoded.items() if name not in _NOT_READ}
        window["start_positions"] = first + begin - passed if has_all else NOWHERE
        window["end_positions"] = first + end - passed if has_all else NOWHERE
        windows.append({**window, "_first": first, "_offsets": own})
    return windows


def count_windows(question: Question, reader: Reader) -> int:
    """How many windows a question has, without making them.

    Raises:
        InputError: as of `windows_of`.
    """
    space, context = _space(reader), _length(reader.tokenizer, question.context)
    if context + _longest_question(reader) <= space:
        return 1
    _, tokens = _cut_question(question.text, reader)
    return Cut(space - tokens).count(context)


def _space(reader: Reader) -> int:
    """Tokens of a window that are of a text."""
    special = reader.tokenizer.num_special_tokens_to_add(pair=True)
    if reader.longest < special + 2:
        raise InputError(
            f"--max-length: windows have {reader.longest} tokens, of which {special} are special ones;"
            f" expected at least {special + 2}, for a question and its context"
        )
    return reader.longest - special


def _longest_question(reader: Reader) -> int:
    return min(LONGEST_QUESTION, _space(reader) // 2)


def _cut_question(text: str, reader: Reader) -> tuple[str, int]:
    """A question as far as it is read, and its tokens."""
    longest = _longest_question(reader)
    encoded = reader.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    offsets = encoded["offset_mapping"]
    if len(offsets) <= longest:
        return text, len(offsets)
    text = text[: offsets[longest][0]]
    return text, _length(reader.tokenizer, text)


@functools.lru_cache(maxsize=4)  # the questions about a context come one after the other
def _length(tokenizer, text: str) -> int:
    return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _context_in(encoding) -> tuple[int, np.ndarray]:
    """The first token of a window that is of the context, and the characters of all of them, C x 2."""
    texts = encoding.sequence_ids
    count = texts.count(_CONTEXT)
    first = texts.index(_CONTEXT) if count else len(texts)
    return first, np.array(encoding.offsets[first : first + count], dtype=np.int32).reshape(-1, 2)


def _whole(offsets: Sequence[np.ndarray], overlap: int) -> np.ndarray:
    """Those of all tokens of a context, each once, from those in its windows."""
    return np.concatenate([offsets[0], *(own[overlap:] for own in offsets[1:])])


def _tokens_of(span: tuple[int, int] | None, offsets: np.ndarray) -> tuple[int, int]:
    """First and last token of some characters; 0 and -1 of none, and of those that a tokenizer drops.

    Args:
        offsets: C x 2.
    """
    if span is None:
        return 0, -1
    begin, end = span
    (tokens,) = np.nonzero((offsets[:, 1] > begin) & (offsets[:, 0] < end))
    return (int(tokens[0]), int(tokens[-1])) if len(tokens) else (0, -1)


def best_span(starts: np.ndarray, ends: np.ndarray, longest: int = LONGEST_ANSWER) -> tuple[float, int, int]:
    """The span with the greatest sum of the logits of its first and its last token.

    All spans are compared; XTREME's run_squad compares those between the 20 best starts and the 20 best ends.

    Args:
        starts, ends: logits of the same C tokens, one at least.
        longest: tokens of a span.

    Returns:
        the sum, and the first and the last token.
    """
    beyond = np.full(longest - 1, -np.inf)
    sums = starts[:, None] + sliding_window_view(np.concatenate([ends, beyond]), longest)  # C x longest
    first, further = divmod(int(sums.argmax()), longest)
    return float(sums[first, further]), first, first + further


def best_answer(context: str, windows: Iterable[Window], outputs: Iterable[Outputs]) -> str:
    """The text of the best span of all windows of a question, which is compared by its sum of logits.

    Args:
        windows: of one question.
        outputs: what the model says of them, "start_logits" and "end_logits", T each.
    """
    answer, best = "", -math.inf
    for window, output in zip(windows, outputs, strict=True):
        first, offsets = window["_first"], window["_offsets"]
        if len(offsets):
            tokens = slice(first, first + len(offsets))
            score, begin, end = best_span(output["start_logits"][tokens], output["end_logits"][tokens])
            if score > best:
                answer, best = context[offsets[begin, 0] : offsets[end, 1]], score
    return answer
