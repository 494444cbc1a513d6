"""Links between pages lead to files and headings that exist; pages of results have one form."""

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from tests.documented_commands import PAGES, ROOT

RESULTS = ROOT / "docs/results"
COLUMNS = ["dataset", "system", "seed", "split", "kind", "direction", "layer", "measure", "value"]


@cache
def anchors(page: Path) -> set[str]:
    """What may follow `PAGE#`: headings as GitHub writes them, and explicit anchors."""
    text = page.read_text(encoding="utf-8")
    headings = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.M))
    written = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return written | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_links_lead_to_files_and_headings(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        if re.match(r"https?:", link):
            continue
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.resolve()), link


def test_every_page_of_results_is_listed():
    pages = {page.name for page in RESULTS.glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"^\| \[\w+\]\((\w+\.md)\)", (RESULTS / "README.md").read_text(), re.M))


@pytest.mark.parametrize("page", sorted(RESULTS.glob("data/*.csv")), ids=lambda path: path.stem)
def test_numbers_of_a_page_are_one_a_row(page):
    with page.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == COLUMNS
    assert all(re.fullmatch(r"-?\d+(\.\d+)?", row[-1]) for row in rows)
    assert len({tuple(row[:-1]) for row in rows}) == len(rows) > 0
    assert f"](data/{page.name})" in (RESULTS / f"{page.stem}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("recipes/*/reference.csv")), ids=lambda path: path.parent.name
)
def test_published_numbers_are_named_by_the_page_of_their_recipe(page):
    assert "](reference.csv)" in (page.parent / "README.md").read_text(encoding="utf-8")
