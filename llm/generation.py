"""Answers of a language model to prompts, in batches of about equal lengths."""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

from command_line.journal import Journal
from command_line.progress import progress
from llm.batches import padded
from llm.language_model import text_end
from llm.search import Search


class Answers:
    """Generates one line per prompt.

    Args:
        is_chat: prompts are chats, which have their special tokens; an answer also ends where the model's own
            settings say.

    Attributes:
        cut: the prompts that were longer than --max-input and lost their ends.
    """

    def __init__(self, model, tokenizer, search: Search, is_chat: bool = False):
        self.model, self.tokenizer, self.search, self.is_chat = model, tokenizer, search, is_chat
        self.cut: set[str] = set()
        self.config = GenerationConfig(
            max_new_tokens=search.max_output,
            num_beams=search.beam,
            do_sample=False,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=_ends_of_turns(model, tokenizer) if is_chat else tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        self.line_ends = {
            number for number in range(len(tokenizer)) if "\n" in tokenizer.decode([number], **_AS_IT_IS)
        }

    def to(self, prompts: Sequence[str], journal: Journal, task: str) -> list[str]:
        """The answer to every prompt; the same prompt is asked once.

        Args:
            journal: of finished batches, which are not done again.
        """
        answers = {
            prompt: text
            for entry in journal.entries
            if entry["task"] == task
            for prompt, text in entry["answers"]
        }
        tokens = {prompt: self.tokens(prompt) for prompt in dict.fromkeys(prompts)}  # known ones are counted
        asked = [prompt for prompt in tokens if prompt not in answers]
        asked.sort(key=lambda prompt: -len(tokens[prompt]))
        size = self.search.batch_sentences
        batches = [asked[start : start + size] for start in range(0, len(asked), size)]
        for batch in progress(batches, len(asked), task, "sentence", size=len):
            new = self._answer([tokens[prompt] for prompt in batch])
            journal.add({"task": task, "answers": list(zip(batch, new, strict=True))})
            answers |= dict(zip(batch, new, strict=True))
        return [answers[prompt] for prompt in prompts]

    def tokens(self, prompt: str) -> list[int]:
        """Those of a prompt, at most --max-input; `cut` notes what is longer."""
        if self.is_chat:
            whole = self.tokenizer(prompt, add_special_tokens=False, split_special_tokens=False)["input_ids"]
        else:
            encoded = self.tokenizer(prompt, return_special_tokens_mask=True)
            whole = encoded["input_ids"][: text_end(encoded["special_tokens_mask"])]  # as in tuning
        if len(whole) > self.search.max_input:
            self.cut.add(prompt)
        return whole[: self.search.max_input]

    def _answer(self, batch: list[list[int]]) -> list[str]:
        return [first_line(text) for text in self.texts(self.generated(batch))]

    @torch.inference_mode()
    def generated(self, batch: list[list[int]]) -> Tensor:
        """Tokens of the answers to prompts in tokens: n x T, with padding behind what ends one."""
        width = max(map(len, batch))
        tokens = padded(batch, self.tokenizer.pad_token_id, left=True).to(self.model.device)
        there = padded([[1] * len(row) for row in batch], 0, left=True).to(self.model.device)
        stop = [] if self.search.beam > 1 else [_BehindFirstLine(self, width)]
        output = self.model.generate(
            input_ids=tokens,
            attention_mask=there,
            generation_config=self.config,
            stopping_criteria=StoppingCriteriaList(stop),
            use_model_defaults=False,  # which sample, for example
        )
        return output[:, width:]

    def endings(self, batch: list[list[int]]) -> list[list[int]]:
        """As `generated`, a list per prompt, without what ends it."""
        ends = self.config.eos_token_id
        ends = {self.config.pad_token_id, *(ends if isinstance(ends, list) else [ends])}
        return [
            list(itertools.takewhile(lambda token: token not in ends, row))
            for row in self.generated(batch).tolist()
        ]

    def texts(self, tokens: Tensor) -> list[str]:
        """Those of answers, n x T."""
        return self.tokenizer.batch_decode(tokens, skip_special_tokens=True, **_CLEAN)


def _ends_of_turns(model, tokenizer) -> list[int]:
    """The tokens that end an answer in a chat, such as `<|im_end|>`."""
    ends = model.generation_config.eos_token_id
    return sorted({tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None})


_CLEAN = {"clean_up_tokenization_spaces": False}  # which some tokenizers do, to text that was right
_AS_IT_IS = {"skip_special_tokens": False, **_CLEAN}


def first_line(text: str) -> str:
    """The first line with something in it, without spaces around it; models that were not tuned go on.

    Only a line feed ends it: other separators, and spaces that do not break, are text, as in what is taught.
    A NUL, which tokenizers of bytes can write, is left out: no text has one.
    """
    return next(filter(None, map(str.strip, text.replace("\0", "").split("\n"))), "")


class _BehindFirstLine(StoppingCriteria):
    """Ends an answer behind the line that is taken of it; without it models go on to the maximal length.

    Args:
        begin: of answers, in tokens.
    """

    def __init__(self, answers: Answers, begin: int):
        self.answers, self.begin, self.line_ends = answers, begin, sorted(answers.line_ends)

    def __call__(self, input_ids: Tensor, scores: Tensor, **kwargs) -> Tensor:
        generated = input_ids[:, self.begin :]
        ends = torch.isin(generated[:, -1], torch.tensor(self.line_ends, device=generated.device))
        if ends.any():  # of few tokens; only lines with something in them count, whatever they are made of
            texts = self.answers.texts(generated[ends])
            has_line = [bool(first_line(text.rpartition("\n")[0])) for text in texts]
            ends[ends.clone()] = torch.tensor(has_line, device=generated.device)
        return ends
