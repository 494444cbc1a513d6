"""Raw text in, detokenized text out: any translation model as a function.

Hypotheses are those that `eval translate` finds for the same sentences in a test set.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.languages import is_unspaced
from eval.translation.long_lines import CHOICES, CUT, SPLIT, split_to_fit
from eval.translation.translation_options import TranslationOptions


class Candidate(NamedTuple):
    """A translation of a line.

    Attributes:
        text: detokenized.
        score: log-probability / length^lenpen; of a line that was split, the mean over its parts.
    """

    text: str
    score: float


class Sentence(NamedTuple):
    """What is translated at once: a line, or a part of a long one.

    Attributes:
        ids: token ids without language tags and `</s>`.
    """

    direction: Direction
    ids: list[int]


@dataclass(frozen=True)
class TranslatorOptions(TranslationOptions):
    """How text is translated.

    Attributes:
        n_best: candidates of a line, at most the beam.
        long_lines: what becomes of lines that are longer than the model reads: CUT or SPLIT.

    Raises:
        InputError: an `n_best` below 1, or above the beam; other `long_lines`; options that do not go
            together.
    """

    n_best: int = 1
    long_lines: str = CUT

    def __post_init__(self):
        if self.n_best < 1:
            raise InputError(f"n_best {self.n_best}: expected 1 or more")
        if self.long_lines not in CHOICES:
            raise InputError(f"long_lines {self.long_lines!r}: expected one of {', '.join(CHOICES)}")
        if self.n_best > self.decoding.search.beam:
            raise InputError(
                f"--n-best {self.n_best}: a beam of {self.decoding.search.beam} finds no more;"
                " give a larger --beam"
            )
        if self.lengths.length_candidates > 1 and self.n_best > 1:
            raise InputError("--n-best: not with --length-candidates, whose search keeps the best hypothesis")
        self.check()


class Translator(ABC):
    """A model, ready to translate.

    Attributes:
        supervised: the directions that it was trained on; None: nobody knows.
    """

    supervised: frozenset[Direction] | None = None

    def __init__(self, options: TranslatorOptions):
        self.options = options

    @property
    def decoder_tokens(self) -> int | None:
        """The number of tokens for which the decoder was run until now; None for a search that does not count
        them.
        """
        return None

    @abstractmethod
    def check(self, source: str, target: str) -> None:
        """Refuse a direction that the model cannot translate.

        Raises:
            InputError: names the languages or directions that it knows.
        """

    @abstractmethod
    def room(self, direction: Direction) -> int | None:
        """Most tokens of a sentence that the model reads, without tags and `</s>`; None: any number."""

    @abstractmethod
    def ids(self, text: str, language: str) -> list[int]:
        """Token ids of a text, without tags and `</s>`."""

    @abstractmethod
    def search(
        self, sentences: Sequence[Sentence], count: int, with_scores: bool
    ) -> Iterator[tuple[list[int], list[list[Candidate]]]]:
        """Yield batches: the numbers of their sentences, and the best `count` translations of each.

        Args:
            sentences: of any directions, each with at least one token.
            with_scores: are scores needed? Otherwise they may be NaN.
        """

    def translate(self, lines: Iterable[str], source: str, target: str, first_line: int = 1) -> list[str]:
        """The best translation of every line; of a line without words it is empty.

        Args:
            lines: any number of texts; one text alone is refused, as its characters would be the lines.

        Raises:
            InputError: as `check`; lines that are no texts; the model's scores are no numbers.
        """
        by_line = self.candidates(lines, source, target, first_line, with_scores=False)
        return [candidates[0].text if candidates else "" for candidates in by_line]

    def candidates(
        self, lines: Iterable[str], source: str, target: str, first_line: int = 1, with_scores: bool = True
    ) -> list[list[Candidate]]:
        """The best `n_best` translations of every line, best first; a line without words has none.

        Args:
            first_line: its number, for warnings.
            with_scores: are scores needed? Some models translate faster without them.
        """
        self.check(source, target)
        lines = _texts(lines, first_line)
        sentences, line_of = [], []
        for number, line in enumerate(lines):
            parts = self.sentences(line, (source, target), f"line {first_line + number}")
            sentences += parts
            line_of += [number] * len(parts)
        translations: dict[int, list[Candidate]] = {}
        if sentences:
            for numbers, batch in self.search(sentences, self.options.n_best, with_scores):
                translations.update(zip(numbers, batch, strict=True))
        parts_of: list[list[list[Candidate]]] = [[] for _ in lines]
        for number, line in enumerate(line_of):
            parts_of[line].append(translations[number])
        separator = "" if is_unspaced(target) else " "
        return [_joined(parts, separator) for parts in parts_of]

    def sentences(self, line: str, direction: Direction, name: str) -> list[Sentence]:
        """What of a line is translated at once: all of it, or its sentences; nothing of an empty line.

        Args:
            name: of the line, for the warning that its end is cut.
        """
        source, room = direction[0], self.room(direction)
        ids = self.ids(line, source)
        if not ids:
            return []
        if room is None or len(ids) <= room:
            return [Sentence(direction, ids)]
        if self.options.long_lines == SPLIT:
            parts = split_to_fit(line, lambda text: self.ids(text, source), room)
            return [Sentence(direction, part) for part in parts]
        print(
            f"warning: {name}: {len(ids)} tokens, the model reads {room}: its end was cut;"
            " --long-lines split translates it in parts",
            file=sys.stderr,
        )
        return [Sentence(direction, ids[:room])]


def _texts(lines: Iterable[str], first_line: int) -> list[str]:
    if isinstance(lines, str | bytes):
        raise InputError(f"lines: found one text, {lines[:40]!r}, expected a list of them")
    lines = list(lines)
    for number, line in enumerate(lines, start=first_line):
        if not isinstance(line, str):
            raise InputError(f"line {number}: found {line!r:.40}, expected a text")
    return lines


def _joined(parts: list[list[Candidate]], separator: str) -> list[Candidate]:
    """Candidates of a line from those of its parts: the k-th of each, or its last."""
    count = max(map(len, parts), default=0)
    ranked = [[part[min(rank, len(part) - 1)] for part in parts] for rank in range(count)]
    return [
        Candidate(
            separator.join(candidate.text for candidate in chosen if candidate.text),
            sum(candidate.score for candidate in chosen) / len(chosen),
        )
        for chosen in ranked
    ]
