"""Every instruction against the patterns of the thesis, typed out by hand, and what must hold of all."""

import random
import re

import pytest

from llm.instructions.sentence_pair import SentencePair, Side
from llm.instructions.tasks import TASKS
from tests.llm.toy_text import WORDS

GERMAN, ENGLISH = "Der Hund schläft heute im großen Haus.", "The dog sleeps in the big house today."
PHRASES = [
    ("Der Hund", "The dog"), ("schläft", "sleeps"), ("heute", "today"), ("im", "in the"), ("großen", "big"),
    ("Haus", "house"),
]  # fmt: skip


class First(random.Random):
    """Takes the first of everything, without shuffling; says True or False as told."""

    def __init__(self, is_true: bool = True):
        super().__init__(1)
        self.is_true = is_true

    def random(self) -> float:
        return 0.0 if self.is_true else 0.99

    def shuffle(self, values) -> None:
        pass

    def choice(self, values):
        return values[0]

    def sample(self, values, count):
        return list(values)[::-1][:count]


def side(language: str, text: str, phrases: list[str]) -> Side:
    places = [(text.index(phrase), text.index(phrase) + len(phrase)) for phrase in phrases]
    words = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    return Side(language, text, words, places)


def from_german() -> SentencePair:
    sides = zip(("German", "English"), (GERMAN, ENGLISH), zip(*PHRASES, strict=True), strict=True)
    return SentencePair(*(side(*one) for one in sides))


def from_english() -> SentencePair:
    pair = from_german()
    return SentencePair(pair.target, pair.source)


def made(task: str, pair: SentencePair, chance=None):
    return TASKS[task].make(pair, chance or First())


def test_translation():
    assert made("mt", from_german()) == (
        "Translate from German to English.\n"
        "German: Der Hund schläft heute im großen Haus.\n"
        "English:",
        "The dog sleeps in the big house today.",
    )  # fmt: skip
    assert made("mt", from_english()) == (
        "Translate from English to German.\n"
        "English: The dog sleeps in the big house today.\n"
        "German:",
        "Der Hund schläft heute im großen Haus.",
    )  # fmt: skip


def test_alignment_that_is_true():
    assert made("align", from_german()) == (
        "Given the following parallel sentence between German and English, judge whether the assertion is"
        " True or False.\n"
        "German: Der Hund schläft heute im großen Haus.\n"
        "English: The dog sleeps in the big house today.\n"
        'Assertion: "Der Hund" can be aligned with "The dog" statistically.',
        "True",
    )
    assert made("align", from_english()) == (
        "Given the following parallel sentence between English and German, judge whether the assertion is"
        " True or False.\n"
        "English: The dog sleeps in the big house today.\n"
        "German: Der Hund schläft heute im großen Haus.\n"
        'Assertion: "The dog" can be aligned with "Der Hund" statistically.',
        "True",
    )


def test_alignment_that_is_false():
    """The side that is swapped is one of both."""
    question, answer = made("align", from_german(), First(is_true=False))
    assert question.endswith('\nAssertion: "schläft" can be aligned with "The dog" statistically.')
    assert answer == "False"


def test_hints():
    """The last five of six, as this chance takes them, in the order of the sentence."""
    assert made("hint", from_german()) == (
        "Use the following alignment hints and translate from German to English.\n"
        "Alignments between English and German:\n"
        "- (sleeps, schläft),\n"
        "- (today, heute),\n"
        "- (in the, im),\n"
        "- (big, großen),\n"
        "- (house, Haus),\n"
        "German: Der Hund schläft heute im großen Haus.\n"
        "English:",
        "The dog sleeps in the big house today.",
    )
    question, answer = made("hint", from_english())
    assert question.startswith(
        "Use the following alignment hints and translate from English to German.\n"
        "Alignments between German and English:\n"
        "- (schläft, sleeps),\n"
    )
    assert question.endswith("\nEnglish: The dog sleeps in the big house today.\nGerman:")
    assert answer == "Der Hund schläft heute im großen Haus."


def test_revision():
    assert made("revise", from_german()) == (
        "Given the following translation of English from German, output the incorrectly translated word and"
        " correct it.\n"
        "German: Der Hund schläft heute im großen Haus.\n"
        "English: sleeps sleeps in the big house today.",
        'The incorrectly translated word is "sleeps". It should be "The dog".',
    )
    question, answer = made("revise", from_english())
    assert question == (
        "Given the following translation of German from English, output the incorrectly translated word and"
        " correct it.\n"
        "English: The dog sleeps in the big house today.\n"
        "German: schläft schläft heute im großen Haus."
    )
    assert answer == 'The incorrectly translated word is "schläft". It should be "Der Hund".'


def test_monolingual_tasks_are_of_the_target():
    full = ("Given the context, complete the following sentence:", ENGLISH)
    assert made("mono-full", from_german()) == full
    assert made("mono-half", from_german()) == (
        "Given the context, complete the following sentence: The dog sleeps in",
        "the big house today.",
    )
    assert made("mono-half", from_english()) == (
        "Given the context, complete the following sentence: Der Hund schläft",
        "heute im großen Haus.",
    )


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("我们去学校。", ("我们去", "学校。")),
        ("ごはん", ("ご", "はん")),
        ("สวัสดี ครับ", ("สวัสดี", "ครับ")),
        ("a  b\tc", ("a", "b c")),
        ("Haus", ("Ha", "us")),
        ("我", None),
    ],
)
def test_halves_are_of_words_or_where_there_are_no_spaces_of_characters(text, halves):
    pair = SentencePair(Side("English", "-"), Side("Chinese", text))
    start = "Given the context, complete the following sentence: "
    assert made("mono-half", pair) == (halves and (start + halves[0], halves[1]))


@pytest.mark.parametrize(
    ("language", "text", "halves"),
    [
        ("Chinese", "好 我们去学校吃饭。", ("好 我们去", "学校吃饭。")),
        ("Chinese", "我们去  学校。", ("我们去", "学校。")),
        ("Thai", "ค่ะ ฉันไปโรงเรียน", ("ค่ะ ฉันไป", "โรงเรียน")),
        ("Thai", "น้ำดี", ("น้ำ", "ดี")),
        ("Lao", "ຂ້ອຍ", ("ຂ້", "ອຍ")),
        ("Khmer", "ខ្មែរ", ("ខ្មែ", "រ")),
        ("Khmer", "កកក្ខ", ("ក", "កក្ខ")),
        ("Burmese", "ကာကာ", ("ကာ", "ကာ")),
        ("Burmese", "တက္ကသိုလ်", ("တက္က", "သိုလ်")),
        ("Japanese", "か\u3099は", ("か\u3099", "は")),  # written with a combining mark
    ],
)
def test_halves_of_languages_without_spaces_are_of_whole_characters(language, text, halves):
    """With their vowels, tones and consonants below, and whatever spaces there are."""
    pair = SentencePair(Side("English", "-"), Side(language, text, is_unspaced=True))
    start = "Given the context, complete the following sentence: "
    assert made("mono-half", pair) == (start + halves[0], halves[1])


def random_pair(draw: random.Random) -> SentencePair:
    """Words in two orders, some of them twice, some without a counterpart; and a period."""
    numbers = [draw.randrange(10) for _ in range(draw.randint(1, 9))]
    places = draw.sample(range(len(numbers)), len(numbers))
    first, second = [WORDS["de"][number] for number in numbers], [WORDS["en"][numbers[one]] for one in places]
    spans = [word_spans(words) for words in (first, second)]
    linked = [
        (number, place)
        for place, number in enumerate(places)
        if draw.random() < 0.8
    ]  # fmt: skip
    linked.sort()
    return SentencePair(
        *(
            Side(name, f"{' '.join(words)}.", spans[number], [spans[number][link[number]] for link in linked])
            for number, (name, words) in enumerate((("German", first), ("English", second)))
        )
    )


def word_spans(words: list[str]) -> list[tuple[int, int]]:
    starts = [len(" ".join([*words[:number], ""])) for number in range(len(words))]
    return [(start, start + len(word)) for start, word in zip(starts, words, strict=True)]


@pytest.fixture(scope="module")
def many() -> list[SentencePair]:
    draw = random.Random(3)
    return [random_pair(draw) for _ in range(1500)]


def test_true_assertions_are_aligned_and_false_ones_are_not(many):
    answers = []
    for number, pair in enumerate(many):
        if (instruction := made("align", pair, random.Random(number))) is None:
            continue
        answers.append(instruction.output)
        asserted = re.search(r'Assertion: "(.+)" can be aligned with "(.+)" stat', instruction.input).groups()
        assert (asserted in pair.phrases) == (instruction.output == "True")
        assert all(
            phrase in text
            for phrase, text in zip(asserted, (pair.source.text, pair.target.text), strict=True)
        )
    assert len(answers) > 1000
    assert answers.count("True") / len(answers) == pytest.approx(0.5, abs=0.04)


def test_either_side_is_swapped_as_often():
    """Where a pair has no other phrases, what was swapped can be seen."""
    pair = SentencePair(
        Side("German", "das Auto", [(0, 3), (4, 8)], [(4, 8)]),
        Side("English", "that car", [(0, 4), (5, 8)], [(5, 8)]),
    )
    asserted = [
        made("align", pair, random.Random(number)).input.rpartition(": ")[2] for number in range(2000)
    ]
    shares = {text: asserted.count(text) / len(asserted) for text in asserted}
    assert shares == pytest.approx(
        {
            '"Auto" can be aligned with "car" statistically.': 0.5,
            '"das" can be aligned with "car" statistically.': 0.25,
            '"Auto" can be aligned with "that" statistically.': 0.25,
        },
        abs=0.04,
    )


def test_hints_are_at_most_five_aligned_pairs_in_the_order_of_the_sentence(many):
    counts = set()
    for number, pair in enumerate(many):
        if (instruction := made("hint", pair, random.Random(number))) is None:
            assert not pair.phrases
            continue
        hints = re.findall(r"^- \((.+), (.+)\),$", instruction.input, re.MULTILINE)
        counts.add(len(hints))
        assert len(hints) == min(5, len(set(pair.phrases)))
        remaining = iter(pair.phrases)
        assert all((source, target) in remaining for target, source in hints)  # a subsequence
    assert counts == {1, 2, 3, 4, 5}


def test_the_wrong_phrase_of_a_revision_is_of_another_sentence():
    """It is as long as the right one, and not in the sentence, where it would be twice."""
    source = side("German", "Der Hund schläft", ["Der Hund", "schläft"])
    target = side("English", "The dog sleeps", ["The dog", "sleeps"])
    elsewhere = {1: ["dog", "Sleeps", "runs"], 2: ["the dog", "a cat"], 3: ["in the house"]}
    pair = SentencePair(source, target, elsewhere)
    seen = set()
    for seed in range(40):
        question, answer = made("revise", pair, random.Random(seed))
        wrong, right = re.fullmatch(r'The .+ word is "(.+)"\. It should be "(.+)"\.', answer).groups()
        assert f"English: {target.text.replace(right, wrong)}" in question
        seen.add((wrong, right))
    assert seen == {("a cat", "The dog"), ("runs", "sleeps")}


def test_without_a_phrase_of_another_sentence_the_error_is_one_of_the_same(many):
    """Of another length, or in this sentence already."""
    pair = from_german()
    alike = SentencePair(pair.source, pair.target, {9: ["one two three"], 1: ["sleeps", "Sleeps"]})
    for seed in range(5):
        expected = made("revise", pair, random.Random(seed))
        if "sleeps" not in expected.output:
            assert (
                made("revise", SentencePair(pair.source, pair.target, {9: ["x"]}), random.Random(seed))
                == expected
            )
    assert made("revise", alike, random.Random(1)) is not None


def test_hints_are_different():
    """A pair of phrases that occurs twice is one hint."""
    source = side("German", "Haus und Hof", ["Haus", "Haus", "Hof"])
    pair = SentencePair(source, side("English", "house and yard", ["house", "house", "yard"]))
    hints = re.findall(r"^- \((.+), (.+)\),$", made("hint", pair, random.Random(1)).input, re.MULTILINE)
    assert hints == [("house", "Haus"), ("yard", "Hof")]


def test_revisions_differ_in_one_phrase_which_the_answer_puts_back(many):
    revisions = 0
    for number, pair in enumerate(many):
        if (instruction := made("revise", pair, random.Random(number))) is None:
            continue
        revisions += 1
        wrong, right = re.fullmatch(
            'The incorrectly translated word is "(.+)". It should be "(.+)".', instruction.output
        ).groups()
        text = instruction.input.rpartition("\nEnglish: ")[2]
        assert text != pair.target.text and wrong != right
        restored = [
            text[: match.start()] + right + text[match.end() :]
            for match in re.finditer(re.escape(wrong), text)
        ]
        assert pair.target.text in restored
        assert right in [target for _, target in pair.phrases]
    assert revisions > 1000


@pytest.mark.parametrize("task", ["align", "hint", "revise"])
def test_sentences_without_aligned_words_give_none(task):
    pair = SentencePair(Side("German", "Das Haus."), Side("English", "The house."))
    assert made(task, pair) is None


@pytest.mark.parametrize("task", ["align", "revise"])
def test_one_pair_that_nothing_can_make_wrong_gives_none(task):
    pair = SentencePair(
        Side("German", "Haus!", [(0, 4)], [(0, 4)]), Side("English", "House!", [(0, 5)], [(0, 5)])
    )
    assert made(task, pair) is None
    assert made("hint", pair) is not None
