"""How answers are searched: the options, without what searches."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Search:
    """How answers are searched.

    Attributes:
        beam: 1 takes the likeliest token every time.
        max_input, max_output: in tokens; a longer prompt is cut behind.
        batch_sentences: prompts at a time.
    """

    beam: int
    max_input: int
    max_output: int
    batch_sentences: int
