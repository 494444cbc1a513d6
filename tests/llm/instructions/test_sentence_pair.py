"""What can stand in the place of an aligned phrase."""

from llm.instructions.sentence_pair import SentencePair, Side


def pair_of(links: list[tuple[str, str]], first: str, second: str, is_unspaced: bool = False) -> SentencePair:
    """Words are separated by spaces; a link takes the first occurrence of its phrases."""
    sides = []
    for number, text in enumerate((first, second)):
        words, place = [], 0
        for word in text.split():
            words.append((text.index(word, place), text.index(word, place) + len(word)))
            place = words[-1][1]
        starts = [text.index(link[number]) for link in links]
        phrases = [(a, a + len(link[number])) for a, link in zip(starts, links, strict=True)]
        sides.append(Side(f"language {number}", text, words, phrases, is_unspaced))
    return SentencePair(*sides)


def test_other_phrases_of_the_same_sentence():
    pair = pair_of([("rot", "red"), ("Auto", "car"), ("fährt", "drives")], "rot Auto fährt", "red car drives")
    assert pair.phrases == [("rot", "red"), ("Auto", "car"), ("fährt", "drives")]
    assert pair.wrong_counterparts(1, 0) == ["rot", "fährt"]
    assert pair.wrong_counterparts(1, 1) == ["red", "drives"]


def test_words_where_there_is_no_other_phrase():
    pair = pair_of([("Auto", "car")], "das Auto !", "that car here !")
    assert pair.wrong_counterparts(0, 1) == ["that", "here"]
    assert pair.wrong_counterparts(0, 0) == ["das"]


def test_nothing_that_is_aligned_with_it_elsewhere_in_whatever_case():
    links = [("Die", "The"), ("die", "those"), ("Frau", "woman")]
    pair = pair_of(links, "Die Frau sieht die", "The woman sees those")
    assert pair.wrong_counterparts(0, 1) == ["woman"]
    assert pair.wrong_counterparts(1, 1) == ["woman"]


def test_nothing_that_contains_it_or_is_a_part_of_it():
    links = [("Haus", "house"), ("rotes Haus", "red house"), ("Boot", "boat")]
    pair = pair_of(links, "rotes Haus Haus Boot", "red house house boat")
    assert pair.wrong_counterparts(0, 1) == ["boat"]
    assert pair.wrong_counterparts(1, 0) == ["Boot"]


def test_letters_in_common_are_no_part_of_a_word():
    pair = pair_of([("Ein", "A"), ("Mann", "man"), ("las", "read")], "Ein Mann las", "A man read")
    assert pair.wrong_counterparts(0, 1) == ["man", "read"]
    assert pair.wrong_counterparts(1, 1) == ["A", "read"]


def test_words_that_no_space_separates_in_the_text():
    french = Side("French", "l'homme lit", [(0, 2), (2, 7), (8, 11)], [(0, 2), (0, 7), (8, 11)])
    english = Side("English", "the man reads", [(0, 3), (4, 7), (8, 13)], [(0, 3), (0, 7), (8, 13)])
    pair = SentencePair(french, english)
    assert pair.wrong_counterparts(0, 0) == ["lit"]
    assert pair.wrong_counterparts(1, 0) == ["lit"]


def test_any_part_in_a_language_without_spaces():
    pair = pair_of(
        [("人", "人"), ("大人", "大人"), ("本", "本")], "人 大人 本", "人 大人 本", is_unspaced=True
    )
    assert pair.wrong_counterparts(0, 1) == ["本"]
    assert pair.wrong_counterparts(1, 1) == ["本"]


def test_a_phrase_in_the_place_of_another():
    pair = pair_of([("rot", "red"), ("Auto", "car")], "rot Auto", "a red car .")
    assert pair.target.with_phrase(0, "blue") == "a blue car ."
    assert pair.target.with_phrase(1, pair.target.spelled(pair.target.phrases[1])) == "a red car ."
