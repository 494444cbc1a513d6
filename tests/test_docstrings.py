"""Docstrings say what a thing is before they say what it takes and raises."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("command_line", "data_prep", "fairseq_ext", "embeddings", "eval", "llm", "benchmarks", "recipes")
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Note):?$", re.MULTILINE)
NAMED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def begins_with_a_section(docstring: str) -> bool:
    return SECTION.match(docstring) is not None


def test_what_begins_with_a_section():
    assert begins_with_a_section("Raises:\n    InputError: it is wrong.")
    assert not begins_with_a_section("Raises the temperature.\n\nArgs:\n    by: degrees.")


def test_docstrings_begin_with_what_the_thing_is():
    found = []
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            docstring = ast.get_docstring(node) if isinstance(node, NAMED) else None
            if docstring and begins_with_a_section(docstring):
                found.append(f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}")
    assert found == []


def test_modules_say_what_they_are():
    silent = [
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
