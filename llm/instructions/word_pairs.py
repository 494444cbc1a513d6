"""Word pairs that instructions assert, quote and corrupt, from links of a statistical aligner (thesis 6.2.2).

The pairs of the thesis join several words of one language with several of the other. Here they are the
smallest phrases that links leave whole: words that links join, directly or through each other, next to each
other on both sides. Nothing in such a phrase is linked to anything outside of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from data_prep.alignment.links import Spans
from data_prep.subword_spans import word_boundaries

Characters = tuple[int, int]  # half-open, in a line
LONGEST = 5  # words of a phrase


def phrase_pairs(links: Iterable[Spans], longest: int = LONGEST) -> list[Spans]:
    """The smallest pairs of phrases of a sentence pair, in the order of the first sentence.

    Args:
        links: of words, or of spans of words.
        longest: words of a phrase, on either side.
    """
    parents: dict[tuple[int, int], tuple[int, int]] = {}  # side and word -> one that it is joined with

    def root(word: tuple[int, int]) -> tuple[int, int]:
        parents.setdefault(word, word)
        while parents[word] != word:
            parents[word] = word = parents[parents[word]]
        return word

    for start_a, end_a, start_b, end_b in links:
        first, *others = [(0, i) for i in range(start_a, end_a)] + [(1, j) for j in range(start_b, end_b)]
        for other in others:
            parents[root(other)] = root(first)
    groups: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, number in list(parents):
        groups[root((side, number))][side].append(number)
    return sorted(
        (min(a), max(a) + 1, min(b), max(b) + 1)
        for a, b in groups.values()
        if _is_phrase(a, longest) and _is_phrase(b, longest)
    )


def _is_phrase(words: list[int], longest: int) -> bool:
    return max(words) - min(words) + 1 == len(words) <= longest


def is_word(text: str) -> bool:
    """Whether a text is more than punctuation, whose pairs teach nothing."""
    return any(character.isalnum() for character in text)


def word_places(words: Sequence[str], line: str, path, number: int) -> list[Characters]:
    """Where every word of a tokenized line is in the raw line.

    Returns:
        half-open ranges of characters, one per word, without spaces around them; an empty one of a word
        that the line does not spell (a lone zero-width character that another tokenizer dropped).

    Raises:
        InputError: the words spell another text; names file and line.
    """
    places = [place for place, character in enumerate(line) if not character.isspace()]
    characters = [line[place] for place in places]
    starts, ends = word_boundaries(words, characters, "sentencepiece", path, number)
    return [
        (places[start], places[end - 1] + 1) if start < end else (0, 0)
        for start, end in zip(starts, ends, strict=True)
    ]
