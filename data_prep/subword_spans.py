"""Spans of words -> spans of subwords: for aligned words, bunsetsu, phrases, all that is found in words.

Words and subwords must spell the same text. Words need not be the ones that the subwords were made from:
where their boundaries differ (MeCab words over sentencepiece units of the raw line), a word gets the shortest
run of subwords that covers its characters.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal

from command_line.errors import InputError, at
from data_prep.spacing import spelled
from data_prep.step_folder import read_record
from data_prep.subword_models import SEPARATOR, TYPES, WORD_BEGINNING, NoSubwords
from data_prep.transformers_tokenizer import KIND as TRANSFORMERS

Boundaries = tuple[list[int], list[int]]
SPELLED = tuple(name for name in TYPES if name != TRANSFORMERS)  # types whose units spell their text


def type_of_spelled(folder) -> str:
    """The type of the subwords of a folder that spans of words are to be found in."""
    record = read_record(folder, "subword")
    if record is None:
        raise InputError(f"{folder}: no subword.json, expected the output of `python -m data_prep subword`")
    if record["type"] not in SPELLED:
        raise InputError(
            f"{folder}: its subwords are ids of a tokenizer, which spell no words; expected subwords of"
            " --type bpe, sentencepiece or none"
        )
    return record["type"]


def word_boundaries(
    words: Sequence[str], units: Sequence[str], subword_type: str, path, line_number: int
) -> Boundaries:
    """Where every word of a line begins and ends in the line's subwords, half-open.

    Args:
        units: its subwords, as the subword text has them.
        subword_type: "subword-nmt", "sentencepiece" or "none".
        path, line_number: where the words are from, for the error.

    Returns:
        starts and ends, one per word: word `i` is `units[starts[i]:ends[i]]`. A word that the subwords do not
        spell at all (a lone zero-width character that a sentencepiece model drops) has start == end.

    Raises:
        InputError: words and subwords do not spell the same text; names file and line.
    """
    if subword_type not in SPELLED:
        raise ValueError(f"subword type {subword_type!r}, expected one of {SPELLED}")
    if subword_type == "none":  # of the text, too: nobody knows which of both a word joiner is from
        words, units = NoSubwords.spelled(words), NoSubwords.spelled(units)
    if subword_type != "sentencepiece":
        for longest in (False, True):
            boundaries = _walk(words, units, subword_type == "subword-nmt", longest)
            if boundaries is not None:
                return boundaries
    alike = _spell_alike(words, [_surface(unit, subword_type) for unit in units], subword_type)
    if alike is None:
        raise InputError(f"{at(path, line_number)}: {_difference(words, units, subword_type)}")
    return _cover(*alike)


def subword_spans(spans: Iterable[Sequence[int]], boundaries: Boundaries) -> list[tuple[int, int]]:
    """Half-open spans of words -> half-open spans of subwords, in the same order.

    Args:
        spans: (start, end) with 0 <= start < end <= number of words.

    Raises:
        ValueError: a span is empty or ends behind the last word.
    """
    starts, ends = boundaries
    result = []
    for start, end in spans:
        if not 0 <= start < end <= len(starts):
            raise ValueError(f"span {start}:{end} of {len(starts)} words")
        result.append((starts[start], ends[end - 1]))
    return result


def _walk(words: Sequence[str], units: Sequence[str], split: bool, longest: bool) -> Boundaries | None:
    """Boundaries where every word is a run of whole units, all but its last with the separator; else None.

    Args:
        split: whether words may consist of several units.
        longest: whether "@@@", where it could be the whole word or its first character, is the latter.
    """
    starts, place, count = [], 0, len(units)
    for word in words:
        starts.append(place)
        rest = word
        while True:
            if place == count:
                return None
            unit = units[place]
            place += 1
            part = unit[: -len(SEPARATOR)] if split and unit.endswith(SEPARATOR) else ""
            if unit == rest and not (longest and part):
                break
            if not part or not rest.startswith(part):
                return None
            rest = rest[len(part) :]
    return (starts, [*starts[1:], count] if starts else []) if place == count else None


def _surface(unit: str, subword_type: str) -> str:
    """The characters that a unit spells."""
    if subword_type == "subword-nmt":
        return unit.removesuffix(SEPARATOR)
    return unit.replace(WORD_BEGINNING, "") if subword_type == "sentencepiece" else unit


def _spell_alike(words, surfaces, subword_type: str) -> tuple[list[str], list[str]] | None:
    """Both sides in the same characters, or None if they are different texts.

    Tokenizers write marks and escapes that the units of raw text do not have. sentencepiece models of others
    (mBART's) normalize the text that they split, to NFKC and without some invisible characters. Where that
    made one character of two words (half-width ｶ and ﾞ become ガ), it is taken apart again.
    """
    text = "".join(surfaces)
    unescaped = [spelled(word) for word in words]
    for spelling in (list(words), unescaped):
        if "".join(spelling) == text:
            return spelling, surfaces
    if subword_type != "sentencepiece":
        return None
    for form in ("NFKC", "NFKD"):
        normal = (
            [_normalize(word, form) for word in unescaped],
            [_normalize(surface, form) for surface in surfaces],
        )
        if "".join(normal[0]) == "".join(normal[1]):
            return normal
    return None


def _normalize(text: str, form: Literal["NFKC", "NFKD"]) -> str:
    """The form without spaces, control and format characters and what stands for a space or for nothing."""
    normal = unicodedata.normalize(form, text)
    return "".join(
        c for c in normal if c not in (WORD_BEGINNING, "\ufffd") and unicodedata.category(c)[0] not in "CZ"
    )


def _cover(spellings: Sequence[str], surfaces: Sequence[str]) -> Boundaries:
    """The shortest run of units that covers the characters of each word.

    A unit without characters (a lone "▁") belongs to the word that follows.
    """
    edges = [0, *accumulate(map(len, surfaces))]
    starts, ends, begin = [], [], 0
    for spelling in spellings:
        end = begin + len(spelling)
        start = bisect_left(edges, begin)
        start -= edges[start] != begin
        starts.append(start)
        ends.append(bisect_left(edges, end) if spelling else start)
        begin = end
    return starts, ends


def _difference(words: Sequence[str], units: Sequence[str], subword_type: str) -> str:
    """What words and subwords spell around the first character in which they differ."""
    first, second = "".join(words), "".join(_surface(unit, subword_type) for unit in units)
    pairs = zip(first, second, strict=False)
    same = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
    shown = slice(max(0, same - 5), same + 15)
    return (
        f"the words spell {first[shown]!r} where the subwords spell {second[shown]!r} "
        f"(character {same + 1}, spaces aside), expected the same text; are both from the same lines?"
    )
