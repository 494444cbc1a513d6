"""How a language model is asked for a translation: the prompt, as text or as a chat, and its examples."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import option, switch
from command_line.templates import check_template
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.parallel_sets import source_files
from data_prep.formats.texts import VALID
from data_prep.model_folders.chat_template import Chat
from llm.instructions.prompts import DEFAULT, PROMPTS

FIELDS = ("source", "target", "text")
BETWEEN = "\n\n"  # examples that are text


@dataclass(frozen=True, kw_only=True)
class PromptOptions:
    """How a model is asked.

    Raises:
        InputError: the prompt is neither one of Table D.2 nor a file that can be filled.
    """

    prompt: str = option(
        f"{', '.join(PROMPTS)} of Table D.2 ({DEFAULT} is that of tuning), or a file with {{source}},"
        " {target} and {text}: names of the languages, and the sentence",
        DEFAULT,
        metavar="NAME|FILE",
    )
    chat: bool = switch("ask in the chat template of the model; its turn is the answer")
    shots: int = option(
        "so many translations of the validation set stand in front of every sentence",
        0,
        type=options.natural,
        metavar="N",
    )
    shots_seed: int = option("of the draw of these translations", 1, type=options.seed)

    def __post_init__(self):
        if self.file:
            if not self.file.is_file():
                names = ", ".join(PROMPTS)
                raise InputError(f"--prompt {self.file}: no such file; expected one of {names}, or a file")
            check_template(self.template, FIELDS, ("text",), f"--prompt {self.file}")

    @property
    def file(self) -> Path | None:
        """The file of the prompt, if it is in one."""
        return None if self.prompt in PROMPTS else Path(self.prompt)

    @cached_property
    def template(self) -> str:
        return "\n".join(read_lines(self.file)).rstrip("\n") if self.file else PROMPTS[self.prompt]

    @property
    def label(self) -> str:
        """What tables call it: "default", "1", "mine, chat, 5-shot"."""
        parts = [self.file.stem if self.file else self.prompt]
        return ", ".join([*parts, *["chat"] * self.chat, *[f"{self.shots}-shot"] * bool(self.shots)])

    def prompter(self, text: Path, names: Mapping[str, str], tokenizer, weights: Path) -> "Prompter":
        """What asks.

        Args:
            text: folder with the validation sets of which examples are drawn.
        """
        chat = Chat(tokenizer, weights) if self.chat else None
        return Prompter(self.template, names, partial(self.examples, text), chat)

    def files(self, text: Path) -> list[Path]:
        """What prompts are made of, beside the sentences: a file, and the validation sets in a folder."""
        examples = set(source_files(text, VALID).values()) if self.shots else set()
        return [*([self.file] if self.file else []), *sorted(examples)]

    def examples(self, text: Path, direction: Direction) -> list[tuple[str, str]]:
        """Pairs of a validation set, drawn without regard to what is translated.

        Raises:
            InputError: there is no such set, or it has fewer pairs.
        """
        if not self.shots:
            return []
        sets, name = source_files(text, VALID), format_direction(direction)
        if direction not in sets:
            raise InputError(f"--shots: {text}: no {VALID} set of {name}; expected one to draw examples from")
        sides = [[line.strip() for line in read_lines(sets[each])] for each in (direction, direction[::-1])]
        pairs = [pair for pair in zip(*sides, strict=True) if all(pair)]
        if len(pairs) < self.shots:
            raise InputError(
                f"--shots {self.shots}: {sets[direction]}: has {len(pairs)} lines with a translation;"
                " expected as many as --shots"
            )
        return random.Random(f"{self.shots_seed} {name}").sample(pairs, self.shots)


class Prompter:
    """Makes the prompts of sentences.

    Args:
        examples: direction -> pairs of sentences and their translations.
        render: makes a prompt of a chat, questions and answers by turns; None: prompts are text.
    """

    def __init__(
        self,
        template: str,
        names: Mapping[str, str],
        examples: Callable[[Direction], Sequence[tuple[str, str]]],
        render: Callable[[Sequence[str]], str] | None,
    ):
        self.template, self.names, self.examples, self.render = template, names, examples, render

    def __call__(self, direction: Direction, lines: Iterable[str]) -> list[str]:
        """The prompt of every line."""
        pairs = [(self._question(direction, text), answer) for text, answer in self.examples(direction)]
        if self.render is None:
            before = "".join(f"{question} {answer}{BETWEEN}" for question, answer in pairs)
            return [before + self._question(direction, line) for line in lines]
        turns = [turn for pair in pairs for turn in pair]
        return [self.render([*turns, self._question(direction, line)]) for line in lines]

    def _question(self, direction: Direction, text: str) -> str:
        source, target = (self.names[code] for code in direction)
        return self.template.format(source=source, target=target, text=text)
