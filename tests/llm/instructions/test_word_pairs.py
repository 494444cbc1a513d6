"""Phrases that links leave whole, against their definition; and where words are in a raw line."""

import random

import pytest

from command_line.errors import InputError
from llm.instructions.word_pairs import is_word, phrase_pairs, word_places


def words_of(link) -> tuple[set[int], set[int]]:
    return set(range(*link[:2])), set(range(*link[2:]))


def are_one_group(links: list) -> bool:
    """Whether all of some links are reached from the first one by shared words."""
    reached, rest = [links[0]], links[1:]
    while touching := [one for one in rest if any(share(one, other) for other in reached)]:
        reached += touching
        rest = [one for one in rest if one not in touching]
    return not rest


def share(first, second) -> bool:
    return any(left & right for left, right in zip(words_of(first), words_of(second), strict=True))


def by_definition(links: list, longest: int, size: int) -> list:
    """Of all rectangles those that have links on every row and column, cut none, and are one group."""
    phrases = []
    spans = [
        (start, end) for start in range(size) for end in range(start + 1, min(size, start + longest) + 1)
    ]
    for a, b in spans:
        for c, d in spans:
            rows, columns = set(range(a, b)), set(range(c, d))
            touched = [link for link in links if words_of(link)[0] & rows or words_of(link)[1] & columns]
            if not touched or not are_one_group(touched):
                continue
            covered = [set().union(*(words_of(one)[side] for one in touched)) for side in (0, 1)]
            if covered == [rows, columns]:
                phrases.append((a, b, c, d))
    return sorted(phrases)


def random_links(draw: random.Random, size: int, longest_span: int) -> list:
    links = []
    for _ in range(draw.randint(0, size + 2)):
        row = []
        for _ in range(2):
            start = draw.randrange(size)
            row += [start, min(size, start + draw.randint(1, longest_span))]
        links.append(tuple(row))
    return links


@pytest.mark.parametrize("longest_span", [1, 3])
@pytest.mark.parametrize("seed", range(60))
def test_phrases_are_their_definition(seed, longest_span):
    draw = random.Random(seed)
    size, longest = draw.randint(1, 7), draw.randint(1, 5)
    links = random_links(draw, size, longest_span)
    assert phrase_pairs(links, longest) == by_definition(links, longest, size)


def test_phrases_by_eye():
    """Two to one; crossing; one beside a gap; a link of spans."""
    links = [(0, 1, 1, 2), (1, 2, 1, 2), (2, 3, 0, 1), (3, 4, 2, 3), (5, 6, 2, 3), (6, 8, 4, 7)]
    assert phrase_pairs(links) == [(0, 2, 1, 2), (2, 3, 0, 1), (6, 8, 4, 7)]
    assert phrase_pairs([]) == []
    assert phrase_pairs([(0, 1, 0, 1)] * 2) == [(0, 1, 0, 1)]


def test_phrases_have_no_more_words_than_asked_for_on_either_side():
    links = [(0, 1, 0, 5), (1, 6, 5, 6), (6, 7, 6, 12), (7, 13, 12, 13)]
    assert phrase_pairs(links) == [(0, 1, 0, 5), (1, 6, 5, 6)]
    assert len(phrase_pairs(links, 6)) == 4 and phrase_pairs(links, 4) == []


def spelled(words: str, line: str) -> list[str]:
    return [line[start:end] for start, end in word_places(words.split(), line, "words.de", 7)]


@pytest.mark.parametrize(
    ("words", "line", "expected"),
    [
        ("It &apos;s R &amp; D .", "It's  R&D.", ["It", "'s", "R", "&", "D", "."]),
        ("&amp;lt; &lt; &quot; &#91;", '&lt; < " [', ["&lt;", "<", '"', "["]),
        ("我们 去 学校 。", "我们去学校。", ["我们", "去", "学校", "。"]),
        ("父 が　 行く", "父が　行く", ["父", "が", "行く"]),
        ("Haus", "Haus", ["Haus"]),
        ("New York", "New\u00a0York", ["New", "York"]),
        ("ｱﾒﾘｶ 1", "ｱﾒﾘｶ１", ["ｱﾒﾘｶ", "１"]),
    ],
)
def test_words_are_found_in_the_raw_line(words, line, expected):
    assert spelled(words, line) == expected


def test_a_word_may_be_found_across_a_space():
    assert spelled("dasHaus steht", "das Haus steht") == ["das Haus", "steht"]


@pytest.mark.parametrize(("words", "line"), [("das Haus", "das Hans"), ("das", "das Haus"), ("das Haus", "")])
def test_words_of_another_text_name_file_and_line(words, line):
    with pytest.raises(InputError, match=r"^words\.de:7: the words spell "):
        word_places(words.split(), line, "words.de", 7)


def test_what_is_more_than_punctuation():
    assert [one for one in ("a", "1", "我", "...", "¿!", "", "-a-") if is_word(one)] == [
        "a",
        "1",
        "我",
        "-a-",
    ]
