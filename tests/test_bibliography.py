"""The thesis and the papers are named, and linked from where their systems are."""

import re
from pathlib import Path

import pytest
import yaml

from tests.test_package import PROJECT, ROOT

BIBLIOGRAPHY = ROOT / "docs/bibliography.md"
TEXT = BIBLIOGRAPHY.read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
RECIPES = sorted(ROOT.glob("recipes/*/README.md"))


def rows() -> list[tuple[str, str]]:
    """Title of a paper, and what there is of it here."""
    return re.findall(r"^\| \d \| [^|]*?\*([^*|]+)\*[^|]*\|(.*)\|$", TEXT, flags=re.M)


def test_the_bibliography_names_the_thesis_and_a_paper_for_every_chapter():
    assert "Breaking Language Barriers" in TEXT and "Kyoto University" in TEXT
    chapters = re.findall(r"^\| (\d) \| <a id=\"[\w-]+\"></a>.*\*[^*\n]+\*.* 20\d\d\b", TEXT, flags=re.M)
    assert sorted(set(map(int, chapters))) == [2, 3, 4, 5, 6, 7, 8]
    for paper in ("Bilingual alignment transfers", "OneAligner", "Post-Pretraining", "Only About Cross-l"):
        assert paper in TEXT


# Recipes of systems that the thesis does not have: what they are linked to.
OF_OTHER_PAPERS = {
    "one_aligner": "#onealigner",
    "dual_pivot": "#dual-pivot",
    "post_pretraining": "#post-pretraining-alignment",
    "crosslingual_evaluation": "#crosslingual-evaluation",
}


@pytest.mark.parametrize("path", [ROOT / "README.md", *RECIPES], ids=lambda path: path.parent.name)
def test_readmes_link_to_entries_of_the_bibliography(path):
    links = re.findall(r"\]\(([\w./-]*bibliography\.md)(#[\w-]+)?\)", path.read_text(encoding="utf-8"))
    assert links
    for file, anchor in links:
        assert (path.parent / file).resolve() == BIBLIOGRAPHY
        assert not anchor or f'<a id="{anchor[1:]}"></a>' in TEXT
    own = OF_OTHER_PAPERS.get(path.parent.name, "#thesis")
    assert path.parent == ROOT or own in dict(map(reversed, links))


def test_links_of_the_bibliography_exist():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (BIBLIOGRAPHY.parent / link).exists(), link


def test_the_citation_file_has_what_the_format_requires_and_the_version_of_the_package():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION)
    assert (CITATION["version"], CITATION["license"]) == (PROJECT["version"], PROJECT["license"])
    assert CITATION["authors"] == [{"name": re.search(r"\d{4} (.*)", Path(ROOT / "LICENSE").read_text())[1]}]


def test_references_of_the_citation_file_are_entries_of_the_bibliography():
    """Title, all authors and year; every paper that has a recipe, and the thesis, are among them."""
    entries = " ".join(TEXT.split()).lower().split('<a id="')
    for reference in CITATION["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        title = reference["title"].lower().rstrip("?.")
        entry = next(entry for entry in entries if title in entry)
        for author in reference["authors"]:
            assert f"{author['given-names']} {author['family-names']}".lower() in entry
        assert str(reference["year"]) in entry
    with_recipe = {title.rstrip("?.") for title, here in rows() if "recipes/" in here}
    assert len(with_recipe) == 8
    assert with_recipe <= {reference["title"].rstrip("?.") for reference in CITATION["references"]}
    assert any(reference["type"] == "thesis" for reference in CITATION["references"])
