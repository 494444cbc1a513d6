"""How long the pages and their sentences are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "recipes", "studies") for page in ROOT.glob(f"{folder}/**/*.md")),
    }
)
WORDS = 60_000  # as `wc -w` counts them


def sentences(page: str) -> list[str]:
    """Of prose, items of lists and cells of tables; code is one word, and a link its text."""
    text = re.sub(r"^ *```.*?^ *```", "", page, flags=re.M | re.S)
    text = re.sub(r"(?:(?<=\n\n)|\A)(?: {4}.*\n+)+", "\n", text)  # indented code
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.))|\|", text)
    return [
        " ".join(sentence.split())
        for part in parts
        for sentence in re.split(r"(?<=[.!?])[\")\]*]*\s+", part)
        if sentence.strip()
    ]


def words(text: str) -> int:
    """Signs alone, such as those between the cells of a table, are no words."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def test_sentences_are_those_of_prose_lists_and_cells():
    page = (
        "# A head\n\nSee [the page](x.md): it runs\n`a b c`. So\n\n    code code\n\n"
        "- one\n  item. Two\n\n```\nmore code\n```\n| a | b c. D |\n|---|---|\n"
    )
    assert sentences(page) == [
        "# A head", "See the page: it runs code.", "So", "- one item.", "Two", "a", "b c.", "D", "---", "---",
    ]  # fmt: skip
    assert words("| a | - b-c, 1 |") == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_sentence_is_long(page):
    most = 30 if page in GUIDES else 35
    assert [text for text in sentences(page.read_text(encoding="utf-8")) if words(text) > most] == []


def test_all_pages_together_are_short():
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= WORDS
