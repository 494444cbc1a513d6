"""BRSS' reordering: the paper's example, chunking signal words, permutations of random sentences."""

import numpy as np
import pytest

from data_prep.parsing.bunsetsu_order import reversed_bunsetsu


def reordered(text: str) -> str:
    """`text`: words separated by spaces, bunsetsu by slashes."""
    bunsetsu = [part.split() for part in text.split("/")]
    words = [word for part in bunsetsu for word in part]
    ends = np.cumsum([len(part) for part in bunsetsu]).tolist()
    order = reversed_bunsetsu(words, ends)
    assert sorted(order) == list(range(len(words)))
    return " ".join(words[place] for place in order)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # figure 4.4-d
            "ラブライブ は / 三つ の / プロジェクト から / 成る 。",
            "ラブライブ は 成る プロジェクト から 三つ の 。",
        ),
        (  # the comma and the topic marker bound chunks; the comma keeps its place
            "昨日 の / 私 は / 今日 、 / 彼 が / 本 を / 読ん だ 。",
            "私 は 昨日 の 今日 、 読ん だ 本 を 彼 が 。",
        ),
        ("「 はい 」 と / 彼 が / 言っ た 。", "「 はい 」 言っ た 彼 が と 。"),
        (  # signs of units and of arithmetic are words
            "患者 の / 50 ％ が / 37 ± 1 ℃ で / 改善 した 。",
            "改善 した 37 ± 1 ℃ で 50 ％ が 患者 の 。",
        ),
        ("は は / 来 た", "は は 来 た"),  # は in a bunsetsu: only its end is a topic marker
        ("は れ / 来 た", "来 た は れ"),
        ("。 ！ ？", "。 ！ ？"),
        ("雨", "雨"),
    ],
)
def test_by_eye(text, expected):
    assert reordered(text) == expected


def test_punctuation_keeps_its_place_and_bunsetsu_stay_whole():
    rng = np.random.default_rng(1)
    for _ in range(2_000):
        count = int(rng.integers(1, 25))
        words = rng.choice(["私", "は", "本", "、", "。", "を", "読む"], size=count).tolist()
        ends = [*(np.flatnonzero(rng.random(count - 1) < 0.4) + 1).tolist(), count]
        order = reversed_bunsetsu(words, ends)
        assert sorted(order) == list(range(count))
        marks = [place for place, word in enumerate(words) if word in "、。"]
        assert [order[place] for place in marks] == marks
        place_of = {word: place for place, word in enumerate(order)}
        for word in range(1, count):  # neighbours in a bunsetsu stay neighbours
            if word not in ends and word not in marks and word - 1 not in marks:
                assert place_of[word] == place_of[word - 1] + 1
