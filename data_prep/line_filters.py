"""What `data_prep clean` does to the lines of a block: normalizes and removes, for counted reasons."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from data_prep.blocks import Block, encode
from data_prep.duplicates import key
from data_prep.language_identification import default_identifier, identifier_label
from data_prep.normalization import measure_length, normalize

ANY = ""  # in place of a language: a line of any language
LANGUAGE, SIMILARITY = "language", "similarity"
REASONS = ("empty", "too-long", "ratio", "in-evaluation", LANGUAGE, SIMILARITY, "duplicate")


class Limits(NamedTuple):
    """What a training pair may be.

    Attributes:
        min_language: probability of either side's language; None: not looked at.
        min_similarity: cosine of the sides' vectors; None: not looked at.
    """

    max_length: int
    max_characters: int
    max_ratio: float
    min_language: float | None = None
    min_similarity: float | None = None


class Filtered(NamedTuple):
    """A block of training pairs after every filter but the one for duplicates."""

    texts: tuple[bytes, ...]  # one per side
    scores: bytes  # a line per kept pair, if something is scored
    keys: bytes  # one per kept pair
    removed: Counter
    changed: int  # kept pairs that normalization altered
    lines: int  # before filtering


def reason_to_remove(sides: tuple[str, ...], lengths: tuple[float, ...], limits: Limits) -> str | None:
    """Why a normalized training pair, or monolingual line, goes; None if it stays (as far as it can tell)."""
    if not all(sides):
        return "empty"
    if max(lengths) > limits.max_length or max(map(len, sides)) > limits.max_characters:
        return "too-long"
    if max(lengths) > limits.max_ratio * min(lengths):  # never of one side
        return "ratio"
    return None


class PairFilter:
    """Normalizes and filters the pairs of blocks, or monolingual lines.

    Args:
        evaluation: language, or `ANY` -> lines of evaluation sets; in lower case if case is ignored.
        ignore_case: in the comparison with these.
    """

    def __init__(
        self,
        languages: tuple[str, ...],
        limits: Limits,
        evaluation: Mapping[str, Set[str]],
        ignore_case: bool = False,
    ):
        self._languages, self._limits, self._ignore_case = languages, limits, ignore_case
        self._known = [evaluation.get(language, frozenset()) for language in languages]
        self._anywhere = evaluation.get(ANY, frozenset())
        self._labels = [identifier_label(language) for language in languages] if self._identifies else []

    @property
    def _identifies(self) -> bool:
        return self._limits.min_language is not None

    def __call__(self, block_and_similarities: "tuple[Block, Sequence[float] | None]") -> Filtered:
        """Filter a block.

        Args:
            block_and_similarities: the block, and of each of its pairs the similarity of its sides, if known.
        """
        block, similarities = block_and_similarities
        is_scored = self._identifies or similarities is not None
        measures = [measure_length(language) for language in self._languages]
        kept: tuple[list[str], ...] = tuple([] for _ in self._languages)
        keys, scores, removed, changed = [], [], Counter(), 0
        rows = zip(*(block.decode(side, nul=True) for side in range(len(self._languages))), strict=True)
        for number, raw in enumerate(rows):
            sides = tuple(map(normalize, raw))
            lengths = tuple(measure(side) for measure, side in zip(measures, sides, strict=True))
            reason = reason_to_remove(sides, lengths, self._limits)
            if reason is None and self._is_in_evaluation(sides):
                reason = "in-evaluation"
            row_scores = None
            if reason is None and is_scored:
                similarity = None if similarities is None else float(similarities[number])
                row_scores = self._scores(sides, similarity)
                reason = self._score_to_remove(row_scores)
            if reason is not None:
                removed[reason] += 1
                continue
            changed += sides != raw
            for lines, side in zip(kept, sides, strict=True):
                lines.append(side)
            keys.append(key("\n".join(sides)))
            if row_scores:
                scores.append("\t".join("" if score is None else f"{score:.4f}" for score in row_scores))
        texts = tuple(map(encode, kept))
        return Filtered(texts, encode(scores), b"".join(keys), removed, changed, block.lines)

    def _is_in_evaluation(self, sides: tuple[str, ...]) -> bool:
        compared = map(str.casefold, sides) if self._ignore_case else sides
        return any(
            side in lines or side in self._anywhere for side, lines in zip(compared, self._known, strict=True)
        )

    def _scores(self, sides: tuple[str, ...], similarity: float | None) -> list[float | None]:
        """Scores in the order of `score_columns`; None for a language that the identifier does not know."""
        scores: list[float | None] = []
        if self._identifies:
            identifier = default_identifier()
            scores = [
                None if label is None else identifier.probability(side, label)
                for side, label in zip(sides, self._labels, strict=True)
            ]
        return scores if similarity is None else [*scores, similarity]

    def _score_to_remove(self, scores: list[float | None]) -> str | None:
        languages = scores[: len(self._labels)]
        if any(score is not None and score < self._limits.min_language for score in languages):
            return LANGUAGE
        least = self._limits.min_similarity
        if least is not None and len(scores) > len(languages) and scores[-1] < least:
            return SIMILARITY
        return None


def reasons_of(limits: Limits) -> list[str]:
    """Reasons that a pair may go for, in the order in which they are looked at."""
    unused = {LANGUAGE: limits.min_language is None, SIMILARITY: limits.min_similarity is None}
    return [reason for reason in REASONS if not unused.get(reason, False)]


def score_columns(languages: tuple[str, ...], limits: Limits) -> list[str]:
    """What is scored of a text, as columns: `language.de`, `language.en`, `similarity`."""
    columns = [f"{LANGUAGE}.{code}" for code in languages] if limits.min_language is not None else []
    is_compared = limits.min_similarity is not None and len(languages) == 2
    return [*columns, SIMILARITY] if is_compared else columns


def normalize_block(block: Block) -> tuple[tuple[list[str], ...], int]:
    """An evaluation block: the normalized lines of every side, and how many rows have an empty one."""
    decoded = (block.decode(side, nul=True) for side in range(len(block.paths)))
    sides = tuple([normalize(line) for line in lines] for lines in decoded)
    return sides, sum(not all(row) for row in zip(*sides, strict=True))


def evaluation_sentences(block: Block) -> list[str]:
    """The sentences of one file of an evaluation set, normalized: its lines, and of lines with tabs every
    field. BUCC's sentences stand behind their numbers, those of other sets beside each other.
    """
    lines = block.decode(0, nul=True)
    fields = [field for line in lines if "\t" in line for field in line.split("\t")]
    return [normalize(text) for text in (*lines, *fields)]
