"""Aligned word substitution: words of a sentence are replaced by their translations into any other language
(RAS, random aligned substitution; Lin et al. 2020, mRASP).

It works on the units of a sentence, as the folder's subword model has split it: a word is replaced as a
whole, by the units of its translation.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import numpy as np

from command_line.errors import InputError
from data_prep.subword_models import WORD_BEGINNING, text_of_pairs
from data_prep.subword_sampling import words_of_pairs, words_of_pieces

WORDS: dict[str, tuple[Callable, Callable]] = {  # type of subwords -> (units to words, units to its text)
    "subword-nmt": (words_of_pairs, text_of_pairs),
    "sentencepiece": (words_of_pieces, lambda units: "".join(units).removeprefix(WORD_BEGINNING)),
    "none": (lambda units: [[unit] for unit in units], lambda units: units[0]),
}


class WordSubstitution:
    """Replaces words of one language with probability p by a translation, all of which are as likely.

    A word is looked up as it stands, then in lower case. One that the dictionaries do not have stays, and so
    do translations that the folder's subwords can only write with units that the dictionary of the model
    lacks.

    Args:
        probability: p, of every word.
        translations: word -> its translations, of any language.
        subwords: the model of the folder (`segment`).
        kind: its type.

    Raises:
        InputError: subwords of a type that spells no words.
    """

    def __init__(
        self,
        probability: float,
        translations: Mapping[str, Sequence[str]],
        subwords,
        kind: str,
        vocabulary: Container[str],
    ):
        if kind not in WORDS:
            raise InputError(f"--word-substitution: subwords of type {kind} spell no words")
        self.probability, self.translations = probability, translations
        self.subwords, self.vocabulary = subwords, vocabulary
        self.words, self.text = WORDS[kind]
        self.units: dict[str, list[list[str]]] = {}  # of the translations of a word

    def draw(self, units: Sequence[str], seed: int) -> list[str]:
        """The sentence with some of its words replaced; the same for the same seed."""
        rng = np.random.default_rng(seed)
        words: Iterable[list[str]] = list(self.words(units))
        replaced, chosen = rng.random((2, len(words)))
        drawn: list[str] = []
        for word, draw, place in zip(words, replaced, chosen, strict=True):
            others = self._translations(self.text(word)) if draw < self.probability else []
            drawn += others[int(place * len(others))] if others else word
        return drawn

    def _translations(self, word: str) -> list[list[str]]:
        if word not in self.units:
            translations = self.translations.get(word) or self.translations.get(word.lower())
            if not translations:  # most words of a large corpus, which memory has no room for
                return []
            split = (self.subwords.segment(other).split() for other in translations)
            self.units[word] = [units for units in split if all(unit in self.vocabulary for unit in units)]
        return self.units[word]
