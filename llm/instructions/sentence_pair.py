"""A sentence and its translation, as instructions see them."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm.instructions.word_pairs import Characters, is_word


@dataclass(frozen=True)
class Side:
    """One of both sentences.

    Attributes:
        language: its name in English.
        text: the raw sentence.
        words: where its words are in the text.
        phrases: where those phrases are that have a counterpart in the other sentence, number by number.
    """

    language: str
    text: str
    words: Sequence[Characters] = ()
    phrases: Sequence[Characters] = ()

    def spelled(self, place: Characters) -> str:
        return self.text[place[0] : place[1]]

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

    @property
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
        sentence pair, nor anything that contains it or is a part of it.

        Args:
            number: of the pair.
            side: 0 where the source's phrase is replaced, 1 where the target's is.
        """
        pairs = self.phrases
        kept = pairs[number][1 - side]
        right = {_same(pair[side]) for pair in pairs if _same(pair[1 - side]) == _same(kept)}
        sentence = (self.source, self.target)[side]
        for candidates in ([pair[side] for pair in pairs], map(sentence.spelled, sentence.words)):
            found = [
                one for one in dict.fromkeys(candidates) if is_word(one) and not _overlaps(_same(one), right)
            ]
            if found:
                return found
        return []


def _same(text: str) -> str:
    return text.casefold()


def _overlaps(text: str, others: set[str]) -> bool:
    return any(text in other or other in text for other in others)
