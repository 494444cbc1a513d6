"""Instructions as tokens: the question is read, the answer is learned."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset
from typing_extensions import TypedDict

from command_line.errors import InputError, at
from command_line.records import check, parse_json
from llm.batches import padded
from llm.language_model import text_end
from llm.tuning.overlong import Overlong, overlong_line

IGNORED = -100  # the label of a token that is not learned


class InstructionRecord(TypedDict):
    """A line of a file."""

    direction: str
    input: str
    output: str


class InstructionLines(Dataset):
    """The lines of instruction files, each read when it is asked for. Memory holds only where they begin.

    Args:
        most: take this number of lines, spread over the files; None for all. Each is drawn from the lines
            around its place, in the same way every time. Even steps would meet one direction and task only,
            because these take turns in the files.
    """

    def __init__(self, paths: Sequence[Path], most: int | None = None):
        self.paths = list(paths)
        begins = [_line_begins(path) for path in self.paths]
        self.files = np.repeat(np.arange(len(begins)), [len(each) for each in begins])
        self.begins = np.concatenate(begins)
        self.numbers = np.concatenate([np.arange(1, len(each) + 1) for each in begins])
        if most is not None and most < len(self.begins):
            edges = np.linspace(0, len(self.begins), most + 1).round().astype(np.int64)
            chosen = np.random.default_rng(most).integers(edges[:-1], edges[1:])
            self.files, self.begins, self.numbers = (
                each[chosen] for each in (self.files, self.begins, self.numbers)
            )

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, index: int) -> dict[str, str]:
        """A line, as `llm instruct` wrote it.

        Raises:
            InputError: it is not as it must be; names file and line.
        """
        path, number = self.paths[self.files[index]], int(self.numbers[index])
        with open(path, "rb") as stream:
            stream.seek(self.begins[index])
            record = parse_json(stream.readline(), path, number)
        check(record, InstructionRecord, at(path, number))
        return record


def _line_begins(path: Path) -> np.ndarray:
    """Where every line begins, int64."""
    if not path.stat().st_size:
        raise InputError(f"{path}: is empty, expected instructions; make them by `llm instruct`")
    content = np.memmap(path, dtype=np.uint8, mode="r")
    ends = [
        start + np.flatnonzero(content[start : start + _AT_ONCE] == ord("\n"))
        for start in range(0, len(content), _AT_ONCE)
    ]
    begins = np.append(0, np.concatenate(ends) + 1)
    return begins[begins < len(content)]  # behind the last line end there is none


_AT_ONCE = 1 << 26  # bytes


class Examples(Dataset):
    """Instructions as token numbers and labels.

    Question and answer are segmented as one text, joined by a space, since tokenizers of language models take
    a space for a part of the word behind it. The end of the answer is learned, too.

    Args:
        tokenizer: a fast one of `transformers`, which knows where its tokens are.
        max_input, max_output: tokens; longer texts lose their ends.
        overlong: counts longer texts.
        skip_overlong: learn nothing from longer texts.
    """

    def __init__(
        self,
        instructions: Dataset,
        tokenizer,
        max_input: int,
        max_output: int,
        overlong: Overlong | None = None,
        skip_overlong: bool = False,
    ):
        self.instructions, self.tokenizer = instructions, tokenizer
        self.max_input, self.max_output = max_input, max_output
        self.overlong, self.skip_overlong = overlong, skip_overlong

    def __len__(self) -> int:
        return len(self.instructions)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        """ "input_ids" and "labels" of one instruction, equally long; of one that is skipped no token is
        learned.
        """
        record = self.instructions[index]
        question, answer = split_tokens(self.tokenizer, record["input"], record["output"])
        longer = len(question) > self.max_input, len(answer) >= self.max_output  # with the end of the answer
        if self.overlong is not None:
            self.overlong.note(index, *longer)
        end = self.tokenizer.eos_token_id
        if self.skip_overlong and any(longer):
            return {"input_ids": [end], "labels": [IGNORED]}
        question = question[: self.max_input]
        answer = [*answer[: self.max_output - 1], end]
        return {"input_ids": question + answer, "labels": [IGNORED] * len(question) + answer}

    def flush(self) -> None:
        """Make what was noted visible to other devices."""
        if self.overlong is not None:
            self.overlong.flush()

    def overlong_line(self) -> str | None:
        """What to tell the user of what is longer; None if there is nothing."""
        if self.overlong is None:
            return None
        return overlong_line(self.overlong.counts(), self.max_input, self.max_output, self.skip_overlong)


def split_tokens(tokenizer, question: str, answer: str) -> tuple[list[int], list[int]]:
    """The tokens of a question, and those of the answer behind it; none ends the answer."""
    encoded = tokenizer(f"{question} {answer}", return_offsets_mapping=True, return_special_tokens_mask=True)
    special = encoded["special_tokens_mask"]
    ends = [end for _, end in encoded["offset_mapping"]]
    first = next(
        (place for place, end in enumerate(ends) if end > len(question) and not special[place]), len(ends)
    )
    ids = encoded["input_ids"]
    return ids[:first], ids[first : text_end(special)]


class Padding:
    """Batches: tokens, which of them are there, labels, each B x T."""

    def __init__(self, pad: int):
        self.pad = pad

    def __call__(self, examples: Sequence[dict[str, list[int]]]) -> dict[str, Tensor]:
        tokens = [example["input_ids"] for example in examples]
        return {
            "input_ids": padded(tokens, self.pad),
            "attention_mask": padded([[1] * len(row) for row in tokens], 0),
            "labels": padded([example["labels"] for example in examples], IGNORED),
        }
