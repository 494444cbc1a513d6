"""A sentence and its translation, as instructions see them."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from llm.instructions.word_pairs import Characters, is_word

TRIES = 20  # phrases of other sentences that are drawn until one fits


@dataclass(frozen=True)
class Side:
    """One of both sentences.

    Attributes:
        language: its name in English.
        phrases: where those phrases are that have a counterpart in the other sentence, number by number.
        is_unspaced: whether its language has no spaces between words.
    """

    language: str
    text: str
    words: Sequence[Characters] = ()
    phrases: Sequence[Characters] = ()
    is_unspaced: bool = False

    def spelled(self, place: Characters) -> str:
        return self.text[place[0] : place[1]]

    def folded(self, place: Characters) -> str:
        """What is there without the difference of upper and lower case, to be searched in others.

        In a language with spaces every word has a space before and behind it: "a" is no part of "man".
        """
        if self.is_unspaced:
            return self.spelled(place).casefold()
        words = [self.spelled((a, b)) for a, b in self.words if place[0] <= a < b <= place[1]]
        return f" {' '.join(words)} ".casefold()

    def length(self, place: Characters) -> int:
        """Words of a phrase; in a language without spaces its characters."""
        text = self.spelled(place)
        return len(text) if self.is_unspaced else len(text.split())

    def with_phrase(self, number: int, text: str) -> str:
        """The sentence with another text in the place of a phrase."""
        start, end = self.phrases[number]
        return self.text[:start] + text + self.text[end:]


@dataclass(frozen=True)
class SentencePair:
    """What an instruction is made of. The thesis calls the source Y and the target, into which is translated,
    X.
    """

    source: Side
    target: Side
    elsewhere: Mapping[int, Sequence[str]] = field(
        default_factory=dict
    )  # phrases of other targets, by length

    @cached_property
    def phrases(self) -> list[tuple[str, str]]:
        """The aligned phrases: of the source, of the target."""
        return [
            (self.source.spelled(y), self.target.spelled(x))
            for y, x in zip(self.source.phrases, self.target.phrases, strict=True)
        ]

    def wrong_counterparts(self, number: int, side: int) -> list[str]:
        """What can stand in the place of one side of an aligned pair so that it is no pair any more.

        They are other phrases of the same sentence, so that only the alignment tells; where there are none,
        its other words. Nothing is among them that is aligned with the rest of the pair somewhere in the
        sentence pair, nor anything that contains it or is a part of it: in a language with spaces between
        words, in whole words.

        Args:
            number: of the pair.
            side: 0 where the source's phrase is replaced, 1 where the target's is.
        """
        spelled = self._folded
        kept = spelled[number][1 - side]
        right = {pair[side] for pair in spelled if pair[1 - side] == kept}
        for candidates in (self._phrases_of[side], self._words_of[side]):
            if texts := [text for folded, text in candidates.items() if not _overlaps(folded, right)]:
                return texts
        return []

    def phrase_from_elsewhere(self, number: int, chance: random.Random) -> str | None:
        """A phrase of another target sentence, as long as that of an aligned pair. It is no part of this
        sentence, and no right phrase of it is a part of it. None where none was drawn.
        """
        target = self.target
        phrases = self.elsewhere.get(target.length(target.phrases[number]), ())
        right = {folded for _, folded in self._folded}
        sentence = target.folded((0, len(target.text)))
        for _ in range(TRIES if phrases else 0):
            text = chance.choice(phrases)
            folded = text.casefold() if target.is_unspaced else f" {text} ".casefold()
            if folded not in sentence and not _overlaps(folded, right):
                return text
        return None

    def can_be_wrong(self, number: int, side: int) -> bool:
        """Whether there is such a text."""
        return bool(self.wrong_counterparts(number, side))

    @cached_property
    def _folded(self) -> list[tuple[str, str]]:
        """The aligned phrases as `Side.folded` has them."""
        source, target = self.source, self.target
        return [
            (source.folded(y), target.folded(x)) for y, x in zip(source.phrases, target.phrases, strict=True)
        ]

    @cached_property
    def _phrases_of(self) -> tuple[dict[str, str], ...]:
        """The different phrases of both sides: folded, and as they are first written."""
        return tuple(_different(side, side.phrases) for side in (self.source, self.target))

    @cached_property
    def _words_of(self) -> tuple[dict[str, str], ...]:
        """The different words of both sides, likewise."""
        return tuple(
            _different(side, (word for word in side.words if is_word(side.spelled(word))))
            for side in (self.source, self.target)
        )


def phrases_by_length(sides: Iterable[Side]) -> dict[int, list[str]]:
    """The different aligned phrases of sentences in one language, by their lengths, in their order."""
    by_length: dict[int, dict[str, None]] = {}
    for side in sides:
        for place in side.phrases:
            by_length.setdefault(side.length(place), {})[side.spelled(place)] = None
    return {length: list(phrases) for length, phrases in by_length.items()}


def _different(side: Side, places: Iterable[Characters]) -> dict[str, str]:
    words: dict[str, str] = {}
    for place in places:
        words.setdefault(side.folded(place), side.spelled(place))
    return words


def _overlaps(text: str, others: set[str]) -> bool:
    return any(text in other or other in text for other in others)
