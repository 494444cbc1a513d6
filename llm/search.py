"""How answers are searched: the options, without what searches."""

from dataclasses import dataclass

from command_line.option_classes import option


@dataclass(frozen=True)
class Search:
    """How answers are searched."""

    beam: int = option("hypotheses of a beam search; 1 searches greedily", 1)
    max_input: int = option("tokens of a prompt", 384)
    max_output: int = option("tokens of a translation", 384)
    batch_sentences: int = option("prompts at a time", 16)
