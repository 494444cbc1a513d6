"""The instructions of thesis 6.2: what is asked of a sentence pair, and the answer.

Typographic signs of the thesis are plain ones here. The period behind the sentences of its patterns is taken
for that of a sentence; none is added. Nor is the comma behind the first half of a sentence.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

import regex

from llm.instructions.prompts import DEFAULT, PROMPTS
from llm.instructions.sentence_pair import SentencePair

MOST_HINTS = 5  # S of thesis 6.2.3, 6.3.2


class Instruction(NamedTuple):
    """One example: `input` ends where the answer is to begin, without a space."""

    input: str
    output: str


Make = Callable[[SentencePair, random.Random], Instruction | None]


class Task(NamedTuple):
    """An objective of tuning.

    Attributes:
        title: in the names of systems, for example in "MT+Align".
        make: the instruction of a sentence pair; None where the pair does not allow for one.
        is_monolingual: whether only the target sentence is looked at.
    """

    title: str
    summary: str
    make: Make
    needs_words: bool = False
    is_monolingual: bool = False


def translation(pair: SentencePair, chance: random.Random) -> Instruction:
    """MTInstruct (thesis 6.2.1)."""
    prompt = PROMPTS[DEFAULT].format(
        source=pair.source.language, target=pair.target.language, text=pair.source.text
    )
    return Instruction(prompt, pair.target.text)


def alignment(pair: SentencePair, chance: random.Random) -> Instruction | None:
    """AlignInstruct (thesis 6.2.2): an aligned pair, with even odds true, or with one side swapped.

    None where no pair can be made wrong, so that the answer does not follow from the sentence.
    """
    number = _first(pair, chance, lambda number: pair.can_be_wrong(number, 0) or pair.can_be_wrong(number, 1))
    if number is None:
        return None
    phrases = list(pair.phrases[number])
    is_true = chance.random() < 0.5
    if not is_true:
        side = chance.choice([side for side in (0, 1) if pair.can_be_wrong(number, side)])
        phrases[side] = chance.choice(pair.wrong_counterparts(number, side))
    question = (
        f"Given the following parallel sentence between {pair.source.language} and {pair.target.language},"
        f" judge whether the assertion is True or False.\n{_sentences(pair)}\n"
        f'Assertion: "{phrases[0]}" can be aligned with "{phrases[1]}" statistically.'
    )
    return Instruction(question, str(is_true))


def hint(pair: SentencePair, chance: random.Random) -> Instruction | None:
    """HintInstruct (thesis 6.2.3): a translation with at most five different aligned pairs as hints."""
    pairs = list(dict.fromkeys(pair.phrases))
    if not pairs:
        return None
    chosen = sorted(chance.sample(range(len(pairs)), min(MOST_HINTS, len(pairs))))
    hints = "\n".join(f"- ({pairs[number][1]}, {pairs[number][0]})," for number in chosen)
    source, target = pair.source.language, pair.target.language
    return Instruction(
        f"Use the following alignment hints and translate from {source} to {target}.\n"
        f"Alignments between {target} and {source}:\n{hints}\n"
        f"{source}: {pair.source.text}\n{target}:",
        pair.target.text,
    )


def revision(pair: SentencePair, chance: random.Random) -> Instruction | None:
    """ReviseInstruct (thesis 6.2.3): a translation in which another phrase replaces an aligned one.

    If there are phrases of other sentences, it is one of these, so that only the source tells. A phrase of
    the same sentence would be there twice.
    """
    number = _first(pair, chance, lambda number: bool(pair.elsewhere) or pair.can_be_wrong(number, 1))
    if number is None:
        return None
    wrong, right = pair.phrase_from_elsewhere(number, chance), pair.phrases[number][1]
    if wrong is None:
        if not (own := pair.wrong_counterparts(number, 1)):
            return None
        wrong = chance.choice(own)
    source, target = pair.source, pair.target
    return Instruction(
        f"Given the following translation of {target.language} from {source.language}, output the incorrectly"
        f" translated word and correct it.\n{source.language}: {source.text}\n"
        f"{target.language}: {target.with_phrase(number, wrong)}",
        f'The incorrectly translated word is "{wrong}". It should be "{right}".',
    )


COMPLETE = "Given the context, complete the following sentence:"


def whole_sentence(pair: SentencePair, chance: random.Random) -> Instruction:
    """MonoInstruct-full (thesis 6.2.4, 6.4.3): all of a sentence."""
    return Instruction(COMPLETE, pair.target.text)


def half_sentence(pair: SentencePair, chance: random.Random) -> Instruction | None:
    """MonoInstruct-half (thesis 6.2.4, 6.4.3): the second half of a sentence, given the first one.

    Halves are of words as spaces separate them; of characters in a single word, and in languages without
    spaces between words, where a space between clauses may be anywhere.
    """
    words = pair.target.text.split()
    by_words = len(words) > 1 and not pair.target.is_unspaced
    units = words if by_words else _CHARACTER.findall(pair.target.text.strip())
    if len(units) < 2:
        return None
    space, half = " " if by_words else "", len(units) // 2
    first, second = (space.join(part).strip() for part in (units[:half], units[half:]))
    return Instruction(f"{COMPLETE} {first}", second)


# What a reader takes for a character: a grapheme cluster (UAX 29), with the vowel signs of Burmese, which are
# clusters of their own there, and the consonant below that a sign of Burmese, Khmer or Tai Tham announces.
_CHARACTER = regex.compile(r"(?:\X\p{M}*(?<=[\u1039\u17D2\u1A60]))*\X\p{M}*")


def _first(pair: SentencePair, chance: random.Random, fits: Callable[[int], bool]) -> int | None:
    """One of the aligned pairs that fit, each with even odds; None if none does."""
    numbers = list(range(len(pair.phrases)))
    chance.shuffle(numbers)
    return next(filter(fits, numbers), None)


def _sentences(pair: SentencePair) -> str:
    return "\n".join(f"{side.language}: {side.text}" for side in (pair.source, pair.target))


TASKS = {
    "mt": Task("MT", "MTInstruct: translate", translation),
    "align": Task(
        "Align", "AlignInstruct: is a pair of words aligned, True or False?", alignment, needs_words=True
    ),
    "hint": Task(
        "Hint", "HintInstruct: translate, given up to 5 aligned pairs of words", hint, needs_words=True
    ),
    "revise": Task("Revise", "ReviseInstruct: find and correct a wrong word", revision, needs_words=True),
    "mono-full": Task(
        "Mono-full", "MonoInstruct-full: write a sentence", whole_sentence, is_monolingual=True
    ),
    "mono-half": Task(
        "Mono-half", "MonoInstruct-half: write its second half", half_sentence, is_monolingual=True
    ),
}
