import pytest

from eval.translation.long_lines import sentences, split_to_fit


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("No mark", ["No mark"]),
        ("“Quoted.” And on.", ["“Quoted.”", "And on."]),
        ("3.14 is pi. So.", ["3.14 is pi.", "So."]),
        ("一つ。二つ！「三つ。」四つ", ["一つ。", "二つ！", "「三つ。」", "四つ"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("Wait… What?!  Yes", ["Wait…", "What?!", "Yes"]),
        ("", []),
        ("   ", []),
    ],
)
def test_sentences(line, expected):
    assert sentences(line) == expected
    assert "".join(line.split()) == "".join("".join(sentences(line)).split())


@pytest.mark.parametrize("room", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("line", ["a b c. d e f g h i", "abc. de", "aaaaaaaaaaaaaaaaaaaaa b", "。", ""])
def test_every_token_is_in_one_part_that_fits(line, room):
    """Tokens are characters."""

    def tokens(text: str) -> list[int]:
        return [ord(character) for character in text if character != " "]

    parts = list(split_to_fit(line, tokens, room))
    assert all(0 < len(part) <= room for part in parts)
    assert [token for part in parts for token in part] == tokens(line)
